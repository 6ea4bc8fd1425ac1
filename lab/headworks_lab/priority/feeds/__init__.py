"""Use case 2 of the priority thesis: feeds."""

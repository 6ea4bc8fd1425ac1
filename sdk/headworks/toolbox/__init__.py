"""Tools for a scheduler's author beyond the problem itself: instance counts, nodes of use, repair, cancellation."""

"""Speed of what surrounds a scheduler: requests read, constraints kept, plans explained."""

"""Priority rules as values: indications, starving, and the stages of a change. No I/O, no clock."""

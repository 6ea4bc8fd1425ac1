"""One scheduling round of Nimbus: the bridge, what it says, what it is answered."""

"""One scheduling round of Nimbus: the bridge to it, the snapshot it sends, and the answer it gets."""

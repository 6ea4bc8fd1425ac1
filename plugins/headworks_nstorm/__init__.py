"""OTD, the online task deployment of N-Storm: one migration a round."""

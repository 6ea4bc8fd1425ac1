"""Figures 14 to 17 of the heterogeneity papers on a real cluster: unequal machines, and what a placement bears."""

"""Rounds of a control loop as a page: what each one saw, planned and did."""

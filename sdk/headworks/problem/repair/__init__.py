"""Repair of a decision that breaks a rule, and the reasons where none helps."""

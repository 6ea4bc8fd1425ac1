"""Redeployment of tasks while a topology runs, as section 5 of the paper on nonstop task management measures it."""

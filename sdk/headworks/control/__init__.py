"""The control loop around a scheduler (monitor, analyse, plan, execute) and what guards it."""

"""Experiments on a real engine: sizes that fit this machine, and figures that every engine has in the same words."""

"""How long tests wait for what comes, on any machine."""

from __future__ import annotations

PATIENCE = 600.0
"""Seconds after which what a test waits for is taken not to come. Waiting ends with what comes, so that a large number
costs nothing but where something hangs; a small one makes a slow and busy machine red. Less than pytest's own limit."""

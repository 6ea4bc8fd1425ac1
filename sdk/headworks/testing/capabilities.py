"""Capabilities: promises of a scheduler beyond the contract that binds every one."""

from __future__ import annotations

MEANING = {
    "total": "places every task whenever a placement exists (instances of up to 8 tasks on 3 nodes)",
    "monotone": "an empty node more never makes a plan infeasible",
    "idempotent": "planning on the planned state moves nothing",
    "scale-free": "doubling every demand and every capacity keeps the plan",
    "static": "never moves a running task",
    "traffic-aware": "puts less traffic between nodes than round robin, and under a move limit no more than what runs",
}
"""Each capability and the promise it stands for. A rule that needs one is skipped where it is not declared."""

CAPABILITIES = frozenset(MEANING)
"""The names that `Description.capabilities` may hold."""

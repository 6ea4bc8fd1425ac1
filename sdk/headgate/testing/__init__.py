"""The conformance kit: what every scheduler has to keep, for authors of plugins.

In a project of tests, subclass `SchedulerContract` and name the scheduler; on the command line, `headgate conform
NAME`. The strategies need Hypothesis (`pip install headgate[test]`), the rest does not.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from headgate.testing.capabilities import CAPABILITIES
    from headgate.testing.cases import Cases, make_cases
    from headgate.testing.conform import Conformance
    from headgate.testing.contract import SchedulerContract
    from headgate.testing.reference import FirstFit
    from headgate.testing.rules import RULES
    from headgate.testing.strategies import clusters, requests, topologies

_HOME = {
    "CAPABILITIES": "capabilities",
    "Cases": "cases",
    "Conformance": "conform",
    "FirstFit": "reference",
    "RULES": "rules",
    "SchedulerContract": "contract",
    "clusters": "strategies",
    "make_cases": "cases",
    "requests": "strategies",
    "topologies": "strategies",
}

__all__ = [
    "CAPABILITIES",
    "RULES",
    "Cases",
    "Conformance",
    "FirstFit",
    "SchedulerContract",
    "clusters",
    "make_cases",
    "requests",
    "topologies",
]


def __getattr__(name: str) -> Any:
    if name not in _HOME:
        raise AttributeError(f"module 'headgate.testing' has no attribute {name!r}")
    return getattr(importlib.import_module(f"headgate.testing.{_HOME[name]}"), name)

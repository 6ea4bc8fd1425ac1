"""The conformance kit: what every scheduler and every engine's adapter has to keep, for authors of plugins.

In a project of tests, subclass `SchedulerContract` or `EngineContract` and name the plugin; on the command line,
`headworks conform NAME`. The strategies need Hypothesis (`pip install headworks[test]`), the rest does not.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from headworks.testing.capabilities import CAPABILITIES
    from headworks.testing.cases import Cases, make_cases
    from headworks.testing.conform import Conformance
    from headworks.testing.contract import SchedulerContract
    from headworks.testing.engine_conform import EngineConformance
    from headworks.testing.engine_contract import EngineContract
    from headworks.testing.engine_rules import ENGINE_RULES
    from headworks.testing.engine_trial import EngineTrial
    from headworks.testing.reference import FirstFit
    from headworks.testing.rules import RULES
    from headworks.testing.strategies import clusters, requests, topologies

_HOME = {
    "CAPABILITIES": "capabilities",
    "Cases": "cases",
    "Conformance": "conform",
    "ENGINE_RULES": "engine_rules",
    "EngineConformance": "engine_conform",
    "EngineContract": "engine_contract",
    "EngineTrial": "engine_trial",
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
    "ENGINE_RULES",
    "RULES",
    "Cases",
    "Conformance",
    "EngineConformance",
    "EngineContract",
    "EngineTrial",
    "FirstFit",
    "SchedulerContract",
    "clusters",
    "make_cases",
    "requests",
    "topologies",
]


def __dir__() -> list[str]:
    return [*__all__]


if not TYPE_CHECKING:  # a type checker knows the names above, and would take any other for one

    def __getattr__(name: str) -> Any:
        if name not in _HOME:
            raise AttributeError(f"module 'headworks.testing' has no attribute {name!r}")
        return getattr(importlib.import_module(f"headworks.testing.{_HOME[name]}"), name)

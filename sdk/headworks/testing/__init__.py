"""The conformance kit: what every scheduler and every engine's adapter has to keep, for authors of plugins.

In a project of tests, subclass `SchedulerContract` or `EngineContract` and name the plugin; on the command line,
`headworks conform NAME`. The strategies need Hypothesis (the extra `testing`), the rest does not.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from headworks.testing.conform import Conformance
    from headworks.testing.contract import SchedulerContract
    from headworks.testing.engines.conform import EngineConformance
    from headworks.testing.engines.contract import EngineContract
    from headworks.testing.engines.rules import ENGINE_RULES
    from headworks.testing.engines.trial import EngineTrial
    from headworks.testing.instances.cases import Cases, make_cases
    from headworks.testing.instances.strategies import clusters, requests, topologies
    from headworks.testing.reference import FirstFit
    from headworks.testing.rule import CAPABILITIES
    from headworks.testing.rules import RULES

_HOME = {
    "CAPABILITIES": "rule",
    "Cases": "instances.cases",
    "Conformance": "conform",
    "ENGINE_RULES": "engines.rules",
    "EngineConformance": "engines.conform",
    "EngineContract": "engines.contract",
    "EngineTrial": "engines.trial",
    "FirstFit": "reference",
    "RULES": "rules",
    "SchedulerContract": "contract",
    "clusters": "instances.strategies",
    "make_cases": "instances.cases",
    "requests": "instances.strategies",
    "topologies": "instances.strategies",
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

"""Headgate: a pluggable scheduling SDK for stream processing.

    >>> import headgate
    >>> plan = headgate.plan("request.json", scheduler="dstorm")  # doctest: +SKIP

Names are imported when they are first used: importing the package is cheap.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from headgate.api import Comparison, compare, plan, why, workload
    from headgate.errors import (
        DocumentError,
        EngineEndedError,
        EngineError,
        HeadgateError,
        OptionError,
        PluginError,
        UnknownPluginError,
    )
    from headgate.hooks import Description, Executor, Monitor, Scheduler, Verdict, hookimpl
    from headgate.model import Observation, Plan, Receipt, Request
    from headgate.model.evidence import Claim, Evidence, Improvement, Interval, Workload
    from headgate.plugins.host import PluginHost
    from headgate.problem import Problem

_HOME = {
    "Claim": "model.evidence",
    "Comparison": "api",
    "Description": "hooks",
    "DocumentError": "errors",
    "EngineEndedError": "errors",
    "EngineError": "errors",
    "Evidence": "model.evidence",
    "Executor": "hooks",
    "HeadgateError": "errors",
    "Improvement": "model.evidence",
    "Interval": "model.evidence",
    "Monitor": "hooks",
    "Observation": "model",
    "OptionError": "errors",
    "Plan": "model",
    "PluginError": "errors",
    "PluginHost": "plugins.host",
    "Problem": "problem",
    "Receipt": "model",
    "Request": "model",
    "Scheduler": "hooks",
    "UnknownPluginError": "errors",
    "Verdict": "hooks",
    "Workload": "model.evidence",
    "compare": "api",
    "hookimpl": "hooks",
    "plan": "api",
    "why": "api",
    "workload": "api",
}

__all__ = [
    "Claim",
    "Comparison",
    "Description",
    "DocumentError",
    "EngineEndedError",
    "EngineError",
    "Evidence",
    "Executor",
    "HeadgateError",
    "Improvement",
    "Interval",
    "Monitor",
    "Observation",
    "OptionError",
    "Plan",
    "PluginError",
    "PluginHost",
    "Problem",
    "Receipt",
    "Request",
    "Scheduler",
    "UnknownPluginError",
    "Verdict",
    "Workload",
    "compare",
    "hookimpl",
    "plan",
    "why",
    "workload",
]


def __dir__() -> list[str]:
    return [*__all__]


if not TYPE_CHECKING:  # a type checker knows the names above, and would take any other for one

    def __getattr__(name: str) -> Any:
        if name not in _HOME:
            raise AttributeError(f"module 'headgate' has no attribute {name!r}")
        return getattr(importlib.import_module(f"headgate.{_HOME[name]}"), name)

"""Headworks: a pluggable scheduling SDK for stream processing.

    >>> import headworks
    >>> plan = headworks.plan("request.json", scheduler="dstorm")  # doctest: +SKIP

Names are imported when they are first used: importing the package is cheap.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from headworks.api import Comparison, compare, plan, simulate, why, workload
    from headworks.errors import (
        DocumentError,
        EngineEndedError,
        EngineError,
        EngineUseError,
        EngineWaitsError,
        HeadworksError,
        OptionError,
        PluginError,
        UnknownPluginError,
    )
    from headworks.hooks import Description, Executor, Monitor, Scheduler, Verdict, hookimpl
    from headworks.model import Observation, Plan, Receipt, Request, Workload
    from headworks.plugins.host import PluginHost
    from headworks.problem import Problem
    from headworks.testing.conform import conform

    __version__: str

_HOME = {
    "Comparison": "api",
    "Description": "hooks",
    "DocumentError": "errors",
    "EngineEndedError": "errors",
    "EngineError": "errors",
    "EngineUseError": "errors",
    "EngineWaitsError": "errors",
    "Executor": "hooks",
    "HeadworksError": "errors",
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
    "Workload": "model.request",
    "compare": "api",
    "conform": "testing.conform",
    "hookimpl": "hooks",
    "plan": "api",
    "simulate": "api",
    "why": "api",
    "workload": "api",
}

__all__ = [
    "Comparison",
    "Description",
    "DocumentError",
    "EngineEndedError",
    "EngineError",
    "EngineUseError",
    "EngineWaitsError",
    "Executor",
    "HeadworksError",
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
    "__version__",
    "compare",
    "conform",
    "hookimpl",
    "plan",
    "simulate",
    "why",
    "workload",
]


def __dir__() -> list[str]:
    return [*__all__]


if not TYPE_CHECKING:  # a type checker knows the names above, and would take any other for one

    def __getattr__(name: str) -> Any:
        if name == "__version__":
            return importlib.import_module("importlib.metadata").version("headworks")
        if name not in _HOME:
            raise AttributeError(f"module 'headworks' has no attribute {name!r}")
        return getattr(importlib.import_module(f"headworks.{_HOME[name]}"), name)

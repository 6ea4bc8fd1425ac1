"""Headgate: a pluggable scheduling SDK for stream processing.

    >>> import headgate
    >>> plan = headgate.plan("request.json", scheduler="dstorm")  # doctest: +SKIP

Names are imported when they are first used: importing the package is cheap.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from headgate.api import Comparison, compare, plan, why
    from headgate.errors import DocumentError, EngineEndedError, EngineError, HeadgateError, OptionError, PluginError
    from headgate.hooks import Description, Verdict, hookimpl
    from headgate.model import Observation, Plan, Receipt, Request
    from headgate.model.evidence import Claim, Evidence, Improvement, Workload
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
    "HeadgateError": "errors",
    "Improvement": "model.evidence",
    "Observation": "model",
    "OptionError": "errors",
    "Plan": "model",
    "PluginError": "errors",
    "PluginHost": "plugins.host",
    "Problem": "problem",
    "Receipt": "model",
    "Request": "model",
    "Verdict": "hooks",
    "Workload": "model.evidence",
    "compare": "api",
    "hookimpl": "hooks",
    "plan": "api",
    "why": "api",
}

__all__ = [
    "Claim",
    "Comparison",
    "Description",
    "DocumentError",
    "EngineEndedError",
    "EngineError",
    "Evidence",
    "HeadgateError",
    "Improvement",
    "Observation",
    "OptionError",
    "Plan",
    "PluginError",
    "PluginHost",
    "Problem",
    "Receipt",
    "Request",
    "Verdict",
    "Workload",
    "compare",
    "hookimpl",
    "plan",
    "why",
]


def __getattr__(name: str) -> Any:
    if name not in _HOME:
        raise AttributeError(f"module 'headgate' has no attribute {name!r}")
    return getattr(importlib.import_module(f"headgate.{_HOME[name]}"), name)

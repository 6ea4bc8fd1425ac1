"""Headgate: a pluggable scheduling SDK for stream processing.

    >>> import headgate
    >>> plan = headgate.plan("request.json", scheduler="dstorm")  # doctest: +SKIP

Names are imported when they are first used: importing the package is cheap.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from headgate.api import Comparison, compare, plan
    from headgate.errors import DocumentError, EngineError, HeadgateError, OptionError, PluginError
    from headgate.evidence_spec import Claim, Evidence, Improvement, Workload
    from headgate.hooks import Description, Verdict, hookimpl
    from headgate.host import PluginHost
    from headgate.model import Observation, Plan, Receipt, Request

_HOME = {
    "Claim": "evidence_spec",
    "Comparison": "api",
    "Description": "hooks",
    "DocumentError": "errors",
    "EngineError": "errors",
    "Evidence": "evidence_spec",
    "HeadgateError": "errors",
    "Improvement": "evidence_spec",
    "Observation": "model",
    "OptionError": "errors",
    "Plan": "model",
    "PluginError": "errors",
    "PluginHost": "host",
    "Receipt": "model",
    "Request": "model",
    "Verdict": "hooks",
    "Workload": "evidence_spec",
    "compare": "api",
    "hookimpl": "hooks",
    "plan": "api",
}

__all__ = [
    "Claim",
    "Comparison",
    "Description",
    "DocumentError",
    "EngineError",
    "Evidence",
    "HeadgateError",
    "Improvement",
    "Observation",
    "OptionError",
    "Plan",
    "PluginError",
    "PluginHost",
    "Receipt",
    "Request",
    "Verdict",
    "Workload",
    "compare",
    "hookimpl",
    "plan",
]


def __getattr__(name: str) -> Any:
    if name not in _HOME:
        raise AttributeError(f"module 'headgate' has no attribute {name!r}")
    return getattr(importlib.import_module(f"headgate.{_HOME[name]}"), name)

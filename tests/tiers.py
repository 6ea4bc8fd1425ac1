"""Which cases of a test run each time, and which in the matrix."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from collections.abc import Iterable


THOROUGH = os.environ.get("HYPOTHESIS_PROFILE") == "thorough"
"""Whether schedulers that search take as many requests, and as much work for each, as the others."""


def cases(values: Iterable[Any], always: int) -> list[Any]:
    """Parameters of which the first run each time, and the others, each as costly, in the matrix.

    Args:
        values: The parameters.
        always: How many of them run each time.
    """
    return [
        pytest.param(value, marks=() if number < always else pytest.mark.matrix) for number, value in enumerate(values)
    ]

"""Numbers on the command line: finite ones within a range."""

from __future__ import annotations

import math
from typing import Any

import click


class FiniteRange(click.FloatRange):
    """A number within bounds that is neither infinite nor NaN, which compares with no bound."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> float:
        """Read a number.

        Args:
            value: As it was typed, or a default.
            param: The parameter, for the message.
            ctx: Its context.

        Raises:
            BadParameter: It is no number, not finite, or beyond a bound.
        """
        number = float(super().convert(value, param, ctx))
        if not math.isfinite(number):
            self.fail(f"{value} is not a finite number.", param, ctx)
        return number

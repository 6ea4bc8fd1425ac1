"""Evidence of a plugin: workloads to try it on, claims about figures, improvements on a published scheduler."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any, Literal

import attrs
from attrs import validators as check

from headgate.model import Plan, Request


@attrs.frozen(kw_only=True)
class Workload:
    """A named request that shows what a scheduler is for."""

    name: str
    summary: str
    build: Callable[[], Request]


Basis = Literal["exact", "predicted", "calibrated"]
"""What a recomputed figure rests on: the paper alone; a model whose numbers were not fitted to this figure; or a model
some of whose numbers were."""


@attrs.frozen(kw_only=True)
class Point:
    """Where a claim stands in a chart of its paper: `series` at `x`, the printed figure being the height."""

    chart: str
    series: str
    x: float | str


@attrs.frozen(kw_only=True)
class Claim:
    """A printed figure and the computation that reproduces it.

    `verify` returns what this code finds; the claim holds when it is within `tolerance` (relative) of `printed`.
    Without `verify` the figure cannot be recomputed, and `note` says what is missing. A claim whose `expected` is
    False can be computed and is known not to reproduce; `note` says why.

    Attributes:
        basis: What the computation rests on.
        fitted: How many numbers were fitted, where it is calibrated.
        point: Its place in a chart, which `headgate reproduce --html` draws.
    """

    id: str
    source: str
    statement: str
    printed: float | str
    verify: Callable[[], float | str] | None = None
    tolerance: float = 0.0
    basis: Basis = "exact"
    fitted: int = 0
    expected: bool = True
    note: str = ""
    point: Point | None = None


@attrs.frozen(kw_only=True)
class Improvement:
    """A request on which an improved variant stands beside the published scheduler that it comes from, and the optimum.

    The variant is the plugin that names the improvement. It is never worse; `headgate reproduce` says so if it is.

    Attributes:
        statement: What is compared, with its unit, and on which request.
        build: Makes the request.
        published: The published scheduler, by name.
        figure: What a plan of the request reaches; None where it reaches nothing that compares.
        more: Whether more of it is better.
        exact: Another scheduler, by name, whose plan carries a bound on the figure.
        effort: The options of `exact`.
        bound: What no plan passes, where that follows from the request alone.
        options: What makes a variant of the published scheduler, where the plugin is that scheduler itself.
        rounds: How often the two schedulers plan, each from its own plan before, at most; they end when nothing moves.
    """

    id: str
    statement: str
    build: Callable[[], Request]
    published: str
    figure: Callable[[Plan], float | None]
    more: bool = False
    exact: str = ""
    effort: Mapping[str, Any] = attrs.field(factory=dict)
    bound: Callable[[Request], float] | None = None
    options: Mapping[str, Any] = attrs.field(factory=dict)
    rounds: int = attrs.field(default=1, validator=check.ge(1))
    note: str = ""


def _tuple(each: Iterable[Any]) -> tuple[Any, ...]:
    return tuple(each)


@attrs.frozen(kw_only=True)
class Evidence:
    """Everything that a plugin names to show what it is worth; each part may be empty."""

    workloads: tuple[Workload, ...] = attrs.field(default=(), converter=_tuple)
    claims: tuple[Claim, ...] = attrs.field(default=(), converter=_tuple)
    improvements: tuple[Improvement, ...] = attrs.field(default=(), converter=_tuple)

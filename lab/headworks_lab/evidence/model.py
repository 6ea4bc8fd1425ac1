"""Claims about printed figures, and improvements on a published scheduler."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any, Literal

import attrs
from attrs import validators as check

from headworks.model import Plan, Request

Basis = Literal["exact", "predicted", "calibrated", "measured", "by the variant", "worked by hand"]
"""What a recomputed figure rests on: the paper alone; a model whose numbers were fitted to other figures; a model some
of whose numbers were chosen so that this figure comes out; a run of a real engine, at another size and on another
machine than the paper's; another algorithm in place of the published one, which misses it; or, where no paper prints
the figure, arithmetic by hand."""


@attrs.frozen(kw_only=True)
class Point:
    """Position of a claim in a chart of its paper: `series` at `x`, the printed figure being the height."""

    chart: str
    series: str
    x: float | str


@attrs.frozen
class Interval:
    """The median of independent repetitions, and the ends of its 95 % interval, which a single value does not have."""

    median: float
    low: float | None = None
    high: float | None = None


def _words(words: Iterable[str]) -> tuple[str, ...]:
    if isinstance(words, str):
        raise TypeError(f"{words!r} is one text; a tuple of texts is expected")
    return tuple(words)


@attrs.frozen(kw_only=True)
class Claim:
    """A figure of a paper, or one worked by hand from its text, and the computation that arrives at it.

    `verify` returns what this code finds, of repetitions an `Interval`; the claim holds when that, or its median, is
    within `tolerance` (relative) of the figure. Without `verify` the figure cannot be recomputed, and `note` says what
    is missing. A claim whose `expected` is False can be computed and is known not to reproduce; `note` says why.

    Attributes:
        printed: What the paper prints; None where it prints no such figure.
        by_hand: What arithmetic by hand gives; None where a paper prints the figure.
        tolerance: Relative distance at which the figures are still taken for one.
        less: The paper prints that the figure is less than `printed`: ours has to be, by any distance.
        fitted: The numbers and readings that were chosen so that this figure comes out, by name.
        measured: Whether `verify` measures a real engine: what it finds stands beside the printed figure, and is judged
            by no tolerance.
        variant: What stands in place of the published algorithm, which does not arrive at the figure; "" for nothing.
        model: Whether a model stands between the paper and the figure, which then is predicted, not exact.
        follows: Claims, by id, from which this one follows by arithmetic: it is no evidence of its own.
        family: Claims of one family count once where this code finds the same figure for them, or, where they do not
            reproduce, where the same figure is printed.
        point: Its place in a chart, which `headworks reproduce --html` draws.
    """

    id: str
    source: str
    statement: str
    printed: float | str | None = None
    by_hand: float | str | None = attrs.field(default=None)
    verify: Callable[[], float | str | Interval] | None = None
    tolerance: float = attrs.field(default=0.0, validator=check.ge(0))
    less: bool = False
    measured: bool = False
    variant: str = ""
    model: bool = False
    fitted: tuple[str, ...] = attrs.field(default=(), converter=_words)
    follows: tuple[str, ...] = attrs.field(default=(), converter=_words)
    family: str = ""
    expected: bool = True
    note: str = ""
    point: Point | None = None

    @by_hand.validator
    def _one_figure(self, _attribute: Any, value: float | str | None) -> None:
        if (value is None) == (self.printed is None):
            raise ValueError(f"claim {self.id}: either a printed figure or one worked by hand is expected")

    @property
    def figure(self) -> float | str:
        """The figure that is claimed, printed or worked by hand."""
        found = self.by_hand if self.printed is None else self.printed
        assert found is not None
        return found

    @property
    def basis(self) -> Basis:
        """Basis of the computation."""
        if self.printed is None:
            return "worked by hand"
        if self.measured:
            return "measured"
        if self.variant:
            return "by the variant"
        return "calibrated" if self.fitted else "predicted" if self.model else "exact"


@attrs.frozen(kw_only=True)
class Improvement:
    """A request on which an improved variant stands beside the published scheduler that it comes from, and the optimum.

    The variant is the plugin that names the improvement. It is never worse; `headworks reproduce` says so if it is.

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
        printed: What makes the published scheduler as it was published, where its defaults are not.
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
    printed: Mapping[str, Any] = attrs.field(factory=dict)
    rounds: int = attrs.field(default=1, validator=check.ge(1))
    note: str = ""

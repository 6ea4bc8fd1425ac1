"""What a user may set."""

from __future__ import annotations

from typing import Literal

import attrs
from attrs import validators as check


@attrs.frozen(kw_only=True)
class Options:
    """Options of `optimal`.

    Attributes:
        objective: `traffic` places the tasks as they are, for the least traffic between nodes and then the fewest
            nodes; `throughput` chooses numbers of tasks too, by profiles; `auto` takes throughput where there are
            profiles.
        effort: Work that the search may do, in CP-SAT's deterministic seconds (about a second each on an idle core).
            None leaves it six tenths of the deadline by the clock alone: then an unproven plan depends on the machine.
        instances: Tasks of a component are at most so many times the number of machines (throughput).
        tolerance: Relative gap at which throughput counts as proven.
        max_columns: A request that needs a larger model is not searched.
        measured: Take demands and traffic from measurements where there are any; False uses declarations.
    """

    objective: Literal["auto", "traffic", "throughput"] = "auto"
    effort: float | None = attrs.field(default=None)
    instances: int = attrs.field(default=4, validator=[check.ge(1), check.le(100)])
    tolerance: float = attrs.field(default=5e-4, validator=[check.ge(1e-6), check.lt(1)])
    max_columns: int = attrs.field(default=6_000, validator=[check.ge(1), check.le(1_000_000)])
    measured: bool = True

    @effort.validator
    def _positive(self, _: attrs.Attribute[float | None], value: float | None) -> None:
        if value is not None and not 0 < value < 1e6:
            raise ValueError(f"effort is {value}, a number above 0 and below a million is needed")

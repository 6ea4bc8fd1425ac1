"""Options of `optimal`."""

from __future__ import annotations

from typing import Literal

import attrs
from attrs import validators as check


@attrs.frozen(kw_only=True)
class Options:
    """Options of `optimal`.

    Attributes:
        objective: `load` places the tasks as they are, so that the networks of nodes that state a bandwidth bear the
            load, and then for the least traffic between nodes and the fewest nodes; `traffic` does so for the latter
            alone; `throughput` chooses numbers of tasks too, by profiles; `auto` takes throughput where there are
            profiles, else load.
        effort: Work that the search may do for each second of the deadline, in CP-SAT's deterministic seconds (one
            may take several on a core): the same effort gives the same plan on any machine. Six tenths of the deadline
            end it by the clock all the same; a plan that the clock cut short may differ from run to run, and says so by
            its reason `ended-early`.
        instances: Tasks of a component are at most so many times the number of machines (throughput).
        tolerance: Relative gap at which throughput counts as proven.
        within: Part of the highest throughput found that is given up for fewer tasks; the bound, and whether it was
            reached, are those of the highest.
        max_columns: Ways to fill a node that are listed, at most, where a bound leaves so many.
        ask: Whether `dstorm-plus` and `dstorm`, for throughput `hetero-plus` and `hetero`, are asked for their plans,
            as far as they are installed: the search starts from the best, and its plan is never worse.
        measured: Take demands and traffic from measurements where there are any; False uses declarations.
    """

    objective: Literal["auto", "load", "traffic", "throughput"] = "auto"
    effort: float = attrs.field(default=0.4, validator=[check.gt(0), check.lt(1e6)])
    instances: int = attrs.field(default=4, validator=[check.ge(1), check.le(100)])
    tolerance: float = attrs.field(default=5e-4, validator=[check.ge(1e-6), check.lt(1)])
    within: float = attrs.field(default=0.01, validator=[check.ge(0), check.lt(1)])
    max_columns: int = attrs.field(default=500_000, validator=[check.ge(1), check.le(5_000_000)])
    ask: bool = True
    measured: bool = True

"""Options of SPS, DPS and SPS v2: each place where the thesis can be read in two ways."""

from __future__ import annotations

from typing import Literal

import attrs
from attrs import validators as check

Rounding = Literal["half-up", "half-even"]
Undeclared = Literal["demand", "workers"]
Selection = Literal["own-first", "by-id"]


@attrs.frozen(kw_only=True)
class DpsOptions:
    """Options of `dps`, and of the other two as well.

    Attributes:
        rounding: `half-up` is Java's `Math.round`; `half-even` is Python's `round`.
        undeclared: What a topology desires that names no `desired_nodes`: `demand`, as many nodes as its workers and
            no fewer than its tasks fill of the largest node; `workers`, one node a worker (the thesis keeps
            both numbers equal).
        selection: Which nodes a topology gets whose number changes: `own-first` keeps those that it has as far as
            the number allows; `by-id` starts anew. The text does not say.
    """

    rounding: Rounding = attrs.field(default="half-up", validator=check.in_(("half-up", "half-even")))
    undeclared: Undeclared = attrs.field(default="demand", validator=check.in_(("demand", "workers")))
    selection: Selection = attrs.field(default="own-first", validator=check.in_(("own-first", "by-id")))


@attrs.frozen(kw_only=True)
class SpsOptions(DpsOptions):
    """Options of `sps`.

    Attributes:
        reading: Lines 15 to 21 of Table 2. `X` carries the nodes left in the cluster through the topologies of a
            level, as DPS does: it gives Tables 8 and 12. `Y` carries those left of the level, as printed.
        total: Line 14 multiplies by the smaller of C and ST (`min`), or by `C` as printed, which is wrong when the
            cluster has more nodes than are desired.
        below_minima: With fewer nodes than all minima together, which the text leaves open: `hold` changes nothing;
            `by-priority` serves the most important topologies with their minima and starves the others.
    """

    reading: Literal["X", "Y"] = attrs.field(default="X", validator=check.in_(("X", "Y")))
    total: Literal["min", "C"] = attrs.field(default="min", validator=check.in_(("min", "C")))
    below_minima: Literal["hold", "by-priority"] = attrs.field(
        default="hold", validator=check.in_(("hold", "by-priority"))
    )


@attrs.frozen(kw_only=True)
class SpsV2Options(DpsOptions):
    """Options of `sps-v2`.

    Attributes:
        surplus: Who gets the nodes above the minima: `proportional` shares them by what is desired above the
            minimum, what rounding leaves going to the most important; `strict` gives the most important all that
            they desire first.
        below_minima: As for SPS.
    """

    surplus: Literal["proportional", "strict"] = attrs.field(
        default="proportional", validator=check.in_(("proportional", "strict"))
    )
    below_minima: Literal["hold", "by-priority"] = attrs.field(
        default="by-priority", validator=check.in_(("by-priority", "hold"))
    )

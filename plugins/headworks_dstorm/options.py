"""Options of `dstorm` and `dstorm-plus`: the paper's parameters, and one for each thing that the paper leaves open."""

from __future__ import annotations

from typing import Literal

import attrs
from attrs import validators as check

ON_SPARK = {"spark": {"scheduling_interval": 0.0}}
"""The loop has an interval of its own; with the paper's ten minutes a query that starts later waits for all of it."""


@attrs.frozen(kw_only=True)
class Options:
    """Options of D-Storm; the defaults are those of section 5.5.1.2 where it names a value.

    Attributes:
        alpha: Weight of traffic that a task brings onto the node at once (Eq. 5.5).
        beta: Weight of traffic that may follow it there (Eq. 5.5).
        threshold: Usage of a node's critical resource above which beta counts as 0 (D_Threshold).
        threshold_usage: Whether that usage is taken `before` the candidate is placed or `after`.
        costless: Where a task comes that brings traffic and adds nothing to the critical resource, for which
            Eq. 5.5 divides by zero: `first` (infinite priority) or `last` (none).
        measured: Take demands and traffic from measurements where there are any; False uses declarations.
        demand: Load that is planned for: `measured`, or `offered`, at which a topology that completes less than arrives
            needs more CPU in proportion, and sends more (Eq. 5.1); where that has no room, the measured one.
        memory: Whether memory is `kept` at the offered load, or `linear` in the input as well (Eq. 5.1).
        fallback: What follows when nodes run out before tasks do (line 6 of Algorithm 1): `none` leaves the rest
            unplaced, with reasons; `repair` leaves everything where it runs, if every task does, and else tries first
            fit and then one exchange for each.
        latency_constraint: Milliseconds of complete latency that no topology may exceed. One that works in batches may
            take twice the time from one batch to the next, where that is longer.
        consolidation_threshold: Utilisation below which a node counts as little used.
        throughput_tolerance: Share of the offered load by which throughput may fall short and still match it.
        scheduling_interval: Seconds between two plans that the control loop carries out, except for tasks without a
            slot; 0 on Spark, where a move restarts nothing.
    """

    alpha: float = attrs.field(default=10.0, validator=[check.ge(0), check.lt(float("inf"))])
    beta: float = attrs.field(default=1.0, validator=[check.ge(0), check.lt(float("inf"))])
    threshold: float = attrs.field(default=0.8, validator=check.ge(0))
    threshold_usage: Literal["before", "after"] = attrs.field(
        default="before", validator=check.in_(("before", "after"))
    )
    costless: Literal["first", "last"] = attrs.field(default="first", validator=check.in_(("first", "last")))
    measured: bool = True
    demand: Literal["measured", "offered"] = attrs.field(
        default="measured", validator=check.in_(("measured", "offered"))
    )
    memory: Literal["kept", "linear"] = attrs.field(default="kept", validator=check.in_(("kept", "linear")))
    fallback: Literal["none", "repair"] = attrs.field(default="repair", validator=check.in_(("none", "repair")))
    latency_constraint: float = attrs.field(default=500.0, validator=check.gt(0))
    consolidation_threshold: float = attrs.field(default=0.5, validator=[check.gt(0), check.le(1)])
    throughput_tolerance: float = attrs.field(default=0.05, validator=[check.ge(0), check.lt(1)])
    scheduling_interval: float = attrs.field(default=600.0, validator=check.ge(0))


@attrs.frozen(kw_only=True)
class PlusOptions(Options):
    """Options of D-Storm, which makes one of the starts, and of what follows it.

    Attributes:
        steps: Steps of annealing in all, 0 for none; by default they grow with the number of tasks, up to
            3,000,000, and to 160,000 for each second of the deadline.
        least_gain: Share of all traffic by which a new placement has to be better than the running one, if all tasks
            run on nodes that hold them; one on fewer nodes only has to be better.
        node_cost: Share of all traffic that a node in use counts as. With more, streams are cut to save nodes; with 0
            they are kept whole on as many as it takes.
        by_price: Whether nodes that state prices count in proportion to these, the mean one as `node_cost`.
        objective: `load` for a plan that bears the load, as far as nodes state what their networks bear, and then has
            little traffic between nodes; `traffic` for the latter alone.
    """

    steps: int | None = attrs.field(default=None, validator=check.optional(check.ge(0)))
    least_gain: float = attrs.field(default=0.01, validator=[check.ge(0), check.le(1)])
    node_cost: float = attrs.field(default=0.01, validator=[check.ge(0), check.le(1)])
    by_price: bool = False
    objective: Literal["load", "traffic"] = attrs.field(default="load", validator=check.in_(("load", "traffic")))

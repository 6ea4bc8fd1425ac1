"""Options of `hetero` and `hetero-plus`: one for each thing that the papers leave open."""

from __future__ import annotations

from typing import Literal

import attrs
from attrs import validators as check


@attrs.frozen(kw_only=True)
class Options:
    """Options of `hetero`; the defaults are the readings under which its test vectors were worked.

    How a component's output reaches several others is said by the topology, `Stream.fanout`; `downstream` may have
    the algorithms take Eq. 6 literally instead.

    Attributes:
        initial_rate: R0, tuples/s of the busiest spout with which Algorithm 2 begins.
        counts: Whether numbers of tasks are `chosen` (the papers) or stay as `given` (an engine that cannot rescale).
        restore: What line 13 restores: `graph-and-rate`, or the `graph` alone as it is printed.
        suitable: The most suitable machine for a new task: where it needs the `least-tcu`, or the `least-utilised`.
        capacity: Whether room for a new task is judged `after` the other tasks of its component gave up their
            share, or `before`.
        overloaded: Which of several over-utilised machines comes first: the one of `lowest-index`, or the `fullest`.
        downstream: What x of Eq. 6 counts: `components` share a component's output as the topology says, or all
            `tasks` downstream share it evenly, as it is printed; the plan names the rate that the topology sustains.
        max_tasks: More tasks than this are not made.
    """

    initial_rate: float = attrs.field(default=1.0, validator=[check.gt(0), check.lt(1e12)])
    counts: Literal["chosen", "given"] = "chosen"
    restore: Literal["graph-and-rate", "graph"] = "graph-and-rate"
    suitable: Literal["least-tcu", "least-utilised"] = "least-tcu"
    capacity: Literal["after", "before"] = "after"
    overloaded: Literal["lowest-index", "fullest"] = "lowest-index"
    downstream: Literal["components", "tasks"] = "components"
    max_tasks: int = attrs.field(default=10_000, validator=[check.ge(1), check.le(100_000)])


@attrs.frozen(kw_only=True)
class PlusOptions:
    """Options of `hetero-plus`.

    Attributes:
        initial_rate: Tuples/s of the busiest spout to begin with.
        counts: Whether numbers of tasks are `chosen` (the papers) or stay as `given` (an engine that cannot rescale).
        at_once: Tasks of a component that may be added at once (the authors' own code goes up to 200).
        trials: Sizes of tasks that are drawn, from the request's seed, to pack the machines with.
        budget: Cells of the tables with which the local search finds the best numbers of tasks of two components at
            a time: the same budget gives the same plan on any machine.
        within: Part of the highest rate found that is given up for fewer tasks, as far as Algorithm 2 reaches less.
        node_cost: Share of the highest rate found that a node in use counts as, where numbers of tasks are chosen.
            Nodes that are worth less are left; with 0 none is.
        by_price: Whether nodes that state prices count in proportion to these, the mean one as `node_cost`.
        max_tasks: More tasks than this are not made.
    """

    initial_rate: float = attrs.field(default=1.0, validator=[check.gt(0), check.lt(1e12)])
    counts: Literal["chosen", "given"] = "chosen"
    at_once: int = attrs.field(default=200, validator=[check.ge(1), check.le(10_000)])
    trials: int = attrs.field(default=400, validator=[check.ge(0), check.le(1_000_000)])
    budget: int = attrs.field(default=150_000_000, validator=[check.ge(0), check.le(100_000_000_000)])
    within: float = attrs.field(default=0.01, validator=[check.ge(0), check.lt(1)])
    node_cost: float = attrs.field(default=0.0, validator=[check.ge(0), check.le(1)])
    by_price: bool = False
    max_tasks: int = attrs.field(default=10_000, validator=[check.ge(1), check.le(100_000)])

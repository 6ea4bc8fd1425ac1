"""Options of OTD: thresholds that the paper does not print, and places where it can be read in two ways."""

from __future__ import annotations

from typing import Literal

import attrs
from attrs import validators as check


@attrs.frozen(kw_only=True)
class Options:
    """Options of `otd`: thresholds, and what it may move.

    The paper prints no thresholds. Algorithm 2 computes the lowest-load Worker of each node and then goes through
    all low-load Workers: an executor's gain depends on the node alone, so both choose the same executor and node.

    Attributes:
        high_load: A Worker is under high load above this share of its CPU ...
        high_queue: ... or when one of its executors has more tuples than this in its queue.
        low_load: A Worker is under low load below this share of its CPU.
        threshold: Least gain of Algorithm 2, as a share of all traffic: more than this. With 0 and noisy measurements
            OTD never comes to rest.
        workers: A Worker is what runs on one of the `nodes`, which has all its CPU, since Headworks gives a topology
            one worker process on a node; or as in the paper what runs in one of the `slots`, of which each has an equal
            part of its node's CPU. With `slots` a topology is dealt over as many as it has workers, and Algorithm 1
            relieves one by another on the same node too.
        spouts: Whether spouts `move` like any executor, as the text says, or `stay`.
        guard: Move nothing to a Worker that would be under high load then. So OTD comes to rest: Algorithm 1 leaves
            fewer executors on Workers under high load each time, Algorithm 2 less traffic, and neither undoes what the
            other did. Not in the paper (False), under which an executor may be moved to and fro for ever.
        capacity: Executors go only where there is room for them (`kept`), so that the best of those competes; or, as
            Algorithms 1 and 2 are printed, the best of all competes, whatever room there is (`ignored`). A migration
            that would then overload a node is not carried out, and its round moves nothing.
        measured: Take what was measured where there is anything, or declared demands and rates alone.
    """

    high_load: float = attrs.field(default=0.8, validator=check.gt(0))
    high_queue: float = attrs.field(default=1000.0, validator=check.gt(0))
    low_load: float = attrs.field(default=0.6, validator=check.gt(0))
    threshold: float = attrs.field(default=0.002, validator=[check.ge(0), check.lt(1)])
    workers: Literal["nodes", "slots"] = attrs.field(default="nodes", validator=check.in_(("nodes", "slots")))
    spouts: Literal["move", "stay"] = attrs.field(default="move", validator=check.in_(("move", "stay")))
    guard: bool = True
    capacity: Literal["kept", "ignored"] = attrs.field(default="kept", validator=check.in_(("kept", "ignored")))
    measured: bool = True

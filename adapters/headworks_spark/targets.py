"""Monitor and executor of one query, or of all queries of a session at once: seen together, placed all or none."""

from __future__ import annotations

import contextlib
import time
from collections import defaultdict
from itertools import chain
from statistics import median
from typing import TYPE_CHECKING

import attrs

from headworks.errors import EngineEndedError
from headworks.model import FrozenMap, Metrics, NodeSample, Observation, Receipt, Step
from headworks_spark import elastic, executor, monitor
from headworks_spark.discovery import NoBatchError
from headworks_spark.driver.reach import ending_with_driver
from headworks_spark.driver.session import executors, level_of
from headworks_spark.driver.usage import with_usage
from headworks_spark.events.batch import LEAST
from headworks_spark.queries import SparkQueries
from headworks_spark.target import SparkTarget

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from headworks.model import Plan

Target = SparkTarget | SparkQueries


def observe(target: Target, window: float) -> Observation:
    """Watch for `window` seconds, and longer if no batch ended since places were changed; see `monitor.observe`.

    Of several queries, one without such a batch is waited for half a minute at most, whatever its trigger: the
    others' round is not held up longer. A query that waits without a node is not waited for.

    Args:
        target: A query, or all of a session.
        window: Seconds.

    Raises:
        EngineEndedError: The query or the session has ended, or places were given back.
        EngineWaitsError: No active query has ended a batch with data yet.
        EngineError: Nothing listens to the session.
    """
    with ending_with_driver(target.spark):
        if isinstance(target, SparkTarget):
            return monitor.observe(target, window)
        try:
            return _observe_all(target, window)
        except Exception:
            target.look()  # raises the reason, if it is that the session has ended
            raise


def _observe_all(target: SparkQueries, window: float) -> Observation:
    target.look()
    if not target.members:
        raise NoBatchError(target.awaited)
    opened, before = monitor.begin_window(target.members[0])
    target.pause(window)
    seen = merged(tuple(_watched(target.members, opened)))
    if not seen.topologies:
        raise NoBatchError("; ".join(seen.notes))
    noted = attrs.evolve(seen, notes=(*target.notes, *seen.notes))
    return with_usage(target.spark, noted, before, executors(target.spark))


def _watched(members: Sequence[SparkTarget], opened: float) -> Iterator[Observation]:
    deadline = time.monotonic() + LEAST
    for each in members:
        own = None if len(members) == 1 else max(deadline - time.monotonic(), 0.0)
        try:
            yield monitor.watched(each, opened, patience=own)
        except EngineEndedError as error:
            yield Observation(notes=(str(error),))


def look(target: Target) -> Observation:
    """Nodes, topologies and places as they are now; see `monitor.look`. Queries that have ended are left out.

    Args:
        target: A query, or all of a session.

    Raises:
        EngineEndedError: The one query has ended, or its places were given back.
        EngineError: Nothing listens to the session.
    """
    with ending_with_driver(target.spark):
        if isinstance(target, SparkTarget):
            return monitor.look(target)
        seen = []
        for each in _alive(target):
            with contextlib.suppress(EngineEndedError):  # one may end just now
                seen.append(monitor.look(each))
        return merged(seen) if seen else Observation()


def merged(seen: Sequence[Observation]) -> Observation:
    """One observation of several queries on the same nodes; what nodes were seen to do for each is added up."""
    metrics = Metrics(
        window=max(each.metrics.window for each in seen),
        tasks=tuple(chain.from_iterable(each.metrics.tasks for each in seen)),
        flows=tuple(chain.from_iterable(each.metrics.flows for each in seen)),
        streams=tuple(chain.from_iterable(each.metrics.streams for each in seen)),
        nodes=tuple(_nodes(seen)),
        topologies=tuple(chain.from_iterable(each.metrics.topologies for each in seen)),
    )
    return Observation(
        cluster=max((each.cluster for each in seen), key=lambda each: len(each.nodes)),
        topologies=tuple(chain.from_iterable(each.topologies for each in seen)),
        assignment=FrozenMap(chain.from_iterable(each.assignment.items() for each in seen)),
        metrics=metrics,
        notes=tuple(chain.from_iterable(each.notes for each in seen)),
    )


def _nodes(seen: Sequence[Observation]) -> Iterator[NodeSample]:
    """What nodes did for all queries together; of what these tell of a node's speed the median counts."""
    samples: dict[str, list[NodeSample]] = defaultdict(list)
    for sample in chain.from_iterable(each.metrics.nodes for each in seen):
        samples[sample.node].append(sample)
    for node, own in sorted(samples.items()):
        used = [each.cpu for each in own if each.cpu is not None]
        speeds = [each.speed for each in own if each.speed is not None]
        speed = median(speeds) if speeds else None
        yield NodeSample(node=node, cpu=sum(used) if used else None, source="tasks", speed=speed)


def preflight(target: Target, plan: Plan) -> tuple[str, ...]:
    """Parts of a plan that the session cannot enforce, one sentence each.

    Args:
        target: A query, or all of a session.
        plan: The plan that is to be carried out.
    """
    said = chain.from_iterable(executor.preflight(each, plan) for each in _alive(target))
    return tuple(dict.fromkeys(said))


def keeps(target: Target, plan: Plan) -> bool:
    """True if all that a plan wants is asked for already.

    Args:
        target: A query, or all of a session.
    """
    return all(executor.keeps(each, plan) for each in _alive(target))


def execute(target: Target, plan: Plan) -> Receipt:
    """Ask for a plan, of several queries for all of it or nothing; see `executor.execute`.

    Args:
        target: A query, or all of a session.
    """
    done: list[tuple[SparkTarget, Receipt]] = []
    for each in _alive(target):
        receipt = executor.execute(each, plan)
        if not receipt.done:
            for other, earlier in reversed(done):
                executor.rollback(other, earlier)
            return receipt
        done.append((each, receipt))
    return _joined(target, [receipt for _, receipt in done])


def rollback(target: Target, receipt: Receipt) -> Receipt:
    """Ask for what was asked before the receipt's plan; a query that waited then is left to Spark.

    Args:
        target: A query, or all of a session.
        receipt: What `execute` returned.
    """
    return _joined(target, [executor.rollback(each, receipt) for each in _alive(target)])


def scale(target: Target, add: int, drain: Sequence[str]) -> Receipt:
    """Drain nodes, then add others; see `elastic.scale`.

    Args:
        target: A query, or all of a session.
        add: Number of executors to add.
    """
    alive = _alive(target)
    if not alive:
        step = Step(action="scale", subject="executors", done=False, message="no query is active")
        return Receipt(done=False, steps=(step,))
    return elastic.scale(alive[0], add, drain)


def _alive(target: Target) -> tuple[SparkTarget, ...]:
    """The queries that a plan can still be carried out for: one may end while it is planned."""
    if isinstance(target, SparkTarget):
        return (target,)
    return tuple(each for each in target.members if each.query is None or each.query.isActive)


def _joined(target: Target, receipts: Sequence[Receipt]) -> Receipt:
    if len(receipts) == 1:
        return receipts[0]
    return Receipt(
        done=all(each.done for each in receipts),
        level=level_of(target.spark),
        steps=tuple(chain.from_iterable(each.steps for each in receipts)),
        undo=FrozenMap(chain.from_iterable(each.undo.items() for each in receipts)),
    )

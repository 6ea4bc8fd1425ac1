"""Cost of a tuple's way from pairs of placements: one worker, two workers of a machine, two nodes with own networks."""

from __future__ import annotations

import statistics
from typing import TYPE_CHECKING

import attrs

from headworks.errors import EngineError
from headworks.model import TransferCost
from headworks_lab.profiling.placer import NAME, Placer, alternating, together
from headworks_lab.profiling.run import AMPLE, one_of_each
from headworks_local.isolated.ability import network_problem
from headworks_local.isolated.limits import NodeLimits
from headworks_storm.demo.experiment import experiment
from headworks_storm.local.cluster import SupervisorSpec
from headworks_storm.release.artefacts import STORM
from headworks_storm.workload.describe import Load

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from pathlib import Path

    from headworks.model import Topology
    from headworks.plugins.host import PluginHost
    from headworks_storm.demo.experiment import Measured, ServedCluster
    from headworks_storm.workload.find import Submission

TOGETHER, NEAR, APART = "one worker", "one machine", "two nodes"
"""Placements. Streams cross workers in the latter two, over the machine's own loopback, and over a network."""
LEAST = 1.5
"""Times the tuples of the lowest level from which on the growth of CPU tells the cost. With less, noise does."""


@attrs.frozen(kw_only=True)
class TransferPoint:
    """A topology, measured in one placement at one rate.

    Attributes:
        placement: `TOGETHER`, `NEAR` or `APART`.
        tuples: Tuples/s between tasks. `between`: those between workers.
        tasks: CPU points of all tasks' threads. `workers`: those of the worker processes.
    """

    placement: str
    tuples: float
    between: float
    tasks: float
    workers: float


def transfer_cost(points: Sequence[TransferPoint], placement: str) -> TransferCost | None:
    """The cost of a tuple's way: what CPU grows by with tuples, beyond what it grows by in one worker.

    A pair of placements is compared by the growth of CPU between two rates: what an idle worker takes is none of it.
    What the threads of tasks take more is for sending, the rest of their processes for receiving.

    Args:
        points: At two rates or more of each placement.
        placement: `NEAR` or `APART`.

    Returns:
        The cost, each at least 0; None if rates are too near to each other, or nothing went between workers.
    """
    apart = [each for each in points if each.placement == placement]
    slopes = [_slopes([each for each in points if each.placement == TOGETHER]), _slopes(apart)]
    between = sum(each.between for each in apart) / max(sum(each.tuples for each in apart), 1e-9)
    if None in slopes or not between:
        return None
    (tasks, rest), (more_tasks, more_rest) = (each for each in slopes if each)
    return TransferCost(send=_cost(more_tasks - tasks, between), receive=_cost(more_rest - rest, between))


def _slopes(points: Sequence[TransferPoint]) -> tuple[float, float] | None:
    """Points of CPU for each tuple/s more: in tasks, and in the rest of their workers."""
    if len(points) < 2 or max(each.tuples for each in points) < LEAST * min(each.tuples for each in points):
        return None
    tuples = [each.tuples for each in points]
    tasks = statistics.linear_regression(tuples, [each.tasks for each in points]).slope
    return tasks, statistics.linear_regression(tuples, [each.workers - each.tasks for each in points]).slope


def _cost(more: float, between: float) -> float:
    return float(f"{max(more / between, 0.0):.3g}")


def measure_transfer(
    host: PluginHost,
    submission: Submission,
    rates: Sequence[float],
    window: float,
    folder: Path,
    say: Callable[[str], None],
    *,
    text: str = "",
    version: str = STORM,
) -> tuple[TransferPoint, ...]:
    """Measure a topology in every placement at some rates, on clusters of two supervisors.

    Args:
        host: The plugins.
        submission: One topology.
        rates: Multiples of its declared rate that it keeps up with in every placement; none measures nothing.
        window: Seconds that each is measured.
        folder: Scratch space.
        say: Takes progress messages.
        text: The text that components with the role `text` read.
        version: Release of Storm.

    Returns:
        The points; none of `APART` where nodes cannot have networks of their own on this machine.

    Raises:
        EngineError: A cluster or the topology fail, or nothing was processed.
    """
    (whole,) = submission.topologies
    submission = attrs.evolve(submission, topologies=(attrs.evolve(one_of_each(whole), workers=2),))
    found: list[TransferPoint] = []
    for apart in (False, *[True] * (not network_problem())) if rates else ():
        placer, inside = Placer(), folder / (APART if apart else NEAR).replace(" ", "-")
        inside.mkdir()
        supervisors = tuple(_supervisor(number) for number in range(2))
        bounds = (NodeLimits(),) * 2 if apart else None
        own = host.with_plugin(NAME, placer)
        with experiment(own, supervisors, inside, scheduler=NAME, version=version, fill=None, apart=bounds) as cluster:
            for placement in (APART,) if apart else (TOGETHER, NEAR):
                placer.place = together if placement == TOGETHER else alternating
                for rate in rates:
                    (described,) = submission.described(load=Load(rate=rate), text=text)
                    found.append(_measure(cluster, whole, placement, described, window))
                    point = found[-1]
                    say(
                        f"{placement}: {point.tuples:,.0f} tuples/s, {point.between:,.0f} between workers, "
                        f"{point.workers:.1f} CPU points, {point.tasks:.1f} in tasks"
                    )
    return tuple(found)


def _supervisor(number: int) -> SupervisorSpec:
    return SupervisorSpec(host=f"127.0.0.{11 + number}", cpu=AMPLE, memory_mb=AMPLE, slots=1)


def _measure(
    cluster: ServedCluster, topology: Topology, placement: str, described: dict[str, object], window: float
) -> TransferPoint:
    cluster.run(described, shadow=False)
    cluster.warm_up()
    measured = cluster.measure(window)
    cluster.end(topology.id)
    if not measured.tuples:
        raise EngineError(f"{topology.id} sent no tuple that was measured: there is nothing to profile")
    between = 0.0 if placement == TOGETHER else measured.tuples_between
    return TransferPoint(
        placement=placement,
        tuples=measured.tuples,
        between=between,
        tasks=measured.cpu,
        workers=sum(_processes(measured)),
    )


def _processes(measured: Measured) -> Iterator[float]:
    return (each.cpu or 0.0 for each in measured.seen.metrics.nodes)

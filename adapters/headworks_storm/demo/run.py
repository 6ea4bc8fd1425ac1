"""The run of the demo from first daemon to last: a topology placed by Storm, then by one scheduler after another."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any

import attrs

from headworks.cli.tables import moves_table
from headworks.model import Component, FrozenMap, Kind, Resources, Stream, Topology
from headworks.problem import Problem
from headworks.report.format import percent
from headworks_storm.demo.experiment import LOOK, Measured, Reassignment, experiment, moves_by_host
from headworks_storm.release.artefacts import STORM
from headworks_storm.workers.reports import steady
from headworks_storm.workload.catalogue import ROLES
from headworks_storm.workload.describe import Load, describe
from headworks_storm.workload.find import default_text

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from pathlib import Path

    from headworks import PluginHost
    from headworks_local.isolated.limits import NodeLimits
    from headworks_storm.demo.experiment import ServedCluster
    from headworks_storm.local.cluster import SupervisorSpec

NAME = "word-count"
HEAP = 64.0
"""MB of one task."""
LINES = 400.0
"""Lines per second: 2,000 words or more, which a small machine counts with ease. With many more, the cores that all
nodes share are the limit, and placements differ by noise."""
LIGHT = 0.2
"""Share of all CPU after the drop of the load, at which D-Storm should need fewer nodes."""
LIKE = "dstorm"
"""The placement that is made once more, by seats."""
PENDING = {"topology.max.spout.pending": 100}
"""Tuples of a spout's task that are under way at most where spouts emit as fast as they may."""
SEATS = {"headworks.seats.fit": 3.0}
"""A worker has heap for all tasks with seats: whatever was planned without seats, it can have."""
NETWORK = 2e6
"""Bits per second of each node that is apart, if nothing else is asked for: six times what Storm's own placement takes
at these lines per second. With much less, it does not bear them; with much more, no placement waits for it."""
WINDOW = 15.0
"""Seconds that each placement is measured."""


@attrs.frozen(kw_only=True)
class TriedScheduler:
    """A scheduler that the demo tries: its name, its options, and the load that it plans for (share of all CPU)."""

    label: str
    scheduler: str
    options: FrozenMap[str, Any] = FrozenMap()
    load: float


@attrs.frozen(kw_only=True)
class TriedPlacement:
    """One placement.

    Attributes:
        label: Its name.
        change: The reassignment that led there, None for Storm's own.
        measured: The measurement under it.
        begin: Seconds since 1970 of the change, or of the measurement where nothing changed.
        rates: Tuples at the last bolts in each second from then on.
        bears: Tuples of spouts completed in a second where spouts emit as fast as they may; None if not measured.
    """

    label: str
    change: Reassignment | None = None
    measured: Measured
    begin: float = 0.0
    rates: tuple[float, ...] = ()
    bears: float | None = None


@attrs.frozen(kw_only=True)
class StormDemoResult:
    """The result of the demo.

    Attributes:
        storm: Release of Storm. `load`: share of all CPU that was planned for.
        apart: Whether nodes had a network, and processor time, of their own.
        ready: Seconds until the cluster was up. `seconds`: how long all of it took.
        phases: Each placement, in the order tried; the first is Storm's own.
        memory_mb: Resident memory of all processes of the cluster.
    """

    storm: str
    load: float
    apart: bool
    ready: float
    seconds: float
    memory_mb: float
    phases: tuple[TriedPlacement, ...]


def topology() -> Topology:
    """Lines of a text, split into words, counted word by word; a worker for each of the three nodes."""
    components = (
        Component(id="lines", kind=Kind.SPOUT, parallelism=3, rate=LINES, demand=Resources(cpu=10, memory=HEAP)),
        Component(id="split", parallelism=6, selectivity=6.0, demand=Resources(cpu=20, memory=HEAP)),
        Component(id="count", parallelism=6, demand=Resources(cpu=20, memory=HEAP)),
    )
    streams = (Stream(source="lines", target="split"), Stream(source="split", target="count", grouping="fields"))
    return Topology(id=NAME, components=components, streams=streams, workers=3, worker_heap=2048.0)


def trials(load: float) -> tuple[TriedScheduler, ...]:
    """The schedulers that the demo tries; the static one is asked to place a running topology anew."""
    anew = FrozenMap({"rebalance": True})
    return (
        TriedScheduler(label="resource-aware", scheduler="resource-aware", options=anew, load=load),
        TriedScheduler(label="dstorm", scheduler="dstorm", load=load),
        TriedScheduler(label=f"dstorm at {LIGHT:.0%} load", scheduler="dstorm", load=LIGHT),
    )


def run(
    host: PluginHost,
    supervisors: tuple[SupervisorSpec, ...],
    load: float,
    folder: Path,
    say: Callable[[str], None],
    show: Callable[[Any], None],
    *,
    version: str = STORM,
    apart: tuple[NodeLimits, ...] | None = None,
) -> StormDemoResult:
    """Run the demo on a cluster of its own; every process that it starts ends with it.

    Args:
        load: Share of all CPU to plan for.
        say: Takes progress messages.
        show: Takes tables for a person.
        apart: Bounds of the node of each supervisor, None if nodes are not apart.

    Raises:
        EngineError: The cluster or the topology fail, or a plan cannot be made or carried out.
    """
    begin = time.monotonic()
    sizes = ", ".join(f"{each.cpu:.0f}" for each in supervisors)
    say(f"starting ZooKeeper, Nimbus and {len(supervisors)} supervisors of {sizes} points")
    with experiment(host, supervisors, folder, scheduler="dstorm", version=version, apart=apart) as cluster:
        ready = time.monotonic() - begin
        say(f"the cluster is up; submitting a word count of {len(topology().tasks())} tasks to Storm's own scheduler")
        cluster.run(_described())
        phases = _phases(cluster, load, say, show)
        seated = _by_seats(cluster, next(each for each in phases if each.label == LIKE), say)
        # Without bounds on their network all placements bear what the cores of this machine do.
        phases = (*(_borne(cluster, phases, say) if apart else phases), seated)
        memory = cluster.storm.memory_mb()
        say("ending the cluster")
    seconds = time.monotonic() - begin
    return StormDemoResult(
        storm=version,
        load=load,
        apart=apart is not None,
        ready=ready,
        seconds=seconds,
        memory_mb=memory,
        phases=phases,
    )


def _described(conf: Mapping[str, Any] | None = None, *, rate: float = 1.0) -> dict[str, Any]:
    load = Load(cpu=1.0, rate=rate)
    return describe(topology(), roles=ROLES[NAME], load=load, text=default_text(), conf=conf)


def _phases(
    cluster: ServedCluster, load: float, say: Callable[[str], None], show: Callable[[Any], None]
) -> tuple[TriedPlacement, ...]:
    say(f"every executor runs; warming up, then measuring {WINDOW:.0f} s as Storm placed it")
    cluster.warm_up()
    phases = [_measured(cluster, "Storm alone", steady())]
    pilot = phases[0].measured
    for trial in trials(load):
        asked = cluster.question(pilot, phases[-1].measured, trial.load)
        plan, seconds = cluster.plan(trial.scheduler, asked, trial.options)
        was, will = percent(phases[-1].measured.share), percent(plan.scores.share)
        say(f"{trial.label}: bytes between nodes should go from {was} to {will}, by {len(plan.moves)} moves")
        if plan.moves:
            show(moves_table(moves_by_host(plan, asked)))
        begin = steady()
        change = cluster.change(plan, asked, seconds) if plan.moves else None
        if change is not None:
            cost = f"{change.restarted} workers restarted, {change.reduced} s of reduced throughput"
            say(f"{trial.label}: carried out; {cost}")
        # A scheduler may find that everything is well placed: the same placement is measured once more.
        phases.append(_measured(cluster, trial.label, begin, change))
        say(f"{trial.label}: {percent(phases[-1].measured.share)} measured")
    return tuple(phases)


def _by_seats(cluster: ServedCluster, like: TriedPlacement, say: Callable[[str], None]) -> TriedPlacement:
    """Submit the topology anew, its bolts with seats, and bring their tasks to the nodes of an earlier placement."""
    label = f"{like.label}, by seats"
    say(f"{label}: submitting the word count anew, with a seat of each bolt's task in every worker")
    cluster.end(NAME)
    cluster.run(_described(SEATS), seats={})
    cluster.warm_up()
    before = cluster.settled_seats()
    begin = steady()
    change = _bring(cluster, before, like)
    if change is not None:
        say(f"{label}: {change.restarted} workers restarted, {change.reduced} s of reduced throughput")
    return _measured(cluster, label, begin, change)


def _bring(cluster: ServedCluster, now: Measured, like: TriedPlacement) -> Reassignment | None:
    """Bring the tasks of the topology to the nodes of an earlier placement; None if they are there."""
    asked = cluster.question(now, now, None)
    problem = Problem.of(asked)
    nodes = {_part(task): slot.node for task, slot in like.measured.seen.assignment.items()}
    node_of = problem.node_of(asked.assignment)
    for index, task in enumerate(problem.task_ids):
        if problem.fixed[index] < 0:
            node_of[index] = problem.node_index[nodes[_part(task)]]
    plan = problem.plan(node_of, f"as {like.label} had placed it")
    return cluster.change(plan, asked, 0.0) if plan.moves else None


def _borne(
    cluster: ServedCluster, phases: tuple[TriedPlacement, ...], say: Callable[[str], None]
) -> tuple[TriedPlacement, ...]:
    """The placements with what each bears: the topology anew, whose spouts emit as fast as tuples are completed."""
    say("submitting the word count anew, with spouts that emit as fast as it bears, and bringing it to each placement")
    cluster.end(NAME)
    cluster.run(_described(PENDING, rate=0.0))
    found = []
    for phase in phases:
        _bring(cluster, cluster.measure(LOOK), phase)
        cluster.warm_up()
        bears = cluster.measure(WINDOW).throughput
        say(f"{phase.label}: bears {bears:,.0f} lines a second")
        found.append(attrs.evolve(phase, bears=bears))
    return tuple(found)


def _measured(cluster: ServedCluster, label: str, begin: float, change: Reassignment | None = None) -> TriedPlacement:
    measured = cluster.measure(WINDOW)
    return TriedPlacement(label=label, change=change, measured=measured, begin=begin, rates=cluster.rates(begin))


def _part(task: str) -> str:
    """Component and index in a task id: the topology has another id each time that it is submitted."""
    return task.partition("/")[2]

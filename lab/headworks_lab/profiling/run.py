"""A profiling run: a cluster with a node of each machine type, and a topology on one of them after another."""

from __future__ import annotations

from typing import TYPE_CHECKING

import attrs

from headworks.errors import EngineError
from headworks.model import Kind
from headworks_lab.profiling.placer import NAME, Placer, on_machine
from headworks_lab.profiling.rule import ProfilePoint
from headworks_storm.client.gateway import SMALL_JVM
from headworks_storm.demo.experiment import experiment
from headworks_storm.local.cluster import SupervisorSpec
from headworks_storm.local.home import WORKER_HEAP
from headworks_storm.release.artefacts import STORM
from headworks_storm.workload.describe import Load

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator
    from pathlib import Path

    from headworks.model import Topology
    from headworks.plugins.host import PluginHost
    from headworks_storm.demo.experiment import Measured, ServedCluster
    from headworks_storm.workload.find import Submission

GROWTH = 1.1
"""A level at which less than this times the tuples of the level before are processed is the highest. With a smaller one
noise makes further levels, each of which takes a submission; with a larger one a machine that is nearly full passes for
full."""
AMPLE = 100_000.0
"""CPU points and MB that a supervisor declares: what components declare keeps none of them away; with less it may."""


@attrs.frozen(kw_only=True)
class MachineType:
    """A machine type to profile on: a supervisor of this machine.

    Attributes:
        points: CPU points that are 100 % of it.
        options: Options of the JVMs of its workers; `-Xint` makes a machine on which the same code is slower.
    """

    name: str
    points: float = 100.0
    options: tuple[str, ...] = ()

    def supervisor(self, number: int) -> SupervisorSpec:
        """The supervisor, with its type in `supervisor.scheduler.meta`.

        Args:
            number: Its place in the list.
        """
        conf = {
            "supervisor.scheduler.meta": {"headworks.machine.type": self.name},
            "worker.childopts": " ".join((WORKER_HEAP, *SMALL_JVM, *self.options)),
        }
        host = f"127.0.0.{11 + number}"
        return SupervisorSpec(host=host, cpu=AMPLE, memory_mb=AMPLE, slots=1, conf=conf)


@attrs.frozen(kw_only=True)
class ProfilingPlan:
    """Levels of a profiling run.

    Attributes:
        factor: Each level has so many times the rate of the one before.
        levels: Levels at most.
        window: Seconds that each is measured.
    """

    factor: float = 4.0
    levels: int = 6
    window: float = 10.0


def profile(
    host: PluginHost,
    submission: Submission,
    machines: tuple[MachineType, ...],
    plan: ProfilingPlan,
    folder: Path,
    say: Callable[[str], None],
    *,
    text: str = "",
    version: str = STORM,
) -> tuple[ProfilePoint, ...]:
    """Measure the components of a topology on each machine type, one task of each, at ever higher rates.

    Args:
        host: The plugins.
        submission: One topology.
        machines: Machine types.
        plan: Levels.
        folder: Scratch space.
        say: Takes progress messages.
        text: The text that components with the role `text` read.
        version: Release of Storm.

    Raises:
        EngineError: The cluster or the topology fail, or nothing was processed.
    """
    (whole,) = submission.topologies
    topology = one_of_each(whole)
    submission = attrs.evolve(submission, topologies=(topology,))
    placer = Placer()
    supervisors = tuple(each.supervisor(number) for number, each in enumerate(machines))
    found: list[ProfilePoint] = []
    say(f"starting ZooKeeper, Nimbus and a supervisor for each of {len(machines)} machine types")
    with experiment(host.with_plugin(NAME, placer), supervisors, folder, scheduler=NAME, version=version) as cluster:
        for machine in machines:
            placer.place = on_machine(machine.name)
            done = 0.0
            for level in (plan.factor**number for number in range(plan.levels)):
                (described,) = submission.described(load=Load(rate=level), text=text)
                points = tuple(_measure(cluster, topology, machine, level, described, plan.window))
                found.extend(points)
                rate = sum(each.rate for each in points if not each.spout)
                say(f"{machine.name}: {rate:,.0f} tuples/s processed at {level:g} times the declared rate")
                if rate < GROWTH * done:
                    break
                done = rate
    return _known(found, topology)


def one_of_each(topology: Topology) -> Topology:
    """The topology with one task of each component, in one worker."""
    parts = tuple(attrs.evolve(each, parallelism=1) for each in topology.components)
    return attrs.evolve(topology, components=parts, workers=1)


def _measure(
    cluster: ServedCluster,
    topology: Topology,
    machine: MachineType,
    level: float,
    described: dict[str, object],
    window: float,
) -> Iterator[ProfilePoint]:
    cluster.run(described, shadow=False)
    cluster.warm_up()
    measured = cluster.measure(window)
    latency = {each.component: each.latency for each in cluster.storm.gateway.topology(topology.id).executors}
    cluster.end(topology.id)
    yield from _points(measured, topology, machine, level, latency)


def _points(
    measured: Measured, topology: Topology, machine: MachineType, level: float, latency: dict[str, float | None]
) -> Iterator[ProfilePoint]:
    parts = {each.id: each for each in topology.components}
    for sample in measured.seen.metrics.tasks:
        part = parts.get(sample.task.partition("/")[2].rpartition("/")[0])
        if part is None or sample.cpu is None:
            continue  # Storm's own ackers, or a thread that nobody found
        spout = part.kind is Kind.SPOUT
        emitted = sample.emitted or 0.0
        yield ProfilePoint(
            component=part.id,
            machine_type=machine.name,
            level=level,
            spout=spout,
            rate=emitted if spout else sample.received or 0.0,
            emitted=emitted,
            used=100.0 * sample.cpu / machine.points,
            latency=None if spout else latency.get(part.id),
            points=machine.points,
        )


def _known(points: Iterable[ProfilePoint], topology: Topology) -> tuple[ProfilePoint, ...]:
    found = tuple(points)
    silent = {each.id for each in topology.components} - {each.component for each in found if each.rate > 0}
    if silent:
        raise EngineError(
            f"{', '.join(sorted(silent))} processed no tuple that was measured: there is nothing to profile"
        )
    return found

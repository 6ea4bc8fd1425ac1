"""The bench of experiments on Storm: a cluster that stands from one experiment to the next while nodes are the same."""

from __future__ import annotations

import contextlib
import logging
import os
import shutil
import time
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Self

import attrs
import psutil

from headworks.documents import digest
from headworks.model import Cluster, Node, Observation
from headworks.plugins.host import PluginHost
from headworks_lab.measure.figures import Witness, start
from headworks_lab.measure.sizing import fitted, fixed, limits
from headworks_lab.storm.deputy import NAME, Deputy, burned
from headworks_lab.storm.figures import acked, figures
from headworks_lab.storm.supervisors import supervisors
from headworks_lab.storm.workload import details_of
from headworks_local.isolated.ability import TIME, bounds, network_problem, require_times
from headworks_local.isolated.limits import NodeLimits
from headworks_local.lifetime import lifetime
from headworks_storm.demo.experiment import ServedCluster, experiment
from headworks_storm.workers.reports import steady
from headworks_storm.workers.throughput import spout_tasks
from headworks_storm.workload.describe import describe

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from headworks.model import Request
    from headworks_storm.local.cluster import LocalStorm
    from headworks_storm.workers.reports import Report

LOG = logging.getLogger("headworks.storm.experiments")
OWN = "storm"
"""Stands for Storm's own scheduler among the names of schedulers."""
WARM_UP = 15.0
"""Seconds between the start of all tasks and the window, in which workers compile their code. With less, the window
measures that too; with more, each experiment takes longer."""
SETTLE = 5.0
"""The last of them, within the bounds of the nodes, in which queues get as long as they stay."""
LATE = 1.5
"""Seconds after the window in which the last reports come."""
PATIENT = {"nimbus.monitor.freq.secs": 10, "headworks.timeout.ms": 9000}
"""Storm's own time between two rounds, which a local cluster cuts: here the planner shares the cores with workers."""
CONF = {"topology.max.spout.pending": 500, "topology.stats.sample.rate": 0.2, "topology.message.timeout.secs": 120}
"""Of each spout's task 500 tuples are under way at most: what a placement does not bear waits at the source, and times
out nowhere. Of a fifth of the tuples Storm measures the latency, four times as many as by itself."""


ACKER_CPU, ACKER_POINTS = "topology.acker.cpu.pcore.percent", 10.0
"""CPU points of each acker, by Storm's `defaults.yaml`."""


@attrs.frozen(kw_only=True)
class Window:
    """Measurements of one window.

    Attributes:
        figures: By name.
        points: CPU points that the workers of each node used, in the order of the request's nodes by id.
        seen: What the monitor measured.
        capacity: CPU points of each node.
    """

    figures: dict[str, float]
    points: tuple[float, ...] = ()
    seen: Observation
    capacity: tuple[float, ...] = ()


@attrs.define
class StormBench:
    """Experiments on Storm, one after the other.

    Attributes:
        apart: Whether its nodes are apart.
        conf: Settings of each topology.
        pilots: Whether a scheduler plans with what a pilot measured, a run by Storm's own on networks without bounds,
            and not with the CPU that a workload declares: that is without what Storm itself does for each tuple.
    """

    apart: bool = attrs.field(factory=lambda: not network_problem())
    conf: Mapping[str, Any] = attrs.field(factory=lambda: CONF)
    pilots: bool = False
    _measured_by: dict[str, Observation] = attrs.field(factory=dict)
    _deputy: Deputy = attrs.field(factory=Deputy)
    _running: contextlib.ExitStack = attrs.field(factory=contextlib.ExitStack)
    _cluster: ServedCluster | None = None
    _nodes: tuple[Node, ...] = ()

    @classmethod
    def of_times(cls, conf: Mapping[str, Any] = CONF) -> Self:
        """A bench whose figures are times, which compare on nodes that are apart alone.

        Args:
            conf: Settings of each topology.

        Raises:
            EngineError: Nodes cannot be apart here.
        """
        require_times()
        return cls(conf=conf)

    def __enter__(self) -> Self:
        """Nothing is started before the first experiment."""
        return self

    def __exit__(self, *_error: object) -> None:
        """End the cluster."""
        self._end()

    def run(
        self, request: Request, scheduler: str, seed: int, seconds: float, warm_up: float | None = None
    ) -> dict[str, float]:
        """Run one experiment: topologies are submitted, placed by the scheduler, warmed up, measured and killed.

        Args:
            request: Nodes and topologies; its assignment and metrics have no meaning here.
            scheduler: Name of the scheduler, `OWN` for Storm's own.
            seed: Seed of the scheduler.
            seconds: Length of the window.
            warm_up: Seconds between the start of all tasks and the window; `WARM_UP` by default.

        Returns:
            The figures by name.

        Raises:
            EngineError: The cluster or a topology does not start, or the request does not fit this machine.
        """
        host = PluginHost.load([scheduler] if scheduler != OWN else [])
        left_out = WARM_UP if warm_up is None else warm_up
        return self.placed(host, scheduler, request, seconds, seed, warm_up=left_out).figures

    def placed(
        self,
        host: PluginHost,
        scheduler: str,
        request: Request,
        seconds: float,
        seed: int = 0,
        *,
        warm_up: float = WARM_UP,
    ) -> Window:
        """Run one experiment by a scheduler of a host; see `run`.

        Args:
            host: Has the scheduler.
            scheduler: Its name, `OWN` for Storm's own.
            request: Nodes and topologies.
            seconds: Length of the window.
            seed: Seed of the scheduler.
            warm_up: Seconds between the start of all tasks and the window.
        """
        asked = fitted(request, os.cpu_count() or 1)
        # Storm declares CPU for its ackers, which is to shrink as all else that a request declares.
        whole, now = (sum(node.capacity.cpu for node in each.cluster.nodes) for each in (request, asked))
        conf = {**self.conf, ACKER_CPU: ACKER_POINTS * (now / whole if whole else 1.0)}
        pilot = self._pilot(asked, conf, seconds, warm_up) if self.pilots and scheduler != OWN else None
        cluster = self._at(asked)
        self._deputy.pilot = pilot
        if scheduler != OWN:
            host.plugin(scheduler, "headworks_schedule")
            self._deputy.host = host
        self._deputy.scheduler, self._deputy.declared, self._deputy.seed = scheduler, asked, seed
        self._deputy.planned.clear()
        rates = (each.bandwidth for each in asked.cluster.nodes)
        self._deputy.bandwidths = dict(zip((each.host for each in cluster.storm.supervisors), rates, strict=True))
        try:
            return self._measured(cluster, asked, conf, seconds, warm_up, own=scheduler == OWN)
        except BaseException:
            self._end()  # whatever is left of the topologies is no ground for the next experiment
            raise

    def _pilot(self, asked: Request, conf: Mapping[str, Any], seconds: float, warm_up: float) -> Observation:
        """The measurement of a pilot on the request's nodes, with networks without bounds; made once."""
        asked = attrs.evolve(asked, cluster=Cluster(nodes=fixed(asked)), seed=0)
        key = digest(asked)
        if key not in self._measured_by:
            self._measured_by[key] = self._measured(self._at(asked), asked, conf, seconds, warm_up, own=True).seen
        return self._measured_by[key]

    def _at(self, asked: Request) -> ServedCluster:
        """A cluster of the request's nodes, whose networks have its rates: the one that stands, or a new one."""
        nodes = fixed(asked)
        if self._cluster is None or nodes != self._nodes:
            self._end()
            bounded = limits(asked, cores=TIME in bounds()) if self.apart else None
            folder = lifetime().scratch("headworks-bench-")
            self._running.callback(shutil.rmtree, folder, ignore_errors=True)
            host = PluginHost.load([OWN]).with_plugin(NAME, self._deputy)
            LOG.info("starting a cluster of %d supervisors", len(nodes))
            cluster = experiment(
                host, supervisors(asked), folder, scheduler=NAME, fill=None, conf=PATIENT, apart=bounded
            )
            self._cluster = self._running.enter_context(cluster)
            self._nodes = nodes
        return self._cluster

    def _end(self) -> None:
        self._cluster, self._nodes = None, ()
        self._running.close()

    def _measured(
        self,
        cluster: ServedCluster,
        asked: Request,
        conf: Mapping[str, Any],
        seconds: float,
        warm_up: float,
        *,
        own: bool,
    ) -> Window:
        def submit() -> None:
            for topology in asked.topologies:
                described = describe(topology, asked.profiles, conf=conf, **details_of(topology))
                cluster.run(described, shadow=own)

        begin = steady()
        settle(cluster, limits(asked, cores=TIME in bounds()), submit, warm_up)
        before = acked(_reports(cluster, begin), _spouts(cluster), begin, steady())
        found = watched(cluster, seconds)
        if not own:
            self._deputy.require_obeyed(found.seen)
        cluster.end(*(each.id for each in asked.topologies))
        more = {
            "warm_up": warm_up,
            **start(before, found.figures["offered"]),
            **({} if own else burned(self._deputy.asked, found.seen)),
            "apart": float(cluster.storm.nodes is not None and TIME in bounds()),
        }
        capacity = tuple(each.capacity.cpu for each in asked.cluster.nodes)
        return attrs.evolve(found, figures=found.figures | more, capacity=capacity)


def settle(
    cluster: ServedCluster, bounded: Sequence[NodeLimits], submit: Callable[[], None], warm_up: float = WARM_UP
) -> None:
    """Start topologies while nodes have no bounds, let workers compile their code, and then bound the nodes.

    Args:
        cluster: The cluster; where its nodes are not apart, nothing is bounded.
        bounded: Bounds of each node.
        submit: Submits the topologies, and waits until all of their tasks run.
        warm_up: Seconds that follow, of which the last `SETTLE` are within the bounds.
    """
    apart = cluster.storm.nodes
    if apart is not None:
        apart.bound([NodeLimits()] * len(bounded))  # JVMs and their jars take long with little of either
    submit()
    time.sleep(max(warm_up - SETTLE, 0.0))
    if apart is not None:
        apart.bound(bounded)
    time.sleep(min(warm_up, SETTLE))


def watched(cluster: ServedCluster, seconds: float) -> Window:
    """Measure whatever runs for so many seconds.

    Args:
        cluster: The cluster.
        seconds: Length of the window.
    """
    hosts = [each.host for each in cluster.storm.supervisors]
    before, begin, used = _look(cluster), steady(), _processor_time(cluster.storm)
    measured = cluster.measure(seconds)
    points = _points(used, _processor_time(cluster.storm), steady() - begin, hosts)
    after = _look(cluster)
    time.sleep(LATE)
    found = figures(measured.seen, _reports(cluster, before.time), _spouts(cluster), before, after)
    return Window(figures=found, points=points, seen=measured.seen)


def _reports(cluster: ServedCluster, since: float) -> tuple[Report, ...]:
    collector = cluster.service.collector
    assert collector is not None
    return collector.recent(steady() - since)


def _spouts(cluster: ServedCluster) -> frozenset[int]:
    """Storm's numbers of the tasks of all spouts."""
    return frozenset(number for each in cluster.scheduled() for number in spout_tasks(each))


def _look(cluster: ServedCluster) -> Witness:
    nodes = cluster.storm.nodes
    return Witness(
        time=steady(),
        bytes=None if nodes is None else nodes.between(),
        pids=frozenset(each.pid for each in cluster.storm.workers()),
    )


def _processor_time(storm: LocalStorm) -> dict[tuple[str, int], float]:
    """Seconds of processor time of each worker so far, by host and pid."""
    found = {}
    for each in storm.workers():
        with contextlib.suppress(psutil.NoSuchProcess):  # it ends
            times = psutil.Process(each.pid).cpu_times()
            found[each.host, each.pid] = times.user + times.system
    return found


def _points(
    before: Mapping[tuple[str, int], float],
    after: Mapping[tuple[str, int], float],
    seconds: float,
    hosts: Sequence[str],
) -> tuple[float, ...]:
    """CPU points that the workers of each host used, of those that ran all the time."""
    return tuple(
        100 * sum(after[key] - before[key] for key in before.keys() & after.keys() if key[0] == host) / seconds
        for host in hosts
    )


class Experiments:
    """The bench of `headworks sweep`."""

    real = True

    def open(self) -> StormBench:
        """A bench on which nothing has been started yet."""
        return StormBench()


storm = Experiments()

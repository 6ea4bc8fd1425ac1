"""The bench of experiments on Storm: a cluster that stands from one experiment to the next while nodes are the same."""

from __future__ import annotations

import contextlib
import logging
import os
import shutil
import time
from typing import TYPE_CHECKING, Self

import attrs

from headgate.engines.apart.ability import TIME, bounds, network_problem
from headgate.engines.apart.limits import NodeLimits
from headgate.engines.experiments.figures import Witness
from headgate.engines.experiments.sizing import fitted, limits
from headgate.engines.lifetime import lifetime
from headgate.plugins.host import PluginHost
from headgate_storm.demo.experiment import ServedCluster, experiment
from headgate_storm.experiments.deputy import NAME, Deputy
from headgate_storm.experiments.figures import figures
from headgate_storm.experiments.supervisors import supervisors
from headgate_storm.local.cluster import SupervisorSpec
from headgate_storm.workers.clock import steady
from headgate_storm.workers.throughput import spout_tasks
from headgate_storm.workload.catalogue import roles_of
from headgate_storm.workload.describe import describe
from headgate_storm.workload.find import default_text

if TYPE_CHECKING:
    from headgate.model import Request

LOG = logging.getLogger("headgate.storm.experiments")
OWN = "storm"
"""Stands for Storm's own scheduler among the names of schedulers."""
WARM_UP = 10.0
"""Seconds in which workers compile their code, before their processor time is bounded. With less, the window measures
that too; with more, each experiment takes longer."""
SETTLE = 5.0
"""Seconds within the bounds before the window, in which queues get as long as they stay."""
LATE = 1.5
"""Seconds after the window in which the last reports come."""
CONF = {"topology.max.spout.pending": 500, "topology.stats.sample.rate": 0.2, "topology.message.timeout.secs": 120}
"""Of each spout's task 500 tuples are under way at most: what a placement does not bear waits at the source, and times
out nowhere. Of a fifth of the tuples Storm measures the latency, four times as many as by itself."""


@attrs.define
class StormBench:
    """Experiments on Storm, one after the other.

    Attributes:
        apart: Whether its nodes are apart.
    """

    apart: bool = attrs.field(factory=lambda: not network_problem())
    _deputy: Deputy = attrs.field(factory=Deputy)
    _running: contextlib.ExitStack = attrs.field(factory=contextlib.ExitStack)
    _cluster: ServedCluster | None = None
    _nodes: tuple[SupervisorSpec, ...] = ()

    def __enter__(self) -> Self:
        """Nothing is started before the first experiment."""
        return self

    def __exit__(self, *_error: object) -> None:
        """End the cluster."""
        self._end()

    def run(self, request: Request, scheduler: str, seed: int, seconds: float) -> dict[str, float]:
        """Run one experiment: topologies are submitted, placed by the scheduler, warmed up, measured and killed.

        Args:
            request: Nodes and topologies; its assignment and metrics have no meaning here.
            scheduler: Name of the scheduler, `OWN` for Storm's own.
            seed: Seed of the scheduler.
            seconds: Length of the window.

        Returns:
            The figures by name.

        Raises:
            EngineError: The cluster or a topology does not start, or the request does not fit this machine.
        """
        cores = os.cpu_count() or 1
        asked = fitted(request, cores)
        cluster = self._at(asked)
        if scheduler != OWN:
            self._deputy.host = PluginHost.load([scheduler])
            self._deputy.host.require(scheduler, "headgate_schedule")
        self._deputy.scheduler, self._deputy.declared, self._deputy.seed = scheduler, asked, seed
        try:
            return self._measured(cluster, asked, seconds, own=scheduler == OWN)
        except BaseException:
            self._end()  # whatever is left of the topologies is no ground for the next experiment
            raise

    def _at(self, asked: Request) -> ServedCluster:
        """A cluster of the request's nodes, whose networks have its rates: the one that stands, or a new one."""
        nodes = supervisors(asked)
        if self._cluster is None or nodes != self._nodes:
            self._end()
            bounded = limits(asked, cores=TIME in bounds()) if self.apart else None
            folder = lifetime().scratch("headgate-bench-")
            self._running.callback(shutil.rmtree, folder, ignore_errors=True)
            host = PluginHost.load([OWN]).with_plugin(NAME, self._deputy)
            LOG.info("starting a cluster of %d supervisors", len(nodes))
            self._cluster = self._running.enter_context(experiment(host, nodes, folder, fill=NAME, apart=bounded))
            self._nodes = nodes
        return self._cluster

    def _end(self) -> None:
        self._cluster, self._nodes = None, ()
        self._running.close()

    def _measured(self, cluster: ServedCluster, asked: Request, seconds: float, *, own: bool) -> dict[str, float]:
        apart = cluster.storm.nodes
        bounded = limits(asked, cores=TIME in bounds())
        if apart is not None:
            apart.bound([NodeLimits()] * len(bounded))  # JVMs and their jars take long with little of either
        for topology in asked.topologies:
            roles = roles_of(topology)
            text = default_text() if "text" in roles.values() else ""
            cluster.run(describe(topology, asked.profiles, roles=roles, conf=CONF, text=text), shadow=own)
        time.sleep(WARM_UP)
        if apart is not None:
            apart.bound(bounded)
        time.sleep(SETTLE)
        found = window(cluster, seconds)
        for topology in asked.topologies:
            cluster.end(topology.id)
        return {**found, "apart": float(apart is not None and TIME in bounds())}


def window(cluster: ServedCluster, seconds: float) -> dict[str, float]:
    """Measure whatever runs for so many seconds; returns the figures by name.

    Args:
        cluster: The cluster.
        seconds: Length of the window.
    """
    before = _look(cluster)
    measured = cluster.measure(seconds)
    after = _look(cluster)
    time.sleep(LATE)
    collector = cluster.service.collector
    assert collector is not None
    reports = collector.recent(steady() - before.time)
    spouts = frozenset(number for each in cluster.scheduled() for number in spout_tasks(each))
    return figures(measured.seen, reports, spouts, before, after)


def _look(cluster: ServedCluster) -> Witness:
    nodes = cluster.storm.nodes
    return Witness(
        time=steady(),
        bytes=None if nodes is None else nodes.between(),
        pids=frozenset(each.pid for each in cluster.storm.workers()),
    )

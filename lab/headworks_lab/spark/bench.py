"""The bench of experiments on Spark: a cluster and a session that stand from one experiment to the next."""

from __future__ import annotations

import contextlib
import logging
import os
import shutil
import tempfile
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

import attrs

from headworks.model import Node
from headworks.plugins.host import PluginHost
from headworks_lab.measure.sizing import POINTS, fitted, fixed, limits
from headworks_lab.spark.experiment import INTERVAL, OWN, WARM_UP, Experiment
from headworks_lab.spark.query import query_of
from headworks_local.isolated.ability import network_problem
from headworks_local.isolated.limits import NodeLimits
from headworks_local.lifetime import lifetime
from headworks_local.process import output_to
from headworks_spark.driver.gateway import own_jvm, stop_if_alive
from headworks_spark.driver.session import ONE_JOB, session
from headworks_spark.local.cluster import LocalSpark, WorkerSpec

if TYPE_CHECKING:
    from headworks.model import Request

LOG = logging.getLogger("headworks.spark.experiments")
COLD = 60.0
"""Seconds for which queries run in a new session before the first experiment. With fewer, it pays for what the JVMs
compile; with more, each cluster takes longer."""
FIRST = 2
"""Last number of the first Worker's loopback address, where nodes are not apart."""


@attrs.frozen(kw_only=True, eq=False)
class Standing:
    """Cluster and session that stand from one experiment to the next.

    Attributes:
        nodes: The nodes that the cluster was made of.
        cluster: The cluster.
        spark: The session on it.
        folder: Scratch space.
    """

    nodes: tuple[Node, ...]
    cluster: LocalSpark
    spark: Any
    folder: Path


@attrs.define
class SparkBench:
    """Experiments on Spark, one after the other.

    Attributes:
        apart: Whether its nodes are apart.
        slowdown: Times as long as by Spark's own placement that a batch of a plan may take; None for any.
    """

    apart: bool = attrs.field(factory=lambda: not network_problem())
    slowdown: float | None = None
    _running: contextlib.ExitStack = attrs.field(factory=contextlib.ExitStack)
    _standing: Standing | None = None
    _engine: float | None = None

    def __enter__(self) -> Self:
        """Nothing is started before the first experiment."""
        return self

    def __exit__(self, *_error: object) -> None:
        """End the session and the cluster."""
        self._end()

    def run(
        self, request: Request, scheduler: str, seed: int, seconds: float, warm_up: float | None = None
    ) -> dict[str, float]:
        """Run one experiment: queries are started, warmed up, placed by the scheduler, measured and stopped.

        Args:
            request: Nodes and topologies; its assignment and metrics have no meaning here.
            scheduler: Name of the scheduler, `OWN` for Spark's own.
            seed: Seed of the scheduler.
            seconds: Length of the window, which is longer where no two batches end in it.
            warm_up: Seconds between the placement and the window, at least; `WARM_UP` by default.

        Returns:
            The figures by name.

        Raises:
            EngineError: The cluster or a query does not start, the scheduler has no plan, or the request does not fit
                Spark or this machine.
        """
        cores = os.cpu_count() or 1
        asked = fitted(request, cores)
        host = PluginHost.load([OWN] if scheduler == OWN else [OWN, scheduler])
        standing = self._at(request, asked)
        try:
            with tempfile.TemporaryDirectory(dir=standing.folder, ignore_cleanup_errors=True) as folder:
                if self._engine is None:
                    experiment = self._experiment(standing, asked)
                    with experiment.started(Path(folder, "cold")):
                        time.sleep(COLD)
                        self._engine = experiment.engine_seconds()
                experiment = self._experiment(standing, asked)
                with experiment.started(Path(folder, "own")):
                    experiment.place(host, scheduler, seed)
                    return experiment.measured(seconds, WARM_UP if warm_up is None else warm_up)
        except BaseException:
            self._end()  # whatever is left of the queries is no ground for the next experiment
            raise

    def _experiment(self, standing: Standing, asked: Request) -> Experiment:
        # As many batches a second, however many queries: Spark's own work for a batch stays the same part of it.
        interval = INTERVAL * len(asked.topologies)
        engine = self._engine or 0.0
        return Experiment(
            cluster=standing.cluster,
            spark=standing.spark,
            asked=asked,
            queries={each.id: query_of(each, asked.profiles, interval, engine) for each in asked.topologies},
            interval=interval,
            slowdown=self.slowdown,
        )

    def _at(self, request: Request, asked: Request) -> Standing:
        """A session on a cluster of the request's nodes: the one that stands, or a new one."""
        if self._standing is None or fixed(asked) != self._standing.nodes:
            self._end()
            self._standing, self._engine = self._started(request, asked), None
        return self._standing

    def _started(self, request: Request, asked: Request) -> Standing:
        specs = workers(request)
        apart = tuple(NodeLimits(rack=each.rack) for each in limits(asked)) if self.apart else None
        LOG.info("starting a cluster of %d Workers", len(specs))
        enter = self._running.enter_context
        folder = lifetime().scratch("headworks-bench-")
        self._running.callback(shutil.rmtree, folder, ignore_errors=True)
        cluster = enter(LocalSpark(specs, apart=apart))
        enter(own_jvm())
        with output_to(folder / "driver.log"):
            hosts = [each.host for each in cluster.workers]
            spark = session(cluster.master_url, "headworks sweep", hosts=hosts, **ONE_JOB)
        self._running.callback(stop_if_alive, spark.stop)
        return Standing(nodes=fixed(asked), cluster=cluster, spark=spark, folder=folder)

    def _end(self) -> None:
        self._standing = None
        self._running.close()


def workers(request: Request) -> tuple[WorkerSpec, ...]:
    """A Worker for each node, which runs as many tasks at once as the node has cores, and one at least.

    Args:
        request: As declared.
    """
    nodes = sorted(request.cluster.nodes, key=lambda each: each.id)
    return tuple(
        WorkerSpec(
            host=f"127.0.0.{index}",
            cores=max(round(node.capacity.cpu / POINTS), 1),
            machine_type=node.machine_type,
            rack=node.rack,
        )
        for index, node in enumerate(nodes, start=FIRST)
    )


class Experiments:
    """The bench of `headworks sweep`."""

    real = True

    def open(self) -> SparkBench:
        """A bench on which nothing has been started yet."""
        return SparkBench()


spark = Experiments()

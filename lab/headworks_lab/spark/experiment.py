"""One experiment on a session that stands: start the queries, place them, and measure a window."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import attrs
import psutil

from headworks.control.guards import Guards, Memory, wait_reason
from headworks.errors import EngineError
from headworks.model import Request, Status
from headworks_lab.measure.figures import Witness, agreement, processor_seconds
from headworks_lab.measure.sizing import POINTS, limits
from headworks_lab.spark.asking import question
from headworks_lab.spark.figures import Batches, figures
from headworks_lab.spark.query import Burners, Query, start
from headworks_local.isolated.ability import TIME, bounds
from headworks_local.isolated.limits import NodeLimits
from headworks_spark.applications.connection import Connection
from headworks_spark.driver.gateway import stop_if_alive
from headworks_spark.local.cluster import LocalSpark
from headworks_spark.monitor import next_batches, observation
from headworks_spark.target import SparkTarget
from headworks_spark.targets import merged

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from headworks.model import Observation, Plan, Topology
    from headworks.plugins.host import PluginHost
    from headworks_spark.events.event import QueryProgress

OWN = "spark"
"""Stands for Spark's own scheduler among the names of schedulers, and names this engine."""
INTERVAL = 2.0
"""Seconds from trigger to trigger, for each query. With more, a window has fewer batches; with less, what a batch costs
by itself is a larger part of it."""
PILOT = 2
"""Batches that are measured before a plan is asked for. With fewer, figures are of a start; with more, each experiment
takes longer."""
WARM_UP = 15.0
"""Seconds from the placement to the window, in which Python workers start and JVMs compile. With less, the window
measures that too; with more, each experiment takes longer."""
SETTLE = 2
"""The last batches of them, within the bounds of the nodes. With fewer, the first of the window began before them."""
PATIENCE = 600.0
"""Seconds for some batches. With less, a placement that the network hardly bears is an error and no figure."""


@attrs.define(kw_only=True, eq=False)
class Experiment:
    """Queries on a cluster.

    Attributes:
        cluster: The cluster.
        spark: The session on it.
        asked: The workload, as this machine can run it.
        queries: What stands for each topology, by its id.
        interval: Seconds from trigger to trigger.
        slowdown: Times as long as by Spark's own placement that a batch of a plan may take; None for any.
    """

    cluster: LocalSpark
    spark: Any
    asked: Request
    queries: Mapping[str, Query]
    interval: float = INTERVAL
    slowdown: float | None = None
    _targets: tuple[SparkTarget, ...] = ()
    _planned: dict[str, float] = attrs.field(factory=dict)
    _began: float = 0.0

    @contextlib.contextmanager
    def started(self, folder: Path) -> Iterator[None]:
        """Start the queries, and wait until they are warm; they are stopped at the end.

        Args:
            folder: For their checkpoints.
        """
        self._bound(bounded=False)  # JVMs and Python workers take long with little of anything
        self._began = time.time()
        with contextlib.ExitStack() as stack:
            running = []
            for number, (name, query) in enumerate(self.queries.items()):
                started = start(self.spark, name, query, self.interval, folder / str(number))
                stack.callback(stop_if_alive, started.stop)
                running.append(started)
            connection = stack.enter_context(Connection(self.spark))
            self._targets = tuple(map(connection.target, running))
            yield

    def engine_seconds(self) -> float:
        """CPU seconds that Spark uses for a task beyond what it burns, a mean of some batches; 0 of real queries."""
        if not all(isinstance(each, Burners) for each in self.queries.values()):
            return 0.0
        began, python = time.time(), self._python()
        self._seen(1 + PILOT)
        used, burned, tasks = self._python() - python, 0.0, 0
        by_id = {each.id: each for each in self.asked.topologies}
        for each in self._targets:
            jobs = each.recorder.jobs(each.scope, since=began)
            ends = [end for job in jobs for end in job.tasks]
            batches = len({job.start.batch for job in jobs})
            burned += points(by_id[each.topology.id]) * self.interval / POINTS * batches
            used, tasks = used + sum(end.cpu for end in ends), tasks + len(ends)
        return max(used - burned, 0.0) / max(tasks, 1)

    def place(self, host: PluginHost, scheduler: str, seed: int) -> None:
        """Ask the scheduler for a plan and carry it out; Spark's own is left to it.

        With a limit on batches the plan has to gain something, as in a session; else Spark goes on as before.

        Args:
            host: Has the scheduler, and this engine.
            scheduler: Its name.
            seed: Seed of the plan.

        Raises:
            EngineError: It has no plan, or the plan cannot be carried out.
        """
        seen = self._pilot()
        if scheduler == OWN:
            return
        declared = attrs.evolve(self.asked, seed=seed)
        nodes = sorted(declared.cluster.nodes, key=lambda each: each.id)
        hosts = dict(zip((each.host for each in self.cluster.workers), nodes, strict=True))
        asked = question(seen, declared, self.queries, hosts, self.slowdown)
        self._planned = {each.id: points(each) for each in asked.topologies}
        plan = host.schedule(scheduler, asked)
        if plan.status is not Status.OK:
            why = "; ".join(reason.message for reason in plan.reasons[:3])
            raise EngineError(f"{scheduler} has no placement, it is {plan.status}: {why}")
        aware = "traffic-aware" in host.describe(scheduler).capabilities
        if self.slowdown is not None and wait_reason(asked, plan, Guards(), Memory(), now=0.0, traffic_aware=aware):
            self._planned = {}
            return
        for target in self._targets:
            self._execute(host, target, plan)

    def measured(self, seconds: float, warm_up: float = WARM_UP) -> dict[str, float]:
        """Measure a window within the bounds of the nodes, by name of the figure.

        Args:
            seconds: Its length; it lasts until each query has ended two batches.
            warm_up: Seconds before it, at least, of which `SETTLE` batches are within the bounds.
        """
        until = time.monotonic() + warm_up - SETTLE * self.interval
        while time.monotonic() < until:
            self._seen(1)
        apart = self._bound(bounded=True)
        self._seen(SETTLE)
        started = self._start()
        before, python = self._look(), self._python()
        time.sleep(seconds)
        self._seen(1)  # so that processor time is of whole batches
        while any(len(self._batches(each, before.time).done) < 3 for each in self._targets):
            self._seen(1)
        after, python = self._look(), self._python() - python
        batches = [self._batches(each, before.time) for each in self._targets]
        seen = merged([observation(each, each.recorder.jobs(each.scope, since=before.time)) for each in self._targets])
        said = {"apart": float(apart), "warm_up": warm_up, **started, **self._burned(before.time, python)}
        return {**figures(seen, batches, before, after), "placed": float(bool(self._planned)), **said}

    def _start(self) -> dict[str, float]:
        """Seconds until each query had a batch that took no longer than its trigger; none if one has had none."""
        done = (target.recorder.progress(target.scope) for target in self._targets)
        ends = [
            next((each.begin + each.seconds for each in own if each.seconds <= self.interval), None) for own in done
        ]
        known = [end for end in ends if end is not None]
        return {"start": max(known) - self._began} if len(known) == len(ends) else {}

    def _bound(self, *, bounded: bool) -> bool:
        """Bound the nodes, or let them free; False where they share what this machine has."""
        if self.cluster.nodes is None:
            return False
        wanted = limits(self.asked, cores=TIME in bounds())
        self.cluster.nodes.bound(wanted if bounded else [NodeLimits()] * len(wanted))
        return TIME in bounds()

    def _pilot(self) -> Observation:
        """What some batches of each query show, from the end of the batch before them on: pauses are part of it."""
        found = []
        for each in self._targets:
            before, *jobs = next_batches(each, 1 + PILOT, timeout=PATIENCE)
            found.append(observation(each, jobs, begin=before.end.time))
        return merged(found)

    def _python(self) -> float:
        """CPU seconds so far of the executors' Python workers, by the kernel: Spark tells their time by the clock."""
        executors = [psutil.Process(pid) for pid in self.cluster.executors()]
        return sum(processor_seconds(each.pid) for one in executors for each in one.children(recursive=True))

    def _burned(self, since: float, python: float) -> dict[str, float]:
        """What tasks used, of JVMs by their own metric, over what the plan counted with for as many batches."""
        jobs = {each.topology.id: each.recorder.jobs(each.scope, since=since) for each in self._targets}
        used = python + sum(end.cpu for own in jobs.values() for job in own for end in job.tasks)
        counts = {name: len({job.start.batch for job in own}) for name, own in jobs.items()}
        planned = sum(self._planned.get(name, 0.0) * count for name, count in counts.items())
        return agreement(planned * self.interval / POINTS, used)

    def _seen(self, count: int) -> Observation:
        """Wait for so many batches of each query; what they show."""
        found = [observation(each, next_batches(each, count, timeout=PATIENCE)) for each in self._targets]
        return merged(found)

    def _execute(self, host: PluginHost, target: SparkTarget, plan: Plan) -> None:
        receipt = host.execute(OWN, target, plan)
        if not receipt.done:
            failed = "; ".join(step.message for step in receipt.steps if not step.done)
            raise EngineError(f"the plan for {target.topology.id} was not carried out: {failed}")

    def _look(self) -> Witness:
        nodes = self.cluster.nodes
        return Witness(
            time=time.time(), bytes=None if nodes is None else nodes.between(), pids=self.cluster.executors()
        )

    def _batches(self, target: SparkTarget, since: float) -> Batches:
        """Batches of a query that were begun since a time, and the one before."""
        rows = self.queries[target.topology.id].rows
        done: Sequence[QueryProgress] = target.recorder.progress(target.scope)
        earlier = [each for each in done if each.begin < since]
        own = (*earlier[-1:], *(each for each in done if each.begin >= since))
        return Batches(offered=rows / self.interval, rows=rows, done=own)


def points(topology: Topology) -> float:
    """CPU points that the tasks of a topology declare."""
    return sum(each.demand.cpu * each.parallelism for each in topology.components)

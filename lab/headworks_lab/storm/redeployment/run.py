"""The measurements on a real cluster: three ways to redeploy tasks at random, and OTD from Storm's deployment on."""

from __future__ import annotations

import random
import time
from statistics import fmean
from typing import TYPE_CHECKING, Literal

import attrs

from headworks.control.guards import Guards
from headworks.control.loop import Control, Loop
from headworks.errors import EngineError
from headworks.model import Component, FrozenMap, Kind, Plan, Resources, Stream, Topology
from headworks_lab.storm.redeployment.choice import redeployed
from headworks_lab.storm.redeployment.degradation import Degradation
from headworks_storm.demo.experiment import Measured, ServedCluster, experiment
from headworks_storm.intake import POLL
from headworks_storm.local.cluster import SupervisorSpec
from headworks_storm.seats.moves import SeatMoves
from headworks_storm.workers.reports import steady
from headworks_storm.workers.throughput import reduced
from headworks_storm.workload.catalogue import ROLES
from headworks_storm.workload.describe import Load, describe
from headworks_storm.workload.find import default_text

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from pathlib import Path

    from headworks.model import Observation
    from headworks.plugins.host import PluginHost

NODES = tuple(SupervisorSpec(host=f"127.0.0.{last}", cpu=400.0, memory_mb=4096.0, slots=2) for last in (71, 72))
"""Two nodes with two Workers each, where the paper has four each."""
NAME = "word-count"
TASK = Resources(cpu=10, memory=48)
LINES = 200.0
"""Lines a second: some 1,200 words, which two cores count with ease. With many more, noise counts as degradation."""
SEATS = {"headworks.seats.fit": 4.0}
"""A worker has heap for all tasks, as Workers of the paper have."""
PERIOD = 60.0
"""Seconds from one redeployment to the next (section 5.2)."""
TIMES = 3
"""Redeployments of a run; the paper's has ten. With fewer, one that goes badly decides; with more, it takes longer."""
BEFORE = 20.0
"""Seconds before the first one whose mean is the usual throughput."""
LATE = 3.0
"""Seconds after which the tuples of a second are reported. With fewer, the last ones look degraded."""
CYCLE = 5.0
"""Seconds from one adjustment of OTD to the next (section 5.3)."""
ROUNDS = 60
"""Adjustments of OTD; in the paper it converges after 61 (section 5.3.2)."""
REST = 10
"""Adjustments in a row that move nothing, after which OTD is at rest. With fewer, noise of one look ends it early."""
MOST = 16
"""Tasks of a redeployment of Figure 9 d, of the 18 that there are."""
SEED = 5
SPOUTS = 4
"""Executors of the spout, one a Worker, where OTD adjusts. With one, which has no seat, all lines begin on one node."""
UNACKED = {"topology.acker.executors": 0}
"""Ackers are dealt evenly over Workers and have no seats: half of what is sent to them goes between nodes for ever."""
KINDS = FrozenMap({"seats": (1, SEATS), "otd": (SPOUTS, {**SEATS, **UNACKED})})
"""Executors of the spout, and settings, of word counts with seats: for redeployments at random, and for OTD."""


@attrs.frozen(kw_only=True)
class Redeployment:
    """A run in which tasks are redeployed.

    Attributes:
        way: `storm`, its rebalance command; `touched`, restarts of the workers that a plan changes; or `seats`.
        tasks: Tasks of each redeployment, all at once: M in the paper. 0 for the command, which names none.
        degradation: Throughput.
        restarted: Worker processes that ended.
    """

    way: str
    tasks: int
    degradation: Degradation
    restarted: int


@attrs.frozen(kw_only=True)
class Online:
    """OTD from Storm's deployment on.

    Attributes:
        shares: Part of the bytes that went between nodes, in each look; the first one before any adjustment.
        tuples: The same of tuples.
        migrations: Tasks that were moved.
        slow: Seconds below 80 % of the usual throughput, of `seconds`.
        restarted: Worker processes that ended.
    """

    shares: tuple[float, ...]
    tuples: tuple[float, ...]
    migrations: int
    slow: int
    seconds: int
    restarted: int


def topology(spouts: int = 1) -> Topology:
    """The word count of section 5.1 at half its size: 6 and 12 tasks in four Workers, and a spout for DRPC's.

    Args:
        spouts: Executors of the spout.
    """
    components = (
        Component(id="lines", kind=Kind.SPOUT, parallelism=spouts, rate=LINES, demand=TASK),
        Component(id="split", parallelism=6, selectivity=6.0, demand=TASK),
        Component(id="count", parallelism=12, demand=TASK),
    )
    streams = (Stream(source="lines", target="split"), Stream(source="split", target="count", grouping="fields"))
    return Topology(id=NAME, components=components, streams=streams, workers=4, worker_heap=2048.0)


class Redeployments:
    """A cluster of its own, on which the word count runs with seats or without."""

    def __init__(self, cluster: ServedCluster, say: Callable[[str], None], *, period: float = PERIOD) -> None:
        """Take the cluster.

        Args:
            cluster: The cluster; nothing runs on it.
            say: Takes progress messages.
            period: Seconds from one redeployment to the next.
        """
        self._cluster, self._say, self._period = cluster, say, period
        self._rng = random.Random(SEED)
        self._runs = ""

    def storm(self, times: int = TIMES) -> Redeployment:
        """Storm's own rebalance command, which pauses spouts for the message timeout and then schedules from nothing.

        Args:
            times: How often.
        """
        self._begin("storm")
        return self._periods("storm", 0, times, lambda: self._cluster.storm.gateway.rebalance(NAME))

    def planned(self, way: Literal["touched", "seats"], tasks: int, times: int = TIMES) -> Redeployment:
        """A plan of Headworks's: by restarts of the workers that it touches (Storm* of the paper), or by seats.

        Args:
            way: How tasks get to their slots.
            tasks: Tasks of each redeployment, by seats all at once.
            times: How often.
        """
        self._begin(way)
        return self._periods(way, tasks, times, lambda: self._redeploy(tasks))

    def online(self, rounds: int = ROUNDS) -> Online:
        """OTD by seats, one migration a round, from Storm's own deployment on.

        Args:
            rounds: Adjustments at most; it ends when `REST` in a row move nothing.
        """
        self._begin("otd")
        looks = [self._cluster.measure(CYCLE)]
        # The paper's algorithm has no least gain but its own threshold.
        guards = Guards(cooldown=0.0, gain=0.0)
        control = Control(scheduler="otd", engine="storm", window=CYCLE, guards=guards)

        def keep(seen: Observation) -> None:
            looks.append(Measured.of(seen))
            self._say(f"OTD, look {len(looks)}: {looks[-1].share:.0%} of the bytes between nodes")

        loop = Loop(self._cluster.host, control, self._cluster.service.target, keep=keep)
        before, usual = self._pids(), self._usual()
        outcomes, rates = self._adjusted(loop, rounds)
        found = Online(
            shares=tuple(each.share for each in looks),
            tuples=tuple(each.tuples_between / each.tuples if each.tuples else 0.0 for each in looks),
            migrations=outcomes.count("executed"),
            slow=reduced(rates, usual),
            seconds=len(rates),
            restarted=len(before - self._pids()),
        )
        self._say(
            f"OTD: {found.migrations} migrations, {found.slow} of {found.seconds} s below 80 % of the usual "
            f"throughput, {found.restarted} workers restarted"
        )
        return found

    def _adjusted(self, loop: Loop, rounds: int) -> tuple[list[str], list[float]]:
        """Outcomes of rounds, and tuples in each second meanwhile: reports are kept for minutes alone."""
        outcomes: list[str] = []
        rates: list[float] = []
        start = steady()
        while len(outcomes) < rounds and (len(outcomes) < REST or "executed" in outcomes[-REST:]):
            outcomes.append(loop.round().outcome)
            if steady() - start > PERIOD + LATE:
                rates, start = [*rates, *self._cluster.rates(start, start + PERIOD)], start + PERIOD
        time.sleep(LATE)
        return outcomes, [*rates, *self._cluster.rates(start)]

    def _begin(self, way: str) -> None:
        """Run the topology as Storm's own scheduler places it, unless what runs is of this way already."""
        kind = way if way in KINDS else "plain"
        if self._runs == kind:
            return
        self._end()
        seated = kind != "plain"
        self._say(f"submitting the word count, {'with seats' if seated else 'as it is'}")
        spouts, conf = KINDS.get(kind, (1, None))
        described = describe(topology(spouts), roles=ROLES[NAME], load=Load(cpu=1.0), text=default_text(), conf=conf)
        self._cluster.run(described, seats={} if seated else None)
        self._runs = kind
        self._cluster.warm_up()
        if seated:
            self._cluster.settled_seats()

    def _end(self) -> None:
        if self._runs:
            self._cluster.end(NAME)
        self._runs = ""

    def _pids(self) -> set[int]:
        return {each.pid for each in self._cluster.storm.workers()}

    def _usual(self) -> float:
        begin = steady()
        time.sleep(BEFORE + LATE)
        return fmean(self._cluster.rates(begin, begin + BEFORE))

    def _periods(self, way: str, tasks: int, times: int, act: Callable[[], object]) -> Redeployment:
        usual, before, rates = self._usual(), self._pids(), list[float]()
        # The command leaves the choice to Storm; a plan of Headworks's is carried out by Headworks.
        self._cluster.service.target.rounds.shadow = way == "storm"
        for number in range(times):
            self._say(f"{way}, {tasks or 'all'} tasks: redeployment {number + 1} of {times}")
            start = steady()
            act()
            time.sleep(max(0.0, start + self._period - steady()) + LATE)
            rates += self._cluster.rates(start, max(start + self._period, steady() - LATE))
        degradation = Degradation(usual=usual, rates=tuple(rates))
        return Redeployment(way=way, tasks=tasks, degradation=degradation, restarted=len(before - self._pids()))

    def _redeploy(self, tasks: int) -> None:
        target = self._cluster.service.target
        assert isinstance(target.seats, SeatMoves)
        target.seats.at_once = tasks
        seen = self._cluster.host.observe("storm", target, 0.1)
        movable = [task for task in seen.assignment if task.split("/")[1] in ("split", "count")]
        moved = redeployed(seen.assignment, movable, tasks, self._rng)
        plan = Plan(assignment=FrozenMap({**seen.assignment, **moved}))
        receipt = self._cluster.host.execute("storm", target, plan)
        if not receipt.done:
            raise EngineError("; ".join(step.message for step in receipt.steps if not step.done))


def run(host: PluginHost, folder: Path, say: Callable[[str], None], at_once: Sequence[int]) -> tuple[Redeployment, ...]:
    """Measure all ways to redeploy tasks at random on a cluster of its own, which ends with the call.

    Args:
        host: The plugins.
        folder: Scratch space.
        say: Takes progress messages.
        at_once: Tasks of each redeployment by seats, a run for each.

    Returns:
        Storm's command, one task by restarts, and the runs by seats.

    Raises:
        EngineError: The cluster or the topology fail, or a plan cannot be carried out.
    """
    with experiment(host, NODES, folder, scheduler="even") as cluster:
        ways = Redeployments(cluster, say)
        return (ways.storm(), ways.planned("touched", 1), *(ways.planned("seats", tasks) for tasks in at_once))


def polled(host: PluginHost, folder: Path, say: Callable[[str], None], seconds: int) -> tuple[Redeployment, ...]:
    """Measure restarts and seats where workers ask so often for their assignment, on a cluster that ends with the call.

    That is T_W of the paper. T_S has no counterpart: Nimbus sends an assignment to the supervisors at once.

    Args:
        host: The plugins.
        folder: Scratch space.
        say: Takes progress messages.
        seconds: Storm's `task.refresh.poll.secs`.

    Returns:
        One task by restarts, and `MOST` by seats.

    Raises:
        EngineError: The cluster or the topology fail, or a plan cannot be carried out.
    """
    with experiment(host, NODES, folder, scheduler="even", conf={POLL: seconds}) as cluster:
        ways = Redeployments(cluster, say)
        return (ways.planned("touched", 1), ways.planned("seats", MOST))


def adjust(host: PluginHost, folder: Path, say: Callable[[str], None], rounds: int = ROUNDS) -> Online:
    """Let OTD adjust Storm's deployment on a cluster of its own, which ends with the call.

    Args:
        host: The plugins.
        folder: Scratch space.
        say: Takes progress messages.
        rounds: Adjustments at most.

    Raises:
        EngineError: The cluster or the topology fail.
    """
    with experiment(host, NODES, folder, scheduler="even") as cluster:
        return Redeployments(cluster, say).online(rounds)

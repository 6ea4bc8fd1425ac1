"""The simulated engine over time: a fluid between events.

No tuple is an event: between two events every topology runs at the rate of its steady state. Events are tasks that stop
and start, stalls that end, backlogs that run dry, and what a trace holds. Time is a number, never a clock.

Nothing is lost: a source keeps what its topology has not taken yet (Kafka), and a tuple that meets a missing task is
taken again (Storm's ackers).
"""

from __future__ import annotations

import heapq
import random
from functools import partial
from typing import TYPE_CHECKING

import attrs
import numpy as np

from headworks.model.scaling import with_instances
from headworks_sim.fluid.latency import MILLISECONDS
from headworks_sim.fluid.layout import Floats, Layout
from headworks_sim.fluid.migration import migrations
from headworks_sim.fluid.places import RunningTasks
from headworks_sim.fluid.steady import Model, Steady
from headworks_sim.fluid.timing import Timing
from headworks_sim.fluid.trace import Trace, check_trace

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from headworks.model import Request, Slot
    from headworks_sim.fluid.migration import TaskMigration
    from headworks_sim.fluid.trace import Event

REMEMBERED = 1_000
"""States of the engine whose steady state is remembered."""
DRY = 1e-9
"""A backlog of less than this many seconds of nominal load is none. With 0, rounding keeps it from running dry."""


@attrs.frozen(eq=False, kw_only=True)
class SteadySpan:
    """A span of time between two events, in which all rates are constant; t topologies.

    Attributes:
        begin: Seconds.
        end: Seconds.
        steady: The steady state in it.
        offered: float64 (t,), tuples/s that come in.
        throughput: float64 (t,), tuples/s completed.
        latency: float64 (t,), mean milliseconds, waiting at the source included.
        waits: float64 (2, t), milliseconds that a tuple waits at the source, at the begin and at the end.
        most: float64 (t,), milliseconds that no tuple exceeds: those of all that may be under way.
        backlog: float64 (t,), tuples that wait at its end.
        absent: Number of tasks that shall run and do not.
    """

    begin: float
    end: float
    steady: Steady
    offered: Floats
    throughput: Floats
    latency: Floats
    waits: Floats
    most: Floats
    backlog: Floats
    absent: int

    @property
    def length(self) -> float:
        """Seconds."""
        return self.end - self.begin


class World:
    """The simulation of a cluster and its topologies over time."""

    def __init__(
        self,
        request: Request,
        *,
        timing: Timing | None = None,
        trace: Trace | None = None,
        seed: int = 0,
        warm_up: float = 0.0,
    ) -> None:
        """Begin with the running assignment of a request.

        Args:
            request: Cluster, topologies, profiles and metrics.
            timing: Cycles, delays and the style of moving.
            trace: Events to come; none by default.
            seed: Seed of the moments at which supervisors and workers look.
            warm_up: Seconds before time 0 with which the simulation begins. At time 0 what waits at the sources is
                forgotten, and moves are counted from there.

        Raises:
            DocumentError: The request contradicts itself, or the trace is about something else.
        """
        self.timing = timing or Timing()
        self.layout = Layout.of(request)
        check_trace(trace or Trace(), self.layout)
        self.places = RunningTasks.of(self.layout.problem)
        self.now = -warm_up
        self.spans: list[SteadySpan] = []
        self.events = 0
        self.moved = self.placed = 0
        self._model = Model(self.layout, self.timing)
        self._dice = random.Random(f"headworks-sim {seed}")
        count = len(self.layout.topologies)
        self._entering = np.array([each.throughput for each in self.layout.topologies], dtype=np.float64)
        self._load, self._backlog = np.ones(count), np.zeros(count)
        self._stalled = np.zeros(count, dtype=bool)
        self._slow_until = np.full(count, -np.inf)
        self._queue: list[tuple[float, int, Callable[[], None]]] = []
        self._pushed = 0
        self._flaps: dict[str, int] = {}
        self._known: dict[bytes, Steady] = {}
        self._index = {each.id: number for number, each in enumerate(self.layout.topologies)}
        if warm_up:
            self._at(0.0, self._forget)
        for event in sorted((trace or Trace()).events, key=lambda each: each.time):
            self._at(event.time, self._happening(event))

    @property
    def empty(self) -> bool:
        """True until something is asked to run: topologies are described, and not submitted."""
        return not self.places.asked and not self.places.running

    def submit(self, parallelism: Mapping[str, int]) -> None:
        """Take other numbers of tasks, by `topology/component`, for topologies of which nothing runs yet.

        Raises:
            DocumentError: A component is unknown, or would have no task.
        """
        dead = self.places.down
        self.layout = Layout.of(with_instances(self.layout.problem.request, parallelism))
        self.places = RunningTasks.of(self.layout.problem)
        self.places.down = dead
        self._model = Model(self.layout, self.timing)
        self._known.clear()

    def advance(self, until: float) -> None:
        """Let time pass until a moment, event by event; what is due at that moment happens too."""
        while True:
            while self._queue and self._queue[0][0] <= self.now:
                self.events += 1
                heapq.heappop(self._queue)[2]()
            self._judge()
            if self.now >= until:
                return
            self._flow(min(until, self._queue[0][0] if self._queue else until))

    def assign(self, wanted: Mapping[str, Slot]) -> float:
        """Ask for an assignment, slot by task id: a task that is not in it stops.

        Returns:
            The moment at which the last task will have started or stopped, seconds.
        """
        places = self.places
        after = {task: wanted[task] for task in sorted(wanted) if task in places.index}
        before = places.standing(after)
        places.ask(after)
        made = migrations(self.now, before, after, self.timing, self._dice)
        last: dict[int, float] = {}
        for change in made:
            self._schedule(change)
            if change.source is not None and change.target is not None:
                topology = places.topology(change.task)
                last[topology] = max(last.get(topology, change.on), change.on)
        for topology, when in sorted(last.items()):  # connections to moved tasks are made anew
            self._at(when, partial(self._slow, topology, self.timing.pause))
        return max((max(each.on, each.off) for each in made), default=self.now)

    def fail(self, node: str) -> None:
        """Let a node die now."""
        self._node(node, "node-down", 0.0)

    def _schedule(self, change: TaskMigration) -> None:
        places, order = self.places, self.places.order(change.task)
        self.moved += change.source is not None and change.source != change.target
        self.placed += change.source is None
        if change.source is not None:
            absent = change.target is not None
            self._at(change.off, partial(places.stop, change.task, change.source, order, absent=absent))
        if change.target is not None:
            self._at(change.on, partial(places.start, change.task, change.target, order))

    def _flow(self, until: float) -> None:
        """Run in steady state to the next event, a backlog that runs dry, or the end of a slow span: one more span."""
        demand = self._demand()
        steady = self._balance(demand)
        done, offered = steady.throughput, self._load * self._entering
        drain = done - offered
        dry = np.divide(self._backlog, drain, out=np.full(len(drain), np.inf), where=(drain > 0) & (self._backlog > 0))
        slow = self._slow_until[self._slow_until > self.now]
        end = min([until, self.now + float(dry.min(initial=np.inf)), *slow.tolist()])
        # A backlog may run dry sooner than a float can tell from now: then it is emptied on the way to the next event.
        end = end if end > self.now else until
        length = end - self.now
        before, self._backlog = self._backlog, np.maximum(self._backlog - drain * length, 0.0)
        self._backlog[self._backlog < DRY * self._entering] = 0.0
        # Little's law: backlog over throughput is the time that a tuple waits at the source.
        waits = self._late(np.array([before, self._backlog]), done, 0.0)
        most = self._late(self._model.under_way, done, np.inf)
        self.spans.append(
            SteadySpan(
                begin=self.now,
                end=end,
                steady=steady,
                offered=offered,
                throughput=done,
                latency=np.minimum(steady.latency + waits.mean(axis=0), most),
                waits=waits,
                most=most,
                backlog=self._backlog,
                absent=len(self.places.absent),
            )
        )
        self.now = end

    @staticmethod
    def _late(tuples: Floats, done: Floats, nothing: float) -> Floats:
        """Milliseconds in which tuples are completed; `nothing` where none are."""
        return MILLISECONDS * np.divide(tuples, done, out=np.full_like(tuples, nothing), where=done > 0)

    def _demand(self) -> Floats:
        """Multiple of its nominal load that each topology would run at now."""
        demand = np.where(self._backlog > 0, np.maximum(self.timing.burst, self._load), self._load)
        demand = np.where(self._slow_until > self.now, self._load * self.timing.slow, demand)
        return np.where(self._stalled, 0.0, demand)

    def _balance(self, demand: Floats) -> Steady:
        """The steady state of the placement and this demand, float64 (t,), remembered for when both come back."""
        key = b"".join((self.places.node_of.tobytes(), self.places.worker.tobytes(), demand.tobytes()))
        found = self._known.get(key)
        if found is None:
            if len(self._known) >= REMEMBERED:
                self._known.clear()
            found = self._known[key] = self._model.steady(self.places.node_of, self.places.worker, demand)
        return found

    def _judge(self) -> None:
        """Stall topologies with too many absent tasks; one that is whole again is slow for a while."""
        stalled = self.places.missing >= self.timing.stall_tasks
        for topology in np.flatnonzero(self._stalled & ~stalled).tolist():
            self._slow(topology, self.timing.recovery)
        self._stalled = stalled

    def _slow(self, topology: int, length: float) -> None:
        self._slow_until[topology] = max(self._slow_until[topology], self.now + length)

    def _at(self, when: float, action: Callable[[], None]) -> None:
        self._pushed += 1  # events of one moment happen in the order in which they were pushed
        heapq.heappush(self._queue, (when, self._pushed, action))

    def _forget(self) -> None:
        self._backlog = np.zeros_like(self._backlog)
        self.moved = 0

    def _happening(self, event: Event) -> Callable[[], None]:
        value = event.value or 0.0
        if event.kind == "load":
            return partial(self._set_load, self._index[event.subject], value)
        if event.kind == "batch":
            return partial(self._add_batch, self._index[event.subject], value)
        if event.kind == "worker-down":
            return lambda: self._return(self.places.lose_worker(event.subject, self.now))
        return partial(self._node, event.subject, event.kind, value)

    def _set_load(self, topology: int, factor: float) -> None:
        self._load = self._load.copy()  # a span may hold the old array
        self._load[topology] = factor

    def _add_batch(self, topology: int, tuples: float) -> None:
        self._backlog = self._backlog.copy()
        self._backlog[topology] += tuples

    def _node(self, node: str, kind: str, period: float) -> None:
        self._flaps[node] = self._flaps.get(node, 0) + 1  # ends an earlier flap of this node
        if kind == "node-up":
            self._up(node)
        else:
            self.places.lose_node(node, self.now)
        if kind == "node-flap":
            self._at(self.now + period, partial(self._flap, node, period, self._flaps[node], up=True))

    def _flap(self, node: str, period: float, turn: int, *, up: bool) -> None:
        if self._flaps[node] != turn:
            return
        if up:
            self._up(node)
        else:
            self.places.lose_node(node, self.now)
        self._at(self.now + period, partial(self._flap, node, period, turn, up=not up))

    def _up(self, node: str) -> None:
        self._return(self.places.regain_node(node))

    def _return(self, tasks: list[str]) -> None:
        """Have the supervisor start the tasks again that are still assigned to it."""
        for task in tasks:
            slot, order = self.places.asked[task], self.places.order(task)
            self._at(self.now + self.timing.restart, partial(self.places.start, task, slot, order))

"""Slots for executors without one: beside what runs, and whole topologies only.

Never worse than Storm alone: its own schedulers put nothing into a worker that runs, for that restarts it, and its
resource-aware one starts a topology whole or not at all.
"""

from __future__ import annotations

import time
from collections import defaultdict
from typing import TYPE_CHECKING

import attrs

from headworks.errors import HeadworksError
from headworks.model import FrozenMap, Limits, Node, Plan, Request, Resources, Slot, Status
from headworks.model.parts import without_topologies
from headworks_storm.nimbus.snapshot import component_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping

    from headworks.model import Cluster, Observation
    from headworks_storm.nimbus.snapshot import Scheduled

SHARE = 0.7
"""Part of Nimbus's patience that goes to planning."""
PLANS = 6
"""Plans of a round at most."""
PART = 0.5
"""Part of the time that is left which one plan of several topologies may take."""
ENOUGH = 0.1
"""Part of the time that has to be left for another plan."""
CLOSED = Limits(restarts=False)
RESERVED = "reserved"
"""Code of the reason of a task for which there is room on nodes that are reserved for other topologies alone."""


@attrs.frozen(kw_only=True)
class FreeSlots:
    """Slots for executors without one.

    Attributes:
        slots: Slot by task id, of those that get one.
        request: The last question to the scheduler, and `plan` its answer; None if it raised, as `error` says.
        left_out: Reasons of each topology that is not started, for it does not fit whole, by its id.
        held: Why nothing can be placed, "" if something was planned.
        lacking: Why executors of any other topology have no slot, by its id.
        chosen: Topologies that the scheduler leaves without slots on purpose, not for lack of room, by id.
        restarted: Slots of running workers that take executors, by topology id; none without topping up.
    """

    slots: FrozenMap[str, Slot] = FrozenMap()
    request: Request | None = None
    plan: Plan | None = None
    left_out: FrozenMap[str, str] = FrozenMap()
    lacking: FrozenMap[str, str] = FrozenMap()
    chosen: frozenset[str] = frozenset()
    restarted: FrozenMap[str, tuple[Slot, ...]] = FrozenMap()
    held: str = ""


def plan_free_slots(
    seen: Observation,
    scheduled: Iterable[Scheduled],
    schedule: Callable[[Request], Plan],
    *,
    seconds: float,
    top_up: bool = False,
    resort: Cluster | None = None,
    clock: Callable[[], float] = time.monotonic,
) -> FreeSlots:
    """Plan slots for executors without one, around those that run.

    Workers that run stay as they are. A topology of which nothing runs gets slots for all its executors or none:
    the one that least fits is left out, and the others are planned again without it. One that has lost executors
    gets what it can.

    Args:
        seen: The cluster, with the assignment that stands.
        scheduled: Topologies, with their executors.
        seconds: Time for all plans together.
        top_up: Put executors that then have no slot into workers of their topology, which restarts these.
        resort: The cluster with hosts for those that have no slot elsewhere; before any topping up.
        clock: Tells seconds.
    """
    if resort is None:
        return _plan_once(seen, scheduled, schedule, seconds=seconds, top_up=top_up, clock=clock)
    end = clock() + seconds
    first = _plan_once(seen, scheduled, schedule, seconds=PART * seconds, top_up=False, clock=clock)
    if first.held or not (first.lacking or first.left_out):
        return first
    seen = attrs.evolve(seen, cluster=resort, assignment=FrozenMap({**seen.assignment, **first.slots}))
    second = _plan_once(seen, scheduled, schedule, seconds=end - clock(), top_up=top_up, clock=clock)
    return first if second.held else attrs.evolve(second, slots=FrozenMap({**first.slots, **second.slots}))


def _plan_once(
    seen: Observation,
    scheduled: Iterable[Scheduled],
    schedule: Callable[[Request], Plan],
    *,
    seconds: float,
    top_up: bool,
    clock: Callable[[], float],
) -> FreeSlots:
    waiting = frozenset(task for each in scheduled for task in each.executors if task not in seen.assignment)
    new = {each.topology.id: each for each in scheduled if each.executors and waiting >= each.executors.keys()}
    part = PART if len({_topology(task) for task in waiting}) > 1 else 1.0
    planner = _Planner(with_lost_slots(seen), schedule, seconds=seconds, part=part, clock=clock)
    search = _Search(planner, new, waiting)
    found = search.run()
    if found is None:
        return FreeSlots(request=planner.request, plan=planner.plan, held=planner.held)
    slots = {task: slot for task, slot in found.assignment.items() if task in waiting}
    slots = {task: slot for task, slot in slots.items() if _topology(task) not in search.out}
    done = FreeSlots(slots=FrozenMap(slots), request=planner.request, plan=found, left_out=FrozenMap(search.out))
    lost = [task for task in waiting - slots.keys() if _topology(task) not in new]
    if top_up and lost:
        done = _top_up(done, planner, waiting)
    waits = {_topology(task) for task in waiting - done.slots.keys()} - done.left_out.keys()
    lacking = FrozenMap({name: _why(done.plan, name) for name in sorted(waits)})
    return attrs.evolve(done, lacking=lacking, chosen=frozenset(_chosen(done.plan, waits)))


def _top_up(done: FreeSlots, planner: _Planner, waiting: frozenset[str]) -> FreeSlots:
    """The rest goes into workers that run, with all that was placed before in its slot."""
    before = planner.seen.assignment
    plan = planner.ask(done.left_out.keys(), slots=done.slots, limits=Limits(max_moves=0))
    if plan is None:
        return done
    slots = {task: slot for task, slot in plan.assignment.items() if task in waiting}
    restarted: dict[str, set[Slot]] = defaultdict(set)
    used = set(before.values())
    for task, slot in slots.items():
        if slot in used:
            restarted[_topology(task)].add(slot)
    return attrs.evolve(
        done,
        slots=FrozenMap(slots),
        request=planner.request,
        plan=plan,
        restarted=FrozenMap({name: tuple(sorted(each)) for name, each in restarted.items()}),
    )


class _Planner:
    """Asks the scheduler, within one deadline for all questions."""

    def __init__(
        self,
        seen: Observation,
        schedule: Callable[[Request], Plan],
        *,
        seconds: float,
        part: float,
        clock: Callable[[], float],
    ) -> None:
        self.seen = seen
        self._schedule, self._clock = schedule, clock
        self._seconds, self._end, self._part = seconds, clock() + seconds, part
        self.request: Request | None = None
        self.plan: Plan | None = None
        self.held = ""

    def has_time(self) -> bool:
        """Check whether there is time for another plan."""
        return self._end - self._clock() > ENOUGH * self._seconds

    def ask(
        self,
        without: Iterable[str],
        *,
        slots: Mapping[str, Slot] = FrozenMap(),
        limits: Limits = CLOSED,
    ) -> Plan | None:
        """The plan of all topologies but some; None if the scheduler has none, and `held` says why.

        Args:
            without: Topology ids.
            slots: Where executors are taken to run beside those that do.
            limits: Limits; the deadline is what is left of the time.
        """
        out = frozenset(without)
        seen = attrs.evolve(self.seen, assignment=FrozenMap({**self.seen.assignment, **slots}))
        limits = attrs.evolve(limits, deadline=max(self._part * (self._end - self._clock()), 0.001))
        self.request = Request.of(without_topologies(seen, out), limits=limits)
        self.plan = None
        try:
            self.plan = self._schedule(self.request)
        except HeadworksError as error:
            self.held = str(error)
            return None
        if self.plan.status is Status.HELD:
            self.held = "; ".join(reason.message for reason in self.plan.reasons)
            return None
        return self.plan


class _Search:
    """Leaves out topologies that do not fit whole, one after the other, as long as there is time."""

    def __init__(self, planner: _Planner, new: Mapping[str, Scheduled], waiting: frozenset[str]) -> None:
        self._planner, self._new, self._waiting = planner, new, waiting
        self.out: dict[str, str] = {}

    def run(self) -> Plan | None:
        """The plan in which every topology that starts is whole; None if the scheduler has no plan at all.

        `out` has the topologies that are not started, with the reason: all that are placed in part when time is up.
        """
        plan, asked = self._planner.ask(()), 1
        while plan is not None and (partial := self._partly_placed(plan)):
            name = self._least_fitting(plan, partial)
            self.out[name] = self._reason(plan, name)
            if all(_topology(task) in self.out for task in self._waiting):
                break
            another = self._again(self.out) if asked < PLANS else None
            asked += 1
            if another is None:
                self.out.update({each: self._reason(plan, each) for each in partial})
                return plan
            plan = another
        # what was left out first may have room now that something else is left out as well
        for name in list(self.out)[:-1]:
            others = {each: why for each, why in self.out.items() if each != name}
            another = self._again(others) if asked < PLANS else None
            asked += 1
            if another is not None and not self._partly_placed(another) and self._whole(another, name):
                plan, self.out = another, others
        return plan

    def _again(self, out: Iterable[str]) -> Plan | None:
        """Another plan; the last one stays where there is no time or the scheduler has none."""
        planner = self._planner
        if not planner.has_time():
            return None
        request, plan = planner.request, planner.plan
        found = planner.ask(out)
        if found is None:
            planner.request, planner.plan = request, plan
        return found

    def _partly_placed(self, plan: Plan) -> list[str]:
        return [name for name in self._new if 0 < self._missing(plan, name) < len(self._new[name].executors)]

    def _whole(self, plan: Plan, name: str) -> bool:
        return not self._missing(plan, name)

    def _missing(self, plan: Plan, name: str) -> int:
        return sum(task not in plan.assignment for task in self._new[name].executors)

    def _least_fitting(self, plan: Plan, names: Iterable[str]) -> str:
        """The least important topology; of equals, the one that lacks most; then by id."""

        def rank(name: str) -> tuple[int, int, str]:
            return -self._new[name].topology.priority, -self._missing(plan, name), name

        return min(names, key=rank)

    def _reason(self, plan: Plan, name: str) -> str:
        missing, count = self._missing(plan, name), len(self._new[name].executors)
        return f"{missing} of {count} executors cannot be placed, and none is without them: {_why(plan, name)}"


def with_lost_slots(seen: Observation) -> Observation:
    """The observation with slots that Nimbus does not offer and in which executors run all the same.

    A supervisor that is gone may have left its workers, and a port with a dead executor is not offered for a round.
    What runs there is Nimbus's to give up: nothing else comes there, and it goes nowhere.
    """
    nodes = {node.id: node for node in seen.cluster.nodes}
    demand = {(t.id, part.id): part.demand for t in seen.topologies for part in t.components}
    ports: dict[str, set[int]] = defaultdict(set)
    used: dict[str, dict[str, float]] = defaultdict(lambda: defaultdict(float))
    for task, slot in seen.assignment.items():
        if slot.node not in nodes:
            for resource, amount in demand[_topology(task), component_of(task)].items():
                used[slot.node][resource] += amount
        if slot.node not in nodes or slot.port not in nodes[slot.node].slots:
            ports[slot.node].add(slot.port)
    if not ports:
        return seen
    for name, lost in ports.items():
        node = nodes.get(name, Node(id=name, capacity=Resources(used[name]), slots=()))
        nodes[name] = attrs.evolve(node, slots=tuple(sorted({*node.slots, *lost})))
    return attrs.evolve(seen, cluster=attrs.evolve(seen.cluster, nodes=tuple(nodes.values())))


def _topology(task: str) -> str:
    return task.partition("/")[0]


def _chosen(plan: Plan | None, names: Iterable[str]) -> Iterator[str]:
    """Those of some topologies that a scheduler left out on purpose, or keeps off nodes that are reserved."""
    for name in names:
        for reason in plan.reasons if plan is not None else ():
            if reason.subject == name or (reason.code == RESERVED and _topology(reason.subject) == name):
                yield name


def _why(plan: Plan | None, name: str) -> str:
    """The first two reasons that name the topology or its executors, else the first two."""
    reasons = list(plan.reasons) if plan is not None else []
    mine = [each for each in reasons if each.subject == name or _topology(each.subject) == name]
    return "; ".join(each.message for each in (mine or reasons)[:2])

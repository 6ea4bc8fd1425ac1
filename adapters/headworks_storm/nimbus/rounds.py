"""Scheduling rounds of Nimbus: the answer to each, from what was wished and what has no slot.

Two things change an assignment. A *wish* is a plan of the control loop; the next round answers with it. Executors
without a slot (a new topology, a dead worker) are placed in the round that shows them, beside what runs: nothing moves
for that, and no worker restarts (see `headworks_storm.nimbus.free_slots`).
"""

from __future__ import annotations

import logging
import threading
import time
from collections import defaultdict
from typing import TYPE_CHECKING

import attrs

from headworks.errors import EngineError
from headworks.model import FrozenMap, Metrics, Observation, Plan, Request, Slot
from headworks.model.parts import known_metrics
from headworks.model.spoken import spoken
from headworks_storm.nimbus.answer import Answer, layouts
from headworks_storm.nimbus.free_slots import SHARE, FreeSlots, plan_free_slots
from headworks_storm.nimbus.seat_slots import assign_seat_slots
from headworks_storm.nimbus.snapshot import Scheduled, Snapshot, read_snapshot

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Iterator, Mapping

LOG = logging.getLogger("headworks.storm.rounds")
NOBODY = (
    "Nimbus has not asked for {seconds:.0f} s: is it up and the leader, is storm.scheduler "
    "headworks.storm.HeadworksScheduler, and does headworks.endpoint in its storm.yaml name the file of this process?"
)
SILENT = (
    "Nimbus {nimbus} asks no more, its round {number} is {age:.0f} s old: has it lost the lead to another Nimbus, is "
    "it down, or does headworks.endpoint in its storm.yaml name another file by now? Its log says which"
)


@attrs.frozen(kw_only=True)
class RoundDecision:
    """The answer to one round, and the request and plan behind it; no request when nothing had to be planned.

    `notes` are for people, a sentence each.
    """

    answer: Answer
    request: Request | None = None
    plan: Plan | None = None
    notes: tuple[str, ...] = ()


def grant(snapshot: Snapshot, wish: Mapping[str, Slot]) -> dict[str, Slot]:
    """The part of a wish that this round can have: slot by task id.

    A topology has it whole or not at all: all its executors are wished, onto slots that are there, take new executors,
    and are of no other topology.

    Args:
        snapshot: The round; supervisors may have died and topologies come since the wish was made.
        wish: Slot by task id, of one topology or several.
    """
    ports = {Slot(node.id, port) for node in snapshot.nodes for port in node.slots}
    open_ports = {slot for slot in ports if slot.node not in snapshot.blacklisted}
    granted: dict[str, Slot] = {}
    wanted = [
        each
        for each in snapshot.scheduled
        if each.executors and each.executors.keys() <= wish.keys() and not (each.shares_memory and each.unassigned)
    ]
    # Tenants as they would be with the whole wish: two topologies may swap slots, which neither could have alone.
    taken = _tenants(
        snapshot.scheduled, {**snapshot.assignment, **{t: wish[t] for each in wanted for t in each.executors}}
    )
    for each in wanted:
        slots = {task: wish[task] for task in each.executors}
        # A blacklisted supervisor keeps what it runs and gets nothing new.
        free = all(slot in open_ports or each.assignment.get(task) == slot for task, slot in slots.items())
        if free and all(len(taken[slot]) == 1 for slot in slots.values()):
            granted.update(slots)
    return granted


def _tenants(scheduled: Iterable[Scheduled], at: Mapping[str, Slot]) -> dict[Slot, set[str]]:
    """Topology ids by slot; a worker of Storm serves one topology."""
    tenants: dict[Slot, set[str]] = defaultdict(set)
    for each in scheduled:
        for task in each.executors:
            if task in at:
                tenants[at[task]].add(each.topology.id)
    return tenants


def decide(
    snapshot: Snapshot,
    wish: Mapping[str, Slot],
    metrics: Metrics,
    schedule: Callable[[Request], Plan],
    complete: Callable[[Observation], Observation] = lambda seen: seen,
    *,
    top_up: bool = False,
) -> RoundDecision:
    """Answer a round: the wish, then whatever has no slot, topologies with seats first.

    Args:
        wish: Slot by task id that the control loop asks for, {} for none.
        metrics: What workers reported last; what the round does not know of them is left out.
        schedule: The scheduler; asked only if executors are left without a slot.
        complete: Adds what is known of earlier hours.
        top_up: Put executors for which no slot is free into running workers of their topology.

    Returns:
        The answer `hold` if the scheduler fails or holds its plan.
    """
    granted = grant(snapshot, wish)
    seats = assign_seat_slots(snapshot, granted)
    if seats.lacking and snapshot.resort:
        seats = assign_seat_slots(snapshot.opened(), granted)
    granted |= seats.slots
    aside = {task for each in snapshot.scheduled if each.seating or each.shares_memory for task in each.unassigned}
    if all(task in granted or task in aside for task in snapshot.unassigned):
        return RoundDecision(answer=_answer(snapshot, granted, FreeSlots(lacking=seats.lacking)))
    seen = _without_waiting(snapshot, granted).observation()
    running = FrozenMap({**snapshot.assignment, **granted})
    seen = complete(attrs.evolve(seen, assignment=running, metrics=known_metrics(metrics, seen)))
    others = [each for each in snapshot.scheduled if not (each.seating or each.shares_memory)]
    resort = snapshot.opened().observation().cluster if snapshot.resort and snapshot.blacklisted else None
    free = plan_free_slots(seen, others, schedule, seconds=SHARE * snapshot.timeout, top_up=top_up, resort=resort)
    free = attrs.evolve(free, lacking=FrozenMap({**free.lacking, **seats.lacking}))
    answer = Answer(mode="hold", reason=free.held) if free.held else _answer(snapshot, granted, free)
    return RoundDecision(answer=answer, request=free.request, plan=free.plan, notes=(*seen.notes, *_unkept(snapshot)))


def _without_waiting(snapshot: Snapshot, granted: Mapping[str, Slot]) -> Snapshot:
    """The round without topologies with seats of which nothing runs: no scheduler is asked for their executors."""
    begun = {task.partition("/")[0] for task in (*snapshot.assignment, *granted)}
    kept = tuple(each for each in snapshot.scheduled if each.seating is None or each.topology.id in begun)
    return attrs.evolve(snapshot, scheduled=kept)


def _unkept(snapshot: Snapshot) -> tuple[str, ...]:
    """A sentence for each topology that is to be placed, and not all of what it says can be kept."""
    odd = (each for each in snapshot.scheduled if each.unkept and each.unassigned)
    return tuple(f"{each.name}: {each.unkept}" for each in odd)


def _answer(snapshot: Snapshot, granted: Mapping[str, Slot], free: FreeSlots) -> Answer:
    wanted = {**granted, **free.slots}
    changed = layouts(snapshot, wanted)
    status = {
        name: _describe([at for at, pairs in layout.items() for _ in pairs[::2]]) for name, layout in changed.items()
    }
    for each in snapshot.scheduled:
        name, count = each.topology.id, sum(task not in wanted for task in each.unassigned)
        if name in free.left_out:
            status[name] = f"not started: {free.left_out[name]}"
        elif count and name in free.lacking:
            status[name] = f"{count} executors cannot be placed: {free.lacking[name]}"
        if hosts := _blacklisted(snapshot, each, wanted):
            status[name] = f"{status[name]}; on Storm's blacklist, for there is no room elsewhere: {', '.join(hosts)}"
        if name in free.restarted:
            workers = ", ".join(_address(snapshot, slot) for slot in free.restarted[name])
            status[name] = f"{status[name]}; to top up, restarts the worker on {workers}"
        if each.unkept and name in status:
            status[name] = f"{status[name]}; {each.unkept}"
    say = spoken(snapshot.nodes, (each.topology for each in snapshot.scheduled))
    status = {name: say(text) for name, text in status.items()}
    return Answer(layouts=changed, status=FrozenMap(status), last_resort=tuple(_last_resort(snapshot, wanted, free)))


def _last_resort(snapshot: Snapshot, wanted: Mapping[str, Slot], free: FreeSlots) -> Iterator[str]:
    """Topologies whose executors Storm's own scheduler may place: none, unless some lack a slot for want of room alone.

    It knows no constraints and no seats, and nothing of what a scheduler leaves out on purpose. Those whose components
    share memory are its own in any case.
    """
    yield from (each.topology.id for each in snapshot.scheduled if each.shares_memory and each.unassigned)
    open_to_all = [
        each
        for each in snapshot.scheduled
        if each.unassigned
        and each.seating is None
        and not each.shares_memory
        and each.topology.id not in free.chosen
        and not any(rule.is_hard for rule in each.topology.constraints)
    ]
    if any(task not in wanted for each in open_to_all for task in each.unassigned):
        yield from (each.topology.id for each in open_to_all)


def _blacklisted(snapshot: Snapshot, scheduled: Scheduled, wanted: Mapping[str, Slot]) -> list[str]:
    """Hosts of the blacklist on which executors of a topology start."""
    nodes = {wanted[task].node for task in scheduled.unassigned if task in wanted}
    return sorted(snapshot.hosts[node] for node in nodes & snapshot.blacklisted)


def _address(snapshot: Snapshot, slot: Slot) -> str:
    """The host and port of a slot, as Storm's UI shows it."""
    return f"{snapshot.hosts.get(slot.node, slot.node)}:{slot.port}"


def _tell(answer: Answer, snapshot: Snapshot, said: Mapping[str, str]) -> Answer:
    """The answer with what is to be shown of topologies of which the round itself says nothing."""
    known = {each.topology.id: said[each.topology.id] for each in snapshot.scheduled if each.topology.id in said}
    for each in snapshot.scheduled:
        if each.unkept and each.assignment:
            text = said.get(each.topology.id) or _describe(each.assignment.values())
            known[each.topology.id] = f"{text}; {each.unkept}"
    return attrs.evolve(answer, status=FrozenMap({**known, **answer.status}))


def _describe(slots: Collection[Slot]) -> str:
    """The sentence on executors in these slots, one for each."""
    nodes = len({slot.node for slot in slots})
    return f"{len(slots)} executors in {len(set(slots))} workers on {nodes} nodes"


class Rounds:
    """Answers rounds one at a time, and lets others wish and wait; every method may be called by any thread."""

    def __init__(
        self,
        schedule: Callable[[Request], Plan],
        *,
        shadow: bool = False,
        metrics: Callable[[], Metrics] = Metrics,
        complete: Callable[[Observation], Observation] = lambda seen: seen,
        top_up: bool = False,
        on_decision: Callable[[Snapshot, RoundDecision], None] | None = None,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        """Take who decides, and who is told.

        Args:
            schedule: The scheduler; what it returns keeps every rule.
            shadow: Plan, but let Storm's own scheduler act; may be changed between two rounds.
            metrics: What was measured last.
            complete: Adds what is known of earlier hours; called by the thread that answers.
            top_up: Put executors for which no slot is free into running workers of their topology.
            on_decision: Hears of every round in which something was planned. The answer waits for it, and leaves
                whatever it raises.
            clock: Tells seconds, by which rounds are dated.
        """
        self._schedule = schedule
        self.shadow = shadow
        self._metrics = metrics
        self._complete = complete
        self._top_up = top_up
        self._on_decision = on_decision
        self._clock = clock
        self._wish: FrozenMap[str, Slot] = FrozenMap()
        self._said: FrozenMap[str, str] = FrozenMap()
        self._latest: Snapshot | None = None
        self._asked = clock()
        self._count = 0
        # Two locks: who wishes or waits must not stand behind a scheduler that plans for seconds.
        self._changed = threading.Condition()
        self._one_round = threading.Lock()

    def answer(self, text: str) -> str:
        """Answer a round: JSON in, JSON out.

        Raises:
            DocumentError: The text is not a round. The bridge in Nimbus holds the assignment then.
        """
        with self._one_round:
            snapshot = read_snapshot(text)
            with self._changed:
                wish = self._wish
            decision = decide(snapshot, wish, self._metrics(), self._schedule, self._complete, top_up=self._top_up)
            answer = Answer(mode="own") if self.shadow else _tell(decision.answer, snapshot, self._said)
            # Shows the assignment before this answer: what Nimbus made of it is in the next round.
            self._publish(snapshot)
            made = answer.text(snapshot)
            if decision.request is not None and self._on_decision is not None:
                try:
                    self._on_decision(snapshot, decision)
                except Exception as error:  # noqa: BLE001 - a plan that is made is answered with, whoever hears of it
                    said = f"round {snapshot.round} is not recorded: {type(error).__name__}: {error}"
                    LOG.warning("%s", said, extra={"round": snapshot.round})
            return made

    def _publish(self, snapshot: Snapshot) -> None:
        with self._changed:
            self._latest, self._count, self._asked = snapshot, self._count + 1, self._clock()
            self._changed.notify_all()

    def wish(self, assignment: Mapping[str, Slot]) -> None:
        """Ask for an assignment, slot by task id, in place of what was wished before; {} wishes nothing."""
        with self._changed:
            self._wish = FrozenMap(assignment)

    def say(self, sentences: Mapping[str, str]) -> None:
        """Show sentences by topology id in Nimbus, in place of those of before, where a round itself has none."""
        self._said = FrozenMap(sentences)

    @property
    def newest(self) -> Snapshot | None:
        """The newest snapshot, None before the first round."""
        return self._latest

    @property
    def age(self) -> float:
        """Seconds since the newest snapshot was answered; before the first round, since this was made."""
        return self._clock() - self._asked

    def latest(self, seconds: float) -> Snapshot:
        """The newest snapshot; the first one is waited for.

        Raises:
            EngineError: Nimbus has never asked, and does not within these seconds; or it asks no more (`Timing`).
        """
        with self._changed:
            self._changed.wait_for(lambda: self._latest is not None, seconds)
            if self._latest is None:
                raise EngineError(NOBODY.format(seconds=seconds))
            last, age = self._latest, self.age
            if age > last.timing.silence:
                raise EngineError(SILENT.format(nimbus=last.nimbus, number=last.round, age=age))
            return last

    def until(self, fulfilled: Callable[[Snapshot], bool], seconds: float) -> Snapshot | None:
        """The first snapshot after this call that fulfils a condition, None if there is none within the seconds.

        Args:
            fulfilled: The condition; called with no snapshot twice.
            seconds: How long to wait. Nimbus asks every `nimbus.monitor.freq.secs`, 10 s by default.
        """
        deadline = time.monotonic() + seconds
        with self._changed:
            # By number, not by identity: the snapshot of before this call may already fulfil it, and proves nothing.
            seen = self._count
            while (left := deadline - time.monotonic()) > 0:
                self._changed.wait(left)
                if self._count != seen and self._latest is not None:
                    seen = self._count
                    if fulfilled(self._latest):
                        return self._latest
        return None

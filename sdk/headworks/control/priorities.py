"""A priority manager in the control loop: its priorities in place of what topologies declare, and changes by steps.

Changes are carried out at once, or step by step by the manager, while their topologies are empty.
"""

from __future__ import annotations

import threading
import time
from typing import TYPE_CHECKING, Any

import attrs

from headworks.errors import HeadworksError
from headworks.model import Change, Drain, FrozenMap, Observation, Steering

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from headworks.model import Intake, Receipt, Request, Slot
    from headworks.plugins.host import PluginHost


FIELDS = ("priority", "desired_nodes", "minimum_nodes")
"""Fields of a topology that a priority manager decides."""


def overridden(seen: Observation, said: Observation) -> Observation:
    """The observation with the priorities, desired and minimum nodes that a priority manager said.

    Args:
        said: The answer; topologies that were not seen are left out, and so is everything else.
    """
    by_id = {topology.id: topology for topology in said.topologies}
    topologies = tuple(
        attrs.evolve(each, **{field: getattr(by_id.get(each.id, each), field) for field in FIELDS})
        for each in seen.topologies
    )
    return attrs.evolve(seen, topologies=topologies)


SOON = 1.0
"""Seconds that an answer to an engine's own round waits for a priority manager."""


class Priorities:
    """A priority manager, asked before every round; `complete` and `latest` may be called by any thread."""

    def __init__(self, host: PluginHost, place: str | None) -> None:
        """Take the plugin; nothing is asked yet.

        Args:
            place: Its name, and an address after a colon; None leaves observations as they are.

        Raises:
            PluginError: There is no such plugin with `headworks_prioritise`.
        """
        self._host = host
        self._name, _, address = (place or "").partition(":")
        self._address = address or None
        self._lock = threading.Lock()
        self._last: Observation | None = None
        self._question: _Question | None = None
        if self._name:
            host.plugin(self._name, "headworks_prioritise")

    def complete(self, seen: Observation) -> Observation:
        """The observation with the priorities of now, and the manager's notes.

        Raises:
            HeadworksError: The manager cannot say.
        """
        return _merged(seen, self._ask(seen)) if self._name else seen

    def latest(self, seen: Observation) -> Observation:
        """The same within a second or so: what is new has to start.

        Where the manager cannot say, or not that soon, it is what the manager said last, with a note. A question that
        has no answer yet is the only one: nothing more is asked until it is answered.
        """
        if not self._name:
            return seen
        question = self._pending(seen)
        if not question.answered.wait(SOON):
            return self._as_last(seen, f"no answer for {question.age():.0f} s")
        if question.error is not None:
            return self._as_last(seen, question.error)
        return _merged(seen, question.said)

    def _ask(self, seen: Observation) -> Observation:
        asked = {"observation": seen, "address": self._address}
        said: Observation = self._host.call(self._name, "headworks_prioritise", **asked)
        with self._lock:
            self._last = said
        return said

    def _pending(self, seen: Observation) -> _Question:
        with self._lock:
            question = self._question
            if question is None or question.answered.is_set():
                self._question = question = _Question(lambda: self._ask(seen))
                question.start()
        return question

    def _as_last(self, seen: Observation, why: object) -> Observation:
        with self._lock:
            last = self._last
        known = "as topologies declare them" if last is None else "as they were"
        note = f"{self._name}: priorities are {known}: {why}"
        return attrs.evolve(overridden(seen, last or seen), notes=(*seen.notes, note))


class _Question(threading.Thread):
    """One question to a priority manager, in a thread that keeps nobody from ending."""

    def __init__(self, ask: Callable[[], Observation]) -> None:
        super().__init__(name="priorities", daemon=True)
        self._ask, self._began = ask, time.monotonic()
        self.answered = threading.Event()
        self.said, self.error = Observation(), None  # type: Observation, HeadworksError | None

    def run(self) -> None:
        try:
            self.said = self._ask()
        except HeadworksError as error:
            self.error = error
        finally:
            self.answered.set()

    def age(self) -> float:
        """Seconds since it was asked."""
        return time.monotonic() - self._began


def _merged(seen: Observation, said: Observation) -> Observation:
    notes = tuple(each for each in said.notes if each not in seen.notes)
    return attrs.evolve(overridden(seen, said), notes=(*seen.notes, *notes))


def changed_topologies(before: Mapping[str, Slot], after: Mapping[str, Slot]) -> tuple[str, ...]:
    """Ids of the topologies some running task of which has another slot afterwards, sorted.

    Those that lose all their slots are not among them: an engine that pauses topologies keeps their workers.

    Args:
        before: Slots of running tasks, by task id.
    """
    return tuple(sorted({task.partition("/")[0] for task, slot in before.items() if after.get(task, slot) != slot}))


def change_of(request: Request, after: Mapping[str, Slot], execute: Callable[[], Receipt]) -> Change:
    """The change from what runs to another assignment: the topologies to pause for it, and all old slots.

    Topologies whose tasks move while their workers run are not paused; their slots are among the old ones.
    """
    names = changed_topologies(request.assignment, after)
    own = {task: slot for task, slot in request.assignment.items() if task.partition("/")[0] in names}
    live = {each.id for each in request.topologies if each.live}
    paused = tuple(name for name in names if name not in live)
    return Change(topologies=paused, before=FrozenMap(own), execute=execute)


class Draining:
    """Carries changes out on one engine; without a `drain` at once, and nothing is ever to be recovered."""

    def __init__(self, host: PluginHost, engine: str, target: Any, priorities: str | None, drain: Drain | None) -> None:
        """Take the plugins; nothing is asked yet.

        Args:
            priorities: Name of the priority manager, and an address after a colon.
            drain: Patience with topologies that are paused; None pauses none.

        Raises:
            PluginError: A plugin that is needed is not there, or cannot.
        """
        self._host, self._engine, self._target, self._drain = host, engine, target, drain
        self._name, _, address = (priorities or "").partition(":")
        self._address = address or None
        if drain is not None:
            host.plugin(engine, "headworks_intake")
            host.plugin(self._name, "headworks_reschedule")
            host.plugin(self._name, "headworks_recover")

    @property
    def by_steps(self) -> bool:
        """True if topologies are paused for a change."""
        return self._drain is not None

    def recover(self) -> tuple[str, ...]:
        """Finish or undo what an earlier process began; sentences on what was done.

        Raises:
            HeadworksError: That is not possible now.
        """
        if self._drain is None:
            return ()
        said: tuple[str, ...] = self._host.call(
            self._name, "headworks_recover", steering=self._steering(), address=self._address
        )
        return said

    def execute(self, request: Request, after: Mapping[str, Slot], execute: Callable[[], Receipt]) -> Receipt:
        """Carry a change out.

        Raises:
            HeadworksError: The priority manager or the engine failed.
        """
        change = change_of(request, after, execute)
        if self._drain is None or not change.topologies:
            return execute()
        steering = self._steering()
        receipt: Receipt = self._host.call(
            self._name,
            "headworks_reschedule",
            change=change,
            steering=steering,
            drain=self._drain,
            address=self._address,
        )
        return receipt

    def _steering(self) -> Steering:
        host, engine, target = self._host, self._engine, self._target
        intake: Intake = host.call(engine, "headworks_intake", target=target)
        return Steering(intake=intake, rollback=lambda receipt: host.rollback(engine, target, receipt))

"""Priorities in the control loop: those of a priority manager, a plugin, in place of what topologies declare."""

from __future__ import annotations

import threading
import time
from typing import TYPE_CHECKING

import attrs

from headworks.errors import HeadworksError
from headworks.model import Observation

if TYPE_CHECKING:
    from collections.abc import Callable

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

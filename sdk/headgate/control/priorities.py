"""Priorities in the control loop: those of a priority manager, a plugin, in place of what topologies declare."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING

import attrs

from headgate.errors import HeadgateError

if TYPE_CHECKING:
    from headgate.model import Observation
    from headgate.plugins.host import PluginHost

FIELDS = ("priority", "desired_nodes", "minimum_nodes")
"""Fields of a topology that a priority manager decides."""


def overridden(seen: Observation, said: Observation) -> Observation:
    """The observation with the priorities, desired and minimum nodes that a priority manager said.

    Args:
        seen: What a monitor saw.
        said: The answer; topologies that were not seen are left out, and so is everything else.
    """
    by_id = {topology.id: topology for topology in said.topologies}
    topologies = tuple(
        attrs.evolve(each, **{field: getattr(by_id.get(each.id, each), field) for field in FIELDS})
        for each in seen.topologies
    )
    return attrs.evolve(seen, topologies=topologies)


class Priorities:
    """A priority manager, asked before every round; `complete` and `latest` may be called by any thread."""

    def __init__(self, host: PluginHost, place: str | None) -> None:
        """Take the plugin; nothing is asked yet.

        Args:
            host: Has the plugin.
            place: Its name, and an address after a colon; None leaves observations as they are.

        Raises:
            PluginError: There is no such plugin with `headgate_prioritise`.
        """
        self._host = host
        self._name, _, address = (place or "").partition(":")
        self._address = address or None
        self._lock = threading.Lock()
        self._last: Observation | None = None
        if self._name:
            host.require(self._name, "headgate_prioritise")

    def complete(self, seen: Observation) -> Observation:
        """The observation with the priorities of now, and the manager's notes.

        Raises:
            HeadgateError: The manager cannot say.
        """
        if not self._name:
            return seen
        said = self._host.prioritise(self._name, seen, self._address)
        with self._lock:
            self._last = said
        notes = tuple(each for each in said.notes if each not in seen.notes)
        return attrs.evolve(overridden(seen, said), notes=(*seen.notes, *notes))

    def latest(self, seen: Observation) -> Observation:
        """The same, with what the manager said last, and a note, where it cannot say: what is new has to start."""
        try:
            return self.complete(seen)
        except HeadgateError as error:
            with self._lock:
                last = self._last
            known = "as topologies declare them" if last is None else "as they were"
            note = f"{self._name}: priorities are {known}: {error}"
            return attrs.evolve(overridden(seen, last or seen), notes=(*seen.notes, note))

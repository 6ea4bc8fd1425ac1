"""The trace of a simulation: a small document of events on a cluster, by time, kind, subject and value."""

from __future__ import annotations

import contextlib
from typing import TYPE_CHECKING, Literal

import attrs

from headworks.documents import read
from headworks.errors import DocumentError, pointer
from headworks.model import Slot

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from headworks_sim.fluid.layout import Layout

Kind = Literal["load", "batch", "node-down", "node-up", "node-flap", "worker-down"]
"""Kinds of events: `load` sets a topology's load to `value` times its nominal one; `batch` brings `value` tuples to its
source at once; `node-down` and `node-up` end and begin a node; `node-flap` lets it go and come every `value` seconds
until the next event of that node; `worker-down` ends a worker process (`NODE:PORT`), which its supervisor starts
again."""

VALUED = ("load", "batch", "node-flap")
"""Kinds that need a value."""

FLAP = 0.1
"""Seconds, the shortest time in which a node may go and come."""


@attrs.frozen(kw_only=True)
class Event:
    """An event of a trace: `time` in seconds of the simulation, `value` where the kind needs one."""

    time: float
    kind: Kind
    subject: str
    value: float | None = None


@attrs.frozen(kw_only=True)
class Trace:
    """The events of a simulation; their order in the document counts only among those of one time."""

    events: tuple[Event, ...] = ()

    @property
    def end(self) -> float:
        """Time of the last event."""
        return max((event.time for event in self.events), default=0.0)


def read_trace(path: str | Path) -> Trace:
    """Read a trace document.

    Raises:
        DocumentError: It cannot be read or breaks its schema.
    """
    return read(path, Trace)


@contextlib.contextmanager
def naming(path: str | None) -> Iterator[None]:
    """Let an error about an event name the file that it stands in.

    Args:
        path: The file, None if there is no trace.
    """
    try:
        yield
    except DocumentError as error:
        if path is None or error.source or not error.pointer.startswith("/events"):
            raise
        raise DocumentError(error.pointer, error.message, path) from None


def check_trace(trace: Trace, layout: Layout) -> None:
    """Check that every event of a trace names a part of the simulated cluster.

    Args:
        trace: The trace.
        layout: The cluster and its topologies.

    Raises:
        DocumentError: With a pointer to the event that names something unknown or lacks its value.
    """
    entering = {each.id: each.throughput for each in layout.topologies}
    slots = {node.id: node.slots for node in layout.problem.request.cluster.nodes}
    for number, event in enumerate(trace.events):
        where = ("events", number)
        if event.kind in VALUED and event.value is None:
            raise DocumentError(pointer(*where, "value"), f"{event.kind} of {event.subject!r} needs a value")
        if event.kind == "node-flap" and (event.value or 0.0) < FLAP:
            message = f"{event.subject!r} cannot go and come every {event.value:g} s, at least {FLAP:g} s are needed"
            raise DocumentError(pointer(*where, "value"), message)
        message = _unknown(event, entering, slots)
        if message:
            raise DocumentError(pointer(*where, "subject"), message)


def _unknown(event: Event, entering: dict[str, float], slots: dict[str, tuple[int, ...]]) -> str:
    if event.kind in ("load", "batch"):
        if event.subject not in entering:
            return f"no topology {event.subject!r}; there are: {_some(list(entering))}"
        if not entering[event.subject]:
            return f"nothing enters {event.subject!r}: give its spouts a rate"
        return ""
    node = event.subject
    if event.kind == "worker-down":
        try:
            slot = Slot.parse(event.subject)
        except ValueError as error:
            return str(error)
        node = slot.node
        if slot.port not in slots.get(node, (slot.port,)):
            return f"node {node!r} has no slot {slot.port}; its slots are {', '.join(map(str, slots[node]))}"
    return "" if node in slots else f"no node {node!r}; there are: {_some(list(slots))}"


def _some(names: list[str]) -> str:
    names = sorted(names)
    return (", ".join(names[:5]) or "none") + (f" and {len(names) - 5} more" if len(names) > 5 else "")

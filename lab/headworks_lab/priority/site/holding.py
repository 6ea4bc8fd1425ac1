"""Nodes and who held them when: what each round of Nimbus shows, as spans of time."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING, Self

import attrs

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from headworks_storm.nimbus.snapshot import Snapshot

LOOK = 0.25
"""Seconds between two looks. With more, the picture is coarser than Nimbus's rounds."""


@attrs.frozen(kw_only=True)
class Span:
    """Topologies, by name, that had tasks on a node from one moment to another (seconds since 1970)."""

    host: str
    topologies: tuple[str, ...]
    begin: float
    end: float


Held = tuple[tuple[str, tuple[str, ...]], ...]
"""Topologies on each host, by host."""


def held_of(snapshot: Snapshot) -> Held:
    """Topologies with executors on each supervisor, as a round shows them."""
    on: dict[str, set[str]] = {host: set() for host in snapshot.hosts.values()}
    for each in snapshot.scheduled:
        for slot in each.assignment.values():
            on.setdefault(snapshot.hosts.get(slot.node, slot.node), set()).add(each.name)
    return tuple((host, tuple(sorted(names))) for host, names in sorted(on.items()))


def nodes_of(held: Held) -> dict[str, int]:
    """Number of nodes of each topology that has some."""
    found: dict[str, int] = {}
    for _, names in held:
        for name in names:
            found[name] = found.get(name, 0) + 1
    return found


def spans(seen: Iterable[tuple[float, Held]], end: float) -> tuple[Span, ...]:
    """Spans of what was seen, each until the next look that shows another.

    Args:
        seen: Moments, and what was there from then on; the earliest first.
        end: The end of the last ones.
    """
    found: list[Span] = []
    open_: dict[str, tuple[tuple[str, ...], float]] = {}
    for at, held in seen:
        for host, names in held:
            before, since = open_.get(host, ((), at))
            if before != names:
                found += [Span(host=host, topologies=before, begin=since, end=at)] if before else []
                open_[host] = (names, at)
    found += [
        Span(host=host, topologies=names, begin=since, end=end) for host, (names, since) in open_.items() if names
    ]
    return tuple(sorted(found, key=lambda each: (each.host, each.begin)))


class Watcher:
    """A thread that writes down what rounds show whenever it changes."""

    def __init__(self, newest: Callable[[], Snapshot | None], clock: Callable[[], float]) -> None:
        """Take the rounds.

        Args:
            newest: The newest snapshot.
            clock: Seconds since 1970.
        """
        self._newest, self._clock = newest, clock
        self._seen: list[tuple[float, Held]] = []
        self._ended = threading.Event()
        self._thread = threading.Thread(target=self._run, name="headworks-holding", daemon=True)

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_error: object) -> None:
        self._ended.set()
        self._thread.join()

    @property
    def now(self) -> Held:
        """State that the newest round showed; nothing before the first."""
        return self._seen[-1][1] if self._seen else ()

    def spans(self, begin: float, end: float) -> tuple[Span, ...]:
        """Spans between two moments.

        Args:
            begin: Seconds since 1970.
            end: Seconds since 1970.
        """
        found = spans(tuple(self._seen), end)
        cut = (attrs.evolve(each, begin=max(each.begin, begin), end=min(each.end, end)) for each in found)
        return tuple(each for each in cut if each.end > each.begin)

    def _run(self) -> None:
        while not self._ended.wait(LOOK):
            snapshot = self._newest()
            held = held_of(snapshot) if snapshot is not None else ()
            if held != self.now:
                self._seen.append((self._clock(), held))

"""What `--json` and HTTP answer: seconds, and times as text in UTC. Their JSON Schemas are made of these classes."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

import attrs

from headworks_manager.rules.indication import Indication

if TYPE_CHECKING:
    from collections.abc import Mapping

    from headworks_manager.database.history import Change
    from headworks_manager.database.store import Store
    from headworks_manager.rules.indication import Merged
    from headworks_manager.rules.starving import Seen


@attrs.frozen(kw_only=True)
class State:
    """An indication (`rules.indication.Indication`) in seconds, with the priority in effect."""

    name: str
    priority: int | None
    trigger_priority: int
    desired_nodes: int | None
    minimum_nodes: int | None
    hold: float
    aging: float | None
    active: bool
    wanted: bool
    changed: str | None
    level: int | None


@attrs.frozen(kw_only=True)
class Registered(State):
    """A registered topology, and what the last round saw of it.

    Attributes:
        nodes: Nodes on which it has tasks; None if no round saw it.
        starving: Time since which it starves.
        preferred: Time since which it comes before all others, by aging.
        remedy: What it would take that it does not starve.
    """

    nodes: int | None
    starving: str | None
    preferred: str | None
    remedy: str


@attrs.frozen(kw_only=True)
class Outcome:
    """Outcome of a trigger; `verdict` is one of `rules.indication.Verdict`."""

    verdict: str
    message: str
    topology: State


@attrs.frozen(kw_only=True)
class Entry:
    """A change of the history (`database.history.Change`); there is none before a first one and after a removal."""

    number: int
    at: str
    until: str
    times: int
    topology: str
    action: str
    verdict: str
    source: str
    who: str
    why: str
    before: State | None
    after: State | None


def registered(store: Store, name: str | None = None) -> list[Registered]:
    """The registered topologies with what the last round saw of them, by name; or one alone.

    Raises:
        UnknownError: There is none of that name.
    """
    found, seen = store.indications(name), store.seen()
    return [_registered(each, seen.get(each.name)) for each in found.values()]


def state(indication: Indication) -> State:
    """An indication with the priority in effect."""
    made = {
        **attrs.asdict(indication),
        "hold": indication.hold / 1000,
        "aging": None if indication.aging is None else indication.aging / 1000,
        "changed": _time(indication.changed),
    }
    return State(**made, level=indication.level)


def outcome(merged: Merged) -> Outcome:
    """The outcome of a trigger."""
    return Outcome(verdict=merged.verdict, message=merged.message, topology=state(merged.indication))


def entry(change: Change) -> Entry:
    """A row of the history."""
    made = {
        **attrs.asdict(change),
        "at": time_text(change.at),
        "until": time_text(change.until),
        "before": _recorded(change.before),
        "after": _recorded(change.after),
    }
    return Entry(**made)


def plain(value: Any) -> dict[str, Any]:
    """One of these values for JSON."""
    return attrs.asdict(value)


def time_text(milliseconds: int) -> str:
    """Milliseconds since 1970 as text, in UTC."""
    return datetime.fromtimestamp(milliseconds / 1000, tz=UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")


def _time(milliseconds: int | None) -> str | None:
    return None if milliseconds is None else time_text(milliseconds)


def _recorded(row: Mapping[str, Any]) -> State | None:
    return state(Indication(**row)) if row else None


def _registered(indication: Indication, seen: Seen | None) -> Registered:
    return Registered(
        **attrs.asdict(state(indication)),
        nodes=None if seen is None else seen.nodes,
        starving=None if seen is None else _time(seen.starving),
        preferred=None if seen is None else _time(seen.boosted),
        remedy="" if seen is None else seen.remedy,
    )

"""Indications, changes and what rounds saw as plain data, for `--json` and HTTP: seconds, and times as text in UTC."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

import attrs

if TYPE_CHECKING:
    from headworks_manager.database.history import Change
    from headworks_manager.database.store import Store
    from headworks_manager.rules.indication import Indication, Merged
    from headworks_manager.rules.starving import Seen


def topologies_data(store: Store) -> list[dict[str, Any]]:
    """The registered topologies with their priorities, and what the last round saw of them."""
    found, seen = store.indications().values(), store.seen()
    return [{**indication_data(each), **_seen_data(seen.get(each.name))} for each in found]


def indication_data(each: Indication) -> dict[str, Any]:
    """An indication with the priority in effect."""
    changed = None if each.changed is None else time_text(each.changed)
    return {
        **attrs.asdict(each),
        "hold": each.hold / 1000,
        "aging": None if each.aging is None else each.aging / 1000,
        "changed": changed,
        "level": each.level,
    }


def merged_data(merged: Merged) -> dict[str, Any]:
    """The outcome of a trigger."""
    return {"verdict": merged.verdict, "message": merged.message, "topology": indication_data(merged.indication)}


def change_data(change: Change) -> dict[str, Any]:
    """A row of the history."""
    return {**attrs.asdict(change), "at": time_text(change.at), "until": time_text(change.until)}


def time_text(milliseconds: int) -> str:
    """Milliseconds since 1970 as text, in UTC."""
    return datetime.fromtimestamp(milliseconds / 1000, tz=UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")


def _seen_data(seen: Seen | None) -> dict[str, Any]:
    if seen is None:
        return {"nodes": None, "starving": None, "preferred": None, "remedy": ""}
    times = {"starving": seen.starving, "preferred": seen.boosted}
    told = {key: None if time is None else time_text(time) for key, time in times.items()}
    return {"nodes": seen.nodes, **told, "remedy": seen.remedy}

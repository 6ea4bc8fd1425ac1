"""Offsets of streaming sources, as Spark reports them with each micro-batch."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping


def rows_behind(sources: Iterable[Mapping[str, Any]]) -> int | None:
    """Rows that sources have beyond the end of a batch; None if no source says it in rows.

    Only offsets by topic and partition (Kafka) count rows; those of other sources are seconds or files.

    Args:
        sources: Of one batch, as Spark reports them.
    """
    pairs = [(_offsets(each.get("latestOffset")), _offsets(each.get("endOffset"))) for each in sources]
    found = [
        sum(latest.values()) - sum(end.values()) for latest, end in pairs if latest and latest.keys() == end.keys()
    ]
    return sum(found) if found else None


def _offsets(offset: Any) -> dict[tuple[str, str], int]:
    """Offsets by topic and partition, of an object or its text; none of any other."""
    if isinstance(offset, str):
        try:
            offset = json.loads(offset)
        except ValueError:
            return {}
    if not isinstance(offset, dict) or not all(isinstance(each, dict) for each in offset.values()):
        return {}
    found = {(topic, part): at for topic, parts in offset.items() for part, at in parts.items()}
    return found if all(type(at) is int for at in found.values()) else {}

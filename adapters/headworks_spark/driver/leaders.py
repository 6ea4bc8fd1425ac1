"""Leaders of the Kafka partitions that a scan reads, as the jar's `KafkaLeaders` tells of them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import attrs

from headworks.model.topology import TUPLE_BYTES

if TYPE_CHECKING:
    from collections.abc import Iterable


@attrs.frozen(kw_only=True)
class Leader:
    """The broker from which a partition is read: its host, its rack if it says one, and bytes of a row as it has it."""

    host: str
    rack: str | None = None
    row: float = TUPLE_BYTES


def leaders(told: Iterable[Any]) -> tuple[Leader | None, ...]:
    """The leader of what each task of a scan reads, None where there is none now.

    Args:
        told: Host, rack and bytes of a row of each; where a broker does not tell of rows, they have a usual size.
    """
    return tuple(None if each is None else _leader(*each) for each in told)


def _leader(host: str, rack: str | None, row: float) -> Leader:
    return Leader(host=host, rack=rack, row=row or TUPLE_BYTES)

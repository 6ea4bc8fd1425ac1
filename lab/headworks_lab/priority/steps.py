"""Steps of changes of nodes in the manager's history (Figure 6), and how long a change took; no I/O."""

from __future__ import annotations

from datetime import datetime
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    Row = Mapping[str, Any]

FIG_6 = ("deactivated", "empty", "changed", "verified", "activated")
"""Steps of a change of nodes, by the words of the manager's history."""


def seconds_of(text: str) -> float:
    """Seconds since 1970 of a time in a history.

    Args:
        text: Such as 2026-01-31T12:00:00.000Z.
    """
    return datetime.fromisoformat(text).timestamp()


def moments(history: Iterable[Row]) -> tuple[tuple[float, str], ...]:
    """Moments and words of steps, in order; a step of several topologies is one.

    Args:
        history: Rows, by number.
    """
    rows = (each for each in history if each["action"] == "reschedule")
    return tuple((seconds_of(at), word) for at, word in dict.fromkeys((each["at"], each["verdict"]) for each in rows))


def changes(words: Sequence[str]) -> int:
    """Changes of which every step is there.

    Args:
        words: Steps in order.
    """
    return " ".join(words).count(" ".join(FIG_6))


def triggers(history: Iterable[Row], topology: str) -> tuple[tuple[float, str], ...]:
    """The moments at which triggers of a topology took effect, and whether they began (on) or ended (off).

    Args:
        history: Rows, by number.
        topology: Name of the topology.
    """
    own = (each for each in history if each["action"] == "trigger" and each["topology"] == topology)
    changed = [each for each in own if (each["before"] or {}).get("active") != each["after"]["active"]]
    return tuple((seconds_of(each["at"]), "on" if each["after"]["active"] else "off") for each in changed)


def overheads(history: Sequence[Row], topology: str) -> tuple[float, ...]:
    """Seconds from each trigger to the end of the change that it led to (O, section 4.2.4).

    Args:
        history: Rows, by number.
        topology: Name of the topology that sends triggers.
    """
    ends = [at for at, word in moments(history) if word == FIG_6[-1]]
    found = []
    for begin, _ in triggers(history, topology):
        after = [end for end in ends if end >= begin]
        found += [after[0] - begin] if after else []
    return tuple(found)

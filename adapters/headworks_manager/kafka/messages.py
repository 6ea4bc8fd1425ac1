"""Messages of a topic read: each is a trigger, or has a reason why it is none. No I/O."""

from __future__ import annotations

from headworks.documents import loads
from headworks.errors import DocumentError
from headworks_manager.database.history import Author
from headworks_manager.database.ledger import Sent
from headworks_manager.database.topics import Message
from headworks_manager.rules.indication import Trigger, check_trigger

LARGEST = 64 * 1024
"""Bytes that a message may have, as many as over HTTP: a trigger has a few hundred."""


def read_message(where: str, offset: int, value: bytes | None) -> Message:
    """Read a message.

    Args:
        where: Its topic and partition, for the history.
        offset: Its offset there.
        value: Its value; None if it has none.
    """
    return Message(offset=offset, value=value or b"", meant=_meant(f"kafka {where}@{offset}", value))


def _meant(who: str, value: bytes | None) -> Sent | DocumentError:
    if value is None:
        return DocumentError("", "it has no value: send a trigger as JSON")
    if len(value) > LARGEST:
        return DocumentError("", f"it has {len(value)} bytes, more than {LARGEST}: send one trigger in a message")
    try:
        trigger = loads(value, Trigger)
        check_trigger(trigger)
    except DocumentError as error:
        return error
    return Sent(trigger=trigger, author=Author(who=who))

"""Priority indications of topologies, and the triggers that change them: values and rules, no I/O, no clock.

Times are whole milliseconds since 1970 in UTC.
"""

from __future__ import annotations

from datetime import datetime
from typing import Literal

import attrs

from headworks.errors import DocumentError
from headworks_manager.rules.refusals import ConflictError

AHEAD = 300_000
"""Milliseconds that a sender's clock may be ahead of ours. If larger, forged times are believed; if smaller,
senders with poor clocks are refused."""
HOLD = 30_000
"""Default of `Indication.hold`: the delay for which the thesis (section 3.3) says that workers need to stop and start.
If larger, a trigger waits longer for its effect after another one; if smaller, one that flaps moves more tasks."""
LARGEST = 2**31 - 1
"""Largest priority, number of nodes and hold: what an INTEGER column of every database holds."""
LAST = 2**62
"""Largest sequence number of a trigger: a BIGINT column holds twice that, so there is always a next one."""
EARLIEST = 1971
"""First year of which times are taken."""
LONGEST_NAME = 200
"""Characters of a name of a topology or of a source, as many as its column holds."""

Verdict = Literal["on", "off", "pending", "withdrawn", "renewed", "repeated", "late", "ahead"]
CHANGING = ("on", "off", "pending", "withdrawn", "renewed")
"""Verdicts of triggers that count: the later ones of their source have to have a larger sequence number."""
IDLE = ("renewed", "repeated", "late", "ahead")
"""Verdicts of triggers that change nothing."""


@attrs.frozen(kw_only=True)
class Indication:
    """Priority indication of a topology (thesis, sections 3.2 and 3.3).

    Attributes:
        name: Name of the topology, the same when it is submitted again.
        priority: Its level while no trigger is on; lower numbers are more important. None leaves what it declares.
        trigger_priority: Its level while its trigger is on.
        desired_nodes: Nodes it would like to use; None leaves what it declares itself.
        minimum_nodes: Nodes it must have; None leaves what it declares itself.
        hold: Milliseconds between two changes of the trigger that is in effect.
        active: Whether the trigger is in effect.
        wanted: What was asked for last; it differs from `active` while the hold lasts.
        changed: Time at which `active` changed; None if it never did.
        aging: Milliseconds that it may starve (`starving.look`); None bounds nothing.
    """

    name: str
    priority: int | None = None
    trigger_priority: int = 0
    desired_nodes: int | None = None
    minimum_nodes: int | None = None
    hold: int = HOLD
    active: bool = False
    wanted: bool = False
    changed: int | None = None
    aging: int | None = None

    @property
    def level(self) -> int | None:
        """The priority in effect, None for what the topology declares itself."""
        return self.trigger_priority if self.active else self.priority

    def due(self, now: int) -> bool:
        """Check that the hold is over; a last change in the future, by another machine's clock, holds no longer."""
        return self.changed is None or abs(now - self.changed) >= self.hold


@attrs.frozen(kw_only=True)
class Trigger:
    """Indication of the onset or the end of a topology's trigger condition.

    As a document it is what programs send (`headworks schema trigger`).

    Attributes:
        topology: Name of the topology.
        on: True for Trigger On, False for Trigger Off.
        source: Who sends it: a task, a person, a program. Sequence numbers are those of a source.
        sequence: Number that grows from trigger to trigger of a source; None for the next one.
        sent: Time by the sender's clock with its zone, as 2030-01-31T12:00:00Z; None if it says none.
        why: Reason in the sender's words.
    """

    topology: str
    on: bool
    source: str
    sequence: int | None = None
    sent: str | None = None
    why: str = ""


@attrs.frozen(kw_only=True)
class Merged:
    """Outcome of a trigger: the indication with it, and a verdict with its reason in words."""

    indication: Indication
    verdict: Verdict
    message: str


def sent_at(trigger: Trigger) -> int | None:
    """When a trigger was sent, in milliseconds since 1970; None if it does not say.

    Raises:
        DocumentError: It says no time.
    """
    if trigger.sent is None:
        return None
    try:
        time = datetime.fromisoformat(trigger.sent)
    except ValueError:
        time = None
    if time is None or time.tzinfo is None or time.year < EARLIEST:
        said = f"{trigger.sent[:60]!a} is no time with its zone since {EARLIEST}, such as 2030-01-31T12:00:00Z"
        raise DocumentError("/sent", said)
    return int(time.timestamp() * 1000)


def moment(trigger: Trigger, before: Indication, now: int, *, more: bool) -> int:
    """The time at which a trigger counts: now, or when it was sent, if others follow it already or it is late.

    Clocks are taken to differ by no more than `AHEAD`, so what was sent longer ago is late. It never counts before the
    last change.

    Args:
        trigger: The trigger.
        before: The indication as it was stored.
        now: Our time.
        more: Whether later triggers of its topology have come with it.
    """
    sent = sent_at(trigger)
    if sent is None or not (more or now - sent > AHEAD):
        return now
    changed = before.changed if before.changed is not None and before.changed <= now else 0
    return max(min(sent, now), changed)


def settled(indication: Indication, now: int) -> Indication:
    """The indication at a moment: what was asked for during a hold is in effect from the hold's end on.

    Args:
        indication: As it was stored.
        now: The moment.
    """
    if indication.wanted == indication.active or not indication.due(now):
        return indication
    since = (indication.changed or 0) + indication.hold
    return attrs.evolve(indication, active=indication.wanted, changed=min(since, now))


def merge(indication: Indication, trigger: Trigger, *, last: int | None, now: int, at_once: bool = False) -> Merged:
    """Merge a trigger into the indication of its topology.

    A trigger whose sequence number is not larger than the last one of its source changes nothing. One that asks for the
    other state takes effect at once, unless the state changed less than `hold` ago: then what is asked for last takes
    effect when the hold is over. So a trigger that flaps changes a topology once in `hold` at most, and ends in the
    state that was asked for last.

    Args:
        indication: The indication as it was stored.
        trigger: The trigger.
        last: Largest sequence number of its source so far, None if there is none.
        now: Our time.
        at_once: Do not wait for the hold.
    """
    before = settled(indication, now)
    word: Verdict = "on" if trigger.on else "off"
    if (sent := sent_at(trigger)) is not None and sent > now + AHEAD:
        seconds = (sent - now) / 1000
        message = f"its time is {seconds:.0f} s ahead of this clock, more than {AHEAD // 1000} s: set the clocks"
        return Merged(indication=before, verdict="ahead", message=message)
    if trigger.sequence is not None and last is not None and trigger.sequence <= last:
        verdict: Verdict = "repeated" if trigger.sequence == last else "late"
        message = f"number {trigger.sequence} of {trigger.source}, whose last one is {last}: nothing changes"
        return Merged(indication=before, verdict=verdict, message=message)
    if trigger.on == before.active:
        verdict = "renewed" if before.wanted == trigger.on else "withdrawn"
        message = f"{before.name} stays {word}"
        return Merged(indication=attrs.evolve(before, wanted=trigger.on), verdict=verdict, message=message)
    if at_once or before.due(now):
        made = attrs.evolve(before, active=trigger.on, wanted=trigger.on, changed=now)
        level = "the priority that it declares" if made.level is None else f"priority {made.level}"
        return Merged(indication=made, verdict=word, message=f"{before.name} has {level} now")
    left = before.hold - abs(now - (before.changed or 0))
    message = f"{before.name} changed less than {before.hold / 1000:g} s ago: {word} in {left / 1000:.0f} s"
    return Merged(indication=attrs.evolve(before, wanted=trigger.on), verdict="pending", message=message)


def next_sequence(trigger: Trigger, last: int | None) -> int:
    """The sequence number of a trigger, the next one of its source where it has none.

    Args:
        trigger: The trigger.
        last: Largest sequence number of its source so far, None if there is none.
    """
    if trigger.sequence is not None:
        return trigger.sequence
    return 1 if last is None else last + 1


def check_indication(indication: Indication, nodes: int | None = None) -> None:
    """Check the numbers of an indication.

    Args:
        indication: The indication.
        nodes: Nodes of the cluster when it was seen last; None if it never was.

    Raises:
        DocumentError: One does not fit; its pointer names the field.
    """
    check_name(indication.name, "/name")
    for field in ("priority", "trigger_priority", "desired_nodes", "minimum_nodes", "hold", "aging"):
        value = getattr(indication, field)
        if value is not None and not 0 <= value <= LARGEST:
            raise DocumentError(
                f"/{field}", f"{value} does not fit: give a whole number from 0 to {LARGEST}{_order(field)}"
            )
    desired, minimum = indication.desired_nodes, indication.minimum_nodes
    if desired is not None and minimum is not None and minimum > desired:
        raise DocumentError(
            "/minimum_nodes",
            f"{indication.name} must have {minimum} nodes and desires {desired}: raise the desired ones",
        )
    if nodes is not None and minimum is not None and minimum > nodes:
        raise ConflictError(
            "/minimum_nodes",
            f"{indication.name} must have {minimum} nodes, the cluster had {nodes} when it was seen last: "
            "lower the minimum, or add nodes first",
        )


def check_name(name: str, pointer: str) -> None:
    """Check a name of a topology or of a source.

    Args:
        name: The name.
        pointer: JSON pointer for the error.

    Raises:
        DocumentError: It is no such name.
    """
    if not (0 < len(name) <= LONGEST_NAME and name.isprintable() and not {" ", "/"} & set(name)):
        said = name if len(name) <= 60 else f"{name[:60]}..."
        raise DocumentError(
            pointer, f"{said!a} is not a name: 1 to {LONGEST_NAME} characters without spaces and slashes"
        )


def check_trigger(trigger: Trigger) -> None:
    """Check the texts and numbers of a trigger.

    Raises:
        DocumentError: One does not fit; its pointer names the field.
    """
    check_name(trigger.topology, "/topology")
    check_name(trigger.source, "/source")
    if trigger.sequence is not None and not 0 <= trigger.sequence <= LAST:
        raise DocumentError("/sequence", f"{trigger.sequence} does not fit: give a whole number from 0 to {LAST}")
    sent_at(trigger)


def _order(field: str) -> str:
    return ", of which lower ones are more important" if field.endswith("priority") else ""

"""Rescheduling step by step (thesis, Figure 6) as a state machine: values and rules, no I/O, no clock.

A change of the allocation goes through the stages `pause`, `drain`, `change` and `resume`. What fails before tasks
were moved leads to `resume` with the old allocation; what fails while they are moved leads there by way of `undo`.
So `resume` is the one way out: no topology stays paused.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

import attrs

from headworks.model import FrozenMap, Slot

if TYPE_CHECKING:
    from collections.abc import Mapping

    from headworks.model import Backlog, Drain

Stage = Literal["pause", "drain", "change", "undo", "resume", "ended"]
"""What is to be done next."""
Outcome = Literal["", "done", "kept", "undone", "failed"]
"""Result of a rescheduling: carried out; not begun to change; changed back; or neither, as changing back failed too."""
Readiness = Literal["empty", "waiting", "kept", "forced"]

WORDS: dict[str, tuple[str, str]] = {
    "pause": ("deactivated", "not deactivated"),
    "drain": ("empty", "kept"),
    "change": ("changed", "not changed"),
    "undo": ("undone", "not undone"),
    "resume": ("activated", "not activated"),
}
"""Words of the history for a stage that is over, and for one that failed. A drain that was cut short is `forced`, and
workers that were seen to run where asked are `verified`."""
NEXT: dict[Stage, tuple[tuple[Stage, Outcome], tuple[Stage, Outcome]]] = {
    "pause": (("drain", ""), ("resume", "kept")),
    "drain": (("change", ""), ("resume", "kept")),
    "change": (("resume", "done"), ("undo", "")),
    "undo": (("resume", "undone"), ("resume", "failed")),
    "resume": (("ended", ""), ("resume", "")),
}
"""Stage and outcome that follow a stage which is over, and one that failed; "" keeps the outcome."""


@attrs.frozen(kw_only=True)
class Rescheduling:
    """A change of the allocation, and how far it is.

    Attributes:
        number: Its key in the database, 0 before it is there.
        cluster: Name of the cluster (`Intake.cluster`).
        began: Time at which it began, milliseconds since 1970.
        stage: What is to be done next.
        outcome: Its result, "" while that is open.
        why: Reason of the last failure, "" if there is none.
        topologies: Ids of the topologies whose tasks move.
        paused: Ids of those that were active when it began: they are paused, and are to be active again.
        before: Slots of their tasks when it began.
    """

    number: int = 0
    cluster: str
    began: int
    stage: Stage = "pause"
    outcome: Outcome = ""
    why: str = ""
    topologies: tuple[str, ...]
    paused: tuple[str, ...]
    before: FrozenMap[str, Slot]


def advanced(rescheduling: Rescheduling, *, done: bool, why: str = "") -> Rescheduling:
    """The rescheduling after its stage.

    Args:
        rescheduling: With the stage that was tried.
        done: Whether the stage is over; False if it failed.
        why: Reason of the failure.
    """
    stage, outcome = NEXT[rescheduling.stage][0 if done else 1]
    said = rescheduling.why if done else why
    return attrs.evolve(rescheduling, stage=stage, outcome=outcome or rescheduling.outcome, why=said)


def recovered(rescheduling: Rescheduling) -> Rescheduling:
    """The rescheduling as another process goes on with it: nothing new is begun, what was begun is undone or finished.

    Args:
        rescheduling: As it was found in the database, at any stage.
    """
    why = "the manager ended in the middle"
    if rescheduling.stage in ("pause", "drain"):
        return attrs.evolve(rescheduling, stage="resume", outcome="kept", why=why)
    if rescheduling.stage == "change":  # nobody knows how far that came: the old allocation is certain
        return attrs.evolve(rescheduling, stage="undo", why=why)
    return rescheduling


def readiness(backlogs: Mapping[str, Backlog], waited: float, drain: Drain) -> tuple[Readiness, str]:
    """Judge whether topologies are empty, and what to do if they are not, with the reason in words.

    Args:
        backlogs: What is under way in each; topologies that are gone are not there.
        waited: Seconds since they were paused.
        drain: The patience with them.
    """
    full = {name: each for name, each in sorted(backlogs.items()) if each.tuples != 0}
    if not full:
        return "empty", f"after {waited:.1f} s"
    said = "; ".join(f"{name}: {_told(each)}" for name, each in full.items())
    if waited < drain.seconds or drain.undrained == "wait":
        return "waiting", said
    word: Readiness = "forced" if drain.undrained == "force" else "kept"
    return word, f"not empty after {waited:.0f} s: {said}"


def _told(backlog: Backlog) -> str:
    if backlog.tuples is None:
        return backlog.why or "nobody knows how many tuples are under way"
    return f"{backlog.tuples} tuples are under way"

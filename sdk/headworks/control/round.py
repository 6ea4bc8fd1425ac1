"""Record of one round of the control loop: its outcome, its check of tasks, its counts."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

import attrs

from headworks.hooks import Verdict
from headworks.model import FrozenMap, Plan, Receipt, Request

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

    from headworks.model import Slot, Topology


Outcome = Literal[
    "quiet",
    "unchanged",
    "held",
    "waiting",
    "vetoed",
    "failed",
    "executed",
    "missed",
    "rolled-back",
    "asserted",
    "undone",
    "answered",
    "ended",
]
"""How a round ended.

quiet: no plan was called for; unchanged: the plan moves nothing; held: no usable plan; waiting: a guard holds the plan
back; vetoed: a reviewer objects; failed: monitor or executor broke, or what was seen contradicts itself; executed:
every task was seen where asked; missed: carried out, but some task was not seen there; rolled-back: carrying out failed
and was undone; asserted: tasks had left the places of an earlier plan, and were seen there again after a reminder;
undone: an earlier plan had made things worse and was taken back; answered: the engine asked where to put tasks without
a slot, and was told; ended: what the loop watched is over.
"""


@attrs.frozen(kw_only=True)
class Check:
    """Verification of a plan: nodes where tasks were seen against those asked for."""

    asked: int = 0
    hits: int = 0
    missed: tuple[str, ...] = ()


@attrs.frozen(kw_only=True)
class Round:
    """Record of a round in the journal: observation, decision, actions.

    `request` is everything the scheduler was given, so that the plan can be made again; `notes` are what the monitor
    said beyond figures; `scaling` is what was done to add or drain nodes, None if nothing was. `counts` are what the
    adapter counts beside the rounds since it started, by name: reports that it refused, records that it lost.
    """

    number: int
    outcome: Outcome
    message: str = ""
    verdict: Verdict = Verdict(replan=False)
    request: Request | None = None
    plan: Plan | None = None
    warnings: tuple[str, ...] = ()
    receipt: Receipt | None = None
    check: Check = Check()
    notes: tuple[str, ...] = ()
    scaling: Receipt | None = None
    counts: FrozenMap[str, int] = FrozenMap()


def compare_assignments(asked: Mapping[str, Slot], seen: Mapping[str, Slot]) -> Check:
    """Count the tasks that were seen on the node that was asked for; a task not seen at all is missed."""
    missed = tuple(sorted(task for task, slot in asked.items() if task not in seen or seen[task].node != slot.node))
    return Check(asked=len(asked), hits=len(asked) - len(missed), missed=missed)


def without_missing_tasks(plan: Plan, topologies: Iterable[Topology]) -> dict[str, Slot]:
    """The slots that a plan asks for, but those of tasks beyond the number that an engine runs.

    Only components whose parallelism the plan chooses lose any: an engine may run fewer, and its receipt says so.

    Args:
        topologies: The topologies as the engine runs them after it.
    """
    runs = {f"{topology.id}/{part.id}": part.parallelism for topology in topologies for part in topology.components}
    most = {name: runs[name] for name in plan.parallelism if name in runs}
    parts = ((task, slot, *task.rpartition("/")[::2]) for task, slot in plan.assignment.items())
    return {task: slot for task, slot, name, index in parts if name not in most or int(index) < most[name]}


GOOD = frozenset({"received"})
"""Counts that may grow without a warning."""


class Counts:
    """Reads counts once a round, and knows those of the round before."""

    def __init__(self, read: Callable[[], Mapping[str, int]]) -> None:
        """Take what reads them.

        Args:
            read: Counts since the start, by name; raises nothing.
        """
        self._read = read
        self._before: Mapping[str, int] = {}

    def add(self, done: Round) -> Round:
        """The round with the counts, and with a warning that names those that have grown since the last one."""
        now = FrozenMap(self._read())
        grown = {name: count - self._before.get(name, 0) for name, count in now.items() if name not in GOOD}
        said = ", ".join(f"{count} more {name}" for name, count in grown.items() if count > 0)
        self._before = now
        warnings = (*done.warnings, f"since the last round: {said}") if said else done.warnings
        return attrs.evolve(done, counts=now, warnings=warnings)

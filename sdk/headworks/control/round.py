"""Record of one round of the control loop."""

from __future__ import annotations

from typing import Literal

import attrs

from headworks.hooks import Verdict
from headworks.model import FrozenMap, Plan, Receipt, Request

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

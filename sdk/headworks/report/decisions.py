"""Decisions of a journal made again, by the scheduler that made them or by another one."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, Literal

import attrs

from headworks.control.journal import Round
from headworks.documents import digest, restore, unstructure
from headworks.errors import DocumentError, HeadworksError
from headworks.model import ENDED_EARLY, Plan, Request

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from headworks.plugins.host import PluginHost


@attrs.frozen(kw_only=True)
class Decision:
    """One record of a journal: its place in the journal, from 1, and the round."""

    record: int
    round: Round

    @property
    def scheduler(self) -> str:
        """Name of the scheduler that made the plan, "" where there is no plan or the loop made it by itself."""
        return self.round.plan.provenance.scheduler if self.round.plan else ""


@attrs.frozen(kw_only=True)
class Replayed:
    """A decision that was made again.

    Attributes:
        record: Place of the record in the journal, from 1.
        number: Number of the round; a journal that was continued has it several times.
        scheduler: Name of the scheduler.
        verdict: `same` if the plan is so byte by byte, but for the version of the scheduler; `differs`; or `not made`.
        differences: Parts of the plan that differ, and why they may; for `not made` the reason.
    """

    record: int
    number: int
    scheduler: str
    verdict: Literal["same", "differs", "not made"]
    differences: tuple[str, ...] = ()


@attrs.frozen(kw_only=True)
class OtherPlan:
    """The plan of another scheduler for a recorded request.

    Attributes:
        record: Place of the record in the journal, from 1.
        number: Number of the round.
        recorded: Plan of the journal, None where there is none.
        other: Plan of the other scheduler.
        elsewhere: Tasks that do not have the same node in both; all that the other plan places where there is no plan.
    """

    record: int
    number: int
    recorded: Plan | None
    other: Plan
    elsewhere: int


def read_decisions(records: Iterable[Mapping[str, Any]], only: Iterable[int] = ()) -> Iterator[Decision]:
    """Read the records of a journal.

    Args:
        records: Plain data, as `headworks.control.journal.read_journal` gives them.
        only: Places of the records to read, from 1; all by default.

    Raises:
        DocumentError: A record is none of a round; the message says which.
    """
    wanted = set(only)
    for place, record in enumerate(records, start=1):
        if wanted and place not in wanted:
            continue
        try:
            yield Decision(record=place, round=restore(record, Round))
        except DocumentError as error:
            raise DocumentError(error.pointer, f"{error.message} (record {place})") from None


def replay(decision: Decision, host: PluginHost) -> Replayed:
    """Make a decision again, with the request, the options and the seed that were recorded."""
    made = decision.round
    found = Replayed(record=decision.record, number=made.number, scheduler=decision.scheduler, verdict="not made")
    if made.request is None or made.plan is None:
        return attrs.evolve(found, differences=("the round has no plan",))
    if not decision.scheduler:
        return attrs.evolve(
            found, differences=("the loop made this plan by itself: an earlier one was asked for again",)
        )
    if digest(made.request) != made.plan.provenance.request:
        return attrs.evolve(found, differences=("the request is not the one that the plan was made for",))
    try:
        again = host.schedule(decision.scheduler, made.request, made.plan.provenance.options)
    except HeadworksError as error:
        return attrs.evolve(found, differences=(str(error),))
    differences = tuple(_differences(made.plan, again))
    return attrs.evolve(found, verdict="differs" if differences else "same", differences=differences)


def plan_with_other(
    decision: Decision, request: Request, scheduler: str, host: PluginHost, options: Mapping[str, Any] | None = None
) -> OtherPlan:
    """Plan a recorded request with another scheduler.

    Raises:
        PluginError: There is no such scheduler.
        OptionError: An option is unknown or does not fit.
    """
    recorded, other = decision.round.plan, host.schedule(scheduler, request, options)
    elsewhere = len(_moved(recorded, other)) if recorded else len(other.assignment)
    number = decision.round.number
    return OtherPlan(record=decision.record, number=number, recorded=recorded, other=other, elsewhere=elsewhere)


def _differences(before: Plan, again: Plan) -> Iterator[str]:
    """Parts in which two plans differ, in words; with a reason where one is known."""
    version = again.provenance.version
    same_version = attrs.evolve(before, provenance=attrs.evolve(before.provenance, version=version))
    if _text(same_version) == _text(again):
        return
    if moved := _moved(before, again):
        more = f" and {len(moved) - 1} more" if len(moved) > 1 else ""
        yield f"{_place(before, moved[0])} is now {_place(again, moved[0])} for {moved[0]}{more}"
    for field in attrs.fields(Plan):
        if field.name not in ("assignment", "provenance"):
            one, two = getattr(before, field.name), getattr(again, field.name)
            if one != two:
                yield f"{field.name} was {one}, is {two}" if field.name in ("status", "input_rate") else field.name
    if before.provenance.version != version:
        yield f"made by version {before.provenance.version}, {version} is installed"
    early = any(reason.code == ENDED_EARLY for plan in (before, again) for reason in plan.reasons)
    if early:
        yield "a search was ended early by its deadline: another run may find another plan"


def _text(plan: Plan) -> str:
    return json.dumps(unstructure(plan), separators=(",", ":"))


def _moved(one: Plan, other: Plan) -> list[str]:
    """Tasks with another node, those that only one plan places included."""
    tasks = sorted({*one.assignment, *other.assignment})
    return [task for task in tasks if _place(one, task) != _place(other, task)]


def _place(plan: Plan, task: str) -> str:
    slot = plan.assignment.get(task)
    return slot.node if slot else "nowhere"

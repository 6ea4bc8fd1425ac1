"""`headworks journal`: decisions of the control loop, made again and made by another scheduler."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from headworks.cli.installed import plugins
from headworks.cli.output import emit, json_option, state, table, wide_option
from headworks.cli.request import exit_code, option_option
from headworks.cli.summaries import Summaries

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from headworks.model import Plan
    from headworks.report.decisions import Decision, OtherPlan

file_argument = click.argument("file", type=click.Path(exists=True, dir_okay=False, path_type=Path))
record_option = click.option(
    "-n", "--record", "records", type=click.IntRange(min=1), multiple=True, help="Only this record, from 1; repeatable."
)
SHOWN = (
    "record",
    "at",
    "outcome",
    "scheduler",
    "status",
    "between nodes",
    "nodes",
    "fullest",
    "moves",
    "message",
)
SPARE = ("fullest", "nodes", "status", "scheduler")
"""Columns that are left out first where there is no room."""
REPLAYED = ("record", "round", "scheduler", "plan", "differences")
COMPARED = ("record", "round", "plan of", "status", "between nodes", "nodes", "fullest", "moves", "tasks elsewhere")


@click.group("journal", cls=Summaries)
def command() -> None:
    """Read a journal: show its rounds, or make their decisions again."""


def _decisions(file: Path, records: Iterable[int]) -> Iterator[Decision]:
    # numpy, cattrs and rich cost 0.2 s, which the list of commands does not need.
    from headworks.control.journal import read_journal
    from headworks.errors import DocumentError
    from headworks.report.decisions import read_decisions

    try:
        yield from read_decisions(read_journal(file), records)
    except DocumentError as error:
        raise DocumentError(error.pointer, f"{error.message}, in {file}") from None


@command.command("show")
@file_argument
@record_option
@wide_option
@json_option
def show(*, file: Path, records: tuple[int, ...], as_json: bool) -> None:
    """List the rounds of FILE and of the files that it put aside; with -n the plan of a round as well."""
    # attrs' classes of the model cost 0.1 s, which the list of commands does not need.
    from headworks.model.spoken import spoken

    data, rows, plans = [], [], []
    for each in _decisions(file, records):
        done = each.round
        data.append(_summary(each))
        say = str if done.request is None else spoken(done.request.cluster.nodes, done.request.topologies)
        figures = _figures(done.plan)
        rows.append((each.record, done.at[11:19], state(done.outcome), each.scheduler, *figures, say(done.message)))
        if records and done.plan is not None and done.request is not None and not as_json:
            # rich costs 60 ms, which `--json` does not need.
            from headworks.cli.tables import plan_tables

            plans += plan_tables(done.plan, done.request, say)
    emit(data, table(f"{len(rows)} rounds", SHOWN, rows, SHOWN[5:9], spare=SPARE), *plans, as_json=as_json)


@command.command("replay")
@file_argument
@record_option
@wide_option
@json_option
@click.pass_context
def replay(context: click.Context, /, *, file: Path, records: tuple[int, ...], as_json: bool) -> None:
    """Make every decision of FILE again by its scheduler, and compare the plans byte by byte.

    The exit code is 1 if one differs, or can no longer be made.
    """
    # numpy, cattrs and rich cost 0.2 s, which the list of commands does not need.
    from headworks.documents import unstructure
    from headworks.report.decisions import replay as make_again

    host = plugins(context)
    asked = [each for each in _decisions(file, records) if each.scheduler]
    found = [make_again(each, host) for each in asked]
    rows = [
        (each.record, each.number, each.scheduler, state(each.verdict), "; ".join(each.differences)) for each in found
    ]
    same = sum(each.verdict == "same" for each in found)
    title = f"{same} of {len(found)} decisions are the same, byte by byte"
    emit([unstructure(each) for each in found], table(title, REPLAYED, rows), as_json=as_json)
    context.exit(0 if same == len(found) else 1)


@command.command("diff")
@file_argument
@click.option("-s", "--scheduler", required=True, help="The other scheduler.")
@option_option
@record_option
@json_option
@click.pass_context
def diff(
    context: click.Context,
    /,
    *,
    file: Path,
    scheduler: str,
    options: dict[str, Any],
    records: tuple[int, ...],
    as_json: bool,
) -> None:
    """Plan every recorded request of FILE with another scheduler, beside the plan of the journal."""
    # numpy, cattrs and rich cost 0.2 s, which the list of commands does not need.
    from headworks.documents import unstructure
    from headworks.report.decisions import plan_with_other

    host = plugins(context)
    host.options(scheduler, options)
    found = [
        plan_with_other(each, each.round.request, scheduler, host, options)
        for each in _decisions(file, records)
        if each.round.request is not None
    ]
    rows = [row for each in found for row in _compared(each, scheduler)]
    changed = sum(each.elsewhere > 0 for each in found)
    title = f"{changed} of {len(found)} plans differ"
    emit(
        [unstructure(each) for each in found], table(title, COMPARED, rows, COMPARED[4:], spare=SPARE), as_json=as_json
    )
    context.exit(max((exit_code(each.other) for each in found), default=0))


def _figures(plan: Plan | None) -> tuple[str, ...]:
    # rich costs 60 ms, which the list of commands does not need.
    from headworks.report.format import score_cells

    if plan is None:
        return ("",) * 5
    share, _, nodes, _, fullest, *_, moves = score_cells(plan.scores)
    return state(plan.label), share, nodes, fullest, moves


def _compared(each: OtherPlan, scheduler: str) -> Iterator[tuple[object, ...]]:
    name = each.recorded.provenance.scheduler or "the loop" if each.recorded else "no plan"
    yield (each.record, each.number, name, *_figures(each.recorded), "")
    yield ("", "", scheduler, *_figures(each.other), each.elsewhere)


def _summary(each: Decision) -> dict[str, Any]:
    # numpy, cattrs and rich cost 0.2 s, which the list of commands does not need.
    from headworks.documents import unstructure

    done = each.round
    plan = (
        None
        if done.plan is None
        else {
            "status": str(done.plan.status),
            "provenance": unstructure(done.plan.provenance),
            "scores": unstructure(done.plan.scores),
            "repaired": len(done.plan.repaired),
        }
    )
    return {"record": each.record, "round": done.number, "outcome": done.outcome, "message": done.message, "plan": plan}

"""`headgate conform`: does a scheduler keep the contract?"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from headgate.cli.host import plugins
from headgate.cli.logs import show_logs
from headgate.cli.output import Markup, emit, json_option, say, table
from headgate.cli.request import option_option

if TYPE_CHECKING:
    from headgate.testing.conform import Conformance

MARK = {"ok": Markup("[green]ok[/]"), "failed": Markup("[red]FAILED[/]"), "skipped": Markup("[yellow]skipped[/]")}


@click.command("conform")
@click.argument("name", required=False)
@click.option("--seed", type=int, default=0, show_default=True, help="Seed of the cases.")
@option_option
@click.option(
    "--save", type=click.Path(file_okay=False, path_type=Path), help="Write the requests that break rules here."
)
@click.option("--explain", metavar="RULE", help="Say what a rule promises and on what it is tried, and nothing else.")
@json_option
@click.pass_context
def command(
    context: click.Context,
    /,
    *,
    name: str | None,
    seed: int,
    options: dict[str, Any],
    save: Path | None,
    explain: str | None,
    as_json: bool,
) -> None:
    """Check the scheduler NAME against every rule of the contract, a line each.

    What fails comes with the rule's words, the smallest request found that breaks it, and the command that plans it
    again. Where the scheduler raises, its traceback is shown.
    """
    # numpy, cattrs and rich cost 0.2 s, which the list of commands does not need.
    from headgate.documents import unstructure
    from headgate.testing.conform import conform

    if explain is not None:
        _explain(explain, as_json=as_json)
        return
    if name is None:
        raise click.UsageError("Missing argument 'NAME'.")
    show_logs("", tracebacks=True)
    found = conform(name, seed=seed, host=plugins(context), options=options)
    rows = [(MARK[row.status], row.rule, row.detail) for row in found.rows]
    emit(unstructure(found), table(f"{name}", ("", "rule", "detail"), rows), as_json=as_json)
    for line in _failures(found, options, save):
        say(line)
    context.exit(0 if found.passed else 1)


def _failures(found: Conformance, options: dict[str, Any], save: Path | None) -> list[str]:
    """Lines on each broken rule: its promise, and how to see it. The requests are written if there is a folder."""
    # numpy and cattrs cost 0.2 s, which the list of commands does not need.
    from headgate.documents import write
    from headgate.model import Request

    told = "".join(f" -o {name}={value}" for name, value in options.items())
    lines = []
    for row in found.rows:
        if row.status != "failed":
            continue
        lines.append(f"{row.rule}: {row.statement} {_size(row.example)}")
        if not isinstance(row.example, Request):
            continue
        if save is None:
            lines.append("    --save DIR writes it, to be planned again")
            continue
        path = save / f"{found.scheduler}-{row.rule}.json"
        save.mkdir(parents=True, exist_ok=True)
        write(path, row.example)
        lines.append(f"    headgate --traceback plan {path} -s {found.scheduler}{told}")
    return lines


def _size(example: Any) -> str:
    if example is None:
        return "It takes more than one request to break it."
    tasks = sum(component.parallelism for topology in example.topologies for component in topology.components)
    return f"A request of {tasks} tasks on {len(example.cluster.nodes)} nodes breaks it."


def _explain(name: str, *, as_json: bool) -> None:
    # numpy and cattrs cost 0.2 s, which the list of commands does not need.
    from headgate.errors import known_names
    from headgate.testing.capabilities import MEANING
    from headgate.testing.rules import RULES

    rules = {rule.id: rule for rule in RULES}
    if name not in rules:
        raise click.UsageError(f"there is no rule {name!r}{known_names(name, rules)}")
    rule = rules[name]
    who = f"schedulers that declare {rule.needs!r}: {MEANING[rule.needs]}" if rule.needs else "every scheduler"
    size = "small requests, on which every placement can be tried" if rule.small else "requests of every kind"
    data = {"rule": rule.id, "statement": rule.statement, "binds": who, "tried_on": size}
    emit(data, f"{rule.id}: {rule.statement}", f"It binds {who}.", f"It is tried on {size}.", as_json=as_json)

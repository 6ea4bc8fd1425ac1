"""`headgate conform`: does a scheduler keep the contract?"""

from __future__ import annotations

import click

from headgate.cli.host import plugins
from headgate.cli.output import Markup, emit, json_option, table

MARK = {"ok": Markup("[green]ok[/]"), "failed": Markup("[red]FAILED[/]"), "skipped": Markup("[yellow]skipped[/]")}


@click.command("conform")
@click.argument("name")
@click.option("--seed", type=int, default=0, show_default=True, help="Seed of the cases.")
@json_option
@click.pass_context
def command(context: click.Context, /, *, name: str, seed: int, as_json: bool) -> None:
    """Check the scheduler NAME against every rule of the contract, a line each."""
    # numpy, cattrs and rich cost 0.2 s, which the list of commands does not need.
    from headgate.documents import unstructure
    from headgate.testing.conform import conform

    found = conform(name, seed=seed, host=plugins(context))
    rows = [(MARK[row.status], row.rule, row.detail) for row in found.rows]
    emit(unstructure(found), table(f"{name}", ("", "rule", "detail"), rows), as_json=as_json)
    context.exit(0 if found.passed else 1)

"""`headgate reproduce`: printed figures of a paper beside what this code finds."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from headgate.cli.output import Markup, emit, json_option, say, table

if TYPE_CHECKING:
    from headgate.claims import Result

MARK = {
    "exact": "[green]exact[/]",
    "predicted": "[green]predicted[/]",
    "calibrated": "[green]calibrated ({fitted})[/]",
    "not reproducible": "[yellow]not reproducible[/]",
    "differs": "[red]DIFFERS[/]",
}


@click.command("reproduce")
@click.argument("name")
@click.option("--claim", "wanted", multiple=True, help="Only this claim, repeatable.")
@json_option
@click.pass_context
def command(context: click.Context, /, *, name: str, wanted: tuple[str, ...], as_json: bool) -> None:
    """Recompute the figures that the paper of scheduler NAME prints."""
    from headgate.claims import reproduce
    from headgate.documents import unstructure
    from headgate.host import PluginHost

    host = PluginHost.load()
    claims = [claim for claim in host.claims(name) if not wanted or claim.id in wanted]
    if not claims:
        say(f"{name} has no claim {', '.join(wanted)}" if wanted else f"{name} makes no claims")
        context.exit(2)
    results = [reproduce(claim) for claim in claims]
    rows = [(each.id, each.source, each.statement, each.printed, each.ours, _mark(each), each.note) for each in results]
    columns = ("claim", "source", "statement", "printed", "ours", "status", "note")
    emit(unstructure(results), table(name, columns, rows, numbers=("printed", "ours")), as_json=as_json)
    context.exit(1 if any(each.status == "differs" for each in results) else 0)


def _mark(result: Result) -> Markup:
    return Markup(MARK[result.status].format(fitted=result.fitted))

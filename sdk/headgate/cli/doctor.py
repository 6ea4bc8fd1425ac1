"""`headgate doctor`: is everything here that is needed, and what to do if not."""

from __future__ import annotations

import click

from headgate.cli.output import Markup, emit, json_option, table

MARK = {"ok": Markup("[green]ok[/]"), "missing": Markup("[yellow]missing[/]"), "broken": Markup("[red]BROKEN[/]")}


@click.command("doctor")
@json_option
@click.pass_context
def command(context: click.Context, /, *, as_json: bool) -> None:
    """Check Python, packages, Java and every plugin; name a fix for what is wrong."""
    from headgate.doctor import examine
    from headgate.documents import unstructure

    findings = examine()
    rows = [(MARK[each.status], each.subject, each.detail, each.fix) for each in findings]
    emit(unstructure(findings), table("", ("", "what", "found", "fix"), rows), as_json=as_json)
    context.exit(3 if any(each.status == "broken" for each in findings) else 0)

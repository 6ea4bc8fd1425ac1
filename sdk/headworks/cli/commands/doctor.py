"""`headworks doctor`: is everything here that is needed, and what to do if not."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from headworks.cli.installed import plugins
from headworks.cli.output import Coloured, emit, json_option, table, wide_option

if TYPE_CHECKING:
    from collections.abc import Sequence

    from headworks.hooks import Finding

MARK = {"ok": Coloured("ok", "green"), "missing": Coloured("missing", "yellow"), "broken": Coloured("BROKEN", "red")}
FOLDER = click.Path(exists=True, file_okay=False, path_type=Path)


class Doctor(click.Command):
    """The command, with an option for each plugin that can examine an installation of its engine."""

    def get_params(self, ctx: click.Context) -> list[click.Parameter]:
        """The command's own options, and `--NAME FOLDER` for each such plugin."""
        names = plugins(ctx).having("headworks_examine")
        text = "Check the installation of {} in this folder instead."
        engines = [
            click.Option([f"--{each}", f"engine_{each}"], type=FOLDER, metavar="HOME", help=text.format(each))
            for each in names
        ]
        return [*engines, *super().get_params(ctx)]


@click.command("doctor", cls=Doctor)
@wide_option
@json_option
@click.pass_context
def command(context: click.Context, /, *, as_json: bool, **homes: Path | None) -> None:
    """Check Python, packages, Java and every plugin; name a fix for each fault."""
    # numpy, cattrs and rich cost 0.2 s, which the list of commands does not need.
    from headworks.documents import unstructure

    findings = _findings(
        context, {name.removeprefix("engine_"): home for name, home in homes.items() if home is not None}
    )
    rows = [(MARK[each.status], each.subject, each.detail, each.fix) for each in findings]
    emit(unstructure(findings), table("", ("", "what", "found", "fix"), rows), as_json=as_json)
    context.exit(3 if any(each.status == "broken" for each in findings) else 0)


def _findings(context: click.Context, homes: dict[str, Path]) -> Sequence[Finding]:
    # numpy, cattrs and rich cost 0.2 s, which the list of commands does not need.
    from headworks.cli.findings import examine, file_finding
    from headworks.cli.main import BUILT_IN
    from headworks.cli.plugin_commands import quarantined

    host = plugins()
    if not homes:
        return (*file_finding(context.meta), *examine(host, quarantined(frozenset(BUILT_IN))))
    return [
        finding for name, home in homes.items() for finding in host.call(name, "headworks_examine", installation=home)
    ]

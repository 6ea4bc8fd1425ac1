"""`headworks report`: the rounds of a journal as one file for a browser."""

from __future__ import annotations

from pathlib import Path

import click

from headworks.cli.output import emit, json_option, say


@click.command("report")
@click.argument("file", metavar="JOURNAL", type=click.Path(exists=True, dir_okay=False, path_type=Path))
@click.option(
    *("-O", "--output"),
    type=click.Path(dir_okay=False, path_type=Path),
    default="headworks-report.html",
    show_default=True,
    help="The page.",
)
@json_option
def command(*, file: Path, output: Path, as_json: bool) -> None:
    """Write the rounds of JOURNAL to one page: places of tasks, reasons, promised and measured figures.

    The page loads nothing, so you can mail it. `headworks watch` shows the same while rounds are written.
    """
    # numpy, cattrs and rich cost 0.2 s, which the list of commands does not need.
    from headworks.control.journal import read_journal
    from headworks.documents import write_text
    from headworks.report.decisions import read_decisions
    from headworks.report.rounds.page import report_page

    decisions = list(read_decisions(read_journal(file)))
    write_text(output, report_page(decisions, f"Headworks: {file.name}"))
    if as_json:
        emit({"page": str(output), "rounds": len(decisions)}, as_json=True)
    else:
        say(f"wrote {output}: {len(decisions)} rounds")

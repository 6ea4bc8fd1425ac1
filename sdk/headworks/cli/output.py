"""Output of a command: data to stdout, messages to stderr, rows and pictures to files."""

from __future__ import annotations

import contextlib
import csv
import io
import itertools
import json
import re
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

import click

from headworks.cli.logs import line, write_json
from headworks.errors import EngineError, printable

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

    from rich.console import Console, RenderableType

    from headworks.model.tabular import Record

WIDTH = 120
"""Columns of a table when stdout is not a terminal."""
UNBOUNDED = 100_000
"""Columns of a table that is to be as wide as it needs."""
WIDE = "wide"
"""What `-o` takes for such tables; and the key in `Context.meta` that says so."""


def folder_option(default: str, files: str) -> Callable[[Any], Any]:
    """The option `-O` of a command that writes files to a folder.

    Args:
        files: What is written to it, in words.
    """
    kind = click.Path(file_okay=False, path_type=Path)
    return click.option("-O", "--output", default=default, show_default=True, type=kind, help=f"Folder for {files}.")


json_option = click.option("--json", "as_json", is_flag=True, help="Print the data as JSON.")

log_json_option = click.option(
    "--log-json",
    is_flag=True,
    is_eager=True,
    expose_value=False,
    callback=write_json,
    help="Write log and messages to stderr as one JSON object a line.",
)


def console(*, stderr: bool = False) -> Console:
    """A rich console that keeps its width when piped and obeys NO_COLOR."""
    # rich costs 60 ms, which `--json` and the list of commands do not need.
    from rich.console import Console

    stream = sys.stderr if stderr else sys.stdout
    context = click.get_current_context(silent=True)
    own = UNBOUNDED if context is not None and context.meta.get(WIDE) else None if stream.isatty() else WIDTH
    # What is printed has names of users in it, which may look like markup or like an emoji's.
    return Console(file=stream, width=own, highlight=False, markup=False, emoji=False)


def say(message: str) -> None:
    """A message for the person, on stderr."""
    click.echo(line(printable(message)), err=True)


class Progress:
    """Messages on stderr, each with the seconds since the start."""

    def __init__(self) -> None:
        self._begin = time.monotonic()

    def __call__(self, message: str) -> None:
        """Say what is being done now."""
        say(f"[{time.monotonic() - self._begin:4.0f} s] {message}")


@contextlib.contextmanager
def steps(what: str, count: int, unit: str = "steps") -> Iterator[Callable[[str], None]]:
    """A bar on stderr that names the step which is being done; one message where stderr is not a terminal.

    Nothing is drawn between two steps, so no thread runs that a step could trip over, and stdout stays the step's own.

    Yields:
        Takes the name of each step as it begins.
    """
    # rich costs 60 ms, which `--json` and the list of commands do not need.
    from rich.progress import Progress as Bar

    out = console(stderr=True)
    if not out.is_terminal:
        say(f"{what}: {count} {unit}")
    with Bar(
        console=out, transient=True, disable=not out.is_terminal, auto_refresh=False, redirect_stdout=False
    ) as bar:
        at = bar.add_task(what, total=count, completed=-1)

        def tell(step: str) -> None:
            bar.update(at, description=f"{what}: {step}", advance=1, refresh=True)

        yield tell


def emit(data: Any, *renderables: RenderableType, as_json: bool) -> None:
    """Print data on stdout: as JSON, or as what a person would rather read."""
    if as_json:
        click.echo(json.dumps(data, indent=2, ensure_ascii=False, allow_nan=False, default=str))
        return
    out = console()
    with out.capture() as captured:
        for each in renderables:
            out.print(each)
    click.echo(trimmed(captured.get()), nl=False, color=True)  # rich has seen whether colours are wanted


def trimmed(text: str) -> str:
    """The text that rich has drawn, without the blank line above a table and the blanks at the ends of lines."""
    lines = itertools.dropwhile(lambda line: not line.strip(), text.splitlines())
    return "".join(f"{line.rstrip()}\n" for line in lines)


def be_wide(context: click.Context) -> None:
    """Print every column of the tables of this command, however wide."""
    context.meta[WIDE] = True


def _form(context: click.Context, _parameter: click.Parameter, value: str | None) -> None:
    if value == WIDE:
        be_wide(context)


wide_option = click.option(
    *("-o", "--option"),
    type=click.Choice([WIDE]),
    expose_value=False,
    callback=_form,
    help="Show every column of tables, however wide.",
)
"""The option `-o` of a command whose tables are all that it sets."""


class Coloured(str):
    """A cell in a colour."""

    __slots__ = ("style",)

    style: str

    def __new__(cls, text: str, style: str) -> Self:
        """Take the text, and a style of rich."""
        made = super().__new__(cls, text)
        made.style = style
        return made


STATES = {
    **dict.fromkeys(("ok", "executed", "unchanged", "asserted", "answered", "same"), "green"),
    **dict.fromkeys(("infeasible", "held", "starves", "vetoed", "missed", "rolled-back", "waiting"), "yellow"),
    **dict.fromkeys(("failed", "differs", "not"), "red"),
}
"""Colours of states, by the first word."""


def state(text: str) -> str:
    """A state in its colour."""
    return Coloured(text, STATES.get(text.partition(",")[0].partition(" ")[0], ""))


def table(
    title: str,
    columns: Sequence[str],
    rows: Iterable[Sequence[object]],
    numbers: Sequence[str] = (),
    *,
    whole: Sequence[str] = (),
    spare: Sequence[str] = (),
) -> Any:
    """A table for the terminal.

    Args:
        rows: Cells of each row, as many as columns; None is an empty one. All are shown as they are.
        numbers: Headings of the columns that are right-aligned, and never folded.
        whole: Headings of other columns that are never folded, beside the first.
        spare: Headings of columns that may be left out where there is no room, the least important first.
    """
    # rich costs 60 ms, which `--json` and the list of commands do not need.
    from rich.text import Text

    # It imports rich.
    from headworks.cli.sheet import Column, Sheet

    def cell(value: object) -> Text:
        return Text("" if value is None else printable(str(value)), style=getattr(value, "style", ""))

    cells = [tuple(map(cell, row)) for row in rows]
    made = tuple(
        Column(
            heading=heading,
            cells=tuple(row[at] for row in cells),
            number=heading in numbers,
            whole=at == 0 or heading in whole,
        )
        for at, heading in enumerate(columns)
    )
    context = click.get_current_context(silent=True)
    known = context is not None and any("-o" in each.opts for each in context.command.params)
    hint = f" (-o {WIDE} shows them)" if known else ""
    return Sheet(title=printable(title), columns=made, spare=tuple(spare), hint=hint)


_UNFIT = re.compile(r"[^\w.-]+")
"""Characters that a name of a file is better without."""
_FILE = click.Path(dir_okay=False, path_type=Path)


def data_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """The options `--csv`, `--parquet` and `--figures` of a command whose results are rows and pictures."""
    for option in (
        click.option(
            "--figures",
            type=click.Path(file_okay=False, path_type=Path),
            help="Folder for the pictures, each an SVG file of its own.",
        ),
        click.option("--parquet", type=_FILE, help="Write the results to this file, as Parquet."),
        click.option("--csv", "csv_file", type=_FILE, help="Write the results to this file, as CSV."),
    ):
        command = option(command)
    return command


def write_rows(found: Sequence[Record], csv_file: Path | None, parquet: Path | None) -> None:
    """Write rows to the files that are named, each with the version and the commit of its scheduler and its engine.

    Raises:
        DocumentError: A file cannot be written.
        EngineError: pyarrow, which writes Parquet, is not installed.
    """
    if csv_file is None and parquet is None:
        return
    rows = list(map(_with_origin, found))
    columns = list(dict.fromkeys(name for row in rows for name in row))
    if csv_file is not None:
        # cattrs costs 60 ms, which the list of commands does not need.
        from headworks.documents import write_text

        out = io.StringIO()
        made = csv.DictWriter(out, columns, lineterminator="\n")
        made.writeheader()
        made.writerows(rows)
        write_text(csv_file, out.getvalue())
        say(f"wrote {csv_file}")
    if parquet is not None:
        _write_parquet([{name: row.get(name) for name in columns} for row in rows], parquet)
        say(f"wrote {parquet}")


def _with_origin(row: Record) -> Record:
    """The row with the origin of the plugins that it names, where it does not say that by itself."""
    # The host of the plugins costs 0.1 s, which the list of commands does not need.
    from headworks.cli.installed import plugins
    from headworks.plugins.origin import origin

    roles = [role for role in ("scheduler", "engine") if row.get(role) and f"{role}_commit" not in row]
    known = {name: text for role in roles for name, text in origin(plugins(), str(row[role]), role).items()}
    return {**row, **known}


def _write_parquet(rows: Sequence[Record], file: Path) -> None:
    try:
        # pyarrow costs 0.2 s, and is an extra.
        from pyarrow import Table
        from pyarrow import parquet as arrow
    except ImportError:
        raise EngineError("pyarrow, which writes Parquet, is not installed: `pip install pyarrow`") from None
    file.parent.mkdir(parents=True, exist_ok=True)
    arrow.write_table(Table.from_pylist(list(rows)), file)


def write_figures(pictures: Mapping[str, str], folder: Path) -> None:
    """Write pictures to a folder, each to a file of its name.

    Raises:
        DocumentError: A file cannot be written.
    """
    # cattrs costs 60 ms, which the list of commands does not need.
    from headworks.documents import write_text

    for name, picture in pictures.items():
        write_text(folder / f"{_UNFIT.sub('-', name)}.svg", picture + "\n")
    say(f"wrote {len(pictures)} pictures to {folder}")

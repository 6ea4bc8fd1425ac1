"""Streams of a command: data to stdout, messages to stderr."""

from __future__ import annotations

import contextlib
import itertools
import json
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import click

from headworks.errors import printable

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

    from rich.console import Console, RenderableType

WIDTH = 120
"""Columns of a table when stdout is no terminal."""


def folder_option(default: str, files: str) -> Callable[[Any], Any]:
    """The option `-O` of a command that writes files to a folder.

    Args:
        files: What is written to it, in words.
    """
    kind = click.Path(file_okay=False, path_type=Path)
    return click.option("-O", "--output", default=default, show_default=True, type=kind, help=f"Folder for {files}.")


json_option = click.option("--json", "as_json", is_flag=True, help="Print the data as JSON.")


def console(*, stderr: bool = False) -> Console:
    """A rich console that keeps its width when piped and obeys NO_COLOR."""
    # rich costs 60 ms, which `--json` and the list of commands do not need.
    from rich.console import Console

    stream = sys.stderr if stderr else sys.stdout
    return Console(file=stream, width=None if stream.isatty() else WIDTH, highlight=False)


def say(message: str) -> None:
    """A message for the person, on stderr."""
    click.echo(printable(message), err=True)


class Progress:
    """Messages on stderr, each with the seconds since the start."""

    def __init__(self) -> None:
        self._begin = time.monotonic()

    def __call__(self, message: str) -> None:
        """Say what is being done now."""
        say(f"[{time.monotonic() - self._begin:4.0f} s] {message}")


@contextlib.contextmanager
def steps(what: str, count: int, unit: str = "steps") -> Iterator[Callable[[str], None]]:
    """A bar on stderr that names the step which is being done; one message where stderr is no terminal.

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


WIDE = 11
"""With more columns, less space stands between them."""


class Markup(str):
    """Text in rich's markup; any other text in a table is shown as it is."""

    __slots__ = ()


def table(
    title: str,
    columns: Sequence[str],
    rows: Iterable[Sequence[object]],
    numbers: Sequence[str] = (),
    *,
    whole: Sequence[str] = (),
) -> Any:
    """A table for the terminal.

    Args:
        rows: Cells of each row, as many as columns; None is an empty one.
        numbers: Headings of the columns that are right-aligned.
        whole: Headings of the columns that are not folded, beside the first.
    """
    # rich costs 60 ms, which `--json` and the list of commands do not need.
    from rich import box
    from rich.markup import escape
    from rich.table import Table

    def cell(value: object) -> str:
        return value if isinstance(value, Markup) else "" if value is None else escape(printable(str(value)))

    made = Table(
        title=escape(title) or None,
        box=box.SIMPLE_HEAD,
        title_justify="left",
        pad_edge=False,
        collapse_padding=len(columns) > WIDE,
    )
    for column in columns:
        side: Literal["left", "right"] = "right" if column in numbers else "left"
        made.add_column(column, justify=side, overflow="fold", no_wrap=column in (columns[0], *whole))
    for row in rows:
        made.add_row(*map(cell, row))
    return made

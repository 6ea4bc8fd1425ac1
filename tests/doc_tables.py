"""Tables of the documents, written by the commands beside them: `python tests/doc_tables.py NAME...`.

A block of text below `<!-- output: NAME -->` is what a command of `COMMANDS` printed: its table, and what it says below
on stderr, without its progress. Figures are measured, so run it on a machine that does nothing else; tests hold the
tables against the code.
"""

from __future__ import annotations

import argparse
import itertools
import os
import re
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

ROOT = Path(__file__).parents[1]
PAGES = (ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md")))
COMMANDS = {
    "demo": "headworks demo",
    "demo-storm": "headworks demo storm",
    "clusters": "python -m headworks_lab.benchmarks.schedulers.production_clusters",
    "reproduce": "headworks reproduce",
    "gain": "python -m headworks_lab.benchmarks.simulator.placement_gain",
}
"""The command of each block, as the text above it names it."""
LAST = {"reproduce"}
"""Blocks that hold the last table alone, and what stands below it."""
BLOCK = re.compile(r"(?P<mark><!-- output: (?P<name>[\w-]+) -->\n```text\n)(?P<text>.*?)(?P<end>```\n)", re.DOTALL)
PROGRESS = re.compile(r"\[ *\d+ s\] |\S+: \d+ (figures|improvements)$")
"""Lines on stderr that say how far a command is."""
MOVES = re.compile(r"^ *\d+ moves *\n(?:[ \t]*\n| move .*\n| ─+ *\n| (?:place|migrate|evict) .*\n)*", re.MULTILINE)
"""The moves of one plan, on stderr too."""


def blocks() -> Iterator[tuple[Path, str, str]]:
    """Page, name and text of every block."""
    for page in PAGES:
        for found in BLOCK.finditer(page.read_text()):
            yield page, found["name"], found["text"]


def block(name: str) -> str:
    """The text of the block of a name."""
    (found,) = [text for _, each, text in blocks() if each == name]
    return found


def tables(text: str) -> Iterator[tuple[str, list[dict[str, str]]]]:
    """Title and rows of each table of a block: cells by column, two blanks or more between them."""
    lines = text.splitlines()
    for at, line in enumerate(lines):
        if set(line.strip()) == {"─"}:
            columns = re.split(r"\s{2,}", lines[at - 1].strip())
            body = itertools.takewhile(str.strip, lines[at + 1 :])
            cells = [re.split(r"\s{2,}", row.strip()) for row in body]
            title = lines[at - 3] if at > 2 else ""
            yield title, [dict(zip(columns, row, strict=True)) for row in cells]


def number(cell: str) -> float:
    """The number in a cell: 1,234 or 67.6%."""
    return float(cell.replace(",", "").rstrip("%"))


def printed(name: str) -> str:
    """What the command of a block prints, as the block holds it.

    Raises:
        subprocess.CalledProcessError: The command failed.
    """
    path = os.pathsep.join((str(Path(sys.executable).parent), os.environ["PATH"]))
    with tempfile.TemporaryDirectory() as folder:
        command = COMMANDS[name].split()
        done = subprocess.run(
            command, cwd=folder, env={**os.environ, "PATH": path}, capture_output=True, text=True, check=True
        )
    said = [line for line in MOVES.sub("", done.stderr).splitlines() if not PROGRESS.match(line)]
    tables = re.split(r"\n\s*\n(?= plugin )", done.stdout)[-1] if name in LAST else done.stdout
    lines = [line.rstrip() for line in (*tables.splitlines(), "", *said)]
    return re.sub(r"\n{3,}", "\n\n", "\n".join(lines)).strip("\n") + "\n"


def rewrite(names: set[str]) -> None:
    """Run the commands and put what they print in their blocks."""
    texts = {name: printed(name) for name in sorted(names)}
    for page in PAGES:
        old = page.read_text()
        new = BLOCK.sub(lambda found: found["mark"] + texts.get(found["name"], found["text"]) + found["end"], old)
        if new != old:
            page.write_text(new)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("names", nargs="+", choices=COMMANDS)
    rewrite(set(parser.parse_args().names))

"""Tables of a terminal: no number folds, no name is read as markup, and columns that do not fit are named below."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

import attrs
from rich import box
from rich.cells import cell_len
from rich.table import Table
from rich.text import Text

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from rich.console import Console, ConsoleOptions, RenderableType

WORD = 24
"""Cells of a word that is not folded. With more, a long id costs a column; with fewer, ids cannot be copied."""
LEAST = 10
"""Cells that a column of text has at least. With fewer, a text has more lines than anybody reads."""
ROOMY, DENSE = 3, 2
"""Cells between two columns, where all fit and where they do not."""
EDGES = 2
MANY = 11
"""With more columns, less space stands between them."""


@attrs.frozen(kw_only=True, eq=False)
class Column:
    """A column: its heading, its cells, and whether it is of numbers, or is never folded."""

    heading: str
    cells: tuple[Text, ...]
    number: bool = False
    whole: bool = False

    @property
    def full(self) -> int:
        """Width in which nothing folds."""
        return max(map(cell_len, (self.heading, *self._lines)))

    def least(self, word: int) -> int:
        """Smallest width: no number and no heading's word folds, nor any other word of so many cells."""
        of_heading = max(map(cell_len, self.heading.split()), default=0)
        if self.number or self.whole:
            return max(of_heading, *map(cell_len, self._lines))
        words = (cell_len(each) for line in self._lines for each in line.split())
        return max(of_heading, min(max(words, default=0), word), min(self.full, LEAST))

    @property
    def _lines(self) -> tuple[str, ...]:
        return ("", *(line for cell in self.cells for line in cell.plain.split("\n")))


@attrs.frozen(kw_only=True)
class Sheet:
    """A table that leaves out what does not fit.

    Attributes:
        spare: Headings of columns that may be left out, the least important first; then the others go from the right.
        hint: How to see what is left out, "" where there is no way.
    """

    title: str
    columns: tuple[Column, ...]
    spare: tuple[str, ...] = ()
    hint: str = ""

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> Iterator[RenderableType]:
        """Draw the table, and name the columns that are left out."""
        kept, widths, gap = self.fitted(options.max_width)
        drawn = Table(box=box.SIMPLE_HEAD, pad_edge=False, collapse_padding=gap == DENSE)
        for column, width in zip(kept, widths, strict=True):
            side: Literal["left", "right"] = "right" if column.number else "left"
            drawn.add_column(Text(column.heading), justify=side, overflow="fold", width=width)
        for row in zip(*(column.cells for column in kept), strict=True):
            drawn.add_row(*row)
        if self.title:  # by itself: a title of rich's is as narrow as the table, and would fold names
            yield Text(self.title, style="italic")
        yield drawn
        if missing := [each.heading for each in self.columns if each not in kept]:
            yield Text(f"left out for want of width: {', '.join(missing)}{self.hint}", style="dim")

    def fitted(self, width: int) -> tuple[list[Column], list[int], int]:
        """Columns that fit in a width, the width of each, and the space between them."""
        first, *others = self.columns
        # An id may be longer than any terminal is wide: it is folded before all else is left out for it.
        kept = [attrs.evolve(first, whole=first.full <= width // 2), *others]
        full = sum(column.full for column in kept) + ROOMY * (len(kept) - 1) + EDGES
        if full <= width and len(kept) <= MANY:
            return list(self.columns), [column.full for column in kept], ROOMY
        shown = _shown(kept, self.spare, width)
        widths = _grown(shown, width)
        return [first if each is kept[0] else each for each in shown], widths, DENSE


def _shown(columns: Sequence[Column], spare: Sequence[str], width: int) -> list[Column]:
    """The columns without those that have to go."""
    kept = list(columns)
    for heading in spare:
        if _needed(kept, WORD) > width:
            kept = [column for column in kept if column.heading != heading or column is columns[0]]
    for column in reversed(columns[1:]):
        if _needed(kept, LEAST) > width and column in kept:
            kept.remove(column)
    return kept


def _needed(columns: Sequence[Column], word: int) -> int:
    return sum(column.least(word) for column in columns) + DENSE * (len(columns) - 1) + EDGES


def _grown(columns: Sequence[Column], width: int) -> list[int]:
    """Widths of the columns: what is left of the room goes to those that lack least, in equal parts."""
    word = WORD if _needed(columns, WORD) <= width else LEAST
    widths = [column.least(word) for column in columns]
    room = width - _needed(columns, word)
    if room < 0:  # one column alone, of one long word
        return [max(widths[0] + room, 1), *widths[1:]]
    lacking = sorted(range(len(columns)), key=lambda at: columns[at].full - widths[at])
    for left, at in zip(range(len(columns), 0, -1), lacking, strict=True):
        more = min(columns[at].full - widths[at], room // left)
        widths[at] += more
        room -= more
    return widths

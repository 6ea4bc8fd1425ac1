"""Learning as a fold over hours: what is known after an hour is made of what was known before it, and of that hour.

Profiles and demand rest on the newest hours. Hours are added up in blocks, a seventh of the history each, and the
oldest block leaves as a whole: sums of floats are never taken back.
"""

from __future__ import annotations

from collections import Counter
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

import attrs
import numpy as np

from headworks.model import FrozenMap
from headworks_pipeline.learning.drift import Part, Track, follow, within
from headworks_pipeline.learning.fit import AMOUNTS, Cells
from headworks_pipeline.learning.groups import split

if TYPE_CHECKING:
    from collections.abc import Sequence

BLOCKS = 7
"""Blocks of a history: if larger, more of it is left when the oldest goes, and more has to be kept."""
GROUP = ("topology", "component", "machine_type")
"""Columns that a profile is fitted for each value of."""
Group = tuple[str, str, str]
Series = tuple[str, str, str, str]
"""A group, and how it was measured."""
LEVELS = (*GROUP, "resource", "y")
"""Key of the table `levels`."""


@attrs.frozen(kw_only=True, eq=False)
class HourTables:
    """An hour.

    Attributes:
        hour: YYYY-MM-DDTHH.
        rows: Its rows by reason ("": used).
        cells, levels: pyarrow tables of these names; None if no row is in them.
    """

    hour: str
    rows: FrozenMap[str, int]
    cells: Any = None
    levels: Any = None


@attrs.frozen(kw_only=True, eq=False)
class Block:
    """Hours that leave the history together.

    Attributes:
        number: Counted from 1970.
        since: First hour of it that has rows.
        rows: Rows by reason ("": used).
        levels: Table `levels` of all these hours, with CPU as one more resource; None if no row is in it.
    """

    number: int
    since: str
    rows: FrozenMap[str, int]
    levels: Any = None


@attrs.frozen(kw_only=True, eq=False)
class State:
    """Knowledge after some hours.

    Attributes:
        history: Hours that it rests on at most.
        hour: The last of the hours; "" before the first.
        hours: Number of hours, those counted that it rests on no more.
        blocks: Blocks that it rests on, oldest first.
        tracks: Profile and drift of each series.
    """

    history: int
    hour: str = ""
    hours: int = 0
    blocks: tuple[Block, ...] = ()
    tracks: FrozenMap[Series, Track] = FrozenMap()


def step(state: State, hour: HourTables) -> State:
    """Knowledge after one more hour, which is later than all before it."""
    size = max(1, state.history // BLOCKS)
    moment = datetime.strptime(hour.hour, "%Y-%m-%dT%H").replace(tzinfo=UTC)
    number = int(moment.timestamp() // 3600) // size
    blocks = _with(state.blocks, number, hour)[-(state.history // size) :]
    tracks = dict(state.tracks)
    for series, cells in _series(hour.cells).items():
        part = Part(block=number, since=hour.hour, cells=cells)
        tracks[series] = follow(tracks.get(series), part)
    if blocks[0].number != (state.blocks or blocks)[0].number:
        left = {series: within(track, blocks[0].number, blocks[0].since) for series, track in tracks.items()}
        tracks = {series: track for series, track in left.items() if track is not None}
    return State(
        history=state.history,
        hour=hour.hour,
        hours=state.hours + 1,
        blocks=blocks,
        tracks=FrozenMap(tracks),
    )


def _with(blocks: tuple[Block, ...], number: int, hour: HourTables) -> tuple[Block, ...]:
    last = blocks[-1] if blocks and blocks[-1].number == number else None
    before, since, rows = (last.levels, last.since, last.rows) if last is not None else (None, hour.hour, {})
    levels = merged([before, hour.levels, _cpu(hour.cells)])
    total = FrozenMap(sorted((Counter(rows) + Counter(hour.rows)).items()))
    block = Block(number=number, since=since, rows=total, levels=levels)
    return (*(blocks if last is None else blocks[:-1]), block)


def merged(tables: Sequence[Any]) -> Any:
    """Tables `levels` added up, by their keys; None if there are none."""
    # pyarrow is optional and costs 0.2 s; `headworks pipeline show` imports this module, and reads no table.
    from pyarrow import concat_tables

    there = [each.select([*LEVELS, "n", "peak"]) for each in tables if each is not None]
    if not there:
        return None
    whole = concat_tables(there, promote_options="permissive")
    # Counts and peaks are the same in whatever order; more threads cost more than they save.
    found = whole.group_by(list(LEVELS), use_threads=False).aggregate([("n", "sum"), ("peak", "max")])
    return found.rename_columns({"n_sum": "n", "peak_max": "peak"})


def _cpu(cells: Any) -> Any:
    """Cells as a table `levels` of CPU."""
    # pyarrow is optional and costs 0.2 s; `headworks pipeline show` imports this module, and reads no table.
    from pyarrow import repeat

    return None if cells is None else cells.append_column("resource", repeat("cpu", cells.num_rows))


def _series(cells: Any) -> dict[Series, Cells]:
    """Cells of each series of an hour; null amounts are zero."""
    if cells is None:
        return {}
    names = {name: cells[name] for name in (*GROUP, "source")}
    columns = {name: cells[name].to_numpy().astype(np.int64) for name in ("x", "y")}
    columns |= {name: np.nan_to_num(cells[name].to_numpy().astype(np.float64)) for name in AMOUNTS}
    return {
        (key[0], key[1], key[2], key[3]): Cells(**{name: column[rows] for name, column in columns.items()})
        for key, rows in split(names, *GROUP, "source").items()
    }

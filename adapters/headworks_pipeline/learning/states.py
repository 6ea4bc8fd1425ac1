"""States of the fold as files: two Parquet tables of numbers, and the rest as JSON in the metadata of one of them.

The manifest names those that hold: one of an hour holds as long as neither that hour nor one before it is made again.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import attrs
import numpy as np

from headworks.model import FrozenMap
from headworks_pipeline.learning.drift import ChangePoint, Part, Track
from headworks_pipeline.learning.fit import FIELDS, Cells, Line
from headworks_pipeline.learning.fold import Block, HourTables, State, step
from headworks_pipeline.places import put_table, readable
from headworks_pipeline.tables.manifest import Learnt

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from headworks_pipeline.places import Place
    from headworks_pipeline.tables.manifest import Manifest
    from headworks_pipeline.tables.store import Store

VERSION = 1
"""Version of these files and of what `step` makes of an hour: with another one, all hours are learnt anew."""
CELLS, LEVELS = "cells.parquet", "levels.parquet"
"""Names of the files."""
META = b"headworks.state"
"""Key in the metadata of `CELLS`."""
SPARSE = 8
"""Of the states before the last ones every so-manieth is kept, and of those before them again: if larger, a late hour
costs more; if smaller, more is kept."""


def advance(store: Store, manifest: Manifest, hours: Sequence[str], history: int) -> tuple[State, Manifest]:
    """Learn from the hours that the newest state has not learnt from.

    Args:
        store: Where the tables are; it has to be locked.
        manifest: The last manifest.
        hours: Hours to learn from, in order.
        history: Hours that knowledge rests on at most.

    Returns:
        The state after the last hour, and the manifest, a later one if there was something to learn.
    """
    how = rules(history)
    last = hours[-1] if hours else ""
    there = {hour: each for hour, each in manifest.learnt.items() if each.rules == how and hour <= last}
    state, held = _newest(store, there, history)
    fresh = [hour for hour in hours if hour > state.hour]
    if not fresh:
        return state, manifest
    count = state.hours + len(fresh)
    content = repr([(hour, manifest.hours[hour].snapshot) for hour in fresh]) + how
    snapshot = store.following(manifest, content)
    store.stage(snapshot)
    for hour in fresh:
        state = step(state, _tables(store, manifest, hour))
        if worth_keeping(state.hours, count):
            write_state(state, store.learnt(snapshot, hour))
            held[hour] = Learnt(snapshot=snapshot, hours=state.hours, rules=how)
    following = manifest.with_learnt({hour: each for hour, each in held.items() if worth_keeping(each.hours, count)})
    store.commit(following)
    return state, following


def rules(history: int) -> str:
    """Name of the rules by which states are made.

    Args:
        history: Hours that knowledge rests on at most.
    """
    return f"{VERSION} {history}"


def _newest(store: Store, held: Mapping[str, Learnt], history: int) -> tuple[State, dict[str, Learnt]]:
    """The newest state that can be read, and the entries up to it; the one before all hours if there is none."""
    # pyarrow is optional and costs 0.2 s; `headworks pipeline show` imports this module, and reads no table.
    from pyarrow import ArrowException

    for hour in sorted(held, reverse=True):
        try:
            state = read_state(store.learnt(held[hour].snapshot, hour))
        except (OSError, ArrowException):  # somebody removed it: what it says can be learnt again
            continue
        return state, {name: each for name, each in held.items() if name <= hour}
    return State(history=history), {}


def _tables(store: Store, manifest: Manifest, hour: str) -> HourTables:
    # pyarrow is optional and costs 0.2 s; `headworks pipeline show` imports this module, and reads no table.
    from pyarrow import concat_tables, parquet

    found: dict[str, Any] = {}
    for name in ("cells", "levels"):
        parts = [parquet.read_table(readable(file), partitioning=None) for file in store.files(manifest, name, [hour])]
        found[name] = concat_tables(parts) if parts else None
    return HourTables(hour=hour, rows=manifest.hours[hour].rows, **found)


def worth_keeping(hours: int, last: int) -> bool:
    """Whether a state is kept, for hours that come late: the older, the fewer are.

    Args:
        hours: Hours that it has learnt.
        last: Hours that the newest state has learnt.
    """
    reach = 1
    while hours % (reach * SPARSE) == 0 and reach < last:
        reach *= SPARSE
    return last - hours <= 2 * reach


def write_state(state: State, folder: Place) -> None:
    """Write a state to a folder, which is made.

    Args:
        state: State after at least one hour.
        folder: Path at which nothing is yet.
    """
    # pyarrow is optional and costs 0.2 s; `headworks pipeline show` imports this module, and reads no table.
    from pyarrow import array, concat_tables, repeat, table

    tracks = [*state.tracks.values()]
    parts = [part.cells for track in tracks for part in track.all]
    columns = {field.name: np.concatenate([getattr(each, field.name) for each in parts] or [[]]) for field in FIELDS}
    meta = {
        "history": state.history,
        "hour": state.hour,
        "hours": state.hours,
        "blocks": [[each.number, each.since, each.rows] for each in state.blocks],
        "tracks": [[series, _plain(track)] for series, track in state.tracks.items()],
    }
    cells = table(columns).replace_schema_metadata({META: json.dumps(meta).encode()})
    put_table(folder / CELLS, cells, "zstd")
    levels = [
        block.levels.append_column("block", repeat(block.number, block.levels.num_rows))
        for block in state.blocks
        if block.levels is not None
    ]
    whole = concat_tables(levels, promote_options="permissive") if levels else table({"block": array([], "int64")})
    put_table(folder / LEVELS, whole, "zstd")


def _plain(track: Track) -> dict[str, Any]:
    """All of a track but its cells; of these, how many each part has."""
    kept = {field.name: getattr(track, field.name) for field in attrs.fields(Track)}
    return {
        **kept,
        "parts": [_plain_part(each) for each in track.parts],
        "line": [track.line.e, track.line.met],
        "doubt": None if track.doubt is None else _plain_part(track.doubt),
        "changes": [[each.hour, each.ratio] for each in track.changes],
    }


def _plain_part(part: Part) -> list[Any]:
    return [part.block, part.since, part.hours, len(part.cells.x)]


def read_state(folder: Place) -> State:
    """The state that `write_state` wrote: what it makes of later hours is the same to the last bit.

    Raises:
        OSError: A file is missing, or none of Parquet.
        ArrowException: A file is damaged.
    """
    # pyarrow is optional and costs 0.2 s; `headworks pipeline show` imports this module, and reads no table.
    from pyarrow import compute, parquet

    table = parquet.read_table(readable(folder / CELLS), partitioning=None)
    columns = {name: table[name].to_numpy() for name in table.column_names}
    meta = json.loads(table.schema.metadata[META])
    cells = _cut(columns, _sizes(meta["tracks"]))
    levels = parquet.read_table(readable(folder / LEVELS), partitioning=None)
    blocks = [
        Block(
            number=number,
            since=since,
            rows=FrozenMap(rows),
            levels=levels.filter(compute.equal(levels["block"], number)).drop_columns(["block"]),
        )
        for number, since, rows in meta["blocks"]
    ]
    tracks = {tuple(series): _track(plain, cells) for series, plain in meta["tracks"]}
    kept = {name: meta[name] for name in ("history", "hour", "hours")}
    return State(**kept, blocks=tuple(blocks), tracks=FrozenMap(tracks))


def _sizes(tracks: list[Any]) -> list[int]:
    return [part[-1] for _, plain in tracks for part in (*plain["parts"], plain["doubt"]) if part is not None]


def _cut(columns: Mapping[str, Any], sizes: list[int]) -> Iterator[Cells]:
    """Cells one part after the other."""
    start = 0
    for size in sizes:
        yield Cells(**{name: column[start : start + size] for name, column in columns.items()})
        start += size


def _track(plain: dict[str, Any], cells: Iterator[Cells]) -> Track:
    e, met = plain["line"]
    parts = tuple(_part(each, cells) for each in plain["parts"])
    doubt = None if plain["doubt"] is None else _part(plain["doubt"], cells)
    changes = tuple(ChangePoint(hour=hour, ratio=ratio) for hour, ratio in plain["changes"])
    return Track(**{**plain, "parts": parts, "line": Line(e=e, met=met), "doubt": doubt, "changes": changes})


def _part(plain: list[Any], cells: Iterator[Cells]) -> Part:
    block, since, hours, _ = plain
    return Part(block=block, since=since, hours=hours, cells=next(cells))

"""The batch job: hours whose files changed are made again, a chunk at a time, each chunk committed whole."""

from __future__ import annotations

import contextlib
import hashlib
from collections import Counter, defaultdict
from typing import TYPE_CHECKING, Any

import attrs
from pyarrow import Table, parquet, schema, string

from headgate.model import FrozenMap
from headgate.samples.store import read_states
from headgate_pipeline.intake.files import UNREADABLE, SampleFile, Stamp, digest, inspect, listing
from headgate_pipeline.intake.rows import read_rows
from headgate_pipeline.tables import queries
from headgate_pipeline.tables.cache import in_file, in_memory
from headgate_pipeline.tables.clean import KnownTasks, compare, judge, jumps, repeated
from headgate_pipeline.tables.store import Hour, Manifest, Store

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence
    from pathlib import Path

    from pyspark.sql import DataFrame, SparkSession

CHUNK = 20_000_000
"""Rows that are cleaned at a time, as far as hours are not larger: if larger, a run that is killed loses more, and
judged rows need more disk; if smaller, Spark's fixed costs are paid more often."""
FEW = 300_000
"""Rows below which planning costs more than computing: if larger, jobs of one partition take long; if smaller, short
jobs pay for generated code."""
MADE: Mapping[str, Callable[[DataFrame], DataFrame]] = {
    "cells": queries.cells,
    "levels": queries.levels,
    "sums": queries.sums,
    "windows": queries.windows,
}
"""Tables that every hour gets, and their queries."""


@attrs.frozen(kw_only=True)
class Update:
    """Result of a run: the hours that it made again, and their rows by reason ("": used)."""

    hours: tuple[str, ...] = ()
    rows: FrozenMap[str, int] = FrozenMap()


def update(
    spark: SparkSession,
    samples: Path,
    store: Store,
    *,
    chunk: int = CHUNK,
    tell: Callable[[str], None] = lambda _: None,
) -> Update:
    """Bring the tables up to date with a folder of samples.

    The tables of an hour depend on its files and the known tasks alone: made again, by whomever, they are the same.

    Args:
        spark: Session.
        samples: The folder that monitors write.
        store: Where tables go; it has to be locked.
        chunk: Rows to clean at a time.
        tell: Called with a sentence after each chunk.

    Raises:
        DocumentError: The manifest cannot be read or written.
    """
    # Known tasks are input as well: a topology that becomes known makes its hours stale.
    known = KnownTasks.of(read_states(samples))
    manifest = store.manifest()
    store.tidy(manifest)
    there = listing(samples)
    inputs = {hour: digest(stamps, known.digest(hour)) for hour, stamps in there.items()}
    stale = [hour for hour in there if hour not in manifest.hours or manifest.hours[hour].inputs != inputs[hour]]
    # Hours whose files were removed go first, so that a reader never sees them beside what replaces them.
    if gone := sorted(set(manifest.hours) - set(there)):
        manifest = manifest.with_hours({}, gone)
        store.commit(manifest)
    total: Counter[str] = Counter()
    for files in chunks({hour: there[hour] for hour in stale}, chunk):
        made = make(spark, files, known, store, inputs)
        manifest = manifest.with_hours(made)
        store.commit(manifest)
        for hour in made.values():
            total.update(hour.rows)
        tell(f"{len(made)} of {len(stale)} hours, {sum(total.values()):,} rows")
    return Update(hours=tuple(stale), rows=FrozenMap(dict(sorted(total.items()))))


def chunks(hours: Mapping[str, Sequence[Stamp]], rows: int) -> Iterator[dict[str, list[SampleFile]]]:
    """Consecutive hours together, as long as their files have no more rows than that.

    Args:
        hours: Files of each hour; they are inspected.
        rows: Rows to a chunk; an hour with more is a chunk of its own.
    """
    some: dict[str, list[SampleFile]] = {}
    count = 0
    for hour, stamps in hours.items():
        files = [inspect(hour, stamp) for stamp in stamps]
        size = sum(each.rows for each in files)
        if some and count + size > rows:
            yield some
            some, count = {}, 0
        some[hour], count = files, count + size
    if some:
        yield some


def make(
    spark: SparkSession,
    hours: Mapping[str, Sequence[SampleFile]],
    known: KnownTasks,
    store: Store,
    inputs: Mapping[str, str],
) -> dict[str, Hour]:
    """Write the tables of some hours to a snapshot, which counts when it is committed.

    Args:
        spark: Session.
        hours: Files of each hour.
        known: Topologies and tasks of the engine.
        store: Where tables go.
        inputs: Digest of the input of each hour.

    Returns:
        The entry of each hour in the manifest.
    """
    # Named by its input: a run that was killed and is started again stages the same snapshot, over what is left of it.
    snapshot = hashlib.sha256(repr([(hour, inputs[hour]) for hour in hours]).encode()).hexdigest()[:16]
    place = store.stage(snapshot)
    files = [each for some in hours.values() for each in some]
    counts = _write_tables(spark, files, known, place)
    rows = {hour: endings(hour, some, counts) for hour, some in hours.items()}
    _write_bad_files(files, place)
    return {
        hour: Hour(inputs=inputs[hour], snapshot=snapshot, rows=FrozenMap(dict(sorted(rows[hour].items()))))
        for hour in hours
    }


def endings(hour: str, files: Sequence[SampleFile], counts: Counter[tuple[str, str, str]]) -> Counter[str]:
    """Rows of an hour by reason ("": used); those that a damaged file lacks are among them.

    Only of the present version: rows of version 1 are added up when they are read.

    Args:
        hour: YYYY-MM-DDTHH.
        files: Its files.
        counts: Rows by (hour, name of the file, reason).
    """
    rows: Counter[str] = Counter()
    read: Counter[str] = Counter()
    for (of, file, reason), count in counts.items():
        if of == hour:
            rows[reason] += count
            read[file] += count
    first = {each.path.rpartition("/")[2] for each in files if each.version == 1}
    wanted = sum(each.rows for each in files if not each.reason and each.version > 1)
    # Spark passes over the rest of a file that it cannot read; footers tell how many rows there should be.
    lacking = wanted - sum(count for file, count in read.items() if file not in first)
    if lacking > 0:
        rows[UNREADABLE] += lacking
    for each in files:
        if each.reason:
            rows[each.reason] += each.rows
    return rows


def _write_tables(
    spark: SparkSession, files: Sequence[SampleFile], known: KnownTasks, place: Path
) -> Counter[tuple[str, str, str]]:
    """Read raw rows once, and write every table; rows by hour, file and reason."""
    counts: Counter[tuple[str, str, str]] = Counter()
    if all(each.reason for each in files):
        return counts
    few = sum(each.rows for each in files) < FEW
    _suit(spark, few=few)
    # Raw rows are read once: three looks at them decide, four tables are made of them.
    judged = judge(read_rows(spark, files), known)
    with contextlib.ExitStack() as stack:
        judged = stack.enter_context(in_memory(judged) if few else in_file(judged, place / "judged"))
        again, jumped = (stack.enter_context(in_memory(found(judged))) for found in (repeated, jumps))
        rows = compare(judged, jumped, again)
        for hour, file, reason, count in rows.groupBy("hour", "file", "reason").count().collect():
            counts[hour, file, reason or ""] += count
        used = queries.prepared(rows)
        for name, table in MADE.items():
            _write(table(used), place / name)
        if any(reason for _, _, reason in counts):
            _write(queries.quarantine(rows), place / "quarantine")
    return counts


def _suit(spark: SparkSession, *, few: bool) -> None:
    """Few rows are summed up faster than the code for many is compiled."""
    spark.conf.set("spark.sql.codegen.wholeStage", str(not few).lower())
    spark.conf.set("spark.sql.codegen.factoryMode", "NO_CODEGEN" if few else "FALLBACK")
    spark.conf.set("spark.sql.adaptive.enabled", str(not few).lower())
    spark.conf.set("spark.sql.shuffle.partitions", "1" if few else str(4 * spark.sparkContext.defaultParallelism))


def _write(table: DataFrame, place: Path) -> None:
    table.repartition("hour").sortWithinPartitions("hour").write.partitionBy("hour").parquet(
        str(place), mode="overwrite"
    )


def _write_bad_files(files: Sequence[SampleFile], place: Path) -> None:
    """Files that could not be read at all are rows of the quarantine too."""
    bad: dict[str, list[dict[str, Any]]] = defaultdict(list)
    for each in files:
        if each.reason:
            name = each.path.rpartition("/")[2]
            bad[each.hour].append({"reason": each.reason, "file": name, "content": f'{{"rows":{each.rows}}}'})
    columns = schema([(name, string()) for name in ("reason", "file", "content")])
    for hour, rows in bad.items():
        folder = place / "quarantine" / f"hour={hour}"
        folder.mkdir(parents=True, exist_ok=True)
        parquet.write_table(Table.from_pylist(rows, columns), folder / "files.parquet")


def empty(manifest: Manifest) -> bool:
    """True if no hour has a row that is used."""
    return not any(hour.rows.get("", 0) for hour in manifest.hours.values())

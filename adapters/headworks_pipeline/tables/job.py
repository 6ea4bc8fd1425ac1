"""The batch job: hours whose files changed are made again, a chunk at a time, each chunk committed whole."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import TYPE_CHECKING, Any, Protocol

import attrs
from pyarrow import Table, schema, string

from headworks.model import FrozenMap
from headworks.samples.store import read_states
from headworks_pipeline.intake.files import UNREADABLE, SampleFile, Stamp, digest, inspect, last_hour, listing, names
from headworks_pipeline.places import put_table
from headworks_pipeline.tables.known import KnownTasks
from headworks_pipeline.tables.manifest import Hour
from headworks_pipeline.tables.selection import Selection, select

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from datetime import datetime

    from headworks_pipeline.places import Place
    from headworks_pipeline.tables.manifest import Manifest
    from headworks_pipeline.tables.store import Store

LOOKS = 16
"""Footers that are looked at together: if fewer, files on other machines are waited for one by one."""
Counts = Counter[tuple[str, str, str]]
"""Rows by hour, name of the file, and reason ("": used)."""


class Backend(Protocol):
    """An engine that cleans rows and sums them up."""

    @property
    def name(self) -> str:
        """Name of the engine, for reports."""

    @property
    def chunk(self) -> int:
        """Rows that it is given at a time, as far as hours are not larger."""

    def write_tables(self, files: Sequence[SampleFile], known: KnownTasks, place: Place) -> Counts:
        """Write `TABLE/hour=HOUR/*.parquet` of some files.

        Args:
            files: Whole hours; files that carry a `reason` are left out.
            known: Topologies and tasks of the engine that was watched.
            place: Folder of the tables.

        Returns:
            The rows that were read, by hour, file and reason.
        """


@attrs.frozen(kw_only=True)
class Work:
    """Input of a run, as it was found.

    Attributes:
        known: Topologies and tasks of the engine that was watched.
        inputs: Digest of the input of each hour that has samples.
        selection: Decision on each hour.
        files: Files of the hours to make, after a look at each footer.
        there: All files of each hour.
        ahead: Rows of each hour that the run's clock has not come near; it is as if these hours were not there.
    """

    known: KnownTasks
    inputs: Mapping[str, str]
    selection: Selection
    files: Mapping[str, Sequence[SampleFile]]
    there: Mapping[str, Sequence[Stamp]]
    ahead: Mapping[str, int] = FrozenMap()

    @property
    def rows(self) -> int:
        """Rows of all files to read."""
        return sum(each.rows for files in self.files.values() for each in files)


@attrs.frozen(kw_only=True)
class Update:
    """Result of a run.

    Attributes:
        hours: Hours that it made.
        rows: Their rows by reason ("": used), and those of hours that are ahead of the run's clock.
        lost: Hours that lack samples which their tables were made of: these stay.
        expired: Hours whose tables it removed, past retention.
    """

    hours: tuple[str, ...] = ()
    rows: FrozenMap[str, int] = FrozenMap()
    lost: tuple[str, ...] = ()
    expired: tuple[str, ...] = ()


def survey(samples: Place, store: Store, keep: int | None = None, now: datetime | None = None) -> Work:
    """Look at what is there: no row is read, and a footer only of hours that have to be made.

    Args:
        samples: The folder that monitors write.
        store: Where tables go; it has to be locked.
        keep: Hours whose tables are kept, the newest; None for all.
        now: Time of the run; None believes every hour.

    Raises:
        DocumentError: The manifest cannot be read.
    """
    # Known tasks are input as well: a topology that becomes known makes its hours stale. They are those of all states
    # that any run has seen: like samples, states that are gone take nothing back.
    store.keep_states(samples)
    known = KnownTasks.of(read_states(store.folder))
    manifest = store.manifest()
    listed = listing(samples)
    there = {hour: stamps for hour, stamps in listed.items() if now is None or hour <= last_hour(now)}
    ahead = {hour: sum(inspect(hour, each).rows for each in listed[hour]) for hour in listed if hour not in there}
    inputs = {hour: digest(stamps, known.digest(hour)) for hour, stamps in there.items()}
    selection = select(manifest, inputs, lambda hour: bool(store.sources(manifest, hour) - names(there[hour])), keep)
    with ThreadPoolExecutor(LOOKS) as pool:
        files = {hour: [*pool.map(partial(inspect, hour), there[hour])] for hour in selection.make}
    return Work(known=known, inputs=inputs, selection=selection, files=files, there=there, ahead=ahead)


def update(
    backend: Backend | None,
    work: Work,
    store: Store,
    *,
    chunk: int | None = None,
    tell: Callable[[str], None] = lambda _: None,
) -> Update:
    """Bring the tables up to date.

    The tables of an hour depend on its files and the known tasks alone: made again, by whomever, they are the same.

    Args:
        backend: Engine; None will do where no hour has to be made.
        work: What there is to do.
        store: Where tables go; it has to be locked.
        chunk: Rows to clean at a time; None for as many as the engine likes.
        tell: Called with a sentence after each chunk.

    Raises:
        DocumentError: The manifest cannot be read or written.
    """
    manifest, selection = store.manifest(), work.selection
    store.tidy(manifest)
    if selection.lost:
        tell(f"{_span(selection.lost)} lack samples that are gone: their tables stay")
    if selection.expired:
        manifest = manifest.without(selection.expired)
        store.commit(manifest)
    total: Counter[str] = Counter()
    if work.ahead:
        total["clock"] = sum(work.ahead.values())
        tell(f"{_span([*work.ahead])} of {total['clock']:,} rows are not used: they are ahead of this machine's clock")
    if backend is not None:
        for files in chunks(work.files, chunk or backend.chunk):
            made = make(backend, files, work, store, manifest)
            manifest = manifest.with_hours(made)
            store.commit(manifest)
            for hour in made.values():
                total.update(hour.rows)
            tell(f"{len(made)} of {len(selection.make)} hours, {sum(total.values()):,} rows")
    return Update(
        hours=selection.make,
        rows=FrozenMap(dict(sorted(total.items()))),
        lost=selection.lost,
        expired=selection.expired,
    )


def _span(hours: Sequence[str]) -> str:
    return hours[0] if len(hours) == 1 else f"{len(hours)} hours, {hours[0]} to {hours[-1]},"


def chunks(hours: Mapping[str, Sequence[SampleFile]], rows: int) -> Iterator[dict[str, Sequence[SampleFile]]]:
    """Consecutive hours together, as long as their files have no more rows than that.

    Args:
        hours: Files of each hour.
        rows: Rows to a chunk; an hour with more is a chunk of its own.
    """
    some: dict[str, Sequence[SampleFile]] = {}
    count = 0
    for hour, files in hours.items():
        size = sum(each.rows for each in files)
        if some and count + size > rows:
            yield some
            some, count = {}, 0
        some[hour], count = files, count + size
    if some:
        yield some


def make(
    backend: Backend, hours: Mapping[str, Sequence[SampleFile]], work: Work, store: Store, manifest: Manifest
) -> dict[str, Hour]:
    """Write the tables of some hours to a snapshot, which counts when it is committed.

    Args:
        backend: Engine.
        hours: Files of each hour.
        work: What there is to do.
        store: Where tables go.
        manifest: The last manifest; the next one will name the snapshot.

    Returns:
        The entry of each hour in the next manifest.
    """
    snapshot = store.following(manifest, repr([(hour, work.inputs[hour]) for hour in hours]))
    place = store.stage(snapshot)
    counts = _write_tables(backend, hours, work.known, place)
    if damaged := _damaged(hours, counts):
        # How much an engine reads of a file before its damage depends on how it reads: none of it is used.
        hours = {
            hour: [attrs.evolve(each, reason=UNREADABLE) if each.path in damaged else each for each in some]
            for hour, some in hours.items()
        }
        place = store.stage(snapshot)
        counts = _write_tables(backend, hours, work.known, place)
    _write_bad_files([each for some in hours.values() for each in some], place)
    for hour, some in hours.items():
        # Files of which nothing was used may go: the hour is the same without them.
        used = {file for (of, file, reason), _ in counts.items() if of == hour and not reason}
        store.write_sources(snapshot, hour, sorted(name for each in some if each.name in used for name in each.sources))
    return {
        hour: Hour(
            inputs=work.inputs[hour],
            snapshot=snapshot,
            rows=FrozenMap(dict(sorted(endings(hour, some, counts).items()))),
            files=store.staged_files(snapshot, hour),
            sources=sum(len(each.sources) for each in some),
            unread=sum(len(each.sources) for each in some if each.reason == UNREADABLE),
        )
        for hour, some in hours.items()
    }


def _write_tables(
    backend: Backend, hours: Mapping[str, Sequence[SampleFile]], known: KnownTasks, place: Place
) -> Counts:
    files = [each for some in hours.values() for each in some]
    return backend.write_tables(files, known, place) if any(not each.reason for each in files) else Counter()


def _damaged(hours: Mapping[str, Sequence[SampleFile]], counts: Counts) -> set[str]:
    """Paths of files of which fewer rows were read than their footers promise."""
    read: Counter[tuple[str, str]] = Counter()
    for (hour, file, _), count in counts.items():
        read[hour, file] += count
    return {
        each.path
        for hour, some in hours.items()
        for each in some
        if not each.reason and read[hour, each.name] < each.rows
    }


def endings(hour: str, files: Sequence[SampleFile], counts: Counts) -> Counter[str]:
    """Rows of an hour by reason ("": used), those of files that were not read among them.

    Args:
        hour: YYYY-MM-DDTHH.
        files: Its files.
        counts: Rows by (hour, name of the file, reason).
    """
    rows: Counter[str] = Counter()
    for (of, _, reason), count in counts.items():
        if of == hour:
            rows[reason] += count
    for each in files:
        if each.reason:
            rows[each.reason] += each.rows
    return rows


def _write_bad_files(files: Sequence[SampleFile], place: Place) -> None:
    """Files that could not be read at all are rows of the quarantine too."""
    bad: dict[str, list[dict[str, Any]]] = defaultdict(list)
    for each in files:
        if each.reason:
            content = f'{{"rows":{each.rows}}}'
            bad[each.hour].append({"reason": each.reason, "file": each.name, "content": content})
    columns = schema([(name, string()) for name in ("reason", "file", "content")])
    for hour, rows in bad.items():
        put_table(place / "quarantine" / f"hour={hour}" / "files.parquet", Table.from_pylist(rows, columns))

"""The tables on DuckDB, in this process: for samples that one machine can read."""

from __future__ import annotations

import contextlib
import json
import math
from collections import Counter
from datetime import MAXYEAR, UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

import attrs

from headworks.errors import EngineError, EngineUseError, how_to_install
from headworks.samples.rows import AMOUNTS, COLUMNS
from headworks_pipeline.tables import queries
from headworks_pipeline.tables.clean import DUPLICATE, SAMPLE, jumps, reason_of

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from headworks_pipeline.intake.files import SampleFile
    from headworks_pipeline.places import Place
    from headworks_pipeline.tables.job import Counts
    from headworks_pipeline.tables.known import KnownTasks

CHUNK = 2_000_000
"""Rows that are cleaned at a time, as far as hours are not larger: 0.3 KB of memory each."""
SQL_TYPES = {"int32": "integer", "int64": "bigint", "double": "double", "string": "varchar", "timestamp": "timestamptz"}
"""Type in DuckDB for each type of the sample columns."""
TIMES = [name for name, kind in COLUMNS.items() if kind == "timestamp"]
"""Columns that are kept as seconds since 1970, as the queries take them."""
CYCLE = 146_097 * 86_400
"""Seconds of 400 years, after which the calendar repeats itself."""
FIRST_SECOND, LAST_SECOND = (datetime(year, 1, 1, tzinfo=UTC).timestamp() for year in (1, MAXYEAR))
"""Times between which Python has a date for each second, whatever is done to it."""
FARTHEST = "9223372036854.775807"
"""Seconds of the last time that a column can have."""
BATCH = 10_000
"""Rows of the quarantine that are written at a time."""


@attrs.frozen
class OnDuckDB:
    """The batch job's engine of a connection.

    Attributes:
        base: The `DuckDBPyConnection`.
    """

    name: ClassVar[str] = "duckdb"
    chunk: ClassVar[int] = CHUNK
    base: Any

    def write_tables(self, files: Sequence[SampleFile], known: KnownTasks, place: Place) -> Counts:
        """Read raw rows once, and write every table.

        Args:
            files: Whole hours; files that carry a `reason` are left out.
            known: Topologies and tasks of the engine that was watched.
            place: Folder of the tables.

        Returns:
            The rows that were read, by hour, file and reason.

        Raises:
            EngineError: Memory is too small.
        """
        good, folder = [each for each in files if not each.reason], Path(str(place))  # others are Spark's
        with self._errors():
            self._judge(good, known)
            self._compare()
            counts: Counts = Counter()
            by_file = "select hour, file, coalesce(reason, ''), count(*) from judged group by all"
            for hour, file, reason, count in self.base.sql(by_file).fetchall():
                counts[hour, file, reason] += count
            self.base.execute(f"create or replace temp view used as {_spelt(queries.prepared('judged'))}")
            for name, query in queries.tables("used", queries.DUCKDB_PAIRS).items():
                _write(self.base.sql(_spelt(query)).to_arrow_table(), folder / name)
            self._write_quarantine(folder / "quarantine")
            self.base.execute("drop view used; drop table judged")
        return counts

    @contextlib.contextmanager
    def _errors(self) -> Iterator[None]:
        # DuckDB is optional: this module is imported where it is there.
        import duckdb

        try:
            yield
        except duckdb.Error as error:
            message = f"DuckDB cannot make the tables: {str(error).splitlines()[0]}"
            raise EngineError(f"{message} (`--driver-memory` is its memory, `--backend spark` another way)") from None

    def _judge(self, files: Sequence[SampleFile], known: KnownTasks) -> None:
        """Make the table `judged`: rows with `hour`, `moment`, `file`, and the reason that the row itself gives."""
        # DuckDB is optional: this module is imported where it is there.
        import duckdb

        columns = ", ".join(f'{_seconds(name)} as "{name}"' if name in TIMES else f'"{name}"' for name in COLUMNS)
        sample = ", ".join(f'"{name}"' for name in SAMPLE)
        self.base.execute(
            "create or replace temp table places (path varchar, hour varchar, moment bigint, file varchar)"
        )
        self.base.executemany("insert into places values (?, ?, ?, ?)", [_place(each) for each in files])
        text = (
            "create or replace temp table judged as select raw.*, {reason} as reason, hash({sample}) as sample from "
            "(select {columns}, hour, moment, file from ({rows}) as raw join places on raw.filename = places.path) "
            "as raw {known}"
        )
        reason = _spelt(reason_of(lambda column: f"coalesce(known_{column}.since <= hour, false)"))
        fields = {"reason": reason, "sample": sample, "columns": columns, "known": self._known(known)}
        query, paths = text.format(rows=_raw(), **fields), [each.path for each in files]
        try:
            self.base.execute(query, {"paths": paths})
        except duckdb.Error:
            # A file whose pages are damaged, or that went: those that can be read to their ends are.
            whole = [path for path in paths if self._is_whole(path)]
            if whole == paths:
                raise
            self.base.execute(text.format(rows=_raw(nothing=not whole), **fields), {"paths": whole} if whole else None)

    def _known(self, known: KnownTasks) -> str:
        """SQL of joins with known names: DuckDB would compare each row with each literal of a list."""
        named = {"topology": known.topologies, "task": known.tasks, "target": known.tasks}
        for column, names in named.items():
            self.base.execute(f"create or replace temp table known_{column} (name varchar, since varchar)")
            lists = [[*names], [*names.values()]]
            self.base.execute(f"insert into known_{column} select unnest(?::varchar[]), unnest(?::varchar[])", lists)
        return " ".join(f"left join known_{name} on raw.{name} = known_{name}.name" for name in named)

    def _is_whole(self, path: str) -> bool:
        # DuckDB is optional: this module is imported where it is there.
        import duckdb

        try:
            # A count would be taken from the footer; a hash looks at every value.
            self.base.execute("select sum(hash(columns(*))) from read_parquet(?)", [path]).fetchall()
        except duckdb.Error:
            return False
        return True

    def _compare(self) -> None:
        """Add the reasons that other rows of the hour give: a jump of the clock, a repetition."""
        self.base.execute(f"create or replace temp table jumped as {_spelt(jumps('judged'))}")
        keys = " and ".join(f'judged."{name}" = jumped."{name}"' for name in ("hour", "engine", "origin", "number"))
        # Rows of a sample are all of one report: either all of them jumped, or none.
        last = ", ".join(f'"{name}" desc nulls last' for name in COLUMNS)
        self.base.execute(
            "create or replace temp table again as select hour, sample from judged where reason is null "
            "group by hour, sample having count(*) > 1"
        )
        self.base.execute(
            f"create or replace temp table later as select id from (select judged.rowid as id, row_number() over "
            f"(partition by hour, sample order by {last}) as place from judged semi join again using (hour, sample) "
            "where reason is null) where place > 1"
        )
        self.base.execute(f"update judged set reason = 'clock' from jumped where reason is null and {keys}")
        self.base.execute(
            f"update judged set reason = '{DUPLICATE}' where reason is null and rowid in (select id from later)"
        )
        self.base.execute("drop table jumped; drop table again; drop table later")

    def _write_quarantine(self, folder: Path) -> None:
        names = [*COLUMNS]
        chosen = ", ".join(f'"{name}"' for name in names)
        self.base.execute(
            f"select hour, reason, file, {chosen} from judged "
            f"where reason is not null and reason != '{DUPLICATE}' order by hour"
        )
        # pyarrow costs 0.2 s, and is an extra.
        from pyarrow import Table, parquet, schema, string

        columns = schema([(name, string()) for name in ("reason", "file", "content")])
        with contextlib.ExitStack() as stack:
            writers: dict[str, Any] = {}
            while rows := self.base.fetchmany(BATCH):
                for hour in sorted({row[0] for row in rows}):
                    if hour not in writers:
                        path = folder / f"hour={hour}" / "part-0.parquet"
                        path.parent.mkdir(parents=True, exist_ok=True)
                        writers[hour] = stack.enter_context(parquet.ParquetWriter(path, columns))
                    some = [
                        {"reason": reason, "file": file, "content": _content(names, values)}
                        for of, reason, file, *values in rows
                        if of == hour
                    ]
                    writers[hour].write_table(Table.from_pylist(some, columns))


def _seconds(name: str) -> str:
    """SQL of the seconds since 1970 of a column; to DuckDB the first and the last of all microseconds are infinite."""
    ends = (f"when '{sign}infinity' then {sign}{FARTHEST}" for sign in ("", "-"))
    return f'case "{name}" {" ".join(ends)} else epoch("{name}") end'


def _place(file: SampleFile) -> tuple[str, str, int, str]:
    moment = datetime.strptime(file.hour, "%Y-%m-%dT%H").replace(tzinfo=UTC)
    return file.path, file.hour, int(moment.timestamp() // 3600), file.name


def _raw(*, nothing: bool = False) -> str:
    """SQL of raw rows of the files `$paths`, in all columns; those that a file lacks are null; or of no rows."""
    empty = ", ".join(f'null::{SQL_TYPES[kind]} as "{name}"' for name, kind in COLUMNS.items())
    files = "read_parquet($paths, union_by_name = true, filename = true, hive_partitioning = false)"
    none = f"select {empty}, null::varchar as filename where false"
    return none if nothing else f"{none} union all by name select * from {files}"


def _spelt(query: str) -> str:
    """A query of both engines as DuckDB quotes names."""
    return query.replace("`", '"')


def _write(table: Any, folder: Path) -> None:
    """Write a table, a file for each hour in it."""
    # pyarrow costs 0.2 s, and is an extra.
    from pyarrow import compute, parquet

    for hour in compute.unique(table["hour"]).to_pylist():
        path = folder / f"hour={hour}" / "part-0.parquet"
        path.parent.mkdir(parents=True, exist_ok=True)
        part = table.filter(compute.equal(table["hour"], hour)).drop_columns(["hour"])
        parquet.write_table(part, path)


def _content(names: Sequence[str], values: Sequence[Any]) -> str:
    """A row as JSON, as Spark writes it: what is null is left out, what is no number is text."""
    return json.dumps({name: _value(name, each) for name, each in zip(names, values, strict=True) if each is not None})


def _value(name: str, value: Any) -> Any:
    if name in TIMES:
        return _moment(value)
    if name in AMOUNTS and not math.isfinite(value):
        return "NaN" if math.isnan(value) else "Infinity" if value > 0 else "-Infinity"
    return value


def _moment(seconds: float) -> str:
    """A time as Spark writes it; Python's dates end with the year 9999, those of a clock gone wrong may not."""
    cycles = math.floor((seconds - FIRST_SECOND) / CYCLE) if not FIRST_SECOND <= seconds < LAST_SECOND else 0
    moment = datetime.fromtimestamp(seconds - cycles * CYCLE, UTC)
    year = moment.year + 400 * cycles
    return f"{year:{'+d' if year > MAXYEAR else '04d'}}{moment:-%m-%dT%H:%M:%S}.{moment.microsecond // 1000:03d}Z"


@contextlib.contextmanager
def duckdb_backend(memory: str, threads: int | None = None) -> Iterator[OnDuckDB]:
    """An engine in this process; it ends with the block.

    Args:
        memory: Bound of its memory as Java writes it, such as 1g; beyond it, it uses a folder for temporary files.
        threads: Number of threads; None for one for each core.

    Raises:
        EngineError: DuckDB is missing, or the memory is not an amount.
    """
    try:
        # DuckDB is optional: where it is missing, the error says how to install it.
        import duckdb
    except ImportError:
        raise EngineError(f"DuckDB is not installed: {how_to_install('pipeline')}") from None
    with contextlib.closing(duckdb.connect()) as base:
        unit = {"k": "KiB", "m": "MiB", "g": "GiB", "t": "TiB"}.get(memory[-1:].lower(), "")
        try:
            base.execute(f"set memory_limit = '{float(memory[:-1]):g}{unit}'")
        except (ValueError, duckdb.Error):
            raise EngineUseError(f"{memory!r} is not an amount of memory: such as 800m or 2g") from None
        base.execute("set TimeZone = 'UTC'; set preserve_insertion_order = false")
        if threads:
            base.execute(f"set threads = {threads}")
        yield OnDuckDB(base)

"""Cleaning of raw rows: every row that cannot be used gets a reason, the first that applies."""

from __future__ import annotations

from typing import TYPE_CHECKING

from headworks.samples.rows import AMOUNTS, COLUMNS, VERSION

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from pyspark.sql import DataFrame

    from headworks_pipeline.tables.known import KnownTasks

MOST = 1e30
"""Bound of all amounts, which NaN exceeds in Spark's order: squares of larger ones overflow in sums."""
LONGEST = 3600
"""Seconds that a window may have."""
DUPLICATE = "duplicate"
"""The reason of rows that came before: they are counted, and not kept in quarantine."""
FILE_NAME = "url_decode(replace(file, '+', '%2B'))"
"""SQL of a file's name: `file` is as in a URL, where a plus is a plus."""
REPORT = ("engine", "origin", "number")
"""Key of a report: a monitor, one life of it, and a number that grows in that life."""
SAMPLE = ("kind", *REPORT, "topology", "task", "target", "node", "port")
"""Key of a row: two rows with the same one say the same, and one of them counts."""
NEEDED = {
    "task": ("task", "topology"),
    "flow": ("task", "target", "topology"),
    "stream": ("task", "target", "topology", "component", "target_component"),
    "node": ("node",),
    "topology": ("topology",),
}
"""Columns without which a row of that kind says nothing."""


def judge(rows: DataFrame, known: KnownTasks) -> DataFrame:
    """Add `reason` (null for a row that can be used so far) and `sample`, a hash of the row's key.

    What needs a look at other rows comes in `compare`. Tests are SQL text: Spark reads one text faster than it is told
    a tree of expressions.

    Args:
        rows: Raw rows in the columns of the present version, with `PLACE`.
        known: Topologies and tasks of the engine.
    """
    return rows.selectExpr("*", f"{reason_of(listed(known))} as reason", f"{_hash(SAMPLE)} as sample")


def sound(rows: DataFrame) -> DataFrame:
    """The same rows where none has a reason, so that no column is read for the sake of its test.

    Args:
        rows: Rows with `reason`, which is null in all of them.
    """
    kept = [f"`{name}`" for name in rows.columns if name != "reason"]
    return rows.selectExpr(*kept, "cast(null as string) as reason")


def _hash(names: Sequence[str]) -> str:
    """SQL of a hash of some columns; Spark's own passes over nulls, so that it is told which of them are null."""
    nulls = " + ".join(f"shiftleft(cast({name} is null as int), {bit})" for bit, name in enumerate(names))
    return f"xxhash64({', '.join(names)}, {nulls})"


def reason_of(there: Callable[[str], str]) -> str:
    """SQL of the reason of a row, null if it can be used so far.

    Args:
        there: Makes SQL that is true if the topology, task or target in the column of that name was known in the hour.
    """
    return f"case {' '.join(f'when {test} then {text(why)}' for why, test in tests(there))} end"


def tests(there: Callable[[str], str]) -> list[tuple[str, str]]:
    """Pairs of a reason and its test as SQL, in the order in which they apply.

    A topology that was described by that hour has no other tasks.

    Args:
        there: As of `reason_of`.
    """
    amounts = ", ".join(AMOUNTS)
    seconds = "(cast(`end` as double) - cast(`start` as double))"
    return [
        ("unknown schema version", f"coalesce(version, 0) != {VERSION}"),
        ("unknown kind", "not coalesce(kind in ('task', 'flow', 'stream', 'node', 'topology'), false)"),
        ("incomplete", " or ".join(f"{name} is null" for name in (*REPORT, "`start`", "`end`"))),
        ("incomplete", " or ".join(f"(kind = '{kind}' and {_null(names)})" for kind, names in NEEDED.items())),
        # NaN is larger than every number in Spark's order, so that one comparison finds it and the absurd.
        ("not a number", f"greatest({amounts}) > {MOST}"),
        ("negative amount", f"least({amounts}) < 0"),
        ("clock", f"{seconds} <= 0 or {seconds} > {LONGEST} or floor(cast(`end` as double) / 3600) != moment"),
        ("unknown task", f"kind in ('task', 'flow') and (component is null or {_unknown('task', there)})"),
        ("unknown task", f"kind = 'flow' and (target_component is null or {_unknown('target', there)})"),
    ]


def _null(names: Sequence[str]) -> str:
    return "(" + " or ".join(f"{name} is null" for name in names) + ")"


def _unknown(column: str, there: Callable[[str], str]) -> str:
    return f"({there('topology')} and not {there(column)})"


def listed(known: KnownTasks) -> Callable[[str], str]:
    """Makes SQL as `reason_of` wants it, which compares a column with all names; Spark looks them up by their hashes.

    Args:
        known: Topologies and tasks of the engine.
    """
    names = {"topology": known.topologies, "task": known.tasks, "target": known.tasks}

    def there(column: str) -> str:
        by_hour: dict[str, list[str]] = {}
        for name, since in sorted(names[column].items()):
            by_hour.setdefault(since, []).append(text(name))
        parts = (f"(hour >= '{since}' and {column} in ({', '.join(some)}))" for since, some in sorted(by_hour.items()))
        return "(" + (" or ".join(parts) or "false") + ")"

    return there


def text(value: str) -> str:
    """SQL literal of a text, as Spark reads it."""
    escaped = value.replace("\\", "\\\\").replace("'", "\\'")
    return f"'{escaped}'"


def reports(rows: str) -> str:
    """SQL of the number of rows of each report, file and reason, and its first `end`: few rows, which say most of all.

    Args:
        rows: Name of the rows, which have a `reason`.
    """
    keys = ", ".join(("hour", "file", "reason", *REPORT))
    # No reason depends on these columns, but a file of which one of them is damaged shows it here, and not in a table.
    others = "count(role, port, machine_type, source) as whole"
    return f"select {keys}, count(1) as n, min(`end`) as `end`, {others} from {rows} group by {keys}"


def crowded(rows: str) -> str:
    """SQL of groups of rows without a reason in which some sample may be there several times; mostly there are none.

    A group has all columns of a sample's key in common but its number, of which it has 64 neighbours: as many bits say
    which of them are there. So groups are fewer than rows by far, where samples themselves are as many.
    """
    others = _hash(("hour", *(name for name in SAMPLE if name != "number")))
    numbers = "bit_count(bit_or(shiftleft(1L, cast(number & 63 as int))))"
    return (
        f"select count(1) as n, {numbers} as numbers from {rows} where reason is null "
        f"group by {others}, shiftright(number, 6) having n > numbers"
    )


def jumps(rows: str) -> str:
    """SQL of reports of rows without a reason whose clock jumped: `hour`, `engine`, `origin`, `number`.

    In the life of a monitor a later number is a later time. Where it is not, the one of two neighbours is at fault
    without which the others are in order; if that is neither, the later one. Neighbours are those in the same hour, for
    an hour's tables must not depend on the hours that are read beside it.
    """
    keys = ", ".join(("hour", *REPORT))
    ends = f"(select {keys}, min(`end`) as t0 from {rows} where reason is null group by {keys}) as ends"
    life = "(partition by hour, engine, origin order by number)"
    near = f"lag(t0) over {life} as t1, lag(t0, 2) over {life} as t2, lead(t0) over {life} as t9"
    # t0 is a report's time, t1 and t2 are those of the two before it, t9 that of the one after. Two in the wrong
    # order: the earlier is at fault if it is a spike (without it all is in order, t1 < t9), else the later.
    spike = "(t0 >= t9 and coalesce(t1 < t9, true))"
    spike_before = "(t1 >= t0 and coalesce(t2 < t0, true))"
    return (
        f"select {keys} from (select {keys}, t0, {near} from {ends}) as seen "
        f"where {spike} or (t0 <= t1 and not {spike_before})"
    )


def repeated(rows: DataFrame) -> DataFrame:
    """Samples of rows without a reason that an hour has several times: `hour`, `sample`, and the `row` to keep.

    Where they differ, the one counts whose columns come last in order: whichever file it is in.
    """
    good = rows.where("reason is null")
    counted = good.groupBy("hour", "sample").count().where("count > 1").select("hour", "sample")
    same = good.join(counted, ["hour", "sample"], "left_semi")
    last = ", ".join(f"`{name}`" for name in (*COLUMNS, "row"))
    same = same.selectExpr("hour", "sample", f"struct({last}) as content")
    return (
        same.groupBy("hour", "sample")
        .agg({"content": "max"})
        .selectExpr("hour", "sample", "`max(content)`.row as keep")
    )


def quarantined(rows: DataFrame) -> DataFrame:
    """Rows with a reason other than that they came before: `hour`, `reason`, `file`, and the row as JSON."""
    content = ", ".join(f"`{name}`" for name in COLUMNS)
    return rows.where(f"reason != '{DUPLICATE}'").selectExpr(
        "hour", "reason", f"{FILE_NAME} as file", f"to_json(struct({content})) as content"
    )


def compare(rows: DataFrame, jumped: DataFrame | None, again: DataFrame | None) -> DataFrame:
    """Add the reasons that other rows give: a jump of the clock, a repetition.

    Mostly there are none, and sound rows are joined with nothing.

    Args:
        rows: Rows with `reason` and `sample`.
        jumped: Reports whose clock jumped, from `jumps`; None if there are none.
        again: Samples that are there several times, from `repeated`; None if there are none.
    """
    marked = None if jumped is None else jumped.selectExpr("*", "true as jumped")
    for found, keys, test, reason in (
        (marked, ["hour", *REPORT], "jumped", "clock"),
        (again, ["hour", "sample"], "keep != row", DUPLICATE),
    ):
        if found is None:
            continue
        case = f"coalesce(reason, case when {test} then {text(reason)} end) as reason"
        kept = [f"`{name}`" for name in rows.columns if name != "reason"]
        rows = rows.join(found, keys, "left").selectExpr(*kept, case)
    return rows

"""Cleaning of raw rows: every row that cannot be used gets a reason, the first that applies."""

from __future__ import annotations

import hashlib
from datetime import timedelta
from typing import TYPE_CHECKING

import attrs

from headgate.model import FrozenMap
from headgate.samples.rows import AMOUNTS, VERSION

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from datetime import datetime

    from pyspark.sql import DataFrame

    from headgate.model import Observation, Topology

MOST = 1e30
"""Bound of all amounts, which NaN exceeds in Spark's order: if smaller, true amounts may be called none; if larger,
squares overflow in sums."""
LONGEST = 3600
"""Seconds that a window may have: if larger, a window counts for an hour that it lies outside of for the most part."""
DUPLICATE = "duplicate"
"""The reason of rows that came before: they are counted, and not kept in quarantine."""
LATE = timedelta(minutes=10)
"""Time by which a state may be recorded later than it came true: if larger, tasks are known too early, and rows of
others pass; if smaller, the first rows of new tasks are called unknown."""
REPORT = ("engine", "origin", "number")
"""Key of a report: a monitor, one life of it, and a number that grows in that life."""
SAMPLE = ("kind", *REPORT, "topology", "task", "target", "node", "port")
"""Key of a row: two rows with the same one say the same, and one of them counts."""
NEEDED = {
    "task": ("task", "topology"),
    "flow": ("task", "target", "topology"),
    "node": ("node",),
    "topology": ("topology",),
}
"""Columns without which a row of that kind says nothing."""


@attrs.frozen(kw_only=True)
class KnownTasks:
    """Topologies and tasks by id in the recorded states of the engine, each with the first hour in which it was there.

    Tasks of a topology that no state has described by then are believed.
    """

    topologies: FrozenMap[str, str] = FrozenMap()
    tasks: FrozenMap[str, str] = FrozenMap()

    @classmethod
    def of(cls, states: Sequence[tuple[datetime, Observation]]) -> KnownTasks:
        """All that was ever there; `states` are the oldest first."""
        # Nothing is forgotten: a task that is gone now was true in the hours that may be made again.
        topologies: dict[str, str] = {}
        tasks: dict[str, str] = {}
        seen: set[Topology] = set()
        for moment, state in states:
            hour = f"{moment - LATE:%Y-%m-%dT%H}"
            for topology in (each for each in state.topologies if each not in seen):
                seen.add(topology)
                topologies.setdefault(topology.id, hour)
                for task in topology.tasks():
                    tasks.setdefault(task.id, hour)
        return cls(topologies=FrozenMap(topologies), tasks=FrozenMap(tasks))

    def digest(self, hour: str) -> str:
        """SHA-256 of all names that are known in an hour, "" if none is: with another one, the hour is made again."""
        names = sorted(
            name for known in (self.topologies, self.tasks) for name, since in known.items() if since <= hour
        )
        return hashlib.sha256("\n".join(names).encode()).hexdigest() if names else ""


def judge(rows: DataFrame, known: KnownTasks) -> DataFrame:
    """Add `reason` (null for a row that can be used so far) and `sample`, a hash of the row's key.

    What needs a look at other rows comes in `compare`. Tests are SQL text: Spark reads one text faster than it is told
    a tree of expressions.

    Args:
        rows: Raw rows in the columns of the present version, with `PLACE`.
        known: Topologies and tasks of the engine.
    """
    cases = " ".join(f"when {test} then {text(reason)}" for reason, test in tests(known))
    return rows.selectExpr("*", f"case {cases} end as reason", f"xxhash64({', '.join(SAMPLE)}) as sample")


def tests(known: KnownTasks) -> list[tuple[str, str]]:
    """Pairs of a reason and its test as SQL, in the order in which they apply."""
    amounts = ", ".join(AMOUNTS)
    seconds = "(cast(`end` as double) - cast(`start` as double))"
    return [
        ("unknown schema version", f"not (version <=> {VERSION})"),
        ("unknown kind", "not coalesce(kind in ('task', 'flow', 'node', 'topology'), false)"),
        ("incomplete", " or ".join(f"{name} is null" for name in (*REPORT, "`start`", "`end`"))),
        ("incomplete", " or ".join(f"(kind = '{kind}' and {_null(names)})" for kind, names in NEEDED.items())),
        # NaN is larger than every number in Spark's order, so that one comparison finds it and the absurd.
        ("not a number", f"greatest({amounts}) > {MOST}"),
        ("negative amount", f"least({amounts}) < 0"),
        ("clock", f"{seconds} <= 0 or {seconds} > {LONGEST} or floor(cast(`end` as double) / 3600) != moment"),
        ("unknown task", f"kind in ('task', 'flow') and (component is null or {_unknown('task', known)})"),
        ("unknown task", f"kind = 'flow' and (target_component is null or {_unknown('target', known)})"),
    ]


def _null(names: Sequence[str]) -> str:
    return "(" + " or ".join(f"{name} is null" for name in names) + ")"


def _unknown(column: str, known: KnownTasks) -> str:
    """SQL that is true if the topology was described by that hour, and did not have the task."""
    if not known.topologies:
        return "false"
    return f"({_there('topology', known.topologies)} and not {_there(column, known.tasks)})"


def _there(column: str, names: Mapping[str, str]) -> str:
    by_hour: dict[str, list[str]] = {}
    for name, since in sorted(names.items()):
        by_hour.setdefault(since, []).append(text(name))
    parts = (f"(hour >= '{since}' and {column} in ({', '.join(some)}))" for since, some in sorted(by_hour.items()))
    return "(" + (" or ".join(parts) or "false") + ")"


def text(value: str) -> str:
    """SQL literal of a text."""
    escaped = value.replace("\\", "\\\\").replace("'", "\\'")
    return f"'{escaped}'"


def jumps(rows: DataFrame) -> DataFrame:
    """Reports of rows without a reason whose clock jumped, as `engine`, `origin`, `number`.

    In the life of a monitor a later number is a later time. Where it is not, the one of two neighbours is at fault
    without which the others are in order; if that is neither, the later one.
    """
    ends = rows.where("reason is null").groupBy(*REPORT).agg({"end": "min"}).withColumnRenamed("min(end)", "t0")
    life = "(partition by engine, origin order by number)"
    seen = ends.selectExpr(
        *(*REPORT, "t0", f"lag(t0) over {life} as t1", f"lag(t0, 2) over {life} as t2"),
        f"lead(t0) over {life} as next",
    )
    # t0 is a report's time, t1 and t2 are those of the two before it, next that of the one after. Two in the wrong
    # order: the earlier is at fault if it is a spike (without it all is in order, t1 < next), else the later.
    spike = "(t0 >= next and coalesce(t1 < next, true))"
    spike_before = "(t1 >= t0 and coalesce(t2 < t0, true))"
    return seen.where(f"{spike} or (t0 <= t1 and not {spike_before})").select(*REPORT)


def repeated(rows: DataFrame) -> DataFrame:
    """Samples of rows without a reason that are there several times, and the `row` of the one that counts."""
    counted = rows.where("reason is null").groupBy("sample").agg({"row": "max", "*": "count"})
    return counted.where("`count(1)` > 1").selectExpr("sample", "`max(row)` as keep")


def compare(rows: DataFrame, jumped: DataFrame, again: DataFrame) -> DataFrame:
    """Add the reasons that other rows give: a jump of the clock, a repetition.

    Mostly there are none. What is found is looked at first, so that sound rows are joined with nothing.

    Args:
        rows: Rows with `reason` and `sample`.
        jumped: Reports whose clock jumped, from `jumps`.
        again: Samples that are there several times, from `repeated`.
    """
    for found, keys, test, reason in (
        (jumped, list(REPORT), "jumped", "clock"),
        (again, ["sample"], "keep != row", DUPLICATE),
    ):
        if not found.take(1):
            continue
        marked = found.selectExpr("*", "true as jumped") if found is jumped else found
        case = f"coalesce(reason, case when {test} then {text(reason)} end) as reason"
        kept = [f"`{name}`" for name in rows.columns if name != "reason"]
        rows = rows.join(marked, keys, "left").selectExpr(*kept, case)
    return rows

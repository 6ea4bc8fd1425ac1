"""Reports of workers as Parquet files, for jobs that learn from many hours of them.

`FOLDER/day=YYYY-MM-DD/hour=HH/part-*.parquet`, by the time (UTC) at which a worker ended its window. A row is one part
of a report, and `kind` says which: `worker` (one a report), `executor`, `task` or `flow`. Columns of other kinds are
null in it. Amounts are sums over the window: a rate is an amount divided by `window`.

| column | in | is |
|---|---|---|
| version | all | version of these columns, 1 |
| kind | all | `worker`, `executor`, `task`, `flow` |
| topology, supervisor, host, port | all | the worker; supervisor or host may be null |
| started, number | all | life of the worker (ms since 1970), and number of the report in it: together a key |
| time, window | all | end of the window by the worker's clock (UTC), and its seconds |
| task, name | executor, task, flow | Storm's number (an executor's first); `topology/component/index` or null |
| target, target_name | flow | the same of the receiver |
| cpu | worker, executor | CPU seconds of the process, or of the executor's thread |
| heap, dropped, sample | worker | MB in use; reports lost since `started`; one of so many tuples was measured |
| queue | executor | tuples waiting at the end of the window |
| received, emitted, acked, failed | task | tuples |
| latencies, latency | task | sampled complete latencies, and milliseconds of all of them together |
| tuples, bytes | flow | what was sent, null bytes if no tuple's size is known |
"""

from __future__ import annotations

import contextlib
import hashlib
import os
from collections import defaultdict
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from headgate.errors import EngineError
from headgate_storm.measures import task_ids

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence
    from pathlib import Path

    from headgate_storm.reports import Report
    from headgate_storm.snapshot import Snapshot

VERSION = 1
"""Version of the columns; a reader has to know it."""

INTEGERS = ("target", "queue", "received", "emitted", "acked", "failed", "latencies", "latency", "tuples", "bytes")
COLUMNS = {
    "version": "int32",
    "kind": "string",
    "topology": "string",
    "supervisor": "string",
    "host": "string",
    "port": "int32",
    "started": "int64",
    "number": "int64",
    "time": "timestamp",
    "window": "double",
    "task": "int64",
    "name": "string",
    "target_name": "string",
    "cpu": "double",
    "heap": "double",
    "dropped": "int64",
    "sample": "int64",
    **dict.fromkeys(INTEGERS, "int64"),
}
"""Type of each column by name."""


def write_samples(folder: Path, reports: Iterable[Report], snapshot: Snapshot | None = None) -> tuple[Path, ...]:
    """Add reports to a folder: one file for each hour in them, whole or not at all.

    A file is named after the reports in it: who writes the same ones again replaces it.

    Args:
        folder: Where `day=.../hour=...` are.
        reports: What workers reported.
        snapshot: The round of Nimbus that names their tasks.

    Returns:
        The files.

    Raises:
        EngineError: pyarrow is missing, or a file cannot be written.
    """
    hours: dict[str, list[Report]] = defaultdict(list)
    for report in reports:
        hours[f"{_time(report):day=%Y-%m-%d/hour=%H}"].append(report)
    names = task_ids(snapshot) if snapshot else {}
    return tuple(_write(folder / hour, hours[hour], names) for hour in sorted(hours))


def sample_rows(report: Report, names: dict[tuple[str, int], str]) -> Iterator[dict[str, Any]]:
    """The rows of a report; `names` is task id of the model by topology id and Storm's number of a task."""

    def name(task: int) -> str | None:
        return names.get((report.topology, task))

    common = {
        "version": VERSION,
        "topology": report.topology,
        "supervisor": report.supervisor,
        "host": report.host,
        "port": report.port,
        "started": report.started,
        "number": report.number,
        "time": _time(report),
        "window": report.window,
    }
    figures = {"cpu": report.cpu, "heap": report.heap, "dropped": report.dropped, "sample": report.sample}
    yield {**common, "kind": "worker", **figures}
    for executor in report.executors:
        yield {**common, "kind": "executor", "name": name(executor.task), **executor._asdict()}
    for task in report.tasks:
        yield {**common, "kind": "task", "name": name(task.task), **task._asdict()}
    for flow in report.flows:
        ends = {"task": flow.source, "name": name(flow.source), "target_name": name(flow.target)}
        yield {**common, "kind": "flow", **ends, "target": flow.target, "tuples": flow.tuples, "bytes": flow.bytes}


def _time(report: Report) -> datetime:
    return datetime.fromtimestamp(report.time, UTC)


def _write(folder: Path, reports: Sequence[Report], names: dict[tuple[str, int], str]) -> Path:
    try:
        import pyarrow as pa
        from pyarrow import parquet
    except ImportError:
        raise EngineError("pyarrow is not installed: `pip install 'headgate[storm]'`") from None
    types = {"timestamp": pa.timestamp("ms", tz="UTC"), "double": pa.float64()}
    schema = pa.schema([(name, types.get(each) or pa.type_for_alias(each)) for name, each in COLUMNS.items()])
    rows = [row for report in reports for row in sample_rows(report, names)]
    keys = sorted((*map(str, report.process), str(report.number)) for report in reports)
    file = folder / f"part-{hashlib.sha256(repr(keys).encode()).hexdigest()[:16]}.parquet"
    draft = file.with_name(f".{file.name}.{os.getpid()}")
    try:
        folder.mkdir(parents=True, exist_ok=True)
        parquet.write_table(pa.Table.from_pylist(rows, schema), draft)
        draft.replace(file)
    except OSError as error:
        with contextlib.suppress(OSError):
            draft.unlink()
        raise EngineError(f"the samples {file} cannot be written: {error.strerror or error}") from None
    return file

"""Reports of the monitor inside a worker: one line of JSON for every few seconds, and the value read from it."""

from __future__ import annotations

import json
import time
from typing import Any, NamedTuple

import attrs

from headworks.errors import DocumentError

VERSION = 1
"""Version of the report lines. A higher one asks for a newer jar on the workers, whose lines are refused until then."""
MEGABYTE = 2**20
"""Bytes in an MB of Storm."""
MOST = 2**53
"""Largest number in a report: whole ones up to here are exact as floating point numbers. With larger ones, what is
computed from them overflows."""
PORTS = 2**16
"""Ports that there are."""
TEXT = 512
"""Characters of an id."""
BEGAN = time.time() - time.monotonic()
"""When the system's steady clock was zero, in seconds since 1970."""


class TaskRow(NamedTuple):
    """One of Storm's tasks in a window: tuples executed and emitted, and what a spout heard of its own.

    `emitted` counts calls of emit on the topology's own streams; `latencies` complete latencies were sampled, of
    `latency` milliseconds together.
    """

    task: int
    received: int
    emitted: int
    acked: int
    failed: int
    latencies: int
    latency: int


class FlowRow(NamedTuple):
    """Tuples from one of Storm's tasks to another in a window, and their bytes; None if no size is known.

    The bytes are what Storm's serialiser makes of a sample of the tuples, whether or not they left the worker.
    """

    source: int
    target: int
    tuples: int
    bytes: int | None


class ExecutorRow(NamedTuple):
    """An executor, by its first task: seconds of its thread's CPU, and tuples in its queue; None if not known."""

    task: int
    cpu: float | None
    queue: int | None


class SourceRow(NamedTuple):
    """The source of a spout, outside of the topology: tuples that arrived there in a window, and those taken of it.

    `held` is the milliseconds for which Storm did not ask the spout meanwhile, as too many of its tuples were pending
    or the next queue was full. None is not known.
    """

    task: int
    arrived: int | None
    taken: int | None
    held: int | None


class PendingRow(NamedTuple):
    """A spout's task whose tuples are acked, and those of its tuples that are neither acked nor failed by now."""

    task: int
    tuples: int


class HeldRow(NamedTuple):
    """A task that tells how many tuples it holds, in no queue, at the end of a window."""

    task: int
    tuples: int


class PausedRow(NamedTuple):
    """The first task of a spout's executor, and the milliseconds of a window for which Storm let it pause."""

    task: int
    milliseconds: int


class Routes(NamedTuple):
    """Places to which a worker sends tuples, as a digest.

    `to` has one task of each component that it sends to, and `digest` is the sum of the CRC-32 of `TASK NODE:PORT` of
    all tasks of these components.
    """

    to: tuple[int, ...]
    digest: int


class DelayRow(NamedTuple):
    """Complete latencies of a spout's tuples in a window: so many of so many milliseconds, or of up to 6 % more."""

    task: int
    milliseconds: int
    tuples: int


@attrs.frozen(kw_only=True)
class Report:
    """The report of one worker on one window of time.

    Attributes:
        received: When the collector had it, seconds since 1970 by the collector's clock.
        topology: Id of the topology.
        supervisor: Id of the supervisor, None if the worker cannot tell; then there is its `host`.
        port: Port of the worker; with the supervisor it is a slot.
        started: When the worker began to report, milliseconds since 1970 by its own clock: a restart changes it.
        number: 1, 2, ... in the life of a worker; what is missing was lost.
        time: End of the window, seconds since 1970 by the worker's clock.
        window: Its length in seconds.
        cpu: CPU seconds of the process; heap: MB of heap in use at its end.
        dropped: Reports that the worker could not send, since it started.
        sample: Of how many tuples of a stream one was serialised to learn its size; 0 for none.
        tasks: Every task of the worker, idle ones too.
        flows: Pairs of tasks that exchanged anything; an id may be sender here and be on another worker.
        executors: Those whose thread was found.
        sources: Of spouts that say something of theirs; reports of an older jar have none.
        pending: Of spouts whose tuples are acked; None of an older jar.
        delays: Complete latencies of the tuples that were sampled; none of an older jar.
        paused: Of the executors of spouts; None of an older jar.
        held: Of tasks that tell; none of an older jar.
        routes: Where the worker sends tuples at the window's end; None of an older jar, and before a bolt had a tuple.
    """

    received: float
    topology: str
    supervisor: str | None
    host: str | None
    port: int
    started: int
    number: int
    time: float
    window: float
    cpu: float
    heap: float
    dropped: int
    sample: int
    tasks: tuple[TaskRow, ...]
    flows: tuple[FlowRow, ...]
    executors: tuple[ExecutorRow, ...]
    sources: tuple[SourceRow, ...] = ()
    pending: tuple[PendingRow, ...] | None = None
    delays: tuple[DelayRow, ...] = ()
    paused: tuple[PausedRow, ...] | None = None
    held: tuple[HeldRow, ...] = ()
    routes: Routes | None = None

    @property
    def worker(self) -> tuple[str, str | None, int]:
        """Topology, supervisor (or host) and port: the same before and after a restart."""
        return (self.topology, self.supervisor or self.host, self.port)

    @property
    def process(self) -> tuple[str, str | None, int, int]:
        """One life of a worker."""
        return (*self.worker, self.started)


def read_report(line: str | bytes, received: float) -> Report:
    """Read a line as the monitor in a worker writes it.

    Args:
        received: When it came, seconds since 1970.

    Raises:
        DocumentError: It is not a report, or one of another version.
    """
    try:
        data = json.loads(line)
        if _count(data["v"]) != VERSION:
            message = (
                f"a worker reports in version {data['v']}, this Headworks reads {VERSION}: give workers its own jar"
            )
            raise DocumentError("/v", message)
        return _report(data, received)
    except (KeyError, TypeError, ValueError, RecursionError) as error:
        raise DocumentError("", f"this is not a report of a worker: {error!r}") from None


def _report(data: dict[str, Any], received: float) -> Report:
    if not _count(data["window"]) > 0:
        raise ValueError("a window of 0 ms")
    if _count(data["port"]) >= PORTS:
        raise ValueError("no port")
    return Report(
        received=received,
        topology=_text(data["topology"]),
        supervisor=None if data["supervisor"] is None else _text(data["supervisor"]),
        host=None if data["host"] is None else _text(data["host"]),
        port=_count(data["port"]),
        started=_count(data["started"]),
        number=_count(data["number"]),
        time=_count(data["time"]) / 1e3,
        window=_count(data["window"]) / 1e3,
        cpu=_count(data["cpu"]) / 1e9,
        heap=_count(data["heap"]) / MEGABYTE,
        dropped=_count(data["dropped"]),
        sample=_count(data["sample"]),
        tasks=_rows(TaskRow, data["tasks"]),
        flows=_rows(FlowRow, data["flows"], unknown=3),
        executors=tuple(
            ExecutorRow(row.task, None if row.cpu is None else row.cpu / 1e9, row.queue)
            for row in _rows(ExecutorRow, data["executors"], unknown=1)
        ),
        sources=_rows(SourceRow, data.get("sources", []), unknown=1),
        pending=_rows(PendingRow, data["pending"]) if "pending" in data else None,
        delays=_rows(DelayRow, data.get("delays", [])),
        paused=_rows(PausedRow, data["paused"]) if "paused" in data else None,
        held=_rows(HeldRow, data.get("held", [])),
        routes=None if data.get("routes") is None else _routes(data["routes"]),
    )


def _routes(data: dict[str, Any]) -> Routes:
    if not isinstance(data["to"], list):
        raise TypeError("routes to no list of tasks")
    return Routes(tuple(map(_count, data["to"])), _count(data["digest"]))


def _rows(kind: Any, rows: list[list[Any]], unknown: int = 7) -> tuple[Any, ...]:
    """Rows of whole numbers, as a `NamedTuple` each; from column `unknown` on one may be null."""
    if not {type(rows), *map(type, rows)} <= {list}:
        raise TypeError("rows that are no lists")
    # By columns: C looks at the numbers of each, where a loop over rows would take a step of Python for every number.
    columns = tuple(zip(*rows, strict=True))
    if len(columns) != len(kind._fields) and rows:
        raise ValueError(f"rows that have other columns than {kind._fields}")
    for number, column in enumerate(columns):
        known = [value for value in column if value is not None] if number >= unknown else column
        if set(map(type, known)) - {int} or (known and not 0 <= min(known) <= max(known) <= MOST):
            raise ValueError(f"a row without a count as {kind._fields[number]}")
    return tuple(map(kind._make, rows))


def _text(value: Any) -> str:
    if not isinstance(value, str) or len(value) > TEXT:
        raise TypeError(f"no text of at most {TEXT} characters")
    return value


def _count(value: Any) -> int:
    if type(value) is not int or not 0 <= value <= MOST:
        raise ValueError("no count of at most 2^53")
    return value


def steady() -> float:
    """Seconds since 1970 that do not jump: setting the system's clock makes no worker look alive, or gone."""
    return BEGAN + time.monotonic()

"""Summaries of a cluster and its topologies by Nimbus, as values.

Each is read from a struct of Storm's Thrift interface in its own wire format; the numbers are the field ids of
`storm.thrift`, equal in Storm 2.6 and 2.8, which are as stable as that interface.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Self

import attrs

if TYPE_CHECKING:
    from collections.abc import Iterable

    from headworks_storm.client.thrift import Struct


@attrs.frozen(kw_only=True)
class SupervisorSummary:
    """A supervisor, as `SupervisorSummary` of Thrift: CPU in points, memory in MB, times in seconds."""

    id: str
    host: str
    uptime: int
    slots: int
    used_slots: int
    cpu: float
    used_cpu: float
    memory_mb: float
    used_memory_mb: float
    blacklisted: bool

    @classmethod
    def of(cls, struct: Struct) -> Self:
        """Read the struct."""
        # Field 7 is total_resources: amount by Storm's normalised name.
        total = {key.decode(): amount for key, amount in struct.get(7, ())}
        return cls(
            id=struct[5].decode(),
            host=struct[1].decode(),
            uptime=struct[2],
            slots=struct[3],
            used_slots=struct[4],
            cpu=total.get("cpu.pcore.percent", 0.0),
            used_cpu=struct.get(9, 0.0),
            memory_mb=total.get("memory.mb", 0.0),
            used_memory_mb=struct.get(8, 0.0),
            blacklisted=struct.get(12, False),
        )


@attrs.frozen(kw_only=True)
class NimbusSummary:
    """A Nimbus, as `NimbusSummary` of Thrift."""

    host: str
    port: int
    uptime: int
    leader: bool

    @classmethod
    def of(cls, struct: Struct) -> Self:
        """Read the struct."""
        return cls(host=struct[1].decode(), port=struct[2], uptime=struct.get(3, 0), leader=struct.get(4, False))


@attrs.frozen(kw_only=True)
class TopologySummary:
    """A topology in short, as `TopologySummary` of Thrift; `scheduling` is what the scheduler says of it."""

    id: str
    name: str
    status: str
    uptime: int
    workers: int
    executors: int
    owner: str
    scheduling: str

    @classmethod
    def of(cls, struct: Struct) -> Self:
        """Read the struct."""
        return cls(
            id=struct[1].decode(),
            name=struct[2].decode(),
            status=struct[7].decode(),
            uptime=struct[6],
            workers=struct[5],
            executors=struct[4],
            owner=struct.get(514, b"").decode(),
            scheduling=struct.get(513, b"").decode(),
        )


@attrs.frozen(kw_only=True)
class ClusterSummary:
    """A cluster, as `ClusterSummary` of Thrift: supervisors by host and id, topologies by name."""

    supervisors: tuple[SupervisorSummary, ...]
    nimbuses: tuple[NimbusSummary, ...]
    topologies: tuple[TopologySummary, ...]

    @classmethod
    def of(cls, struct: Struct) -> Self:
        """Read the struct."""
        supervisors = map(SupervisorSummary.of, struct[1])
        return cls(
            supervisors=tuple(sorted(supervisors, key=lambda each: (each.host, each.id))),
            nimbuses=tuple(map(NimbusSummary.of, struct.get(4, ()))),
            topologies=tuple(sorted(map(TopologySummary.of, struct.get(3, ())), key=lambda each: each.name)),
        )

    @property
    def leader(self) -> NimbusSummary | None:
        """The Nimbus that leads, None while there is none."""
        return next((each for each in self.nimbuses if each.leader), None)


@attrs.frozen(kw_only=True)
class ExecutorSummary:
    """An executor `[start, end]`: where Nimbus placed it, and how many seconds it ran by its worker's last report.

    Workers report every `executor.metrics.frequency.secs` (60 by default); an uptime of 0 means that no report of it
    came since it was placed. `latency` is the mean time in ms to execute a tuple of all that it did since it started;
    None of a spout, and before it did any.
    """

    component: str
    start: int
    end: int
    host: str
    port: int
    uptime: int
    latency: float | None = None

    @classmethod
    def of(cls, struct: Struct) -> Self:
        """Read the struct."""
        return cls(
            component=struct[2].decode(),
            start=struct[1][1],
            end=struct[1][2],
            host=struct[3].decode(),
            port=struct[4],
            uptime=struct.get(5, 0),
            latency=_latency(struct.get(7, {})),
        )


def _latency(stats: Struct) -> float | None:
    """Mean milliseconds to execute a tuple, of the struct `ExecutorStats`, by streams over all time.

    A worker reads counts and means one after the other: a stream that came in between has a count alone, and is left
    out.
    """
    # Field 3 is `specific`, whose field 1 is `BoltStats`: 4 executed, 5 execute_ms_avg, each by window and by stream.
    bolt = stats.get(3, {}).get(1, {})
    counts, means = (_all_time(bolt.get(field, ())) for field in (4, 5))
    both = counts.keys() & means.keys()
    done = sum(counts[stream] for stream in both)
    return sum(counts[stream] * means[stream] for stream in sorted(both)) / done if done else None


def _all_time(by_window: Iterable[tuple[bytes, list[tuple[Struct, float]]]]) -> dict[str, float]:
    """Amounts since the executor started, by stream."""
    found = next((each for window, each in by_window if window == b":all-time"), [])
    return {str(sorted(stream.items())): amount for stream, amount in found}


@attrs.frozen(kw_only=True)
class ComponentError:
    """An error that a component reported: its text, where, and when in seconds since 1970."""

    component: str
    message: str
    time: int
    host: str
    port: int

    @classmethod
    def of(cls, component: str, struct: Struct) -> Self:
        """Read the struct `ErrorInfo`.

        Args:
            component: Id of the component: the key under which Nimbus lists the error.
            struct: The struct by field id.
        """
        return cls(
            component=component,
            message=struct[1].decode(),
            time=struct[2],
            host=struct.get(3, b"").decode(),
            port=struct.get(4, 0),
        )


@attrs.frozen(kw_only=True)
class TopologyInfo:
    """A topology in detail, as `TopologyInfo` of Thrift: executors by their tasks, the newest error first."""

    id: str
    name: str
    status: str
    uptime: int
    scheduling: str
    executors: tuple[ExecutorSummary, ...]
    errors: tuple[ComponentError, ...]

    @classmethod
    def of(cls, struct: Struct) -> Self:
        """Read the struct."""
        executors = map(ExecutorSummary.of, struct[4])
        errors = (ComponentError.of(name.decode(), each) for name, found in struct.get(6, ()) for each in found)
        return cls(
            id=struct[1].decode(),
            name=struct[2].decode(),
            status=struct[5].decode(),
            uptime=struct[3],
            scheduling=struct.get(513, b"").decode(),
            executors=tuple(sorted(executors, key=lambda each: each.start)),
            errors=tuple(sorted(errors, key=lambda each: -each.time)),
        )


@attrs.frozen(kw_only=True)
class StoredAssignment:
    """An assignment as Nimbus stored it, which supervisors follow.

    Attributes:
        slots: Supervisor id and port by executor `(start, end)`.
        started: When each executor was assigned, seconds since 1970.
    """

    slots: dict[tuple[int, int], tuple[str, int]]
    started: dict[tuple[int, int], int]

    @classmethod
    def of(cls, struct: Struct) -> Self:
        """Read the struct `Assignment`."""
        return cls(
            # A key is the list [start, end]; a NodeInfo has supervisor id (1) and a set of ports (2), of one here.
            slots={(key[0], key[-1]): (node[1].decode(), node[2][0]) for key, node in struct.get(3, ())},
            started={(key[0], key[-1]): seconds for key, seconds in struct.get(4, ())},
        )

"""The worker processes of a cluster, found among the processes that its supervisors started."""

from __future__ import annotations

import contextlib
from typing import TYPE_CHECKING, NamedTuple

import attrs
import psutil

from headworks_local.process import command_line

if TYPE_CHECKING:
    from collections.abc import Iterable

    from headworks_local.process import Daemon

WORKER = "org.apache.storm.daemon.worker.Worker"
"""Main class of a worker."""
WRITER = "org.apache.storm.LogWriter"
"""The log writer of a worker: a JVM that starts the worker's own, reads its output, and has its whole command line in
its arguments."""


@attrs.frozen(kw_only=True)
class WorkerProcess:
    """The processes of a worker: its own, 0 until it starts, its log writer's, 0 if gone; its slot and its topology."""

    pid: int
    writer: int
    host: str
    port: int
    topology: str


class _Role(NamedTuple):
    port: int
    topology: str
    writer: bool


def workers_of(supervisor: Daemon, host: str) -> tuple[WorkerProcess, ...]:
    """The workers that a supervisor, dead or alive, started on its host, by port.

    Args:
        host: Its loopback address, for the result.
    """
    found: dict[tuple[int, str], dict[bool, int]] = {}
    for pid in supervisor.members():
        if role := _role(command_line(pid)):
            found.setdefault((role.port, role.topology), {})[role.writer] = pid
    return tuple(
        WorkerProcess(pid=pids.get(False, 0), writer=pids.get(True, 0), host=host, port=port, topology=topology)
        for (port, topology), pids in sorted(found.items())
    )


def resident_mb(daemons: Iterable[Daemon]) -> float:
    """MB of memory that daemons and all they started occupy; pages that processes share count once for each."""
    occupied = 0
    for pid in (pid for daemon in daemons for pid in daemon.members()):
        with contextlib.suppress(psutil.NoSuchProcess):
            occupied += psutil.Process(pid).memory_info().rss
    return occupied / 2**20


def _role(command: list[str]) -> _Role | None:
    """Role of a process by its command line, which ends with: topology, supervisor, its port, port, worker id."""
    if WORKER not in command or len(command) < command.index(WORKER) + 6:
        return None
    topology, _supervisor, _thrift, port, _worker = command[command.index(WORKER) + 1 :][:5]
    return _Role(int(port), topology, WRITER in command) if port.isdigit() else None

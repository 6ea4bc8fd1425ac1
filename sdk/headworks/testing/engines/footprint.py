"""Footprint of this process: its child processes, threads and listening ports, to tell what an engine leaves behind."""

from __future__ import annotations

import contextlib
import threading
import time

import attrs
import psutil

OWN = ("headworks-interrupts", "headworks-reaper", "headworks_local/reaper.py")
"""Parts of the names of what Headworks starts once for itself: no engine leaves it."""
LOOK = 0.1
"""Seconds between two looks at what is left."""


@attrs.frozen(kw_only=True)
class Footprint:
    """Processes, threads and ports, at one moment or over a time.

    Attributes:
        processes: Children and their children, running, as (pid, seconds of its start).
        threads: Identifier and name of each thread.
        ports: Addresses at which this process listens.
    """

    processes: frozenset[tuple[int, float]] = frozenset()
    threads: frozenset[tuple[int, str]] = frozenset()
    ports: frozenset[str] = frozenset()

    @classmethod
    def now(cls) -> Footprint:
        """The footprint at this moment."""
        me = psutil.Process()
        children = [each for each in me.children(recursive=True) if _runs(each)]
        return cls(
            processes=frozenset((each.pid, each.create_time()) for each in children if _runs(each)),
            threads=frozenset((each.ident or 0, each.name) for each in threading.enumerate()),
            ports=frozenset(_listening(me)),
        )

    def joined(self, other: Footprint) -> Footprint:
        """All processes of both, with the threads and ports of the other one."""
        return attrs.evolve(other, processes=self.processes | other.processes)

    def left(self, before: Footprint, patience: float) -> tuple[str, ...]:
        """Sentences on all that is there now and was not before, unless it is gone within some seconds."""
        end = time.monotonic() + patience
        while (found := self._left(before)) and time.monotonic() < end:
            time.sleep(LOOK)
        return found

    def _left(self, before: Footprint) -> tuple[str, ...]:
        now = Footprint.now()
        alive = [_name(each) for each in (self.processes | now.processes) - before.processes]
        threads = [name for _, name in now.threads - before.threads]
        own = [name for name in (*alive, *threads) if any(part in name for part in OWN)]
        found = [f"process {name}" for name in alive if name and name not in own]
        found += [f"thread {name}" for name in threads if name not in own]
        return tuple(sorted([*found, *(f"port {port}" for port in now.ports - before.ports)]))


def _runs(process: psutil.Process) -> bool:
    try:
        return bool(process.is_running() and process.status() != psutil.STATUS_ZOMBIE)
    except psutil.NoSuchProcess:
        return False


def _name(known: tuple[int, float]) -> str:
    """Pid and command of a process that still runs, "" of one that is gone or was another one."""
    with contextlib.suppress(psutil.Error):
        process = psutil.Process(known[0])
        if _runs(process) and process.create_time() == known[1]:
            return f"{process.pid}: {' '.join(process.cmdline())[:200]}"
    return ""


def _listening(process: psutil.Process) -> list[str]:
    # psutil 6 calls it net_connections.
    look = getattr(process, "net_connections", None) or getattr(process, "connections")  # noqa: B009 - typed one way only
    with contextlib.suppress(psutil.Error):
        return [f"{each.laddr.ip}:{each.laddr.port}" for each in look("inet") if each.status == psutil.CONN_LISTEN]
    return []

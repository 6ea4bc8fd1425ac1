"""A local Storm cluster whose daemons and workers can be killed one by one, and started again."""

from __future__ import annotations

import contextlib
import os
import signal
from typing import TYPE_CHECKING

import attrs

from headworks_local.process import Daemon, end
from headworks_storm.local.cluster import NIMBUS, LocalStorm

if TYPE_CHECKING:
    from headworks_storm.local.processes import WorkerProcess

STANDBY_HOST = "127.0.0.2"


@attrs.define(eq=False)
class BreakableStorm(LocalStorm):
    """A cluster for tests of what befalls one; `conf_of` has the settings that a daemon has for itself."""

    _killed: list[Daemon] = attrs.field(factory=list, init=False)

    @property
    def daemons(self) -> tuple[Daemon, ...]:
        """Every daemon that was started and left a process: a killed supervisor leaves its workers."""
        return (*self._running.values(), *(each for each in self._killed if each.members()))

    def stop(self) -> None:
        super().stop()
        self._killed.clear()

    def conf_of(self, name: str) -> dict[str, object]:
        """The settings of a daemon, which its next start reads."""
        return self._own[name][1]

    def kill_worker(self, port: int) -> WorkerProcess:
        """Kill the worker on this port and its log writer, and see them end; returns what was killed."""
        worker = next(each for each in self.workers() if each.port == port)
        pids = {worker.writer, worker.pid} - {0}
        for pid in pids:
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        for _ in self._patience(f"the worker on port {port} does not end"):
            if not any(pids & {*daemon.members()} for daemon in self.daemons):
                break
        return worker

    def kill_supervisor(self, host: str, *, workers: bool = False) -> None:
        """Kill the supervisor of a host at once, and its workers too if the machine shall have lost power."""
        if workers:
            self._end(f"supervisor-{host}")
            return
        daemon = self._running.pop(f"supervisor-{host}")
        os.kill(daemon.pid, signal.SIGKILL)
        self._killed.append(daemon)

    def start_supervisor(self, host: str) -> None:
        """Start the supervisor of a host again, and wait until Nimbus knows it."""
        self._spawn(f"supervisor-{host}")
        self._wait_for_supervisors()

    def restart_halted(self) -> tuple[str, ...]:
        """Start each supervisor again that ended by itself, as the process manager of a real cluster does; their hosts.

        A supervisor of Storm halts itself, for instance, when a topology is killed while its files are being fetched.
        """
        halted = [host for host in self._hosts() if not self._running[f"supervisor-{host}"].alive]
        for host in halted:
            self._killed.append(self._running.pop(f"supervisor-{host}"))
            self._spawn(f"supervisor-{host}")
        if halted:
            self._wait_for_supervisors()
        return tuple(halted)

    def kill_nimbus(self) -> None:
        self._end("nimbus")

    def start_nimbus(self) -> None:
        """Start Nimbus again, and wait until one leads."""
        self._spawn("nimbus")
        self._wait_for_supervisors()

    def start_standby_nimbus(self, **conf: object) -> None:
        """Start a second Nimbus, and wait until it holds the code of the topologies: without it, it will not lead.

        Supervisors and clients ask the first one who leads, so that has to be up again for them to find the second.
        """
        (port,) = self._ports.take(1)
        self._own["standby"] = NIMBUS, {"storm.local.hostname": STANDBY_HOST, "nimbus.thrift.port": port, **conf}
        self._spawn("standby")
        for _ in self._patience("the standby Nimbus does not join, or does not get the code of the topologies"):
            nimbuses = len(self.gateway.cluster().nimbuses)
            if nimbuses > 1 and all(copies >= nimbuses for copies in self.gateway.blobs().values()):
                return

    def kill_standby_nimbus(self) -> None:
        self._end("standby")

    def _end(self, name: str) -> None:
        """End a daemon, its workers, and what an earlier process of its name left."""
        end([self._running.pop(name), *(each for each in self._killed if each.name == name)], grace=0)

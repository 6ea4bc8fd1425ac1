"""A real Spark cluster on this machine: a Master, and Workers of different size on loopback addresses."""

from __future__ import annotations

import contextlib
import functools
import http.client
import json
import os
import re
import shutil
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

import attrs

from headworks.errors import EngineError, EngineUseError
from headworks.interrupts import held
from headworks.model import FrozenMap
from headworks_local.isolated.limits import NodeLimits
from headworks_local.isolated.nodes import ApartNodes
from headworks_local.java import BRIEF, find_java
from headworks_local.lifetime import lifetime
from headworks_local.process import Daemon, LocalCluster, check_addresses, command_line, end, end_group, patience
from headworks_spark.driver.jar import SparkHome, spark_home
from headworks_spark.driver.secret import note_master, write_secret

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

MASTER = "org.apache.spark.deploy.master.Master"
"""Main class of the Master; the scripts in Spark's `sbin` start it in the background, out of reach."""
WORKER = "org.apache.spark.deploy.worker.Worker"
"""Main class of a Worker."""
MASTER_HOST = "127.0.0.1"
"""Address of the Master; the Workers have those after it."""
MASTER_URL = re.compile(r"Starting Spark master at (spark://\S+)")
"""Line of the Master's log that tells its free port, for which it was asked to look itself."""
MASTER_UI = re.compile(r"Successfully started service 'MasterUI' on port (\d+)")
"""Line of the Master's log that tells the port of its web page."""


MACHINE = "SPARK_EXECUTOR_ATTRIBUTE_MACHINE_TYPE"
"""Variable in the environment of a Worker, which its executors inherit: Spark makes an attribute MACHINE_TYPE of it."""


RACK = "SPARK_EXECUTOR_ATTRIBUTE_RACK"
"""Variable like it, for the rack."""


NODE_NAME = "SPARK_EXECUTOR_ATTRIBUTE_NODE"
"""Variable like it, for the name of the machine."""


@attrs.frozen(kw_only=True)
class WorkerSpec:
    """A Worker: the loopback address it has for itself, the cores and the memory in MB it offers, and what its
    executors tell of their machine: its type, its rack, and its name if that is not the address.
    """

    host: str
    cores: int
    memory_mb: int = 1024
    machine_type: str | None = None
    rack: str | None = None
    node: str | None = None


def worker_specs(cores: Sequence[int]) -> tuple[WorkerSpec, ...]:
    """Workers with these cores, on 127.0.0.2 and the addresses after it."""
    return tuple(WorkerSpec(host=f"127.0.0.{index}", cores=each) for index, each in enumerate(cores, start=2))


@attrs.define(eq=False)
class LocalSpark(LocalCluster):
    """A Master and Workers as processes of their own, up between `start` and `stop` or in a `with` block.

    Used as a context manager it keeps its logs and scratch files in a temporary folder, and ends every process it
    started, their children included, also on an exception, Ctrl-C or SIGTERM.

    Attributes:
        workers: The Workers to start.
        timeout: Seconds that the cluster, or a Worker that joins it, may take to be ready.
        folder: Where logs and scratch files go; a temporary folder by default.
        apart: Bounds of the node of each Worker, which then has an interface, and an address, of its own.
        secret: True if applications have to know a secret, which is among the settings in `conf_folder`.
        group: The mark of its processes, once started.
        master_host: Address of the Master, and of drivers.
        nodes: The nodes that are apart, once started.
        master_url: `spark://host:port`, once started.
        ui_port: Port of the Master's web page, once started.
    """

    workers: tuple[WorkerSpec, ...] = worker_specs((4, 2, 1))
    timeout: float = attrs.field(default=300.0, kw_only=True)
    folder: Path | None = attrs.field(default=None, kw_only=True)
    apart: tuple[NodeLimits, ...] | None = attrs.field(default=None, kw_only=True)
    secret: bool = attrs.field(default=False, kw_only=True)
    group: str = attrs.field(default="", init=False)
    master_host: str = attrs.field(default=MASTER_HOST, init=False)
    nodes: ApartNodes | None = attrs.field(default=None, init=False)
    master_url: str = attrs.field(default="", init=False)
    ui_port: int = attrs.field(default=0, init=False)
    _home: SparkHome = attrs.field(init=False, default=None)
    _daemons: dict[str, Daemon] = attrs.field(init=False, factory=dict)
    _work: Path = attrs.field(init=False, default=None)

    @classmethod
    def attach(cls, folder: Path, master_url: str, ui_port: int, daemons: Sequence[Daemon]) -> Self:
        """The handle of a cluster that another process started; leaving it running is up to the caller.

        Args:
            folder: Where its logs and scratch files are.
            master_url: `spark://host:port`.
            ui_port: Port of the Master's web page.
            daemons: Its processes: `master`, and `worker-HOST` of each Worker.

        Raises:
            OSError: The Master does not answer.
        """
        hosts = {each.name.removeprefix("worker-"): each for each in daemons}
        master = master_host(master_url)
        state = {each["host"]: each for each in master_state(ui_port, master)["workers"] if each["state"] == "ALIVE"}
        workers = tuple(
            WorkerSpec(host=host, cores=state[host]["cores"], memory_mb=state[host]["memory"])
            for host in sorted(hosts)
            if host in state
        )
        found = cls(workers, folder=folder)
        found.master_url, found.ui_port, found._home, found._work = master_url, ui_port, spark_home(), folder
        found.master_host = master
        found._daemons = {master if host == "master" else host: each for host, each in hosts.items()}
        return found

    @property
    def daemons(self) -> tuple[Daemon, ...]:
        """The daemons that were started and not ended: Workers, then the Master."""
        return tuple(self._daemons[host] for host in sorted(self._daemons, key=lambda each: each == self.master_host))

    @property
    def conf_folder(self) -> Path:
        """Folder of the settings of its daemons, which does not exist where they have none."""
        return self._work / "conf"

    def start(self) -> Self:
        """Start the daemons and wait until the Master knows every Worker.

        Raises:
            EngineError: Java or PySpark is missing, an address is none of this machine, a daemon died, or the cluster
                was not ready in time.
        """
        self._home = spark_home()
        find_java(self._home.java)
        self._work = self.folder or lifetime().scratch("headworks-spark-")
        self._work.mkdir(parents=True, exist_ok=True)
        if self.secret:
            write_secret(self.conf_folder)
        try:
            self._make_nodes()
            self._start_master()
            for spec in self.workers:
                self._start_daemon(spec)
            self._wait_for_workers()
            if self.nodes:
                self.nodes.limit()
        except BaseException:
            self.stop()
            raise
        return self

    def stop(self) -> None:
        """End every process that was started, and remove the temporary folder."""
        # A second Ctrl-C must not leave half a cluster: signals wait until all of it has ended.
        with held():
            end(self.daemons)
            end_group(self.group)
            self._daemons.clear()
            if self.nodes:
                self.nodes.remove()
            if self.folder is None and self._work:
                shutil.rmtree(self._work, ignore_errors=True)

    def add_worker(self, cores: int) -> WorkerSpec:
        """Start a Worker with so many cores on the next free address, and wait until the Master knows it.

        Raises:
            EngineError: It did not come up, or nodes are apart, of which none is left.
        """
        if self.nodes:
            raise EngineUseError("a Worker more needs a node more, and the nodes that are apart are made at the start")
        taken = {int(each.host.rpartition(".")[2]) for each in self.workers}
        last = next(number for number in range(2, 255) if number not in taken)
        spec = WorkerSpec(host=f"127.0.0.{last}", cores=cores)
        self.workers = (*self.workers, spec)
        self.start_worker(spec.host)
        return spec

    def drain_worker(self, host: str, *, timeout: float = 60.0) -> bool:
        """Decommission a Worker: its executors take no new task, end those they have, and it goes.

        Args:
            timeout: Seconds that its executors may take; those that are left are killed.

        Returns:
            True if its executors went by themselves, False if they were ended after `timeout` seconds.

        Raises:
            EngineError: No Worker runs there, or the Master does not take the request.
        """
        daemon = self._daemons.get(host)
        if daemon is None or host == self.master_host:
            raise EngineUseError(f"no Worker runs on {host}: the Workers are on {', '.join(self._hosts())}")
        decommission(self.ui_port, host, self.master_host)
        # The Master calls a Worker decommissioned at once; only processes tell when its executors are gone.
        deadline = time.monotonic() + timeout
        while (busy := _executors_below(daemon)) and time.monotonic() < deadline:
            time.sleep(0.2)
        self._daemons.pop(host)
        end([daemon])
        return not busy

    def start_worker(self, host: str) -> None:
        """Start the Worker of this host again, and wait until the Master knows it.

        Raises:
            EngineError: The host is none of the cluster's, it runs already, or the Worker did not come up.
        """
        spec = next((each for each in self.workers if each.host == host), None)
        if spec is None or host in self._daemons:
            wrong = "none of this cluster's Workers" if spec is None else "running already"
            raise EngineError(f"the Worker on {host} is {wrong}")
        self._start_daemon(spec)
        self._wait_for_workers()

    def alive_workers(self) -> tuple[str, ...]:
        """Hosts of the Workers that the Master says are alive."""
        return tuple(sorted({each["host"] for each in self.state()["workers"] if each["state"] == "ALIVE"}))

    def executors(self) -> frozenset[int]:
        """Pids of the executors of all Workers."""
        return frozenset(pid for daemon in self.daemons for pid in _executors_below(daemon))

    def state(self) -> dict[str, Any]:
        """Status of the Master, its Workers and applications, as its `/json/` page has it.

        Raises:
            OSError: The Master does not answer.
        """
        return master_state(self.ui_port, self.master_host)

    def _hosts(self) -> list[str]:
        return sorted(set(self._daemons) - {self.master_host})

    def _make_nodes(self) -> None:
        """Make the nodes that are apart, and give Workers and Master addresses on their network."""
        if self.apart is None:
            check_addresses(spec.host for spec in self.workers)
            return
        if len(self.apart) != len(self.workers):
            raise EngineError(f"{len(self.apart)} nodes that are apart for {len(self.workers)} Workers")
        self.nodes = ApartNodes.make(self.apart)
        self.master_host = self.nodes.gateways[0]
        self.workers = tuple(
            attrs.evolve(spec, host=host, rack=self.nodes.racks.get(host, spec.rack))
            for spec, host in zip(self.workers, self.nodes.hosts, strict=True)
        )

    def _start_master(self) -> None:
        command = [MASTER, "--host", self.master_host, "--port", "0", "--webui-port", "0"]
        daemon = self._spawn("master", self.master_host, command)
        self.master_url = self._find(daemon, MASTER_URL)
        note_master(self.conf_folder, self.master_url)
        self.ui_port = int(self._find(daemon, MASTER_UI))

    def _start_daemon(self, spec: WorkerSpec) -> None:
        size = ["--cores", str(spec.cores), "--memory", f"{spec.memory_mb}m"]
        place = ["--host", spec.host, "--port", "0", "--webui-port", "0"]
        work = ["--work-dir", str(self._work / f"work-{spec.host}")]
        told = {MACHINE: spec.machine_type, RACK: spec.rack, NODE_NAME: spec.node}
        more = {name: value for name, value in told.items() if value is not None}
        self._spawn(f"worker-{spec.host}", spec.host, [WORKER, *place, *size, *work, self.master_url], more)

    def _spawn(self, name: str, host: str, command: list[str], more: Mapping[str, str] = FrozenMap()) -> Daemon:
        program = str(self._home.path / "bin" / "spark-class")
        log = self._work / f"{name}.log"
        log.unlink(missing_ok=True)  # the Master's port is read from it: an earlier one's must not be found
        self.group = self.group or lifetime().group()
        env = self._environment(host) | dict(more)
        on = functools.partial(self.nodes.start, host) if self.nodes and host != self.master_host else None
        daemon = Daemon.start(name, [program, *command], log=log, env=env, group=self.group, on=on)
        self._daemons[host] = daemon
        return daemon

    def _environment(self, host: str) -> dict[str, str]:
        """The caller's environment without its Spark settings, which are meant for another cluster."""
        own = {
            "SPARK_HOME": str(self._home.path),
            "SPARK_CONF_DIR": str(self.conf_folder),
            "SPARK_LOCAL_IP": host,
            "SPARK_PUBLIC_DNS": host,
            "SPARK_LOCAL_DIRS": str(self._work / f"scratch-{host}"),
            "SPARK_DAEMON_MEMORY": "256m",
            "SPARK_DAEMON_JAVA_OPTS": " ".join((*BRIEF, "-Dspark.decommission.enabled=true")),
        }
        kept = {key: value for key, value in os.environ.items() if not key.startswith(("SPARK_", "PYSPARK_"))}
        return kept | own

    def _find(self, daemon: Daemon, pattern: re.Pattern[str]) -> str:
        for _ in self._patience(f"the Spark Master wrote no {pattern.pattern!r} to {daemon.log}"):
            if match := pattern.search(daemon.log.read_text(errors="replace")):
                return match[1]
        raise AssertionError

    def _wait_for_workers(self) -> None:
        wanted = self._hosts()
        for _ in self._patience(f"the Spark Master at {self.master_url} does not know all Workers {wanted}"):
            with contextlib.suppress(OSError):  # the Master binds its port before it serves its pages
                if set(wanted) <= set(self.alive_workers()):
                    return

    def _patience(self, complaint: str) -> Iterator[None]:
        return patience(lambda: self.daemons, self.timeout, complaint)


def master_host(master_url: str) -> str:
    """The address of a Master.

    Args:
        master_url: `spark://host:port`.
    """
    return master_url.removeprefix("spark://").rpartition(":")[0]


def decommission(ui_port: int, host: str, master: str = MASTER_HOST) -> None:
    """Tell a Master to decommission the Workers of a host, by the request that its web page sends.

    Args:
        ui_port: Port of the Master's web page.

    Raises:
        EngineError: It does not answer, or does not take it.
    """
    try:
        connection = http.client.HTTPConnection(master, ui_port, timeout=10)
        try:
            connection.request("POST", f"/workers/kill/?host={host}")
            response = connection.getresponse()
            text = response.read().decode(errors="replace").strip()
        finally:
            connection.close()
    except OSError as error:
        raise EngineError(f"the Spark Master does not answer ({error}): run `headworks spark down`") from error
    if response.status != http.client.OK:
        raise EngineError(f"the Spark Master does not decommission {host}: {response.status} {text[:200]}")


def _executors_below(daemon: Daemon) -> tuple[int, ...]:
    """Pids of the executors of a Worker, by the command lines of the processes that it started."""
    return tuple(pid for pid in daemon.members() if "--executor-id" in command_line(pid))


def master_state(ui_port: int, master: str = MASTER_HOST) -> dict[str, Any]:
    """Status of the Master whose web page has this port, of its Workers and applications.

    Raises:
        OSError: It does not answer.
    """
    connection = http.client.HTTPConnection(master, ui_port, timeout=10)
    try:
        connection.request("GET", "/json/")
        response = connection.getresponse()
        if response.status != http.client.OK:
            raise ConnectionError(f"{response.status} {response.reason}")
        answer: dict[str, Any] = json.loads(response.read())
    except ValueError:  # it serves its first page a moment before this one
        raise ConnectionError("its page is not there yet") from None
    finally:
        connection.close()
    return answer

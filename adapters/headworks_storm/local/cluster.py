"""A real Storm cluster on this machine: ZooKeeper, Nimbus, and supervisors of different size on loopback addresses."""

from __future__ import annotations

import contextlib
import functools
import os
import shutil
import socket
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

import attrs

from headworks.errors import EngineError
from headworks.interrupts import held
from headworks_local.isolated.limits import NodeLimits
from headworks_local.isolated.nodes import ApartNodes
from headworks_local.java import find_java
from headworks_local.lifetime import lifetime
from headworks_local.ports import Ports
from headworks_local.process import Daemon, LocalCluster, check_addresses, end, end_group, patience
from headworks_storm.client.gateway import NimbusGateway
from headworks_storm.local.home import StormHome, write_conf
from headworks_storm.local.processes import WorkerProcess, resident_mb, workers_of
from headworks_storm.release.artefacts import STORM, distribution, java_version
from headworks_storm.release.jar import own_jars

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

ZOOKEEPER = "org.apache.storm.command.DevZookeeper"
NIMBUS = "org.apache.storm.daemon.nimbus.Nimbus"
SUPERVISOR = "org.apache.storm.daemon.supervisor.Supervisor"
"""Main classes of the daemons; ZooKeeper is the one that Storm brings for development."""
NIMBUS_HOST = "127.0.0.1"
"""Address of Nimbus and ZooKeeper; supervisors have those from 127.0.0.11 on."""
RACKS = "headworks.racks"
"""Setting of the racks by host, which `headworks.storm.Racks` reads."""
HEAP_MB = {ZOOKEEPER: 64, NIMBUS: 256, SUPERVISOR: 96}
"""MB of heap of a daemon. With less, Nimbus runs out of memory with a few topologies; Storm's own scripts give far more
than those need."""

FAST = {
    "nimbus.monitor.freq.secs": 3,
    "supervisor.monitor.frequency.secs": 1,
    "supervisor.worker.shutdown.sleep.secs": 1,
    "task.refresh.poll.secs": 1,
    "executor.metrics.frequency.secs": 3,
    "storm.zookeeper.session.timeout": 10_000,
    "storm.zookeeper.connection.timeout": 10_000,
    "topology.spout.wait.progressive.level3.sleep.millis": 5,
    "topology.bolt.wait.progressive.level2.count": 10,
    "topology.bolt.wait.progressive.level3.sleep.millis": 5,
}
"""Settings that let a cluster of a few workers react within seconds, and keep its workers light: threads without tuples
sleep for 5 ms, where Storm's own settings wake each of them a thousand times a second. With longer sleeps a tuple waits
longer in each component; with longer periods a change, or the loss of a worker, is seen later."""


@attrs.frozen(kw_only=True)
class SupervisorSpec:
    """A supervisor to start: its loopback address, CPU in points, memory in MB, slots, and settings of its own."""

    host: str
    cpu: float = 400.0
    memory_mb: float = 4096.0
    slots: int = 4
    conf: Mapping[str, Any] = attrs.field(factory=dict)


def supervisor_specs(sizes: Iterable[tuple[float, float, int]]) -> tuple[SupervisorSpec, ...]:
    """Supervisors with these CPU points, MB of memory and slots, on 127.0.0.11 and the addresses after it."""
    return tuple(
        SupervisorSpec(host=f"127.0.0.{index}", cpu=cpu, memory_mb=memory, slots=slots)
        for index, (cpu, memory, slots) in enumerate(sizes, start=11)
    )


THREE = supervisor_specs(((400.0, 4096.0, 4), (200.0, 2048.0, 3), (100.0, 1024.0, 2)))
"""Three supervisors of different size."""


@attrs.define(eq=False)
class LocalStorm(LocalCluster):
    """A local cluster: Storm's daemons as processes of their own, up between `start` and `stop` or in a `with` block.

    Used as a context manager it keeps logs and state in a temporary folder, and ends every process it started, workers
    included, also on an exception, Ctrl-C or SIGTERM.

    Attributes:
        supervisors: The supervisors to start.
        version: Release of Storm.
        conf: Settings for `storm.yaml` of every daemon and of clients; they win over what is set here.
        extlib: Jars that daemons and workers have beside Storm's own.
        extlib_daemon: Jars that only daemons have.
        options: Further options of a daemon's JVM, by its name, such as `nimbus`.
        timeout: Seconds that the cluster, or a daemon that joins it, may take to be ready.
        folder: Where logs and state go; a temporary folder by default.
        apart: Bounds of the node of each supervisor, which then has an interface, and an address, of its own. If they
            name racks, Nimbus and workers know them by Headworks's jar.
        group: The mark of its processes, once started.
        gateway: Nimbus, once started.
        nimbus_host: Address of Nimbus and ZooKeeper, and of whoever listens for workers.
        nodes: The nodes that are apart, once started.
    """

    supervisors: tuple[SupervisorSpec, ...] = THREE
    version: str = attrs.field(default=STORM, kw_only=True)
    conf: Mapping[str, Any] = attrs.field(factory=dict, kw_only=True)
    extlib: tuple[Path, ...] = attrs.field(default=(), kw_only=True)
    extlib_daemon: tuple[Path, ...] = attrs.field(default=(), kw_only=True)
    options: Mapping[str, tuple[str, ...]] = attrs.field(factory=dict, kw_only=True)
    timeout: float = attrs.field(default=300.0, kw_only=True)
    folder: Path | None = attrs.field(default=None, kw_only=True)
    apart: tuple[NodeLimits, ...] | None = attrs.field(default=None, kw_only=True)
    group: str = attrs.field(default="", init=False)
    gateway: NimbusGateway = attrs.field(default=None, init=False)
    nimbus_host: str = attrs.field(default=NIMBUS_HOST, init=False)
    nodes: ApartNodes | None = attrs.field(default=None, init=False)
    _home: StormHome = attrs.field(default=None, init=False)
    _work: Path = attrs.field(default=None, init=False)
    _base: dict[str, Any] = attrs.field(factory=dict, init=False)
    _own: dict[str, tuple[str, dict[str, Any]]] = attrs.field(factory=dict, init=False)
    _running: dict[str, Daemon] = attrs.field(factory=dict, init=False)
    _ports: Ports = attrs.field(factory=Ports, init=False)

    @property
    def daemons(self) -> tuple[Daemon, ...]:
        """Every daemon that was started."""
        return tuple(self._running.values())

    @property
    def home(self) -> Path:
        """Its $STORM_HOME, whose `conf/storm.yaml` is the one for clients."""
        return self._home.path

    @property
    def client_conf(self) -> dict[str, Any]:
        """Settings of the `storm.yaml` for clients."""
        return dict(self._base)

    def start(self) -> Self:
        """Start the daemons and wait until Nimbus leads and knows every supervisor.

        Raises:
            EngineError: Java or a jar is missing, an address is none of this machine, a daemon died, or the cluster was
                not ready in time.
        """
        java = find_java(java_version(self.version))
        jars = distribution(self.version)
        self._work = self.folder or lifetime().scratch("headworks-storm-")
        self._home = StormHome(path=self._work / "home", distribution=jars, java=java.program)
        try:
            self.make_nodes()
            self._home.lay_out(extlib=self._extlib(), extlib_daemon=self.extlib_daemon)
            self._configure()
            self._spawn("zookeeper")
            self._wait_for_zookeeper()
            for name in self._own:
                if name != "zookeeper":  # all at once: they try again until the others are up
                    self._spawn(name)
            self.gateway = NimbusGateway(self.home / "lib", self.client_conf, java=java.program).start()
            self._wait_for_supervisors()
            if self.nodes:
                self.nodes.limit()
        except BaseException:  # a signal too: no daemon must outlive a start that failed
            self.stop()
            raise
        return self

    def stop(self) -> None:
        """End every process that was started, workers and log writers too, and remove the temporary folder."""
        with held():  # a second Ctrl-C waits, and skips no process
            end(self.daemons, grace=0)
            end_group(self.group)  # what left the sessions of its daemons, by its mark
            self._running.clear()
            if self.gateway:
                self.gateway.stop()
            self._ports.release()
            if self.nodes:
                self.nodes.remove()
                self.nodes = None  # a later start makes others
            if self.folder is None and self._work:
                shutil.rmtree(self._work, ignore_errors=True)

    def workers(self) -> tuple[WorkerProcess, ...]:
        """The worker processes that run, by host and port."""
        hosts = {name: name.removeprefix("supervisor-") for name in self._own}
        found = (worker for daemon in self.daemons for worker in workers_of(daemon, hosts[daemon.name]))
        return tuple(sorted(found, key=lambda each: (each.host, each.port)))

    def memory_mb(self) -> float:
        """MB of memory that daemons, workers and log writers occupy together."""
        return resident_mb(self.daemons)

    def make_nodes(self) -> None:
        """Make the nodes that are apart, and give supervisors and Nimbus addresses on their network; `start` does it.

        Called before that by who listens for workers, at `nimbus_host`; `stop` removes the nodes then too.

        Raises:
            EngineError: This machine cannot do it, or an address is none of this machine.
        """
        if self.apart is None:
            check_addresses(spec.host for spec in self.supervisors)
            return
        if self.nodes is not None:
            return
        if len(self.apart) != len(self.supervisors):
            raise EngineError(f"{len(self.apart)} nodes that are apart for {len(self.supervisors)} supervisors")
        self.nodes = ApartNodes.make(self.apart)
        self.nimbus_host = self.nodes.gateways[0]
        placed = zip(self.supervisors, self.nodes.hosts, strict=True)
        self.supervisors = tuple(attrs.evolve(spec, host=host) for spec, host in placed)

    def _racks(self) -> dict[str, str]:
        return self.nodes.racks if self.nodes else {}

    def _extlib(self) -> tuple[Path, ...]:
        """The jars of daemons and workers, with the one that knows racks: workers ask for them too, to shuffle."""
        if not self._racks():
            return self.extlib
        jar = own_jars(self.version).bridge
        return self.extlib if jar.name in {each.name for each in self.extlib} else (*self.extlib, jar)

    def _configure(self) -> None:
        """Give every daemon its ports and settings, and write the `storm.yaml` for clients."""
        zookeeper, nimbus = self._ports.take(2)
        where = {
            "storm.zookeeper.servers": [self.nimbus_host],
            "storm.zookeeper.port": zookeeper,
            "nimbus.seeds": [self.nimbus_host],
            "nimbus.thrift.port": nimbus,
        }
        racks = {"storm.network.topography.plugin": "headworks.storm.Racks", RACKS: self._racks()}
        known = racks if self._racks() else {}
        self._base = where | FAST | self._home.worker_settings() | known | dict(self.conf)
        self._own["zookeeper"] = ZOOKEEPER, {"dev.zookeeper.path": str(self._work / "zookeeper" / "data")}
        self._own["nimbus"] = NIMBUS, {"storm.local.hostname": self.nimbus_host}
        for spec in self.supervisors:
            thrift, *slots = self._ports.take(1 + spec.slots)
            self._own[f"supervisor-{spec.host}"] = (
                SUPERVISOR,
                {
                    "storm.local.hostname": spec.host,
                    "supervisor.cpu.capacity": spec.cpu,
                    "supervisor.memory.capacity.mb": spec.memory_mb,
                    "supervisor.thrift.port": thrift,
                    "supervisor.slots.ports": slots,
                    **spec.conf,
                },
            )
        write_conf(self.home / "conf" / "storm.yaml", self._base)

    def _spawn(self, name: str) -> None:
        main, own = self._own[name]
        folder = self._work / name
        node = self.nodes if main == SUPERVISOR else None
        # A folder for the state of each: by default all daemons of a machine share one.
        state = {"storm.local.dir": str(folder / "state")}
        conf = write_conf(folder / "storm.yaml", self._base | state | own)
        command = self._home.command(main, conf=conf, heap_mb=HEAP_MB[main], options=self.options.get(name, ()))
        # STORM_CONF_DIR and the like of an operator's installation must not reach the daemons of this one.
        kept = {key: value for key, value in os.environ.items() if not key.startswith("STORM_")}
        env = kept | self._home.environment()
        self.group = self.group or lifetime().group()
        log = self._work / f"{name}.log"
        on = functools.partial(node.start, own["storm.local.hostname"]) if node else None
        self._running[name] = Daemon.start(name, command, log=log, env=env, group=self.group, on=on)

    def _wait_for_zookeeper(self) -> None:
        port = self._base["storm.zookeeper.port"]
        for _ in self._patience(f"ZooKeeper does not answer on port {port}"):
            with contextlib.suppress(OSError), socket.create_connection((self.nimbus_host, port), timeout=1):
                return

    def _wait_for_supervisors(self) -> None:
        wanted = set(self._hosts())
        for _ in self._patience(f"Nimbus does not lead, or does not know all supervisors {sorted(wanted)}"):
            with contextlib.suppress(EngineError):  # Nimbus is not up yet
                cluster = self.gateway.cluster()
                if cluster.leader and wanted <= {each.host for each in cluster.supervisors}:
                    return

    def _patience(self, complaint: str) -> Iterator[None]:
        return patience(self._running.values, self.timeout, complaint)

    def _hosts(self) -> list[str]:
        return [each.host for each in self.supervisors if f"supervisor-{each.host}" in self._running]

"""A real YARN on this machine: a ResourceManager, and NodeManagers of different size on loopback addresses."""

from __future__ import annotations

import contextlib
import http.client
import json
import os
import shutil
from pathlib import Path
from typing import Any, Self

import attrs

from headworks.interrupts import held
from headworks_local.java import BRIEF, find_java
from headworks_local.lifetime import lifetime
from headworks_local.maven import resolve_locked
from headworks_local.ports import Ports
from headworks_local.process import Daemon, LocalCluster, check_addresses, end, end_group, patience
from headworks_spark.driver.jar import spark_home
from headworks_spark.yarn.conf import (
    MANAGER_HOST,
    SERVICES,
    NodeSpec,
    node_specs,
    write_client,
    write_manager,
    write_node,
)

HADOOP = "3.5.0"
"""The release of Apache Hadoop whose YARN runs; clients of other releases of Hadoop 3 speak to it, too."""
LOCK = Path(__file__).with_name(f"hadoop-{HADOOP}.txt")
"""Lock file: coordinates and SHA-256 of each jar of the daemons' class path."""
JAVA = 17
"""Major version of Java that they need."""
MANAGER = "org.apache.hadoop.yarn.server.resourcemanager.ResourceManager"
"""Main class of the ResourceManager."""
NODE = "org.apache.hadoop.yarn.server.nodemanager.NodeManager"
"""Main class of a NodeManager."""
JVM = (*BRIEF, "-Xmx256m", "--add-opens=java.base/java.lang=ALL-UNNAMED")
"""Options of the daemons. With less heap than 200 MB a ResourceManager runs out of it with a few applications."""
GRACE = 3.0
"""Seconds for daemons to end by themselves: nodes would first see to containers, which are killed anyway."""
FOREIGN = ("HADOOP_", "YARN_", "SPARK_", "PYSPARK_")
"""Variables of the caller that are meant for another cluster begin so."""


@attrs.define(eq=False)
class LocalYarn(LocalCluster):
    """A ResourceManager and NodeManagers as processes of their own, up between `start` and `stop` or in a `with` block.

    Used as a context manager it keeps logs and state in a temporary folder, and ends every process it started,
    containers included, also on an exception, Ctrl-C or SIGTERM.

    Attributes:
        nodes: The NodeManagers to start.
        timeout: Seconds that the cluster may take to be ready.
        folder: Where logs and state go; a temporary folder by default.
        group: The mark of the ResourceManager, once started; each node has one of its own, for itself and its
            containers.
        ui_port: Port of the ResourceManager's web page and REST API, once started.
    """

    nodes: tuple[NodeSpec, ...] = node_specs((3, 2, 2))
    timeout: float = attrs.field(default=600.0, kw_only=True)
    folder: Path | None = attrs.field(default=None, kw_only=True)
    group: str = attrs.field(default="", init=False)
    ui_port: int = attrs.field(default=0, init=False)
    _daemons: dict[str, Daemon] = attrs.field(init=False, factory=dict)
    _ports: Ports = attrs.field(init=False, factory=Ports)
    _work: Path = attrs.field(init=False, default=None)
    _java: Path = attrs.field(init=False, default=None)
    _jars: tuple[Path, ...] = attrs.field(init=False, default=())

    @property
    def daemons(self) -> tuple[Daemon, ...]:
        """The daemons that were started and not ended: nodes, then the ResourceManager."""
        return tuple(self._daemons[host] for host in sorted(self._daemons, key=lambda each: each == MANAGER_HOST))

    @property
    def conf_dir(self) -> Path:
        """Folder of settings for clients: HADOOP_CONF_DIR, YARN_CONF_DIR and SPARK_CONF_DIR."""
        return self._work / "conf"

    def client_environment(self) -> dict[str, str]:
        """Variables by which `spark-submit --master yarn` finds this cluster."""
        return client_environment(self.conf_dir)

    def start(self) -> Self:
        """Start the daemons and wait until the ResourceManager knows every node.

        Raises:
            EngineError: Java, PySpark or a jar is missing, an address is none of this machine, a daemon died, or the
                cluster was not ready in time.
        """
        home, self._java = spark_home(), find_java(JAVA).program
        check_addresses((MANAGER_HOST, *(each.host for each in self.nodes)))
        self._jars = resolve_locked(LOCK)
        self._work = (self.folder or lifetime().scratch("headworks-yarn-")).resolve()
        try:
            ports = self._ports.take(len(SERVICES))
            self.ui_port = ports[-1]
            write_client(self.conf_dir, self._work, home, ports)
            write_manager(self._work / "manager" / "conf", self._work / "manager", ports)
            self.group = lifetime().group()
            self._spawn("manager", MANAGER_HOST, self.group, MANAGER)
            for spec in self.nodes:
                own = f"node-{spec.host}"
                write_node(self._work / own / "conf", self._work / own, spec, ports)
                self._spawn(own, spec.host, lifetime().group(), NODE)
            self._wait_for_nodes()
        except BaseException:
            self.stop()
            raise
        return self

    def stop(self) -> None:
        """End every process that was started, containers included, and remove the temporary folder."""
        # A second Ctrl-C must not leave half a cluster: signals wait until all of it has ended.
        with held():
            end(self.daemons, grace=GRACE)
            for daemon in self.daemons:
                end_group(daemon.group)
            self._daemons.clear()
            self._ports.release()
            if self.folder is None and self._work:
                shutil.rmtree(self._work, ignore_errors=True)

    def ask(self, path: str) -> dict[str, Any]:
        """Answer of the ResourceManager's REST API to a path below `/ws/v1/cluster`, such as `/apps`.

        Raises:
            OSError: It does not answer.
        """
        return ask(self.ui_port, path)

    def alive_nodes(self) -> tuple[str, ...]:
        """Hosts of the nodes that the ResourceManager has containers for."""
        return tuple(sorted(each["host"] for each in nodes(self.ui_port) if each["state"] == "RUNNING"))

    def _hosts(self) -> list[str]:
        return sorted(set(self._daemons) - {MANAGER_HOST})

    def _spawn(self, name: str, host: str, group: str, main: str) -> None:
        own = self._work / name
        (own / "tmp").mkdir(parents=True, exist_ok=True)
        path = os.pathsep.join(map(str, (own / "conf", *self._jars)))
        command = [str(self._java), *JVM, f"-Djava.io.tmpdir={own / 'tmp'}", "-cp", path, main]
        # Containers are handed these two; they start Java by the first.
        env = {"JAVA_HOME": str(self._java.resolve().parents[1]), "SPARK_LOCAL_IP": host}
        kept = {key: value for key, value in os.environ.items() if not key.startswith(FOREIGN)}
        daemon = Daemon.start(name, command, log=self._work / f"{name}.log", env=kept | env, group=group)
        self._daemons[host] = daemon

    def _wait_for_nodes(self) -> None:
        wanted = self._hosts()
        complaint = f"the ResourceManager at 127.0.0.1:{self.ui_port} does not know all nodes {wanted}"
        for _ in patience(lambda: self.daemons, self.timeout, complaint):
            with contextlib.suppress(OSError):  # it serves its pages some time after it was started
                if set(wanted) <= set(self.alive_nodes()):
                    return


def client_environment(conf_dir: Path) -> dict[str, str]:
    """Variables by which `spark-submit --master yarn` finds a local YARN.

    Args:
        conf_dir: Its folder of settings for clients.
    """
    return dict.fromkeys(("HADOOP_CONF_DIR", "YARN_CONF_DIR", "SPARK_CONF_DIR"), str(conf_dir))


def nodes(ui_port: int) -> list[dict[str, Any]]:
    """The nodes of a local YARN: `host`, `state`, `vcores`, `used_vcores`, `memory_mb` and `containers` of each.

    Args:
        ui_port: Port of the ResourceManager's REST API.

    Raises:
        OSError: It does not answer.
    """
    found = (ask(ui_port, "/nodes")["nodes"] or {}).get("node", ())
    return [
        {
            "host": each["nodeHostName"],
            "state": each["state"],
            "vcores": each["usedVirtualCores"] + each["availableVirtualCores"],
            "used_vcores": each["usedVirtualCores"],
            "memory_mb": each["usedMemoryMB"] + each["availMemoryMB"],
            "containers": each["numContainers"],
        }
        for each in sorted(found, key=lambda each: str(each["nodeHostName"]))
    ]


def ask(ui_port: int, path: str) -> dict[str, Any]:
    """Answer of a ResourceManager's REST API.

    Args:
        path: Path below `/ws/v1/cluster`.

    Raises:
        OSError: It does not answer.
    """
    connection = http.client.HTTPConnection(MANAGER_HOST, ui_port, timeout=10)
    try:
        connection.request("GET", f"/ws/v1/cluster{path}", headers={"Accept": "application/json"})
        response = connection.getresponse()
        if response.status != http.client.OK:
            raise ConnectionError(f"{response.status} {response.reason}")
        answer: dict[str, Any] = json.loads(response.read())
    finally:
        connection.close()
    return answer

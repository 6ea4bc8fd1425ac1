"""Settings of a local YARN: its daemons', and those of clients, `spark-submit` among them."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING
from xml.sax.saxutils import escape

import attrs

from headworks_local.java import BRIEF
from headworks_local.reaper import MARK

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

    from headworks_spark.driver.jar import SparkHome

MANAGER_HOST = "127.0.0.1"
"""Address of the ResourceManager; the nodes have those after it."""
SERVICES = ("address", "scheduler.address", "resource-tracker.address", "admin.address", "webapp.address")
"""What the ResourceManager listens for, each at a port of its own."""
HEARTBEAT = 500
"""Milliseconds between two reports of a node, at each of which it is given a container."""
LOST = 30_000
"""Milliseconds without a report after which a node is lost: if smaller, a busy machine loses nodes that live; if
larger, tasks that ran on a node that died begin again later."""
LOG = """\
log4j.rootLogger=INFO,console
log4j.appender.console=org.apache.log4j.ConsoleAppender
log4j.appender.console.target=System.err
log4j.appender.console.layout=org.apache.log4j.PatternLayout
log4j.appender.console.layout.ConversionPattern=%d{ISO8601} %p %c: %m%n
"""


@attrs.frozen(kw_only=True)
class NodeSpec:
    """A NodeManager: the loopback address it has for itself, the vcores and the memory in MB that it offers."""

    host: str
    vcores: int
    memory_mb: int = 4096


def node_specs(vcores: Sequence[int], memory_mb: int = 4096) -> tuple[NodeSpec, ...]:
    """Nodes with these vcores, on 127.0.0.2 and the addresses after it."""
    specs = enumerate(vcores, start=2)
    return tuple(NodeSpec(host=f"127.0.0.{index}", vcores=each, memory_mb=memory_mb) for index, each in specs)


def write_client(folder: Path, work: Path, home: SparkHome, ports: Sequence[int]) -> None:
    """Write the settings of clients: `core-site.xml`, `yarn-site.xml`, and `spark-defaults.conf`.

    Args:
        folder: The folder to write, for HADOOP_CONF_DIR and SPARK_CONF_DIR.
        home: The Spark whose jars containers are given: they are on this machine already.
        ports: Ports of the ResourceManager, in the order of `SERVICES`.
    """
    _write(folder, _core(work / "client"), _manager(ports))
    defaults = {
        "spark.yarn.jars": f"local:{home.path}/jars/*",
        "spark.yarn.stagingDir": (work / "staging").as_uri(),
        "spark.pyspark.python": sys.executable,
        # Only of a driver that is the client's: Spark ignores it where the driver is in the ApplicationMaster.
        "spark.driver.host": MANAGER_HOST,
        "spark.driver.memory": "512m",
        "spark.executor.memory": "512m",
        "spark.executor.memoryOverhead": "128m",
        "spark.yarn.am.memory": "384m",
        "spark.yarn.am.memoryOverhead": "128m",
        # Of the small JVM that asks for containers; a user's code runs in drivers and executors alone.
        "spark.yarn.am.extraJavaOptions": " ".join(BRIEF),
    }
    (folder / "spark-defaults.conf").write_text("".join(f"{name} {value}\n" for name, value in defaults.items()))


def write_manager(folder: Path, work: Path, ports: Sequence[int]) -> None:
    """Write the settings of the ResourceManager.

    Args:
        folder: The folder to write, the first of its class path.
        ports: Its ports, in the order of `SERVICES`.
    """
    own = {
        "yarn.node-attribute.fs-store.root-dir": (work / "attributes").as_uri(),
        "yarn.nm.liveness-monitor.expiry-interval-ms": LOST,
        "yarn.resourcemanager.nodemanagers.heartbeat-interval-ms": HEARTBEAT,
        "yarn.scheduler.minimum-allocation-mb": 128,
    }
    _write(folder, _core(work), _manager(ports) | own)
    capacity = "yarn.scheduler.capacity"
    scheduler = {
        f"{capacity}.root.queues": "default",
        f"{capacity}.root.default.capacity": 100,
        # A cluster this small is full of ApplicationMasters soon: by default they may have a tenth of it.
        f"{capacity}.maximum-am-resource-percent": 1.0,
        f"{capacity}.resource-calculator": "org.apache.hadoop.yarn.util.resource.DominantResourceCalculator",
        # One container a report: else the first node that reports is filled, and the others stay empty.
        f"{capacity}.per-node-heartbeat.multiple-assignments-enabled": "false",
    }
    (folder / "capacity-scheduler.xml").write_text(xml_text(scheduler))


def write_node(folder: Path, work: Path, spec: NodeSpec, ports: Sequence[int]) -> None:
    """Write the settings of a NodeManager.

    Args:
        folder: The folder to write, the first of its class path.
        work: Folder for its files, and those of its containers.
        ports: Ports of the ResourceManager, in the order of `SERVICES`.
    """
    own = "yarn.nodemanager"
    services = ("address", "localizer.address", "webapp.address", "collector-service.address")
    conf = {
        **{f"{own}.{each}": f"{spec.host}:0" for each in services},
        f"{own}.hostname": spec.host,
        f"{own}.local-dirs": work / "local",
        f"{own}.log-dirs": work / "logs",
        f"{own}.resource.memory-mb": spec.memory_mb,
        f"{own}.resource.cpu-vcores": spec.vcores,
        # Containers leave the session of their node, but bear its mark; an ApplicationMaster has its address.
        f"{own}.env-whitelist": f"JAVA_HOME,SPARK_LOCAL_IP,{MARK}",
        # What is declared here is no limit: all nodes share this machine, and a full disk is everybody's.
        f"{own}.pmem-check-enabled": "false",
        f"{own}.vmem-check-enabled": "false",
        f"{own}.disk-health-checker.max-disk-utilization-per-disk-percentage": 100.0,
        f"{own}.sleep-delay-before-sigkill.ms": 5000,
    }
    _write(folder, _core(work), _manager(ports) | conf)


def _core(work: Path) -> dict[str, object]:
    return {"fs.defaultFS": "file:///", "hadoop.tmp.dir": work / "hadoop"}


def _manager(ports: Sequence[int]) -> dict[str, object]:
    own = "yarn.resourcemanager"
    places = {f"{own}.{each}": f"{MANAGER_HOST}:{port}" for each, port in zip(SERVICES, ports, strict=True)}
    return {f"{own}.hostname": MANAGER_HOST, **places}


def _write(folder: Path, core: Mapping[str, object], yarn: Mapping[str, object]) -> None:
    folder.mkdir(parents=True)
    (folder / "core-site.xml").write_text(xml_text(core))
    (folder / "yarn-site.xml").write_text(xml_text(yarn))
    (folder / "log4j.properties").write_text(LOG)


def xml_text(conf: Mapping[str, object]) -> str:
    """A file of settings as Hadoop reads it.

    Args:
        conf: Values by their names.
    """
    rows = (
        f"  <property><name>{escape(name)}</name><value>{escape(str(value))}</value></property>\n"
        for name, value in conf.items()
    )
    return f"<configuration>\n{''.join(rows)}</configuration>\n"

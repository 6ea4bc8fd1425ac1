"""A real broker of Apache Kafka on this machine: one process, by KRaft its own controller, on a loopback address."""

from __future__ import annotations

import contextlib
import os
import shutil
import signal
import socket
from collections.abc import Mapping
from pathlib import Path
from typing import Self

import attrs

from headworks.errors import EngineError
from headworks.interrupts import held
from headworks_local.java import find_java
from headworks_local.lifetime import lifetime
from headworks_local.maven import resolve_locked
from headworks_local.ports import Ports
from headworks_local.process import Daemon, LocalCluster, check_addresses, end, end_group, patience

KAFKA = "4.3.1"
"""The release of Apache Kafka whose broker runs; clients of other releases speak to it, too."""
LOCK = Path(__file__).with_name(f"kafka-{KAFKA}.txt")
"""Lock file: coordinates and SHA-256 of each jar of a broker's class path."""
JAVA = 17
"""Major version of Java that it needs."""
MAIN = "kafka.Kafka"
"""Main class of a broker."""
JVM = ("-Xmx256m", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1")
"""Options that keep a broker light. With less heap it runs out of it with a few hundred partitions."""
GRACE = 3.0
"""Seconds for a broker to end by itself; what it has not written then is in no other place."""
FOREIGN = ("KAFKA_", "CLASSPATH")
"""Variables of the caller that are meant for another broker begin so."""
IDENTITY = "headworks-localkafka-1"
"""Names the broker's only folder; Kafka asks for 22 characters, any that a UUID in base64 may have."""
LOG = """\
status = ERROR
rootLogger.level = WARN
rootLogger.appenderRef.console.ref = console
appender.console.type = Console
appender.console.name = console
appender.console.layout.type = PatternLayout
appender.console.layout.pattern = %d{ISO8601} %p %c: %m%n
"""


@attrs.define(eq=False)
class LocalKafka(LocalCluster):
    """A broker as a process of its own, up between `start` and `stop` or in a `with` block.

    Used as a context manager it keeps topics and logs in a temporary folder, and ends the process also on an exception,
    Ctrl-C or SIGTERM.

    Attributes:
        host: The loopback address on which it listens.
        timeout: Seconds that it may take to be ready.
        folder: Where topics and logs go; a temporary folder by default.
        settings: Settings of the broker beside its own, by Kafka's names.
        number: Its id among the brokers of its cluster.
        first: The broker of number 1, which is up, and whose cluster it joins.
        group: The mark of the broker, once started.
        port: Where clients find it, once started.
        controller: Address of the controller of its cluster, once started.
    """

    host: str = "127.0.0.1"
    timeout: float = attrs.field(default=600.0, kw_only=True)
    folder: Path | None = attrs.field(default=None, kw_only=True)
    settings: Mapping[str, str] = attrs.field(factory=dict, kw_only=True)
    number: int = attrs.field(default=1, kw_only=True)
    first: LocalKafka | None = attrs.field(default=None, kw_only=True)
    group: str = attrs.field(default="", init=False)
    port: int = attrs.field(default=0, init=False)
    controller: str = attrs.field(default="", init=False)
    _daemon: Daemon | None = attrs.field(init=False, default=None)
    _ports: Ports = attrs.field(init=False, factory=Ports)
    _work: Path = attrs.field(init=False, default=None)
    _java: Path = attrs.field(init=False, default=None)
    _jars: tuple[Path, ...] = attrs.field(init=False, default=())

    @property
    def bootstrap(self) -> str:
        """Address for clients, HOST:PORT."""
        return f"{self.host}:{self.port}"

    @property
    def daemons(self) -> tuple[Daemon, ...]:
        """The broker, if it was started and not ended."""
        return (self._daemon,) if self._daemon else ()

    def start(self) -> Self:
        """Start the broker and wait until clients may connect.

        Raises:
            EngineError: Java or a jar is missing, the address is none of this machine, the broker died, or it was not
                ready in time.
        """
        self._java = find_java(JAVA).program
        check_addresses((self.host,))
        self._jars = resolve_locked(LOCK)
        self._work = (self.folder or lifetime().scratch("headworks-kafka-")).resolve()
        try:
            self.port, own = self._ports.take(2)
            self.controller = self.first.controller if self.first else f"{self.host}:{own}"
            self._lay_out()
            self.group = lifetime().group()
            self.restart()
        except BaseException:
            self.stop()
            raise
        return self

    def stop(self) -> None:
        """End the broker, and remove the temporary folder."""
        # A second Ctrl-C must not leave half of it: signals wait until all has ended.
        with held():
            end(self.daemons, grace=GRACE)
            end_group(self.group)
            self._daemon = None
            self._ports.release()
            if self.folder is None and self._work:
                shutil.rmtree(self._work, ignore_errors=True)

    def kill(self) -> None:
        """Kill the broker at once, as a machine that loses power; its port and its topics are kept.

        Raises:
            EngineError: It does not run.
        """
        if self._daemon is None:
            raise EngineError(f"no broker runs at {self.bootstrap}: start it first")
        self._daemon.signal(signal.SIGKILL)
        end(self.daemons, grace=0)
        self._daemon = None

    def restart(self) -> None:
        """Start the broker that was killed, on the same port with the same topics, and wait until it serves.

        Raises:
            EngineError: It runs already, or it did not come up.
        """
        if self._daemon is not None:
            raise EngineError(f"a broker runs at {self.bootstrap}: kill it first")
        path = os.pathsep.join(map(str, self._jars))
        log = f"-Dlog4j2.configurationFile={self._work / 'log4j2.properties'}"
        command = [str(self._java), *JVM, log, "-cp", path, MAIN, str(self._work / "server.properties")]
        env = {key: value for key, value in os.environ.items() if not key.startswith(FOREIGN)}
        self._daemon = Daemon.start("broker", command, log=self._work / "broker.log", env=env, group=self.group)
        self._wait()

    def _lay_out(self) -> None:
        """Write what the broker reads: settings, its log's, and the name by which it knows its folder."""
        data = self._work / "data"
        data.mkdir(parents=True, exist_ok=True)
        (self._work / "log4j2.properties").write_text(LOG)
        (self._work / "server.properties").write_text(_properties(self._conf(data) | dict(self.settings)))
        folder = f"broker-{self.number:02}{IDENTITY[9:]}" if self.first else IDENTITY
        own = {"version": "1", "node.id": str(self.number), "cluster.id": IDENTITY, "directory.id": folder}
        (data / "meta.properties").write_text(_properties(own))

    def _conf(self, data: Path) -> dict[str, str]:
        own = "" if self.first else f",CONTROLLER://{self.controller}"
        return {
            "process.roles": "broker" if self.first else "broker,controller",
            "node.id": str(self.number),
            "controller.quorum.voters": f"1@{self.controller}",
            "listeners": f"PLAINTEXT://{self.host}:{self.port}{own}",
            "advertised.listeners": f"PLAINTEXT://{self.host}:{self.port}",
            "controller.listener.names": "CONTROLLER",
            "log.dirs": str(data),
            # There is one broker: no topic of Kafka's own can have copies, and none needs its 50 partitions.
            "offsets.topic.replication.factor": "1",
            "offsets.topic.num.partitions": "1",
            "transaction.state.log.replication.factor": "1",
            "transaction.state.log.min.isr": "1",
            "transaction.state.log.num.partitions": "1",
            "share.coordinator.state.topic.replication.factor": "1",
            "share.coordinator.state.topic.min.isr": "1",
            "group.initial.rebalance.delay.ms": "0",
        }

    def _wait(self) -> None:
        complaint = f"the broker at {self.bootstrap} does not listen"
        for _ in patience(lambda: self.daemons, self.timeout, complaint):
            with contextlib.suppress(OSError), socket.create_connection((self.host, self.port), timeout=1):
                return


def _properties(values: Mapping[str, str]) -> str:
    return "".join(f"{name}={value}\n" for name, value in values.items())

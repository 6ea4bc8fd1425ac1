"""The gateway to Nimbus: Storm's own Thrift client in a JVM beside this process, which ends with it."""

from __future__ import annotations

import contextlib
import gc
import json
import os
import threading
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from subprocess import DEVNULL, PIPE, Popen
from typing import IO, TYPE_CHECKING, Any, Self

import attrs

from headworks.errors import EngineError, EngineUseError, how_to_install
from headworks.interrupts import held
from headworks_local.java import BRIEF
from headworks_local.lifetime import environment
from headworks_storm.client.summary import ClusterSummary, StoredAssignment, TopologyInfo
from headworks_storm.client.thrift import Struct, read_struct

if TYPE_CHECKING:
    from collections.abc import Iterator

HASTE = {
    "storm.nimbus.retry.times": 1,
    "storm.nimbus.retry.interval.millis": 200,
    "storm.nimbus.retry.intervalceiling.millis": 400,
}
"""Retries of the client on a Nimbus that does not answer, where the settings of the cluster do not say: Storm's own
5 retries, 2 s apart at first, make a command without a cluster look stuck."""

SMALL_JVM = (*BRIEF, "-Xss512k")
"""Flags that keep a JVM of Storm light; with smaller stacks, its deepest calls do not fit."""
FLAGS = (*SMALL_JVM, "-Xmx128m")
"""Options of the JVM. With less heap, the structs of a cluster of thousands of executors may not fit."""
SERVER = ("--die-on-broken-pipe", "--enable-auth", "0")
"""The gateway listens on a port of 127.0.0.1 that the system gives, and ends when this process has ended."""

JAAS = "java.security.auth.login.config"
TRANSPORT = "storm.thrift.transport"
PLAIN = "org.apache.storm.security.auth.SimpleTransportPlugin"
"""Settings by which Storm's client logs in, and the transport without a login."""

TLS = "nimbus.thrift.client.use.tls"
TLS_STORE = "nimbus.thrift.tls.client.truststore.path"
"""The setting by which Storm's client speaks TLS, and the one for the certificates that it trusts."""

THRIFT = "org.apache.storm.generated."
"""Package of the exceptions that Nimbus answers with."""
LOST = ("NimbusLeaderNotFoundException", "TTransportException", "UnknownHostException")
"""Exceptions of Storm's client that mean: there is no Nimbus, or none that leads."""

PORTS = 2**16
"""Ports that there are."""
GONE = "the JVM that reaches Nimbus for this process has died: start the gateway again"


@attrs.define(eq=False)
class NimbusGateway:
    """Storm's `NimbusClient` in a JVM of its own, called through py4j: loopback only, with a token.

    Each call finds the leader anew, so a Nimbus that restarts or hands over is no matter. The JVM ends when `stop` is
    called, and also when this process dies in any way.

    Attributes:
        lib: Folder with the jars of a Storm installation (`$STORM_HOME/lib`).
        conf: Settings as in `storm.yaml`; at least `nimbus.seeds` and `nimbus.thrift.port`.
        java: The program that runs the JVM.
        file: A `storm.yaml` that the JVM reads as it starts; what it says is in `conf` from then on.
    """

    lib: Path
    conf: Mapping[str, Any]
    java: Path = attrs.field(default=Path("java"), kw_only=True)
    file: Path | None = attrs.field(default=None, kw_only=True)
    _gateway: Any = attrs.field(init=False, default=None)
    _process: Any = attrs.field(init=False, default=None)
    _java_conf: Any = attrs.field(init=False, default=None)

    def start(self) -> Self:
        """Start the JVM; Nimbus need not be there yet.

        Raises:
            EngineError: py4j is missing, the JVM does not start, the file is not YAML, or names no address of Nimbus.
        """
        try:
            # py4j comes with the extra `storm`: without it this is an error with a fix, not a failed import.
            from py4j.java_gateway import GatewayParameters, JavaGateway, find_jar_path

            # It imports py4j itself.
            from headworks_storm.client.own_errors import OwnErrors
        except ImportError:
            raise EngineError(f"py4j, which reaches Nimbus, is not installed: {how_to_install('storm')}") from None
        try:
            port, token = self._launch(find_jar_path())
            parameters = GatewayParameters(port=port, auth_token=token, auto_convert=True)
            self._gateway = JavaGateway(OwnErrors(gateway_parameters=parameters), gateway_parameters=parameters)
            if self.file:
                self.conf = {**self.conf, **self.read_conf(self.file)}
            nimbus_addresses(self.conf)  # Storm's client fails on a wrong one without its name
            # A Java map that stays in the JVM: every client is made from it.
            self._java_conf = self._storm.utils.Utils.readDefaultConfig()
            self._java_conf.putAll(HASTE | dict(self.conf))
        except BaseException:  # a signal too: the JVM must not outlive a start that failed
            self.stop()
            raise
        return self

    def stop(self) -> None:
        """End the JVM."""
        with held():
            if self._gateway:
                client = self._gateway._gateway_client  # noqa: SLF001 - py4j offers no other way
                client.is_connected = self.alive
                self._java_conf = None
                gc.collect()  # py4j tells the JVM of each object that goes
                client.is_connected = False  # of those that go later there is none to tell
                self._gateway.close()
            if self._process:
                with self._process as process:  # closes its pipes and waits for it, so that no zombie is left
                    process.kill()
            self._gateway = self._process = None

    def __enter__(self) -> Self:
        return self.start()

    def __exit__(self, *_error: object) -> None:
        self.stop()

    def read_conf(self, file: Path) -> dict[str, Any]:
        """Read a `storm.yaml` by Storm itself, as plain data.

        Raises:
            EngineError: It is not YAML.
        """
        from py4j.protocol import Py4JJavaError  # of the extra `storm`, which is there once `start` succeeded

        try:
            return dict(_plain(self._storm.utils.Utils.findAndReadConfigFile(str(file.absolute()), True)))
        except Py4JJavaError as error:
            said = str(error.java_exception.getMessage()).partition("\n")[0]
            raise EngineUseError(f"{file} cannot be read as YAML: {said}") from None

    def cluster(self) -> ClusterSummary:
        """Supervisors, Nimbuses and topologies.

        This and all the other methods raise:

        Raises:
            EngineError: No Nimbus leads or can be reached, no topology has this name, or Nimbus refuses.
        """
        with self._nimbus("cluster") as nimbus:
            return ClusterSummary.of(self._read(nimbus.getClusterInfo()))

    def topology(self, name: str) -> TopologyInfo:
        """Status, executors with their places and uptimes, and errors of the topology of this name."""
        with self._nimbus(name) as nimbus:
            return TopologyInfo.of(self._read(nimbus.getTopologyInfoByName(name)))

    def nimbus_conf(self) -> dict[str, Any]:
        """The settings of the Nimbus that leads, its defaults included."""
        with self._nimbus("its settings") as nimbus:
            conf: dict[str, Any] = json.loads(nimbus.getNimbusConf())
            return conf

    def topology_conf(self, name: str) -> dict[str, Any]:
        """The settings of a topology as Nimbus stored them, those of the cluster included."""
        with self._nimbus(name) as nimbus:
            conf: dict[str, Any] = json.loads(nimbus.getTopologyConf(nimbus.getTopologySummaryByName(name).get_id()))
            return conf

    def stored_conf(self, topology: str) -> dict[str, Any]:
        """The settings of a topology, as `topology_conf` has them, by Storm's id of it."""
        with self._nimbus(topology) as nimbus:
            conf: dict[str, Any] = json.loads(nimbus.getTopologyConf(topology))
            return conf

    def assignment(self, name: str) -> StoredAssignment:
        """The assignment of a topology that Nimbus stored and tells its supervisors; empty if there is none.

        Unlike `topology`, it tells supervisors that share a host apart.
        """
        with self._nimbus(name) as nimbus:
            identity = nimbus.getTopologySummaryByName(name).get_id().encode()
            # Nimbus hands assignments out by supervisor: ask for one that has executors of the topology.
            hosts = {each.host for each in TopologyInfo.of(self._read(nimbus.getTopologyInfoByName(name))).executors}
            for each in ClusterSummary.of(self._read(nimbus.getClusterInfo())).supervisors:
                if each.host in hosts:
                    # Field 1 of SupervisorAssignments: topology id -> Assignment.
                    stored = dict(self._read(nimbus.getSupervisorAssignments(each.id)).get(1, ()))
                    if identity in stored:
                        return StoredAssignment.of(stored[identity])
        return StoredAssignment(slots={}, started={})

    def blobs(self) -> dict[str, int]:
        """Replication of the blobs of topologies (jar, code, settings): number of Nimbuses that hold each, by key."""
        with self._nimbus("blobs") as nimbus:
            # Nimbus lists keys page by page; an empty page is the end.
            page = nimbus.listBlobs("")
            copies: dict[str, int] = {}
            while keys := list(page.get_keys()):
                copies |= {key: nimbus.getBlobReplication(key) for key in keys}
                page = nimbus.listBlobs(page.get_session())
            return copies

    def activate(self, name: str) -> None:
        """Let the spouts of a topology emit."""
        with self._nimbus(name) as nimbus:
            nimbus.activate(name)

    def deactivate(self, name: str) -> None:
        """Let the spouts of a topology pause."""
        with self._nimbus(name) as nimbus:
            nimbus.deactivate(name)

    def kill(self, name: str, *, wait: int | None = None) -> None:
        """Kill a topology after its spouts have paused for a while.

        Args:
            wait: Seconds of the pause; by default the topology's message timeout, in which tuples under way are done.
        """
        options = self._storm.generated.KillOptions()
        if wait is not None:
            options.set_wait_secs(wait)
        with self._nimbus(name) as nimbus:
            nimbus.killTopologyWithOpts(name, options)

    def rebalance(
        self,
        name: str,
        *,
        wait: int | None = None,
        workers: int | None = None,
        executors: Mapping[str, int] | None = None,
    ) -> None:
        """Schedule a topology anew from nothing: all its workers may restart.

        Args:
            wait: Seconds that its spouts pause before; by default the topology's message timeout.
            workers: Its number of workers from now on, unchanged by default.
            executors: The number of executors from now on of some components.
        """
        options = self._storm.generated.RebalanceOptions()
        if wait is not None:
            options.set_wait_secs(wait)
        if workers is not None:
            options.set_num_workers(workers)
        if executors:
            options.set_num_executors(dict(executors))
        with self._nimbus(name) as nimbus:
            nimbus.rebalance(name, options)

    def _launch(self, py4j: str) -> tuple[int, str]:
        """Start py4j's server in a JVM; returns its port and the token that it asks for."""
        lib = self.lib.resolve()
        path = os.pathsep.join((os.fspath(lib / "*"), py4j))
        command = [os.fspath(self.java), *FLAGS, "-cp", path, "py4j.GatewayServer", *SERVER]
        env = os.environ | environment()
        try:
            # A session of its own: Ctrl-C in the terminal reaches this process alone, which still needs Nimbus to end.
            with held():
                self._process = Popen(
                    command, stdin=PIPE, stdout=PIPE, stderr=DEVNULL, text=True, start_new_session=True, env=env
                )
        except OSError as error:
            raise EngineError(f"{self.java} does not run: {error}") from None
        # py4j's server prints the port that it got and, with --enable-auth, the token; nothing if the JVM failed.
        port, token = (self._process.stdout.readline().strip() for _ in range(2))
        if not port.isdigit():
            raise EngineError(f"{self.java} does not run Storm's client with the jars of {self.lib}")
        threading.Thread(target=_drain, args=[self._process.stdout], daemon=True).start()
        return int(port), token

    @property
    def alive(self) -> bool:
        """True while its JVM runs."""
        return self._process is not None and self._process.poll() is None

    @property
    def jvm(self) -> Any:
        """The JVM with the classes of Storm's client, as py4j shows it.

        Raises:
            EngineError: It is not started, or died.
        """
        if self._gateway is None or self._process.poll() is not None:
            raise EngineError(GONE if self._gateway else "the gateway to Nimbus is not started")
        return self._gateway.jvm

    @property
    def _storm(self) -> Any:
        return self.jvm.org.apache.storm

    def _read(self, struct: Any) -> Struct:
        """Fetch a Thrift struct in one call, as bytes: py4j would make a call for each field of each executor."""
        thrift = self._storm.thrift
        return read_struct(bytes(thrift.TSerializer(thrift.protocol.TBinaryProtocol.Factory()).serialize(struct)))

    @contextlib.contextmanager
    def _nimbus(self, subject: str) -> Iterator[Any]:
        """Connect to the leader; an error of it, also in the block, becomes an EngineError."""
        from py4j.protocol import Py4JError, Py4JJavaError  # of the extra `storm`

        try:
            # A connection a call: Nimbus may restart or hand over between two calls, and this finds the new leader.
            client = self._storm.utils.NimbusClient.getConfiguredClient(self._java_conf)
            try:
                yield client.getClient()
            finally:
                client.close()
        except Py4JJavaError as error:
            gone = error.java_exception.getClass().getSimpleName() == "NotAliveException"
            raise (EngineUseError if gone else EngineError)(self._told(error.java_exception, subject)) from None
        except Py4JError:
            raise EngineError(GONE) from None

    def _told(self, thrown: Any, subject: str) -> str:
        """Put an exception of Storm's client into a sentence with the next step."""
        kind = str(thrown.getClass().getSimpleName())
        if kind in LOST:
            seeds = ", ".join(f"{host}:{port}" for host, port in nimbus_addresses(self.conf))
            return f"no Nimbus that leads answers at {seeds}: is it up, {_asked_of(self.conf)}?"
        if kind == "NotAliveException":
            return f"no topology {subject!r} runs on this cluster"
        # Thrift's exceptions hold their text in a field `msg`. Asked for a method, a JavaObject always has it.
        is_thrift = str(thrown.getClass().getName()).startswith(THRIFT)
        said = thrown.get_msg() if is_thrift else thrown.getMessage()
        return f"Nimbus refuses the request about {subject!r}: {said or kind}"


def nimbus_addresses(conf: Mapping[str, Any]) -> tuple[tuple[str, int], ...]:
    """Addresses at which clients reach the Nimbuses that a `storm.yaml` names; Storm's default otherwise.

    Raises:
        EngineUseError: Its hosts are no list, or its port is not a number.
    """
    key, otherwise = ("nimbus.thrift.tls.port", 0) if conf.get(TLS) else ("nimbus.thrift.port", 6627)
    seeds, port = conf.get("nimbus.seeds") or ["localhost"], conf.get(key) or otherwise
    if isinstance(seeds, str) or not isinstance(seeds, Iterable):
        raise EngineUseError(f'nimbus.seeds in storm.yaml is {seeds!r}, and Storm takes a list: write ["{seeds}"]')
    if not str(port).isdecimal() or int(port) >= PORTS:
        raise EngineUseError(f"{key} in storm.yaml is {port!r}, which is no port: write a number")
    return tuple((str(host), int(port)) for host in seeds)


def _asked_of(conf: Mapping[str, Any]) -> str:
    """Questions about a Nimbus that is up and does not answer: what else may turn a client away."""
    if conf.get(TLS):
        return f"has its election ended, and do it and {conf.get(TLS_STORE)} take each other's certificate"
    if conf.get(TRANSPORT, PLAIN) != PLAIN:
        return f"has its election ended, and does it take the login of {conf.get(JAAS)}"
    return "and has its election ended"


def _drain(output: IO[str]) -> None:
    """Read and drop the JVM's output: Storm's client logs there, and would wait for a reader once the pipe is full."""
    with contextlib.suppress(ValueError, OSError):  # the gateway was stopped
        for _ in output:
            pass


def _plain(value: Any) -> Any:
    """Java's maps and lists as Python's."""
    if isinstance(value, Mapping):
        return {str(key): _plain(each) for key, each in value.items()}
    return [_plain(each) for each in value] if isinstance(value, Sequence) and not isinstance(value, str) else value

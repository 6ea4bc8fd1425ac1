"""Kubernetes as far as an application of Spark sees it: fabric8's API server, and pods that are processes here.

The API server keeps what it is told and tells who watches. What a kubelet and a scheduler do with pods of executors is
done by `LocalKubernetes`: it gives each the emptiest node and an address, runs its executor with the variables of its
container, and says so in the pod's status.
"""

from __future__ import annotations

import http
import json
import os
import signal
import threading
import urllib.error
import urllib.request
from pathlib import Path
from typing import Any, Self

import attrs

from headworks_local.java import find_java
from headworks_local.lifetime import lifetime
from headworks_local.maven import Artefact, resolve_all
from headworks_local.process import Daemon, end
from headworks_spark.driver.jar import spark_home

SERVER = (
    "io.fabric8:kubernetes-server-mock:7.6.1 2c76a300c19e2d359a1b465d3cbbc90428470a74822282f05830185faa346fb2",
    "io.fabric8:mockwebserver:7.6.1 e160c151c605f1be87c60c3d93711e2a4621ce0491ce02a437ccf57fa83d266d",
    "io.vertx:vertx-bridge-common:4.5.26 175fc6af72dbecae11019f562e40892094d4d3c1172c40315f855593cb562067",
    "io.vertx:vertx-web:4.5.26 2f01d04fd07a7b08d63f3680ff9d05c4f7b4880f1bae10a8d2f30c6c2f407687",
)
"""The jars of the API server beyond those of Spark 4.3, of the release that its client is of."""
PODS = "/api/v1/namespaces/default/pods"
EXECUTOR = "org.apache.spark.scheduler.cluster.k8s.KubernetesExecutorBackend"
"""Main class of an executor, as the entry point of Spark's images calls it."""
LOOK = 1.0
"""Seconds between two looks at the pods."""


@attrs.define(eq=False)
class LocalKubernetes:
    """An API server and the pods of one application; a context manager.

    Attributes:
        nodes: Names of the nodes that executors are given, the one with the fewest first.
        folder: For logs and what executors write.
        pods: Each pod that ran, by name: its node.
        port: Of the API server, without encryption.
        failure: What ended the kubelet.
        down: Nodes that have died; while there are any, new pods wait.
    """

    nodes: tuple[str, ...]
    folder: Path
    pods: dict[str, str] = attrs.field(init=False, factory=dict)
    port: int = attrs.field(init=False, default=0)
    failure: BaseException | None = attrs.field(init=False, default=None)
    down: set[str] = attrs.field(init=False, factory=set)
    _gateway: Any = attrs.field(init=False, default=None)
    _server: Any = attrs.field(init=False, default=None)
    _running: dict[str, Daemon] = attrs.field(init=False, factory=dict)
    _over: threading.Event = attrs.field(init=False, factory=threading.Event)
    _kubelet: threading.Thread | None = attrs.field(init=False, default=None)

    def __enter__(self) -> Self:
        # PySpark is optional, and its py4j with it.
        from py4j.java_gateway import GatewayParameters, JavaGateway, launch_gateway

        rows = [row.split() for row in SERVER]
        jars = resolve_all([(Artefact(*name.split(":")), digest) for name, digest in rows])
        ours = [str(each) for each in (*jars, *spark_home().jars)]
        (py4j,) = (each for each in spark_home().jars if each.name.startswith("py4j-"))
        java = str(find_java(17).program)
        port = launch_gateway(
            classpath=os.pathsep.join(ours), jarpath=str(py4j), java_path=java, die_on_exit=True, javaopts=["-Xmx256m"]
        )
        self._gateway = JavaGateway(gateway_parameters=GatewayParameters(port=port))
        jvm = self._gateway.jvm
        mock, web = jvm.io.fabric8.kubernetes.client.server.mock, jvm.io.fabric8.mockwebserver
        self._server = mock.KubernetesMockServer(
            web.Context(), web.MockWebServer(), jvm.java.util.HashMap(), mock.KubernetesCrudDispatcher(), False
        )
        self._server.init(jvm.java.net.InetAddress.getByName("127.0.0.1"), 0)
        self.port = self._server.getPort()
        self._kubelet = threading.Thread(target=self._keep, name="kubelet", daemon=True)
        self._kubelet.start()
        return self

    def __exit__(self, *_error: object) -> None:
        self._over.set()
        if self._kubelet:
            self._kubelet.join()
        end(list(self._running.values()), grace=0)
        self._server.destroy()
        self._gateway.shutdown()

    def kill_node(self, node: str) -> None:
        """Kill the pods of a node at once, as a machine that loses power."""
        self.down.add(node)
        for name, daemon in tuple(self._running.items()):
            if self.pods[name] == node:
                daemon.signal(signal.SIGKILL)

    def start_node(self, node: str) -> None:
        """Let pods run on a node that had died."""
        self.down.discard(node)

    def _keep(self) -> None:
        try:
            while not self._over.wait(LOOK):
                self._look()
        except Exception as error:  # noqa: BLE001 - shown by whoever waits for pods
            self.failure = error

    def _look(self) -> None:
        found = {each["metadata"]["name"]: each for each in self._ask("GET", PODS).get("items", ())}
        for name in self._running.keys() - found.keys():
            end([self._running.pop(name)], grace=0)
        for name, pod in found.items():
            labels = pod["metadata"].get("labels", {})
            if labels.get("spark-role") == "executor" and name not in self.pods and not self.down:
                self._begin(name, pod)
            elif name in self._running and not self._running[name].alive:
                self._running.pop(name)
                self._tell(name, "Failed")

    def _begin(self, name: str, pod: dict[str, Any]) -> None:
        taken = [self.pods[each] for each in self._running]
        node, address = min(self.nodes, key=taken.count), f"127.0.0.{2 + len(self.pods)}"
        self.pods[name] = node
        self._tell(name, "Pending", node, address)
        (container,) = pod["spec"]["containers"]
        facts = {"metadata.name": name, "spec.nodeName": node, "status.podIP": address}
        told = {each["name"]: _value(each, facts) for each in container["env"]}
        own = self.folder / name
        (own / "conf").mkdir(parents=True)
        # Images have folders for these two; PySpark's package is what an image has.
        told |= {"SPARK_CONF_DIR": str(own / "conf"), "SPARK_LOCAL_DIRS": str(own), "SPARK_LOCAL_IP": address}
        env = {"PATH": os.environ["PATH"], "HOME": str(own), "SPARK_HOME": str(spark_home().path)} | told
        self._running[name] = Daemon.start(name, _executor(env), log=own / "log", env=env, group=lifetime().group())
        self._tell(name, "Running", node, address)

    def _tell(self, name: str, phase: str, node: str = "", address: str = "") -> None:
        if node:
            self._ask("PATCH", f"{PODS}/{name}", {"spec": {"nodeName": node}})
        status: dict[str, Any] = {"phase": phase} | ({"podIP": address} if address else {})
        state = {"running": {}} if phase == "Running" else {"terminated": {"exitCode": 1}}
        if phase != "Pending":
            name_of = {"name": "spark-kubernetes-executor", "image": "", "imageID": "", "ready": True}
            status["containerStatuses"] = [name_of | {"restartCount": 0, "state": state}]
        self._ask("PATCH", f"{PODS}/{name}/status", {"status": status})

    def _ask(self, method: str, path: str, change: dict[str, Any] | None = None) -> dict[str, Any]:
        headers = {"Content-Type": "application/merge-patch+json"} if change else {}
        data = json.dumps(change).encode() if change else None
        request = urllib.request.Request(
            f"http://127.0.0.1:{self.port}{path}", data=data, headers=headers, method=method
        )
        try:
            with urllib.request.urlopen(request, timeout=300) as answer:
                found: dict[str, Any] = json.load(answer)
        except urllib.error.HTTPError as error:
            if error.code != http.HTTPStatus.NOT_FOUND:
                raise
            return {}  # the pod was deleted meanwhile
        return found


def _value(variable: dict[str, Any], facts: dict[str, str]) -> str:
    """A variable of a container: a text, or a fact of its pod."""
    field = variable.get("valueFrom", {}).get("fieldRef", {}).get("fieldPath")
    return facts[field] if field else str(variable.get("value", ""))


def _executor(env: dict[str, str]) -> list[str]:
    """The command that the entry point of Spark's images makes of its variables."""
    options = [value for name, value in env.items() if name.startswith("SPARK_JAVA_OPT_")]
    arguments = {
        "--driver-url": "SPARK_DRIVER_URL",
        "--executor-id": "SPARK_EXECUTOR_ID",
        "--cores": "SPARK_EXECUTOR_CORES",
        "--app-id": "SPARK_APPLICATION_ID",
        "--hostname": "SPARK_EXECUTOR_POD_IP",
        "--resourceProfileId": "SPARK_RESOURCE_PROFILE_ID",
        "--podName": "SPARK_EXECUTOR_POD_NAME",
    }
    words = [word for flag, name in arguments.items() for word in (flag, env[name])]
    heap = f"-Xmx{env['SPARK_EXECUTOR_MEMORY']}"
    return [str(find_java(17).program), *options, heap, "-cp", f"{env['SPARK_HOME']}/jars/*", EXECUTOR, *words]

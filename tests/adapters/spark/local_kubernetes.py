"""Kubernetes as far as an application of Spark sees it: an API server, and pods that are processes here.

Only Kubernetes is a stand-in: Spark's client, drivers and executors are its own, unmodified. `LocalKubernetes` does the
work of a scheduler, of kubelets and of the names in a cluster. It gives each pod the emptiest node and an address, and
copies the zone of the node to the pod's labels, as API servers do since 1.35. Then it runs the pod (`kubernetes_pods`),
and says in its status how that goes. A pod that is deleted gets its hook first, and then its time.
"""

from __future__ import annotations

import os
import signal
import socket
import threading
import time
from pathlib import Path
from typing import Self

import attrs

from adapters.spark.kubernetes_pods import PodProcess, map_names
from adapters.spark.kubernetes_server import CONFIG_MAPS, NODES, PODS, SERVICES, ApiServer, Json, fits
from headworks_local.lifetime import lifetime
from headworks_local.process import Daemon, end

ZONE = "topology.kubernetes.io/zone"
LOOK = 0.5
"""Seconds between two looks at the pods."""


@attrs.define(eq=False)
class LocalKubernetes:
    """An API server and the pods of one application; a context manager.

    Attributes:
        zones: Zone of each node, or ""; a pod is given the node with the fewest, the first one first.
        folder: For logs and what pods write.
        server: The API server.
        pods: Each pod that ran, by name: its node.
        failure: What ended the kubelet.
        down: True while no pod can start.
    """

    zones: dict[str, str]
    folder: Path
    server: ApiServer = attrs.field(init=False, factory=ApiServer)
    pods: dict[str, str] = attrs.field(init=False, factory=dict)
    failure: BaseException | None = attrs.field(init=False, default=None)
    down: bool = attrs.field(init=False, default=False)
    _running: dict[str, Daemon] = attrs.field(init=False, factory=dict)
    _ending: dict[str, float] = attrs.field(init=False, factory=dict)
    _over: threading.Event = attrs.field(init=False, factory=threading.Event)
    _kubelet: threading.Thread = attrs.field(init=False)

    def __enter__(self) -> Self:
        self.server.__enter__()
        for name, zone in self.zones.items():
            meta = {"name": name, "labels": {ZONE: zone} if zone else {}}
            self.server.objects.put(f"{NODES}/{name}", {"kind": "Node", "apiVersion": "v1", "metadata": meta})
        self._kubelet = threading.Thread(target=self._keep, name="kubelet", daemon=True)
        self._kubelet.start()
        return self

    def __exit__(self, *_error: object) -> None:
        self._over.set()
        self._kubelet.join()
        end(list(self._running.values()), grace=0)
        self.server.__exit__()

    @property
    def url(self) -> str:
        """The URL of the API server."""
        return f"http://127.0.0.1:{self.server.server_port}"

    def delete(self, name: str) -> None:
        """Delete a pod as `kubectl` does: it has 30 s to end by itself."""
        self.server.delete(f"{PODS}/{name}", grace=30)

    def kill(self, name: str) -> None:
        """Kill a pod at once, as its machine would that loses power."""
        self._running[name].signal(signal.SIGKILL)

    def _keep(self) -> None:
        try:
            while not self._over.wait(LOOK):
                self._look()
        except Exception as error:  # noqa: BLE001 - shown by whoever waits for pods
            self.failure = error

    def _look(self) -> None:
        found = {each["metadata"]["name"]: each for each in self.server.objects.under(PODS).values()}
        self._name(list(found.values()))
        for name, pod in found.items():
            if "deletionTimestamp" in pod["metadata"]:
                self._end(name, pod)
            elif name not in self.pods and not self.down:
                self._begin(name, pod)
            elif name in self._running and (code := _code(self._running[name])) is not None:
                end([self._running.pop(name)], grace=0)
                self._tell(name, "Failed" if code else "Succeeded", {"terminated": {"exitCode": code}})

    def _name(self, pods: list[Json]) -> None:
        """Write the file that names services without an address: each is where its pod is."""
        lines = ["127.0.0.1 localhost", f"127.0.0.1 {socket.gethostname()}"]
        for service in self.server.objects.under(SERVICES).values():
            wanted = [f"{name}={value}" for name, value in service["spec"].get("selector", {}).items()]
            for pod in pods:
                if "podIP" in pod["status"] and all(fits(pod["metadata"]["labels"], each) for each in wanted):
                    lines.append(f"{pod['status']['podIP']} {service['metadata']['name']}.default.svc")
        draft = self.folder / "hosts-draft"
        draft.write_text("\n".join(lines))
        draft.rename(self.folder / "hosts")

    def _begin(self, name: str, pod: Json) -> None:
        maps = {each["metadata"]["name"]: each for each in self.server.objects.under(CONFIG_MAPS).values()}
        if not map_names(pod) <= maps.keys():
            return
        taken = [self.pods[each] for each in self._running]
        self.pods[name] = node = min(self.zones, key=taken.count)
        labels = self.server.objects.found[f"{NODES}/{node}"]["metadata"]["labels"]
        bound = {"spec": {"nodeName": node}, "metadata": {"labels": labels}}
        change = bound | {"status": {"podIP": f"127.0.0.{1 + len(self.pods)}"}}
        changed = self.server.objects.merge(f"{PODS}/{name}", change)
        if changed:
            runs = PodProcess.of(changed, self.folder / name, maps, self.folder / "hosts")
            log = self.folder / f"{name}.log"
            self._running[name] = Daemon.start(name, runs.command, log=log, env=runs.env, group=lifetime().group())
            self._tell(name, "Running", {"running": {}})

    def _end(self, name: str, pod: Json) -> None:
        """Let the process of a pod that is deleted end within its time, and forget the pod."""
        running = self._running.get(name)
        if running and _code(running) is None:
            if name not in self._ending:
                self._ending[name] = time.monotonic() + pod["metadata"]["deletionGracePeriodSeconds"]
                # The hook of Spark's images, `decom.sh`, sends the former.
                hook = "lifecycle" in pod["spec"]["containers"][0]
                os.kill(running.pid, signal.SIGPWR if hook else signal.SIGTERM)
            if time.monotonic() < self._ending[name]:
                return
        end([self._running.pop(name)] if running else [], grace=0)
        self.server.objects.remove(f"{PODS}/{name}")

    def _tell(self, name: str, phase: str, state: Json) -> None:
        ready = phase == "Running"
        container = {"name": "spark", "image": "", "imageID": "", "ready": ready, "restartCount": 0, "state": state}
        status = {"phase": phase, "containerStatuses": [container]}
        conditions = [{"type": "Ready", "status": str(ready)}]
        self.server.objects.merge(f"{PODS}/{name}", {"status": status | {"conditions": conditions}})


def _code(process: Daemon) -> int | None:
    """Exit code or signal of a process that is over; None while it runs."""
    try:
        found = os.waitid(os.P_PID, process.pid, os.WEXITED | os.WNOHANG | os.WNOWAIT)
    except ChildProcessError:
        return 1  # another look has reaped it
    return found.si_status if found else None

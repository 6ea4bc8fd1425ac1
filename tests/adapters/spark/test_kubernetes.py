"""Applications that spark-submit starts under a `k8s://` URL: rows and event logs tell what ran in which pod.

Only Kubernetes is a stand-in (`local_kubernetes.py`): no images, and no network between pods, which are processes on
addresses of this machine. Spark's client, driver and executors are its own.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from collections import defaultdict
from typing import TYPE_CHECKING, Any

import attrs
import pytest

from adapters.spark.kubernetes_pods import map_names
from adapters.spark.kubernetes_server import PODS, Json
from adapters.spark.local_kubernetes import ZONE, LocalKubernetes
from adapters.spark.test_policies import Log
from adapters.spark.test_yarn import APPLICATION, Application, every_row_is_counted_once, every_task_ran_where_asked
from headworks_local.java import BRIEF
from headworks_local.ports import Ports
from headworks_spark.driver.jar import PLACEMENT, scheduler_jar, spark_home

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from pathlib import Path

pytestmark = [pytest.mark.spark, pytest.mark.slow, pytest.mark.matrix, pytest.mark.timeout(1800)]
ZONES = {"node-a": "zone-1", "node-b": "zone-2"}
NODES = tuple(ZONES)
PLACED = 4
TEMPLATE = {
    "apiVersion": "v1",
    "kind": "Pod",
    "metadata": {"labels": {"team": "rivers"}},
    "spec": {
        "containers": [
            {
                "name": "executor",
                "env": [
                    {
                        "name": "SPARK_EXECUTOR_ATTRIBUTE_NODE",
                        "valueFrom": {"fieldRef": {"fieldPath": "spec.nodeName"}},
                    },
                    {
                        "name": "SPARK_EXECUTOR_ATTRIBUTE_RACK",
                        "valueFrom": {"fieldRef": {"fieldPath": f"metadata.labels['{ZONE}']"}},
                    },
                    {"name": "SPARK_EXECUTOR_ATTRIBUTE_MACHINE_TYPE", "value": "i5"},
                    {"name": "SPARK_EXECUTOR_ATTRIBUTE_BANDWIDTH", "value": "125000000"},
                    {"name": "ROW_NODE", "valueFrom": {"fieldRef": {"fieldPath": "spec.nodeName"}}},
                    {"name": "ROW_POD", "valueFrom": {"fieldRef": {"fieldPath": "metadata.name"}}},
                ],
            }
        ]
    },
}
"""The first four variables are those that a user's template has; by the others the rows tell where they were made."""
SETTINGS = {
    "spark.plugins": PLACEMENT,
    "spark.kubernetes.container.image": "none",
    "spark.executor.memory": "512m",
    "spark.executor.extraJavaOptions": " ".join(BRIEF),
    "spark.driver.extraJavaOptions": " ".join(BRIEF),
    "spark.pyspark.python": sys.executable,
    "spark.ui.enabled": "false",
    "spark.scheduler.minRegisteredResourcesRatio": "1.0",
    "spark.scheduler.maxRegisteredResourcesWaitingTime": "600s",
    # A machine that is slow for a moment is no reason to leave a node, nor an executor.
    "spark.headworks.wait": "600s",
    "spark.locality.wait.process": "600s",
    "spark.kubernetes.driver.requestTimeout": "300000",
    "spark.kubernetes.driver.connectionTimeout": "300000",
    "spark.decommission.enabled": "true",
    "spark.eventLog.enabled": "true",
    "spark.eventLog.rolling.enabled": "false",
    "spark.eventLog.compress": "false",
}
JOBS = APPLICATION.with_name("kubernetes_app.py")
SCALED = 3
DYNAMIC = {
    "spark.headworks.policy": "binpack",
    "spark.headworks.slowdown": "off",
    "spark.executor.cores": "2",
    "spark.dynamicAllocation.enabled": "true",
    "spark.dynamicAllocation.shuffleTracking.enabled": "true",
    "spark.dynamicAllocation.minExecutors": "1",
    "spark.dynamicAllocation.executorIdleTimeout": "3s",
    "spark.dynamicAllocation.maxExecutors": str(SCALED),
    "spark.storage.decommission.enabled": "true",
    "spark.storage.decommission.shuffleBlocks.enabled": "true",
}
CLIENT = {"spark.driver.host": "127.0.0.1", "spark.driver.bindAddress": "127.0.0.1"}
PORTS = ("spark.driver.port", "spark.driver.blockManager.port")


@pytest.fixture(scope="module")
def found(java: None, tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Application, LocalKubernetes, Log]]:
    """What one application said and wrote, the pods that it had, and Spark's event log."""
    folder = tmp_path_factory.mktemp("application")
    with Ports() as ports, LocalKubernetes(ZONES | {NODES[-1]: ""}, tmp_path_factory.mktemp("pods")) as cluster:
        own = {"spark.kubernetes.driver.master": cluster.url, "spark.executor.instances": str(PLACED)}
        own |= {name: str(port) for name, port in zip(PORTS, ports.take(len(PORTS)), strict=True)}
        words = ("--deploy-mode", "cluster", f"local://{APPLICATION}", str(folder), "lose", "2")
        submit(cluster, folder, SETTINGS | own, words, meanwhile=lambda: lose_a_node(cluster, folder))
        (driver,) = cluster.server.objects.under(PODS, "spark-role=driver").values()
        said = cluster.folder / f"{driver['metadata']['name']}.log"
        assert driver["status"]["phase"] == "Succeeded", said.read_text()[-20000:]
        yield Application.of(folder), cluster, logged(folder)


def submit(
    cluster: LocalKubernetes,
    folder: Path,
    settings: dict[str, str],
    words: Sequence[str],
    *,
    meanwhile: Callable[[], None],
) -> None:
    """Run an application to its end; `meanwhile` is called again and again while it runs."""
    template = folder / "pod.json"
    template.write_text(json.dumps(TEMPLATE))
    jar = f"local://{scheduler_jar(spark_home())}"
    own = {"spark.kubernetes.executor.podTemplateFile": str(template), "spark.eventLog.dir": folder.as_uri()}
    options = [word for name, value in (settings | own).items() for word in ("--conf", f"{name}={value}")]
    where = ["--master", f"k8s://{cluster.url}", "--jars", jar]
    command = [str(spark_home().path / "bin" / "spark-submit"), *where, *options, *words]
    deadline = time.monotonic() + 1200
    with (folder / "log").open("w") as log:
        env = os.environ | {"KUBECONFIG": str(folder / "none")}
        running = subprocess.Popen(command, env=env, stdout=log, stderr=log)
        try:
            while running.poll() is None and time.monotonic() < deadline and not cluster.failure:
                meanwhile()
                time.sleep(0.5)
        finally:
            running.kill()
    assert running.wait() == 0, f"{cluster.failure}\n{(folder / 'log').read_text()[-20000:]}"


def logged(folder: Path) -> Log:
    """Spark's event log of an application."""
    (log,) = (each for each in folder.iterdir() if each.name.startswith("spark-"))
    return Log("", "", [json.loads(line) for line in log.read_text().splitlines()])


def asked(cluster: LocalKubernetes, role: str) -> list[Json]:
    """The pods of a role as Spark asked for them."""
    made = [each for each in cluster.server.requests if each["kind"] == "Pod"]
    return [each for each in made if each["metadata"]["labels"]["spark-role"] == role]


def removed(log: Log) -> dict[str, str]:
    """Why each executor that went was removed; the end of a pod is told after the end of its executor."""
    gone = (each for each in reversed(log.events) if each["Event"] == "SparkListenerExecutorRemoved")
    return {each["Executor ID"]: each["Removed Reason"] for each in gone}


def nodes_by_the_log(log: Log, placement: dict[str, Any]) -> dict[tuple[int, int], set[str]]:
    """Nodes that ran each task of the batches of a placement, as executors told their nodes."""
    added = (each for each in log.events if each["Event"] == "SparkListenerExecutorAdded")
    node = {each["Executor ID"]: each["Executor Info"]["Attributes"]["NODE"] for each in added}
    ran: dict[tuple[int, int], set[str]] = defaultdict(set)
    for batch in range(placement["after"] + 1, placement["until"] + 1):
        for rank, stage in enumerate(log.stages("streaming.sql.batchId", str(batch))):
            for index, executor in stage.items():
                ran[rank, index].add(node[executor])
    return dict(ran)


def lose_a_node(cluster: LocalKubernetes, folder: Path) -> None:
    """Delete a pod of the last node, and kill the others, as soon as the application is ready; new ones run later."""
    killed = folder / "killed"
    if (folder / "ready").exists() and not killed.exists():
        cluster.down = True
        deleted, *others = (name for name, node in cluster.pods.items() if node == NODES[-1])
        cluster.delete(deleted)
        for each in others:
            cluster.kill(each)
        killed.with_name("draft").write_text(NODES[-1])
        killed.with_name("draft").rename(killed)
    if (folder / "gone").exists():
        cluster.down = False


def test_a_query_is_at_level_hard_under_its_own_url_and_every_row_is_counted_once(
    found: tuple[Application, LocalKubernetes, Log],
) -> None:
    application, cluster, _log = found
    said = application.said
    assert said["level"] == "hard"
    assert said["master"] == f"k8s://{cluster.url}"
    assert every_row_is_counted_once(application)


def test_pods_of_one_node_are_one_node_and_every_task_runs_where_asked(
    found: tuple[Application, LocalKubernetes, Log],
) -> None:
    application, cluster, log = found
    assert application.said["hosts"] == list(NODES)
    racks = {NODES[0]: ZONES[NODES[0]], NODES[-1]: None}
    assert application.said["offer"] == {node: [200.0, "i5", 125e6, rack] for node, rack in racks.items()}
    before, _, again = application.said["placements"]
    for placement in (before, again):
        assert every_task_ran_where_asked(application, placement)
        wanted = {(stage, index): {node} for stage, index, node in placement["asked"]}
        assert nodes_by_the_log(log, placement) == wanted
        ran = application.places(placement["after"], placement["until"])
        places = {place for found in ran.values() for place in found}
        assert places <= {(node, pod) for pod, node in cluster.pods.items()}
        assert len({pod for _, pod in places}) > len(NODES)
        # What the plan leaves on its node stays in its pod.
        assert all(len(pods) == 1 for (stage, _), pods in ran.items() if stage == 1)


def test_tasks_of_pods_that_die_run_elsewhere_and_come_back_with_the_pods_in_their_place(
    found: tuple[Application, LocalKubernetes, Log],
) -> None:
    application, cluster, _log = found
    assert len(asked(cluster, "executor")) == PLACED + PLACED // len(NODES)
    before, without, again = (
        application.places(each["after"], each["until"]) for each in application.said["placements"]
    )
    assert set(without) == set(before) == set(again)
    assert {node for places in without.values() for node, _ in places} == {NODES[0]}
    assert application.said["left"]["gone"] > 0
    dead, new = (
        {pod for places in ran.values() for node, pod in places if node == NODES[-1]} for ran in (before, again)
    )
    assert not dead & new


def test_a_pod_of_a_plan_that_is_deleted_ends_its_tasks(found: tuple[Application, LocalKubernetes, Log]) -> None:
    _, cluster, log = found
    ids = {each["metadata"]["name"]: each["metadata"]["labels"]["spark-exec-id"] for each in asked(cluster, "executor")}
    deleted, killed, *_ = (ids[name] for name, node in cluster.pods.items() if node == NODES[-1])
    reasons = removed(log)
    assert "decommission" in reasons[deleted]
    assert "decommission" not in reasons[killed]
    lost = [each for each in log.events if each.get("Task End Reason", {}).get("Reason") == "ExecutorLostFailure"]
    assert deleted not in {each["Task Info"]["Executor ID"] for each in lost}


def test_the_pod_of_a_driver_has_the_two_options(
    found: tuple[Application, LocalKubernetes, Log],
) -> None:
    _, cluster, _ = found
    (driver,) = asked(cluster, "driver")
    (container,) = driver["spec"]["containers"]
    assert container["args"][0] == "driver"
    maps = (each for each in cluster.server.requests if each["kind"] == "ConfigMap")
    files = {
        name: text
        for each in maps
        if each["metadata"]["name"] in map_names(driver)
        for name, text in each["data"].items()
    }
    told = files["spark.properties"]
    assert f"spark.plugins={PLACEMENT}" in told.splitlines()
    assert any(line.startswith("spark.jars=local\\:") and "headworks-spark" in line for line in told.splitlines())
    assert cluster.pods[driver["metadata"]["name"]] in ZONES


@attrs.frozen
class Packed:
    """What is left of an application in client mode."""

    log: Log
    cluster: LocalKubernetes
    last: str

    def executors(self, group: str) -> list[set[str]]:
        """Executors of each stage of a job group."""
        return [set(each.values()) for each in self.log.stages("spark.jobGroup.id", group)]


@pytest.fixture(scope="module")
def packed(java: None, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Packed]:
    """An application that gets executors, loses those that it does not need, and then the last."""
    folder = tmp_path_factory.mktemp("packed")
    with LocalKubernetes(ZONES, tmp_path_factory.mktemp("packed-pods")) as cluster:

        def delete_the_last() -> None:
            last = folder / "last"
            if last.exists() and last.read_text() not in deleted:
                deleted.append(last.read_text())
                (pod,) = (name for name in cluster.pods if name.endswith(f"-exec-{deleted[0]}"))
                cluster.delete(pod)

        deleted: list[str] = []
        words = (str(JOBS), str(folder))
        submit(cluster, folder, SETTINGS | DYNAMIC | CLIENT, words, meanwhile=delete_the_last)
        yield Packed(logged(folder), cluster, deleted[0])


def test_executors_have_what_their_template_says_and_tell_their_nodes_and_zones(packed: Packed) -> None:
    pods = {each["metadata"]["labels"]["spark-exec-id"]: each["metadata"] for each in asked(packed.cluster, "executor")}
    assert {each["labels"]["team"] for each in pods.values()} == {"rivers"}
    added = [each for each in packed.log.events if each["Event"] == "SparkListenerExecutorAdded"]
    said = {each["Executor ID"]: each["Executor Info"]["Attributes"] for each in added}
    nodes = {executor: packed.cluster.pods[pod["name"]] for executor, pod in pods.items()}
    assert {executor: (each["NODE"], each["RACK"]) for executor, each in said.items()} == {
        executor: (node, ZONES[node]) for executor, node in nodes.items()
    }
    assert set(nodes.values()) == set(NODES)


def test_executors_that_binpack_leaves_idle_are_decommissioned_until_one_is_left(packed: Packed) -> None:
    (found,) = {frozenset(each) for each in packed.executors("packed")}
    assert found == {packed.last}
    reasons = removed(packed.log)
    assert len(reasons) >= SCALED
    assert all("decommission" in each.lower() for each in reasons.values()), reasons


def test_no_task_fails_where_a_pod_is_deleted_and_another_one_comes_in_its_place(packed: Packed) -> None:
    ends = [each["Task End Reason"]["Reason"] for each in packed.log.events if each["Event"] == "SparkListenerTaskEnd"]
    assert set(ends) == {"Success"}
    after = set().union(*packed.executors("after"))
    assert after
    assert packed.last not in after
    assert len(asked(packed.cluster, "executor")) > SCALED

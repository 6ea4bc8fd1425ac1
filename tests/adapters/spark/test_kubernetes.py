"""An application that spark-submit starts under a `k8s://` URL: rows tell the pods and nodes that made them.

The API server is fabric8's, and pods are processes on addresses of this machine: no cluster, no images, no network
between pods.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from typing import TYPE_CHECKING

import pytest

from adapters.spark.local_kubernetes import LocalKubernetes
from adapters.spark.test_yarn import APPLICATION, Application, every_row_is_counted_once, every_task_ran_where_asked
from headworks_spark.driver.jar import PLACEMENT, scheduler_jar, spark_home

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

pytestmark = [pytest.mark.spark, pytest.mark.slow, pytest.mark.matrix, pytest.mark.timeout(1800)]
NODES = ("node-a", "node-b")
PODS = 4
TEMPLATE = {
    "apiVersion": "v1",
    "kind": "Pod",
    "spec": {
        "containers": [
            {
                "name": "executor",
                "env": [
                    {
                        "name": "SPARK_EXECUTOR_ATTRIBUTE_NODE",
                        "valueFrom": {"fieldRef": {"fieldPath": "spec.nodeName"}},
                    },
                    {"name": "SPARK_EXECUTOR_ATTRIBUTE_MACHINE_TYPE", "value": "i5"},
                    {"name": "SPARK_EXECUTOR_ATTRIBUTE_BANDWIDTH", "value": "125000000"},
                    {"name": "ROW_NODE", "valueFrom": {"fieldRef": {"fieldPath": "spec.nodeName"}}},
                    {"name": "ROW_POD", "valueFrom": {"fieldRef": {"fieldPath": "metadata.name"}}},
                ],
            }
        ]
    },
    # A real API server gives a new pod this status.
    "status": {"phase": "Pending"},
}
"""The first three variables are those that a user's template has; by the others the rows tell where they were made."""
SETTINGS = {
    "spark.plugins": PLACEMENT,
    "spark.kubernetes.container.image": "none",
    "spark.executor.instances": str(PODS),
    "spark.executor.memory": "512m",
    "spark.driver.host": "127.0.0.1",
    "spark.driver.bindAddress": "127.0.0.1",
    "spark.pyspark.python": sys.executable,
    "spark.ui.enabled": "false",
    "spark.scheduler.minRegisteredResourcesRatio": "1.0",
    "spark.scheduler.maxRegisteredResourcesWaitingTime": "600s",
    # A machine that is slow for a moment is no reason to leave a node, nor an executor.
    "spark.headworks.wait": "600s",
    "spark.locality.wait.process": "600s",
    "spark.kubernetes.driver.requestTimeout": "300000",
    "spark.kubernetes.driver.connectionTimeout": "300000",
}


@pytest.fixture(scope="module")
def found(java: None, tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Application, LocalKubernetes]]:
    """What one application said and wrote, and the pods that it had."""
    pytest.importorskip("jgo")
    folder = tmp_path_factory.mktemp("application")
    (folder / "pod.json").write_text(json.dumps(TEMPLATE))
    with LocalKubernetes(NODES, tmp_path_factory.mktemp("pods")) as cluster:
        yield submitted(cluster, folder), cluster


def submitted(cluster: LocalKubernetes, folder: Path) -> Application:
    settings = SETTINGS | {"spark.kubernetes.executor.podTemplateFile": str(folder / "pod.json")}
    options = [word for name, value in settings.items() for word in ("--conf", f"{name}={value}")]
    where = ["--master", f"k8s://http://127.0.0.1:{cluster.port}", "--jars", str(scheduler_jar(spark_home()))]
    command = [str(spark_home().path / "bin" / "spark-submit"), *where, *options, str(APPLICATION)]
    deadline = time.monotonic() + 1200
    with (folder / "log").open("w") as log:
        env = os.environ | {"KUBECONFIG": str(folder / "none")}
        running = subprocess.Popen([*command, str(folder), "lose", "2"], env=env, stdout=log, stderr=log)
        try:
            while running.poll() is None and time.monotonic() < deadline and not cluster.failure:
                lose_a_node(cluster, folder)
                time.sleep(0.5)
        finally:
            running.kill()
    assert running.wait() == 0, f"{cluster.failure}\n{(folder / 'log').read_text()[-20000:]}"
    return Application.of(folder)


def lose_a_node(cluster: LocalKubernetes, folder: Path) -> None:
    """Kill the pods of the last node as soon as the application is ready; new ones run when it has seen that."""
    killed = folder / "killed"
    if (folder / "ready").exists() and not killed.exists():
        cluster.kill_node(NODES[-1])
        killed.with_name("draft").write_text(NODES[-1])
        killed.with_name("draft").rename(killed)
    if (folder / "gone").exists():
        cluster.start_node(NODES[-1])


def test_a_query_is_at_level_hard_under_its_own_url_and_every_row_is_counted_once(
    found: tuple[Application, LocalKubernetes],
) -> None:
    application, cluster = found
    said = application.said
    assert (said["level"], said["mode"]) == ("hard", "client")
    assert said["master"] == f"k8s://http://127.0.0.1:{cluster.port}"
    assert every_row_is_counted_once(application)


def test_pods_of_one_node_are_one_node_and_every_task_runs_where_asked(
    found: tuple[Application, LocalKubernetes],
) -> None:
    application, cluster = found
    assert application.said["hosts"] == list(NODES)
    assert application.said["offer"] == {node: [200.0, "i5", 125e6] for node in NODES}
    before, _, again = application.said["placements"]
    for placement in (before, again):
        assert every_task_ran_where_asked(application, placement)
        ran = application.places(placement["after"], placement["until"])
        places = {place for found in ran.values() for place in found}
        assert places <= {(node, pod) for pod, node in cluster.pods.items()}
        assert len({pod for _, pod in places}) > len(NODES)
        # What the plan leaves on its node stays in its pod.
        assert all(len(pods) == 1 for (stage, _), pods in ran.items() if stage == 1)


def test_tasks_of_pods_that_die_run_elsewhere_and_come_back_with_the_pods_in_their_place(
    found: tuple[Application, LocalKubernetes],
) -> None:
    application, cluster = found
    assert len(cluster.pods) == PODS + PODS // len(NODES)
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

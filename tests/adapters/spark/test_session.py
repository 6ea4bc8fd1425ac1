"""Which sessions can place tasks, and what is said of the others."""

from __future__ import annotations

import importlib.util
import socket
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from adapters.spark.quick_drivers import quick_environment
from adapters.spark.spark_jobs import HOSTS, executor_pid
from headworks.errors import EngineError
from headworks_local.java import find_java
from headworks_local.process import command_line
from headworks_spark.driver.gateway import scala_context
from headworks_spark.driver.jar import _compile, spark_home
from headworks_spark.driver.session import executors, host_of, level_of, refuse_silence, session
from headworks_spark.nodes import nodes, task_threads
from patience import PATIENCE

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from headworks_spark.local.cluster import LocalSpark

ORDINARY_SESSION = """
from pyspark.sql import SparkSession
from headworks.errors import EngineError
from headworks_spark.placement.table import PlacementTable
from headworks_spark.driver.jar import PLACEMENT, scheduler_jar, spark_home
from headworks_spark.driver.session import level_of, session
import headworks_spark
from headworks.model import Topology
from headworks_spark.elastic import scale
from headworks_spark.target import SparkTarget
builder = SparkSession.builder.master("local[1]").config("spark.ui.enabled", "false")
builder = builder.config("spark.plugins", PLACEMENT).config("spark.jars", str(scheduler_jar(spark_home())))
spark = builder.config("spark.dynamicAllocation.enabled", "true").getOrCreate()
with headworks_spark.connect(spark) as connection:
    print("warnings:", *connection.warnings)
print(scale(SparkTarget(spark=spark, topology=Topology(id="t"), scope="t", stages={}), 1, ["h"]).steps)
print("level:", level_of(spark))
def refuse(action):
    try:
        action()
    except EngineError as error:
        print("refused:", error)
refuse(lambda: PlacementTable.of(spark))
spark.stop()
refuse(lambda: level_of(spark))
print("page:", connection._repr_html_())
refuse(lambda: session("spark://127.0.0.1:1"))
"""

CONNECT_SESSION = """
from pyspark.sql import SparkSession
from headworks.errors import EngineError
from headworks_spark.driver.session import level_of
spark = SparkSession.builder.remote("local[1]").getOrCreate()
try:
    level_of(spark)
except EngineError as error:
    print("refused:", error)
spark.stop()
"""


LOST_JVM = """
import sys, time
from pyspark import SparkContext
from headworks_spark.driver.gateway import ignore_end_of_jvm
context = SparkContext("local[1]", conf=None)
if sys.argv[1] == "ours":
    ignore_end_of_jvm(context)
total = context.accumulator(0)
context.parallelize([1, 2], 1).foreach(lambda each: total.add(each))
assert total.value == 3
SparkContext._gateway.proc.kill()
time.sleep(5)
"""

SLOW_EXECUTORS = """
import sys
from adapters.spark.spark_jobs import HOSTS, rotation, three_stages
from headworks_spark.driver.session import session
from headworks_spark.local.cluster import LocalSpark, worker_specs
from headworks_spark.placement.table import PlacementTable
with LocalSpark(worker_specs((1, 1, 1))) as cluster:
    # Offers are made every second by default, and tell the scheduler of an executor before it is launched.
    conf = {"spark.plugins": "SlowPlugin", "spark.headworks.wait": "600s", "spark.scheduler.revive.interval": "600s"}
    conf |= {f"spark.{each}.extraClassPath": sys.argv[1] for each in ("driver", "executor")}
    spark = session(cluster.master_url, hosts=HOSTS, **conf)
    PlacementTable.of(spark).push("group", rotation(1, 3))
    print("hits:", three_stages(spark, "group") == rotation(1, 3))
    spark.stop()
"""


UNHEARD = r"""
import sys
from pathlib import Path
from adapters.spark.spark_jobs import PARTITIONS, patience, three_stages
from headworks_spark.driver.gateway import scala_context
from headworks_spark.driver.session import executors, session
from headworks_spark.local.cluster import LocalSpark, WorkerSpec, worker_specs
from headworks_spark.nodes import nodes
from headworks_spark.placement.table import PlacementTable
folder = Path(sys.argv[1])
units = folder / "units.sh"
units.write_text('#!/bin/sh\necho \'{"name": "gpu", "addresses": ["0", "1"]}\'\n')
units.chmod(0o755)
cluster = LocalSpark(worker_specs((4,)), folder=folder / "cluster")
(folder / "cluster" / "conf").mkdir(parents=True)
settings = f"spark.worker.resource.gpu.amount 2\nspark.worker.resource.gpu.discoveryScript {units}\n"
(folder / "cluster" / "conf" / "spark-defaults.conf").write_text(settings)
conf = {"spark.executor.resource.gpu.amount": "2", "spark.task.resource.gpu.amount": "1"}
with cluster:
    spark = session(cluster.master_url, hosts=["127.0.0.2"], **conf)
    print("capacity:", {each.id: each.capacity.cpu for each in nodes(spark)})
    scala = scala_context(spark.sparkContext)
    bus = list(scala.listenerBus().listeners())
    scala.removeSparkListener(next(each for each in bus if each.getClass().getSimpleName() == "ExecutorProfiles"))
    cluster.workers = (*cluster.workers, WorkerSpec(host="127.0.0.3", cores=1, node="pod"))
    cluster.start_worker("127.0.0.3")
    for _ in patience():
        if "pod" in executors(spark).values():
            break
    table = PlacementTable.of(spark)
    table.push("group", {(stage, index): "pod" for stage in range(3) for index in range(PARTITIONS)})
    print("ran:", set(three_stages(spark, "group").values()), table.left("group"))
    spark.stop()
"""


SLOW_PLUGIN = """
public class SlowPlugin implements org.apache.spark.api.plugin.SparkPlugin {
    public org.apache.spark.api.plugin.DriverPlugin driverPlugin() {
        return null;
    }
    public org.apache.spark.api.plugin.ExecutorPlugin executorPlugin() {
        try {
            Thread.sleep(8000);
        } catch (InterruptedException error) {
            throw new RuntimeException(error);
        }
        return null;
    }
}
"""


def run(script: str, *arguments: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-c", script, *arguments]
    env = quick_environment() | {"PYTHONPATH": str(Path(__file__).parents[2])}
    return subprocess.run(command, capture_output=True, text=True, check=False, timeout=PATIENCE, env=env)


@pytest.mark.spark
def test_a_session_of_ours_is_hard_and_has_an_executor_a_host(spark: SparkSession) -> None:
    assert level_of(spark) == "hard"
    assert sorted(executors(spark).values()) == sorted(HOSTS)
    assert spark.sparkContext.defaultParallelism == 7


@pytest.mark.spark
def test_the_jvms_of_a_session_have_no_flag_of_ours(spark: SparkSession) -> None:
    pids = [spark.sparkContext._gateway.proc.pid, *(executor_pid(spark, host) for host in HOSTS)]
    commands = [command_line(pid) for pid in pids]
    assert all(any(word.startswith("org.apache.spark.") for word in words) for words in commands)
    flags = {word for words in commands for word in words if word.startswith("-X") and not word.startswith("-Xmx")}
    assert flags <= {"-XX:+IgnoreUnrecognizedVMOptions"}, "Spark's own"


@pytest.mark.spark
@pytest.mark.slow
def test_a_node_has_room_for_the_tasks_that_its_cores_can_run(spark: SparkSession) -> None:
    """Cores that are left over are no use to any."""
    conf = scala_context(spark.sparkContext).conf()
    conf.set("spark.task.cpus", "2")
    try:
        offered = {node.id: node.capacity.cpu for node in nodes(spark)}
        assert task_threads(spark) == 2
    finally:
        conf.remove("spark.task.cpus")
    assert offered == dict(zip(HOSTS, (400.0, 200.0, 0.0), strict=True))
    assert task_threads(spark) == 1
    assert [node.capacity.cpu for node in nodes(spark)] == [400.0, 200.0, 100.0]


@pytest.mark.spark
def test_tasks_run_on_the_driver_s_python(spark: SparkSession) -> None:
    found = spark.sparkContext.parallelize([0], 1).map(lambda _: __import__("sys").executable).collect()
    assert found == [sys.executable]


@pytest.mark.spark
@pytest.mark.slow
@pytest.mark.matrix  # on a busy machine every start of a cluster waits so
def test_a_session_waits_for_executors_that_are_registered_and_take_no_tasks_yet(java: None, tmp_path: Path) -> None:
    """An executor registers, then makes its plugins, and only then says that it was launched."""
    source = tmp_path / "SlowPlugin.java"
    source.write_text(SLOW_PLUGIN)
    home = spark_home()
    _compile(home, find_java(home.java), [source], tmp_path)
    done = run(SLOW_EXECUTORS, str(tmp_path))
    assert "hits: True" in done.stdout, done.stderr


@pytest.mark.spark
@pytest.mark.slow
def test_resources_of_tasks_bound_a_node_and_the_backend_tells_what_the_bus_lost(java: None, tmp_path: Path) -> None:
    """Four cores and two GPUs run two tasks of a GPU each; nobody heard of the node that comes later."""
    done = run(UNHEARD, str(tmp_path))
    assert done.stdout.splitlines() == ["capacity: {'127.0.0.2': 200.0}", "ran: {'127.0.0.3'} {}"], done.stderr


@pytest.mark.spark
def test_a_second_session_is_refused(spark: SparkSession, cluster: LocalSpark) -> None:
    with pytest.raises(EngineError, match="runs already in this process"):
        session(cluster.master_url)


@pytest.mark.parametrize(
    ("url", "said"),
    [
        ("local", "`headworks spark up` starts some"),
        ("k8s://https://10.0.0.1", "with the jar that `headworks spark jar` writes"),
        ("sc://node-1:15002", "a client of it calls headworks_spark.connect(session)"),
        ("spark://node-1", "expected spark://HOST:PORT or yarn"),
    ],
)
def test_a_url_that_names_no_cluster_is_wrong_use_with_a_next_step(url: str, said: str) -> None:
    with pytest.raises(
        EngineError, match="is not a standalone cluster, nor yarn: expected spark://HOST:PORT"
    ) as caught:
        session(url)
    assert (said in str(caught.value), caught.value.exit_code) == (True, 2)


def test_a_master_that_does_not_answer_is_told_at_once() -> None:
    with socket.socket() as held:
        held.bind(("127.0.0.1", 0))  # nobody listens there
        port = held.getsockname()[1]
        with pytest.raises(EngineError, match=f"no Spark Master answers .127.0.0.1:{port}: Connection refused"):
            refuse_silence(f"spark://127.0.0.1:{port}")


def test_yarn_needs_a_folder_of_its_settings(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("HADOOP_CONF_DIR", "YARN_CONF_DIR"):
        monkeypatch.delenv(name, raising=False)
    with pytest.raises(EngineError, match="set HADOOP_CONF_DIR or YARN_CONF_DIR to the folder"):
        session("yarn")


@pytest.mark.spark
@pytest.mark.slow
def test_an_ordinary_session_places_nothing_and_is_told_what_to_do(java: None) -> None:
    done = run(ORDINARY_SESSION)
    warned, scaled, level, cannot_place, stopped, page, no_jar = done.stdout.splitlines()
    assert "no task is placed: start it on a standalone cluster" in warned, done.stderr
    assert scaled.count("done=False") == scaled.count("Step(") == 1
    assert "Spark would undo it" in scaled
    assert level == "level: none", done.stderr
    assert "Headworks places no task under local[1]: its task scheduler runs on standalone clusters" in done.stderr
    assert "--jars JAR --conf spark.plugins=headworks.spark.PlacementPlugin" in cannot_place
    assert "was stopped" in stopped
    assert "<li>this Spark session was stopped: " in page
    assert "was started without" in no_jar


@pytest.mark.spark
@pytest.mark.slow
@pytest.mark.matrix  # test_own_jvm.py kills a JVM of ours, and is told of nothing
@pytest.mark.parametrize(("whose", "said"), [("ours", 0), ("PySpark's", 1)])
def test_a_jvm_that_ends_first_leaves_no_traceback_of_accumulators(java: None, whose: str, said: int) -> None:
    done = run(LOST_JVM, whose)
    assert done.returncode == 0
    assert done.stderr.count("Exception occurred during processing of request") == said


@pytest.mark.spark
@pytest.mark.slow
def test_a_connect_server_without_the_jar_is_named(java: None) -> None:
    if importlib.util.find_spec("grpc") is None:
        pytest.skip("needs Spark Connect: pip install 'pyspark[connect]'")
    done = run(CONNECT_SESSION)
    assert "refused: this Connect server has no jar of Headworks's: start it on" in done.stdout, done.stderr


@pytest.mark.parametrize("address", ["127.0.0.2:41234", "127.0.0.2"])
def test_an_executor_without_a_port_yet_has_a_host(address):
    assert host_of(address) == "127.0.0.2"

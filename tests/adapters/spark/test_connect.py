"""Queries of Spark Connect clients on a real server and cluster: Spark's event log says where their tasks ran."""

from __future__ import annotations

import contextlib
import importlib.util
import json
import os
import re
import subprocess
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

import attrs
import psutil
import pytest

from adapters.spark.connect_client import HOSTS, PARTITIONS
from headworks_spark.driver.jar import PLACEMENT, scheduler_jar, spark_home
from headworks_spark.local.cluster import LocalSpark, worker_specs
from patience import PATIENCE

if TYPE_CHECKING:
    from collections.abc import Iterator

pytestmark = [
    pytest.mark.spark,
    pytest.mark.slow,
    pytest.mark.xdist_group("connect"),
    pytest.mark.skipif(importlib.util.find_spec("grpc") is None, reason="needs pyspark[connect]"),
]
CLIENT = Path(__file__).with_name("connect_client.py")
SERVER = "org.apache.spark.sql.connect.service.SparkConnectServer"
TOKEN = "open-sesame"
BEGUN = ("executed", "unchanged")
"""Outcomes of a first round."""
STARTED = "Spark Connect server started at: "
SETTINGS = {
    "spark.plugins": PLACEMENT,
    "spark.sql.adaptive.enabled": "false",
    "spark.cores.max": "6",
    "spark.executor.memory": "600m",
    "spark.driver.host": "127.0.0.1",
    "spark.driver.bindAddress": "127.0.0.1",
    "spark.connect.grpc.binding.address": "127.0.0.1",
    "spark.connect.grpc.binding.port": "0",
    "spark.connect.authenticate.token": TOKEN,
    "spark.eventLog.enabled": "true",
    "spark.eventLog.rolling.enabled": "false",
    "spark.eventLog.compress": "false",
    "spark.ui.enabled": "false",
    # A machine that is slow for a moment is no reason to leave a node.
    "spark.headworks.wait": "600s",
}


@attrs.frozen
class Server:
    """A Connect server, and what it wrote."""

    pid: int
    port: int
    logs: Path

    def url(self, token: str = TOKEN) -> str:
        return f"sc://localhost:{self.port}/;token={token}"

    def batches(self, query: str) -> dict[int, list[list[Any]]]:
        """(stage, partition, host) of the tasks of each batch that has ended, by number: what the event log has."""
        (log,) = self.logs.iterdir()
        events = [json.loads(line) for line in log.read_text().splitlines() if line.endswith("}")]
        jobs = [
            each
            for each in events
            if each["Event"] == "SparkListenerJobStart" and each["Properties"].get("sql.streaming.queryId") == query
        ]
        ended = {each["Job ID"] for each in events if each["Event"] == "SparkListenerJobEnd"}
        tasks: dict[int, list[tuple[int, str]]] = {}
        for each in events:
            if each["Event"] == "SparkListenerTaskEnd":
                info = each["Task Info"]
                tasks.setdefault(each["Stage ID"], []).append((info["Partition ID"], info["Host"]))
        return {
            int(job["Properties"]["streaming.sql.batchId"]): sorted(
                [rank, partition, host]
                for rank, stage in enumerate(sorted(job["Stage IDs"]))
                for partition, host in tasks.get(stage, [])
            )
            for job in jobs
            if job["Job ID"] in ended
        }


@pytest.fixture(scope="module")
def workers(java: None) -> Iterator[LocalSpark]:
    """Three of two cores, with room for executors of one core of another server."""
    if spark_home().version.startswith("3."):
        pytest.skip("needs the Connect of Spark 4")
    specs = tuple(attrs.evolve(each, memory_mb=1400) for each in worker_specs((3, 3, 3)))
    with LocalSpark(specs, timeout=PATIENCE) as cluster:
        yield cluster


@contextlib.contextmanager
def serving(workers: LocalSpark, folder: Path, *jars: Path, **own: str) -> Iterator[Server]:
    """A server with the jar, others and a token; its settings are `SETTINGS` but for some, which have `_` for a dot."""
    logs = folder / "events"
    logs.mkdir(parents=True)
    conf = SETTINGS | {"spark.eventLog.dir": logs.as_uri(), "spark.sql.warehouse.dir": str(folder / "warehouse")}
    conf |= {name.replace("_", "."): value for name, value in own.items()}
    options = [word for name, value in conf.items() for word in ("--conf", f"{name}={value}")]
    paths = ",".join(map(str, [scheduler_jar(spark_home()), *jars]))
    program = str(spark_home().path / "bin" / "spark-submit")
    command = [program, "--class", SERVER, "--master", workers.master_url, "--jars", paths, *options, "spark-internal"]
    env = os.environ | {"PYSPARK_PYTHON": sys.executable}
    with (folder / "said").open("w") as said:
        process = subprocess.Popen(command, env=env, stdout=said, stderr=said, cwd=folder)
    try:
        yield Server(process.pid, port_of(process, folder / "said"), logs)
    finally:
        process.terminate()
        process.wait(PATIENCE)


@pytest.fixture(scope="module")
def server(workers: LocalSpark, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    """A server of three executors of two cores."""
    with serving(workers, tmp_path_factory.mktemp("connect")) as server:
        yield server


def port_of(process: subprocess.Popen[bytes], said: Path) -> int:
    def started() -> int:
        assert process.poll() is None, said.read_text()[-20000:]
        _, found, rest = said.read_text().partition(STARTED)
        return int(rest.splitlines()[0].rpartition(":")[2]) if found and "\n" in rest else 0

    return until(started)


def until(look: Any) -> Any:
    deadline = time.monotonic() + PATIENCE
    while not (found := look()):
        assert time.monotonic() < deadline
        time.sleep(0.2)
    return found


def client(server: Server, what: str) -> subprocess.Popen[str]:
    """A client that runs, and waits for a line."""
    command = [sys.executable, str(CLIENT), server.url(), what]
    env = os.environ | {"PYTHONPATH": str(CLIENT.parents[2])}
    pipe = subprocess.PIPE
    return subprocess.Popen(command, env=env, stdin=pipe, stdout=pipe, stderr=pipe, text=True)


def told(client: subprocess.Popen[str]) -> Any:
    """What a client says next."""
    assert client.stdout is not None
    line = client.stdout.readline()
    assert line, client.communicate()[1][-20000:]
    return json.loads(line)


def run(server: Server, what: str, *words: str) -> list[dict[str, Any]]:
    """Run a client to its end: what it said."""
    command = [sys.executable, str(CLIENT), server.url(), what, *words]
    env = os.environ | {"PYTHONPATH": str(CLIENT.parents[2])}
    done = subprocess.run(command, env=env, capture_output=True, text=True, check=False, timeout=PATIENCE)
    assert done.returncode == 0, done.stdout + done.stderr[-20000:]
    return [json.loads(line) for line in done.stdout.splitlines() if line.startswith("{")]


@pytest.fixture(scope="module")
def moved(server: Server) -> list[dict[str, Any]]:
    return run(server, "moved")


def test_a_query_is_moved_three_times_and_loses_no_row(server: Server, moved: list[dict[str, Any]]) -> None:
    connected, *rounds, heard, counted = moved
    assert connected == {"level": "hard", "warnings": [], "executors": list(HOSTS)}
    assert [(each["outcome"], each["hits"]) for each in rounds] == [("executed", [2 * PARTITIONS] * 2)] * 3
    batches = server.batches(rounds[0]["id"])
    for each in rounds:
        whole = [batches[each["last"] + later] for later in (2, 3)]
        assert whole == [each["asked"]] * 2
    assert len({json.dumps(each["asked"]) for each in rounds}) == 3
    assert all(each["flows"] for each in rounds[1:])
    assert heard == {"heard": [rounds[0]["id"]], "failures": [], "dropped": 0}
    assert counted == {"lost": 0}


def test_two_clients_and_the_death_of_one(server: Server) -> None:
    with client(server, "followed") as dying:
        followed, asked = told(dying), told(dying)
        assert followed["outcome"] in BEGUN
        assert asked["outcome"] == "executed"
        assert {host for _, _, host in asked["asked"]} == {HOSTS[0]}
        other, refused = run(server, "strange", asked["id"])
        assert {host for _, _, host in other["asked"]} == {HOSTS[1]}
        assert other["hits"] == [2 * PARTITIONS] * 2
        assert refused["refused"] == f"no active query of this session has the id {asked['id']}"
        assert refused["active"] == 1
        # What the other asked for, and tried to, moved nothing here.
        batches = server.batches(asked["id"])
        assert [batches[each] for each in range(asked["last"] + 2, max(batches) + 1)] == [asked["asked"]] * (
            max(batches) - asked["last"] - 1
        )
        dying.communicate("die\n", timeout=PATIENCE)
    assert dying.returncode == 9
    died = max(server.batches(asked["id"]))
    # Its lease lapses: batches go on, where Spark puts them.
    until(lambda: any(len({host for _, _, host in tasks}) > 1 for tasks in after(server, asked["id"], died)))


def test_a_server_that_dies_and_one_in_its_place(workers: LocalSpark, tmp_path: Path) -> None:
    """PySpark's own calls try for ten minutes, and each of a connection that is closed would do so."""
    one = contextlib.ExitStack()
    with one, serving(workers, tmp_path / "first", spark_cores_max="1") as server:
        bereft, returned = (one.enter_context(client(server, name)) for name in ("bereft", "returned"))
        for each in (bereft, returned):  # one that still runs where this test fails
            one.callback(each.kill)
        assert all(told(each)["outcome"] in BEGUN for each in (bereft, bereft, returned))
        psutil.Process(server.pid).kill()
        said, _ = bereft.communicate("close\n", timeout=PATIENCE)
        assert (bereft.returncode, json.loads(said)) == (0, {"alive": [False, False]})
        own = {"spark_cores_max": "2", "spark_connect_grpc_binding_port": str(server.port)}
        with serving(workers, tmp_path / "second", **own) as second:
            begins_anew(returned, second)
            _, errors = returned.communicate(timeout=PATIENCE)
        assert returned.returncode == 0, errors
        assert "Traceback" not in errors, errors


def begins_anew(client: subprocess.Popen[str], server: Server) -> None:
    """Its session has ended, which it is told with the next step; another session's query is moved twice."""
    ended, refused = told(client), told(client)
    assert ended["outcome"] == "ended", ended
    for each in (ended["failures"][-1], refused["refused"]):
        assert re.search("connect (again|to it|to one that runs)$", each), each
        assert "\n" not in each
    rounds, counted = (told(client), told(client)), told(client)
    assert counted == {"lost": 0}
    for each in rounds:
        assert (each["outcome"], each["hits"]) == ("executed", [2 * PARTITIONS] * 2)
        batches = server.batches(each["id"])
        assert [batches[each["last"] + later] for later in (2, 3)] == [each["asked"]] * 2


def after(server: Server, query: str, batch: int) -> list[list[list[Any]]]:
    return [tasks for number, tasks in server.batches(query).items() if number > batch]


def test_a_client_hears_nothing_of_others_and_is_told_no_secret(server: Server) -> None:
    heard, again, told, refused = run(server, "curious")
    assert heard == {"heard": []}
    assert again == {"heard": ["SparkListenerJobEnd", "SparkListenerJobStart"]}
    assert told["settings"][0] == ""
    assert told["settings"][1].startswith("spark://")
    assert "was stopped" in refused["refused"]


FLOWS = ("first", "second", "third")
FILES, ROWS = 40, 300
PROJECT = """
from pyspark import pipelines as dp


def numbers():
    lines = spark.readStream.schema("value LONG").option("maxFilesPerTrigger", 1).json(INPUT)
    return lines.repartition(6)


@dp.table
def first():
    return numbers()


@dp.table
def second():
    return numbers()


@dp.table
def third():
    return numbers()
"""


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """Three flows that know nothing of Headworks."""
    (tmp_path / "input").mkdir()
    for number in range(FILES):
        lines = (json.dumps({"value": number * ROWS + row}) for row in range(ROWS))
        (tmp_path / "input" / f"{number}.json").write_text("\n".join(lines))
    (tmp_path / "flows.py").write_text(f"INPUT = {str(tmp_path / 'input')!r}\n{PROJECT}")
    spec = tmp_path / "pipeline.yml"
    storage = (tmp_path / "storage").as_uri()
    spec.write_text(f"name: three\nstorage: {storage}\nlibraries:\n  - glob:\n      include: flows.py\n")
    return spec


def test_the_flows_of_a_declarative_pipeline_are_moved_while_they_run(server: Server, project: Path) -> None:
    pytest.importorskip("pyspark.pipelines.cli", reason="needs pyspark[pipelines] from Spark 4.1 on")
    *rounds, ended = run(server, "pipeline", str(project), *FLOWS)
    # On a slow machine the flows end before the third round, or in the batches after it.
    assert {each["outcome"] for each in rounds} == {"executed"}
    found = [
        (name, server.batches(query).get(last + 2), asked)
        for each in rounds
        for query, (name, last, asked) in each["flows"].items()
    ]
    assert len({name for name, seen, _ in found if seen}) == 3
    assert all(seen in (None, asked) for _, seen, asked in found), found
    assert ended == {"code": 0, "rows": [FILES * ROWS] * 3}


def test_an_error_in_a_file_of_a_project_is_shown_with_its_line(server: Server, project: Path) -> None:
    pytest.importorskip("pyspark.pipelines.cli", reason="needs pyspark[pipelines] from Spark 4.1 on")
    (project.parent / "flows.py").write_text("\nunknown + 1\n")
    program = str(Path(sys.executable).with_name("headworks"))
    command = [program, "run", "--engine", "spark", "--master", server.url(), project.name]
    done = subprocess.run(command, cwd=project.parent, capture_output=True, text=True, check=False, timeout=PATIENCE)
    assert done.returncode == 1
    assert 'flows.py", line 2' in done.stderr
    assert "NameError: name 'unknown' is not defined" in done.stderr
    assert "connected.py" not in done.stderr


def test_who_has_no_token_is_refused_and_there_is_no_other_door(server: Server, moved: list[dict[str, Any]]) -> None:
    command = [sys.executable, str(CLIENT), server.url("wrong"), "moved"]
    env = os.environ | {"PYTHONPATH": str(CLIENT.parents[2])}
    done = subprocess.run(command, env=env, capture_output=True, text=True, check=False, timeout=PATIENCE)
    assert done.returncode == 1
    assert "UNAUTHENTICATED" in done.stderr, done.stderr
    found = psutil.Process(server.pid).net_connections("tcp")
    doors = {each.laddr.port for each in found if each.status == psutil.CONN_LISTEN}
    # Connect, and those of any driver: for executors, and for blocks.
    assert server.port in doors
    assert len(doors) == 3

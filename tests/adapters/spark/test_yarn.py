"""A real YARN on this machine, and applications that spark-submit gives it: rows tell where they were made."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import time
from collections import defaultdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

import attrs
import pytest

from headworks.control.journal import read_journal
from headworks_local.lifetime import lifetime
from headworks_local.process import end, end_group
from headworks_spark.driver.jar import PLACEMENT, scheduler_jar, spark_home
from headworks_spark.yarn.cluster import NODE, LocalYarn, nodes
from headworks_spark.yarn.conf import node_specs
from shell import followed

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

# on a standalone cluster test_placement.py asks the same of placements
pytestmark = [pytest.mark.spark, pytest.mark.slow, pytest.mark.matrix, pytest.mark.timeout(2400)]
APPLICATION = Path(__file__).with_name("yarn_app.py")
HOSTS = ["127.0.0.2", "127.0.0.3"]
PATIENT = {
    "spark.scheduler.minRegisteredResourcesRatio": "1.0",
    "spark.scheduler.maxRegisteredResourcesWaitingTime": "600s",
    "spark.headworks.wait": "600s",
}
"""On a busy machine an application else begins with the executors of one node, and leaves tasks that wait to Spark."""


class BreakableYarn(LocalYarn):
    """A local YARN whose nodes can be killed and started again."""

    def kill_node(self, host: str) -> None:
        """Kill a NodeManager and its containers at once, as a machine that loses power."""
        daemon = self._daemons.pop(host)
        daemon.signal(signal.SIGKILL)
        end_group(daemon.group)
        end([daemon], grace=0)

    def start_node(self, host: str) -> None:
        """Start the NodeManager of this host again, and wait until the ResourceManager knows it."""
        self._spawn(f"node-{host}", host, lifetime().group(), NODE)
        self._wait_for_nodes()


@pytest.fixture(scope="module")
def yarn(java: None) -> Iterator[BreakableYarn]:
    """Two nodes of two vcores: an ApplicationMaster and three executors fill them, so that one node has two."""
    pytest.importorskip("jgo")
    with BreakableYarn(node_specs((2, 2)), timeout=900.0) as cluster:
        yield cluster


@attrs.frozen
class Application:
    """What an application said, and the rows that it wrote."""

    said: dict[str, Any]
    rows: list[dict[str, Any]]

    @classmethod
    def of(cls, folder: Path) -> Application:
        files, said = (folder / "rows").glob("*.json"), folder / "said.json"
        rows = [json.loads(line) for file in files for line in file.read_text().splitlines()]
        return cls(json.loads(said.read_text()) if said.exists() else {}, rows)

    def places(self, after: int, until: int) -> dict[tuple[int, int], set[tuple[str, str]]]:
        """Nodes and containers of the tasks of both stages in some batches."""
        found = defaultdict(set)
        for row in self.rows:
            if after < row["batch"] <= until:
                for stage, kind in enumerate(("source", "state")):
                    found[stage, row[kind]["partition"]].add(tuple(row[kind]["place"].split()))
        return dict(found)


def command(mode: str, *arguments: str, **conf: str) -> list[str]:
    program = spark_home().path / "bin" / "spark-submit"
    settings = PATIENT | {"spark.plugins": PLACEMENT, "spark.ui.enabled": "false"} | conf
    options = [word for name, value in settings.items() for word in ("--conf", f"{name}={value}")]
    where = ["--master", "yarn", "--deploy-mode", mode, "--jars", str(scheduler_jar(spark_home()))]
    return [str(program), *where, *options, str(APPLICATION), *arguments]


def submit(
    yarn: BreakableYarn,
    mode: str,
    folder: Path,
    *arguments: str,
    meanwhile: Callable[[], None] = lambda: None,
    **conf: str,
) -> Application:
    """Run an application to its end; `meanwhile` is called again and again while it runs."""
    words = command(mode, str(folder), *arguments, **conf)
    deadline = time.monotonic() + 1200
    with (folder / "log").open("w") as log:
        running = subprocess.Popen(words, env=os.environ | yarn.client_environment(), stdout=log, stderr=log)
        try:
            while running.poll() is None and time.monotonic() < deadline:
                meanwhile()
                time.sleep(0.5)
        finally:
            running.kill()
    assert running.wait() == 0, (folder / "log").read_text()[-20000:]
    return Application.of(folder)


THREE = {"spark.executor.instances": "3", "spark.executor.cores": "1"}


def every_row_is_counted_once(found: Application) -> bool:
    """The source makes each number once: how many there were of a key follows from the last."""
    return all(row["count"] == (row["last"] - row["key"]) // 100 + 1 for row in found.rows)


def every_task_ran_where_asked(found: Application, placement: dict[str, Any]) -> bool:
    ran = found.places(placement["after"], placement["until"])
    asked = {(stage, index): {host} for stage, index, host in placement["asked"]}
    return {task: {host for host, _ in places} for task, places in ran.items()} == asked


@pytest.mark.parametrize("mode", ["client", "cluster"])
def test_a_query_is_placed_and_moved_on_several_executors_a_node(
    yarn: BreakableYarn, mode: str, tmp_path: Path
) -> None:
    found = submit(yarn, mode, tmp_path, "move", "2", **THREE)
    said = found.said
    assert (said["master"], said["mode"], said["level"]) == ("yarn", mode, "hard")
    assert said["hosts"] == HOSTS
    assert said["driver"] == "" if mode == "client" else said["driver"] in HOSTS
    assert all(every_task_ran_where_asked(found, each) for each in said["placements"])
    containers = defaultdict(set)
    for row in found.rows:
        for kind in ("source", "state"):
            host, container = row[kind]["place"].split()
            containers[host].add(container)
    assert every_row_is_counted_once(found)
    assert max(map(len, containers.values())) > 1
    ended = yarn.ask(f"/apps/{said['application']}")["app"]
    assert (ended["state"], ended["finalStatus"]) == ("FINISHED", "SUCCEEDED")


DYNAMIC = {
    "spark.dynamicAllocation.enabled": "true",
    "spark.dynamicAllocation.shuffleTracking.enabled": "true",
    "spark.dynamicAllocation.shuffleTracking.timeout": "60s",
    "spark.dynamicAllocation.executorIdleTimeout": "60s",
    "spark.dynamicAllocation.minExecutors": "1",
    "spark.dynamicAllocation.initialExecutors": "3",
    "spark.dynamicAllocation.maxExecutors": "3",
    "spark.dynamicAllocation.schedulerBacklogTimeout": "1h",
    "spark.executor.cores": "1",
}
"""Tasks that wait for their node are a backlog to Spark, which would ask for executors again in batches of a second."""


def test_dynamic_allocation_removes_the_executors_of_a_node_that_is_emptied(
    yarn: BreakableYarn, tmp_path: Path
) -> None:
    """Places on a node without executors are passed over at once: nothing waits for what Spark has removed."""
    before: list[int] = []
    after: list[int] = []

    def look() -> None:
        if not (tmp_path / "said.json").exists():
            used = after if (tmp_path / "emptied").exists() else before
            used.append(sum(each["used_vcores"] for each in nodes(yarn.ui_port)))

    found = submit(yarn, "client", tmp_path, "empty", "3", meanwhile=look, **DYNAMIC)
    said, (packed, passed_over) = found.said, found.said["placements"]
    first = said["hosts"][0]
    assert first in said["left_alive"]
    assert every_task_ran_where_asked(found, packed)
    # Whether Spark has started another executor there by then is its own affair.
    assert len(found.places(passed_over["after"], passed_over["until"])) == 12
    assert max(said["seconds"]) < 300, "the bound on waits is twice as long"
    assert every_row_is_counted_once(found)
    # What YARN says: an ApplicationMaster and three executors, and later fewer.
    assert (max(before), min(after) < 4) == (4, True)


def test_tasks_of_a_node_that_dies_run_elsewhere_and_come_back_with_it(yarn: BreakableYarn, tmp_path: Path) -> None:
    killed = tmp_path / "killed"
    restarted: list[str] = []

    def kill_a_node() -> None:
        if (tmp_path / "ready").exists() and not killed.exists():
            (running,) = yarn.ask("/apps?states=RUNNING")["apps"]["app"]
            manager = running["amHostHttpAddress"].partition(":")[0]
            host = next(each for each in HOSTS if each != manager)
            yarn.kill_node(host)
            killed.with_name("draft").write_text(host)
            killed.with_name("draft").rename(killed)
        if (tmp_path / "gone").exists() and not restarted:
            restarted.append(killed.read_text())
            yarn.start_node(restarted[0])

    found = submit(yarn, "client", tmp_path, "lose", "2", meanwhile=kill_a_node, **THREE)
    before, without, again = found.said["placements"]
    (survivor,) = set(HOSTS) - set(restarted)
    assert every_task_ran_where_asked(found, before)
    assert every_task_ran_where_asked(found, again)
    ran = found.places(without["after"], without["until"])
    assert set(ran) == {(stage, index) for stage in range(2) for index in range(6)}
    assert {host for places in ran.values() for host, _ in places} == {survivor}
    assert found.said["left"]["gone"] > 0
    assert every_row_is_counted_once(found)


def test_headworks_run_places_a_query_that_knows_nothing_of_it(yarn: BreakableYarn, tmp_path: Path) -> None:
    journal = tmp_path / "journal.jsonl"
    pace = ("--rounds", "3", "--interval", "0", "--window", "4", "--cooldown", "0", "--deadline", "60")
    words = ("-s", "even", "-o", "rebalance=yes", "--slowdown", "9", *pace, "--journal", str(journal))
    application = (str(APPLICATION), str(tmp_path), "stream", "0")
    command = ("run", "--engine", "spark", "--master", "yarn", *words, *application)
    done = followed(*command, journal=journal, rounds=3, folder=tmp_path, tracebacks=True, **yarn.client_environment())
    first, *later = read_journal(journal)
    assert (first["outcome"], {each["outcome"] for each in later}) == ("executed", {"unchanged"}), done.stderr
    found = Application.of(tmp_path)
    last = max(row["batch"] for row in found.rows)
    # The one before it is whole: the query is stopped in its last batch.
    ran = found.places(last - 2, last - 1)
    asked = {}
    for task, slot in first["plan"]["assignment"].items():
        _, stage, index = task.split("/")
        asked[int(stage.split("-")[1]), int(index)] = {slot.rpartition(":")[0]}
    assert {task: {host for host, _ in at} for task, at in ran.items()} == asked
    assert set.union(*asked.values()) == set(HOSTS)
    assert every_row_is_counted_once(found)
    (ended,) = [each for each in yarn.ask("/apps")["apps"]["app"] if each["name"] == APPLICATION.name]
    assert (ended["state"], ended["finalStatus"]) == ("FINISHED", "SUCCEEDED")

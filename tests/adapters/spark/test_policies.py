"""Policies of the jar: places as by hand, and where tasks of an application that spark-submit starts with it ran."""

from __future__ import annotations

import json
import os
import random
import re
import subprocess
import sys
import zipfile
from fractions import Fraction
from pathlib import Path
from statistics import median
from typing import TYPE_CHECKING, Any

import attrs
import pytest

from headworks_spark.driver.jar import PLACEMENT, scheduler_jar, spark_home
from headworks_spark.local.cluster import LocalSpark, worker_specs
from patience import PATIENCE

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from pyspark.sql import SparkSession

pytestmark = [pytest.mark.spark, pytest.mark.slow]
APPLICATION = Path(__file__).with_name("policy_app.py")
TRIALS = Path(__file__).with_name("trial_app.py")
POLICIES = ("binpack", "balance", "even-state")
CORES = (4, 2, 1)
SETTINGS = {
    "spark.plugins": PLACEMENT,
    "spark.cores.max": "7",
    "spark.executor.memory": "600m",
    "spark.scheduler.minRegisteredResourcesRatio": "1.0",
    "spark.scheduler.maxRegisteredResourcesWaitingTime": "600s",
    "spark.driver.host": "127.0.0.1",
    "spark.driver.bindAddress": "127.0.0.1",
    "spark.eventLog.enabled": "true",
    "spark.eventLog.rolling.enabled": "false",
    "spark.eventLog.compress": "false",
    "spark.ui.enabled": "false",
    # A machine that is slow for a moment is no reason to leave an executor.
    "spark.headworks.wait": "600s",
    "spark.locality.wait.process": "600s",
}


def by_hand(policy: str, was: Sequence[int], slots: Sequence[int], running: Sequence[int]) -> list[int]:
    """The executor of each task as the page on policies says it: -1 for any that has a slot."""
    executors = [index for index, each in enumerate(slots) if each]
    if policy == "even-state":
        return evenly(was, slots, executors)
    if policy == "binpack":
        order = sorted(executors, key=lambda each: (-Fraction(running[each], slots[each]), -slots[each], each))
        free = [each for each in order for _ in range(running[each], slots[each])]
    else:
        turns = ((Fraction(n + 1, slots[each]), -slots[each], each) for each in executors for n in range(slots[each]))
        free = [each for load, _, each in sorted(turns) if load * slots[each] > running[each]]
    return [*free, *[-1] * len(was)][: len(was)]


def evenly(was: Sequence[int], slots: Sequence[int], executors: list[int]) -> list[int]:
    turns = sorted((Fraction(n + 1, slots[each]), -slots[each], each) for each in executors for n in range(len(was)))
    shares = [each for _, _, each in turns[: len(was)]]
    left = list(shares)
    places = [-1] * len(was)
    for task, each in enumerate(was):
        if each in left:
            left.remove(each)
            places[task] = each
    # Those that are left take the last turns of their executors, the lightest first.
    kept = {each: shares.count(each) - left.count(each) for each in left}
    rest = sorted(
        (Fraction(kept[each] + n + 1, slots[each]), -slots[each], each)
        for each in kept
        for n in range(left.count(each))
    )
    others = iter([each for _, _, each in rest])
    return [next(others, -1) if each < 0 else each for each in places]


def java(spark: SparkSession, policy: str, *numbers: Sequence[int]) -> list[int]:
    gateway: Any = spark.sparkContext._gateway
    arrays = []
    for each in numbers:
        arrays.append(gateway.new_array(gateway.jvm.int, len(each)))
        for index, number in enumerate(each):
            arrays[-1][index] = number
    return list(gateway.jvm.headworks.spark.PlacementPolicy.places(policy, *arrays))


@pytest.mark.parametrize("policy", POLICIES)
def test_places_are_those_of_a_scheduler_in_python(spark: SparkSession, policy: str) -> None:
    pick = random.Random(policy)
    for _ in range(200):
        slots = [pick.choice((0, 1, 2, 4, 8)) for _ in range(pick.randrange(7))]
        running = [pick.randint(0, each) for each in slots]
        was = [pick.randrange(-1, len(slots)) for _ in range(pick.randrange(13))]
        assert java(spark, policy, was, slots, running) == by_hand(policy, was, slots, running)


@pytest.mark.parametrize(("times", "least", "most"), [(0.8, 0, 0), (1.0, 0, 0), (1.3, 18, 20)])
def test_only_a_policy_that_makes_jobs_longer_steps_back(
    spark: SparkSession, times: float, least: int, most: int
) -> None:
    """Twenty trials of jobs of 20 s that vary by a tenth, under a policy that makes them so many times as long."""
    jvm: Any = spark.sparkContext._jvm
    pick, over = random.Random(times), 0
    for seed in range(20):
        trial, now = jvm.headworks.spark.PolicyTrial(1.05, seed), 0.0
        while not trial.rests(now):
            alone = trial.leaves(now)
            seconds = 20.0 * pick.lognormvariate(0.0, 0.1) * (1.0 if alone else times)
            now += seconds
            trial.add(alone, seconds, now)
        over += trial.isOver()
        assert trial.leaves(now) is trial.isOver()
        assert trial.rests(10.5 * now) is trial.isOver()
    assert least <= over <= most


@attrs.frozen
class Log:
    """Spark's event log: executors by id with their cores, and stages with what their job was and where tasks ran."""

    said: str
    out: str
    events: list[dict[str, Any]]

    @property
    def cores(self) -> dict[str, int]:
        added = (each for each in self.events if each["Event"] == "SparkListenerExecutorAdded")
        return {each["Executor ID"]: each["Executor Info"]["Total Cores"] for each in added}

    @property
    def died(self) -> str:
        """The executor that was gone first."""
        return next(each["Executor ID"] for each in self.events if each["Event"] == "SparkListenerExecutorRemoved")

    def stages(self, key: str, value: str) -> list[dict[int, str]]:
        """Executor of each task, for each stage of jobs with a property, in the order of their ids."""
        jobs = (each for each in self.events if each["Event"] == "SparkListenerJobStart")
        ids = [stage for job in jobs if job["Properties"].get(key) == value for stage in sorted(job["Stage IDs"])]
        found: dict[int, dict[int, str]] = {each: {} for each in ids}
        for each in self.events:
            if each["Event"] == "SparkListenerTaskEnd" and each["Stage ID"] in found:
                task = each["Task Info"]
                found[each["Stage ID"]][task["Index"]] = task["Executor ID"]
        return [stage for stage in found.values() if stage]

    def seconds(self, group: str) -> list[float]:
        """Seconds of each job of a group, in their order."""
        begun, ended = (
            {each["Job ID"]: each for each in self.events if each["Event"] == f"SparkListenerJob{what}"}
            for what in ("Start", "End")
        )
        jobs = [number for number, job in begun.items() if job["Properties"].get("spark.jobGroup.id") == group]
        return [(ended[each]["Completion Time"] - begun[each]["Submission Time"]) / 1e3 for each in jobs]

    def loads(self, stage: dict[int, str]) -> list[int]:
        """Tasks of a stage on executors with most cores, on those with fewer, and so on."""
        ran = [self.cores[each] for each in stage.values()]
        return [ran.count(each) for each in sorted({*self.cores.values()}, reverse=True)]


@pytest.fixture(scope="module")
def cluster_of_three(java: None) -> Iterator[LocalSpark]:
    with LocalSpark(worker_specs(CORES), timeout=PATIENCE) as cluster:
        yield cluster


def submitted(cluster: LocalSpark, folder: Path, policy: str, *words: str, slowdown: str = "off") -> Log:
    """Submit an application with the jar and settings: a Python of the driver without Headworks."""
    own = {"policy": policy, "slowdown": slowdown}
    conf = SETTINGS | {f"spark.headworks.{name}": value for name, value in own.items()}
    conf["spark.eventLog.dir"] = folder.as_uri()
    options = [word for name, value in conf.items() for word in ("--conf", f"{name}={value}")]
    jar = str(scheduler_jar(spark_home()))
    command = [str(spark_home().path / "bin" / "spark-submit"), "--master", cluster.master_url, "--jars", jar, *options]
    env = os.environ | {"PYSPARK_PYTHON": sys.executable}
    done = subprocess.run([*command, *words], env=env, capture_output=True, text=True, check=False, timeout=PATIENCE)
    assert done.returncode == 0, done.stderr[-20000:]
    (log,) = (each for each in folder.iterdir() if each.is_file())
    return Log(done.stderr, done.stdout, [json.loads(line) for line in log.read_text().splitlines()])


@pytest.fixture(scope="module")
def log(cluster_of_three: LocalSpark, tmp_path_factory: pytest.TempPathFactory) -> Log:
    words = (str(APPLICATION), str(tmp_path_factory.mktemp("state")), worker_specs(CORES)[1].host)
    return submitted(cluster_of_three, tmp_path_factory.mktemp("log"), "binpack", *words)


def test_binpack_leaves_executors_without_tasks(log: Log) -> None:
    stages = log.stages("spark.jobGroup.id", "binpack")
    assert [log.loads(each) for each in stages] == [[2, 0, 0]] * 6
    assert "placed by the policy binpack" in log.said


def test_without_a_policy_spark_gives_each_executor_a_task(log: Log) -> None:
    assert max(log.loads(log.stages("spark.jobGroup.id", "off")[0])) == 1


@pytest.mark.parametrize(("tasks", "loads"), [(3, [2, 1, 0]), (4, [3, 1, 0]), (7, [4, 2, 1])])
def test_balance_spreads_the_tasks_of_a_stage_by_cores(log: Log, tasks: int, loads: list[int]) -> None:
    stages = log.stages("spark.jobGroup.id", f"balance {tasks}")
    assert [log.loads(each) for each in stages] == [loads, loads]


def test_a_running_query_is_left_to_spark_once_the_session_says_off(log: Log) -> None:
    ids = json.loads(log.out.splitlines()[-1])
    stages = log.stages("sql.streaming.queryId", ids["plain"])
    packed = [log.loads(each) for each in stages[: ids["packed"]] if len(each) == 2]
    assert packed == [[2, 0, 0]] * len(packed) != []
    assert log.loads(stages[-1]) != [2, 0, 0]


@pytest.fixture(scope="module")
def states(log: Log) -> list[dict[int, str]]:
    """The executor of each partition, batch after batch; one of two cores dies, and another comes in its place."""
    ids = json.loads(log.out.splitlines()[-1])
    return [each for each in log.stages("sql.streaming.queryId", ids["even"]) if len(each) == 10]


def test_even_state_keeps_partitions_even_and_where_they_are(log: Log, states: list[dict[int, str]]) -> None:
    first = [each for each in states if log.died in each.values()]
    assert len(first) > 3
    assert log.loads(first[0]) == [6, 3, 1]
    assert all(each == first[0] for each in first[:-1])  # tasks of a batch that it dies in run where they may


def test_an_executor_in_place_of_a_dead_one_gets_its_share_of_the_state(log: Log, states: list[dict[int, str]]) -> None:
    new = max(log.cores, key=int)
    last = [each for each in states if new in each.values()][1:]
    assert log.loads(last[0]) == [6, 3, 1]
    assert all(each == last[0] for each in last)


@pytest.fixture
def two_jobs(tmp_path: Path) -> str:
    script = tmp_path / "application.py"
    script.write_text(
        "from pyspark.sql import SparkSession\n"
        "spark = SparkSession.builder.getOrCreate()\n"
        "spark.sparkContext.range(9, numSlices=9).count()\n"
        "spark.range(0, 9, 1, 9).count()\n"
        "spark.stop()\n"
    )
    (tmp_path / "log").mkdir()
    return str(script)


def test_an_unknown_policy_is_named_and_spark_goes_on(
    cluster_of_three: LocalSpark, tmp_path: Path, two_jobs: str
) -> None:
    log = submitted(cluster_of_three, tmp_path / "log", "fastest", two_jobs)
    said = [line for line in log.said.splitlines() if "spark.headworks.policy" in line]
    assert len(said) == 1
    assert "is 'fastest', and policies are [binpack, balance, even-state]" in said[0]
    assert sum(each["Event"] == "SparkListenerTaskEnd" for each in log.events) >= 18


LOOK = "dequeueTaskHelper"
"""A method of Spark that the jar overrides."""


def test_under_a_spark_that_lacks_a_method_of_the_list_nothing_is_placed(
    cluster_of_three: LocalSpark, tmp_path: Path, two_jobs: str
) -> None:
    """The method has another name in this build: Spark alone goes on, and would never ask for a task that waits."""
    place = "org/apache/spark/scheduler/TaskSetManager.class"
    (jar,) = (each for each in spark_home().own_jars if each.name.startswith("spark-core_"))
    altered = tmp_path / "altered" / place
    altered.parent.mkdir(parents=True)
    with zipfile.ZipFile(jar) as archive:
        altered.write_bytes(archive.read(place).replace(LOOK.encode(), LOOK[::-1].encode()))
    path = ("--driver-class-path", str(tmp_path / "altered"))
    log = submitted(cluster_of_three, tmp_path / "log", "binpack", *path, two_jobs)
    (said,) = (line for line in log.said.splitlines() if "Headworks" in line)
    assert "Headworks places no task" in said
    assert f"lacks [org.apache.spark.scheduler.TaskSetManager.{LOOK}]" in said
    assert sum(each["Event"] == "SparkListenerTaskEnd" for each in log.events) >= 18


@pytest.fixture(scope="module")
def trials(cluster_of_three: LocalSpark, tmp_path_factory: pytest.TempPathFactory) -> Log:
    """Jobs that are compared with like ones of Spark alone, of which some run longer under a policy."""
    folder = str(tmp_path_factory.mktemp("locks"))
    return submitted(cluster_of_three, tmp_path_factory.mktemp("log"), "binpack", str(TRIALS), folder, slowdown="1.05")


def test_a_policy_steps_back_from_jobs_that_it_makes_longer(trials: Log) -> None:
    loads = [trials.loads(each) for each in trials.stages("spark.jobGroup.id", "bad binpack")]
    longer = [each == [2, 0, 0] for each in loads]
    assert sum(longer) >= 10
    assert sorted(loads[-1], reverse=True) == [1, 1, 0]
    (said,) = (line for line in trials.said.splitlines() if "the policy binpack steps back" in line)
    assert re.search(r"steps back from jobs like 'collect at .*' for good: \d+ of \d+ pairs took more than 1.05 ", said)
    seconds = list(zip(trials.seconds("bad binpack"), longer, strict=True))
    with_policy, without = (median(each for each, was in seconds if was is how) for how in (True, False))
    assert with_policy > 1.05 * without


def test_a_policy_that_makes_jobs_shorter_goes_on(trials: Log) -> None:
    loads = [trials.loads(each) for each in trials.stages("spark.jobGroup.id", "good binpack")]
    assert loads[-1] == [3, 0, 0]
    assert any(each != [3, 0, 0] for each in loads)
    assert trials.said.count("steps back") == 1

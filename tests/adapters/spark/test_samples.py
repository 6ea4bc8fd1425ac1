"""From what Spark writes, in its own units, to points, rates and totals worked by hand."""

from __future__ import annotations

import json
from types import SimpleNamespace

import attrs
import numpy as np
import pytest

from headworks.model import Component, Flow, Kind, Slot, Stream, TaskSample, Topology
from headworks_spark.events.event import JobEnd, parse
from headworks_spark.events.flows import exchanges, flows
from headworks_spark.events.history import History, Shuffle
from headworks_spark.monitor import Totals, _node_samples, _rows, _task_samples, speeds, totals
from headworks_spark.target import SparkTarget

EPOCH = 1_700_000_000_000
TOPOLOGY = Topology(
    id="t",
    components=(Component(id="in", kind=Kind.SPOUT, parallelism=2), Component(id="out", parallelism=1)),
    streams=(Stream(source="in", target="out"),),
)


def event(kind, **more):
    return parse(json.dumps({"Event": f"SparkListener{kind}", **more}))


def task_end(stage, partition, host, cpu_ms, *, python=None, ok=True, **figures):
    """An attempt as Spark writes it: times in ms, CPU in ns, Python's time as text."""
    reads = {"Remote Bytes Read": figures.get("remote", 0), "Local Bytes Read": figures.get("local", 0)}
    reads |= {"Total Records Read": figures.get("read", 0), "Fetch Wait Time": 0}
    writes = {"Shuffle Bytes Written": 1, "Shuffle Records Written": figures.get("written", 0)}
    timed = [] if python is None else [{"Name": "time to execute Python code", "Update": str(python)}]
    return event(
        "TaskEnd",
        **{
            "Stage ID": stage,
            "Stage Attempt ID": 0,
            "Task End Reason": {"Reason": "Success" if ok else "ExceptionFailure"},
            "Task Info": {
                "Task ID": 10 * stage + partition,
                "Index": partition,
                "Executor ID": "0",
                "Host": host,
                "Launch Time": EPOCH,
                "Finish Time": EPOCH + 900,
                "Locality": "ANY",
                "Failed": not ok,
                "Killed": False,
                "Accumulables": timed,
            },
            "Task Metrics": {
                "Executor Run Time": 800,
                "Executor CPU Time": cpu_ms * 1_000_000,
                "Input Metrics": {"Records Read": figures.get("taken", 0)},
                "Output Metrics": {"Records Written": figures.get("output", 0)},
                "Shuffle Read Metrics": reads,
                "Shuffle Write Metrics": writes,
            },
        },
    )


@pytest.fixture(scope="module")
def jobs():
    """Two micro-batches of 2 s; the sizes of the first one's shuffle are known. Stage 2 is none of the topology."""
    history = History()
    for number, first in enumerate((4, 8)):
        stages = [(first, 2, []), (first + 1, 1, [first]), (first + 2, 1, [])]
        infos = [{"Stage ID": a, "Number of Tasks": b, "Parent IDs": c} for a, b, c in stages]
        start = EPOCH + 2000 * number
        events = [
            event("JobStart", **{"Job ID": number, "Submission Time": start, "Stage Infos": infos}),
            task_end(first, 0, "h1", 100, taken=30, written=20),
            task_end(first, 1, "h2", 999, ok=False),
            task_end(first, 1, "h2", 300, python=200, taken=50, written=60),
            task_end(first + 1, 0, "h1", 500, read=80, remote=700, local=100, output=8),
            task_end(first + 2, 0, "h3", 50),
        ]
        for each in events:
            history.add(each)
        if not number:
            history.add_shuffle(Shuffle(source=first, target=first + 1, sizes=np.array([[10.0], [30.0]])))
        history.add(JobEnd(job=number, time=(start + 2000) / 1000, succeeded=True))
    return tuple(history.jobs)


@pytest.fixture
def target():
    return SparkTarget(spark=None, topology=TOPOLOGY, scope="s", stages={"in": 0, "out": 1})


def test_cpu_is_in_points_and_rows_are_rates(target, jobs):
    assert list(_task_samples(target, jobs, 4.0, {})) == [
        TaskSample(task="t/in/0", cpu=pytest.approx(5.0), received=15.0, emitted=10.0, source="jvm"),
        TaskSample(task="t/in/1", cpu=pytest.approx(25.0), received=25.0, emitted=30.0, source="jvm+python_wall"),
        TaskSample(task="t/out/0", cpu=pytest.approx(25.0), received=40.0, emitted=4.0, source="jvm"),
    ]


def test_nodes_are_charged_for_all_tasks_that_ran_there_while_they_are_alive(jobs):
    found = {each.node: each.cpu for each in _node_samples(jobs, 4.0, {"h1", "h2", "h4"}, {})}
    assert found == pytest.approx({"h1": 30.0, "h2": 25.0, "h4": 0.0})


def test_speed_is_told_by_remembered_batches(target, jobs):
    """0.1 and 0.3 s of CPU in 0.8 s of a stage; two batches are too few."""
    recorder = SimpleNamespace(jobs=lambda scope: jobs * 2 if scope == "s" else ())
    nodes = {"h1", "h2", "h3"}
    assert speeds(target, jobs, nodes) == {}
    assert speeds(attrs.evolve(target, recorder=recorder), jobs, nodes) == {"h1": 0.33, "h2": 1.0}


def test_time_in_python_workers_is_less_work_on_a_slow_node(target, jobs):
    """(0.3 + 0.2 / 2) s of CPU in each of two batches of 2 s."""
    samples = {each.task: each.cpu for each in _task_samples(target, jobs, 4.0, {"h2": 0.5})}
    (_, node) = _node_samples(jobs, 4.0, {"h1", "h2"}, {"h2": 0.5})
    assert (samples["t/in/0"], samples["t/in/1"]) == pytest.approx((5.0, 20.0))
    assert (node.node, node.cpu, node.speed) == ("h2", pytest.approx(20.0), 0.5)


def test_a_batch_whose_shuffle_was_not_read_counts_like_the_others(target, jobs):
    (found,) = exchanges("t", target.stages, jobs, 4.0)
    assert list(flows(found)) == [
        Flow(source="t/in/0", target="t/out/0", tuples=pytest.approx(10.0), bytes=pytest.approx(100.0)),
        Flow(source="t/in/1", target="t/out/0", tuples=pytest.approx(30.0), bytes=pytest.approx(300.0)),
    ]


def test_rows_of_a_component_are_those_of_its_stage(target, jobs):
    assert (_rows(target, jobs, {"in"}, "written"), _rows(target, jobs, {"out", "unknown"}, "read")) == (160, 160)


def test_totals_are_sums_over_batches_and_hits_are_counted_where_something_was_asked(target, jobs):
    plain = Totals(batches=2, seconds=4.0, rows=160, remote=1400, local=200, failed=2)
    assert totals(target, jobs) == plain
    assert plain.share == 0.875
    assert Totals().share == 0.0
    asked = {"t/in/0": Slot("h1", 0), "t/out/0": Slot("h2", 0), "t/gone/0": Slot("h1", 0)}
    found = totals(target, jobs, asked)
    assert (found.asked, found.hits, found.rows) == (4, 2, 160)

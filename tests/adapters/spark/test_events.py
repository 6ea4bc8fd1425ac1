"""Events as Spark 4.3 wrote them, on three nodes: a word count, and flights with an executor killed in between."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path

import attrs
import numpy as np
import pytest

from headworks_spark.discovery import shape
from headworks_spark.events.event import (
    ExecutorAdded,
    ExecutorRemoved,
    JobEnd,
    JobStart,
    QueryEnded,
    QueryProgress,
    StageCompleted,
    StageShape,
    TaskEnd,
    parse,
)
from headworks_spark.events.history import History, Shuffle
from headworks_spark.events.shuffle import shuffle_traffic

LINES = Path(__file__).with_name("events-4.3.jsonl").read_text().splitlines()
EVENTS = [parse(line) for line in LINES]


def of(kind):
    return [event for event in EVENTS if isinstance(event, kind)]


def history(events=EVENTS):
    history = History()
    for event in events:
        if event is not None:
            history.add(event)
    return history


def test_every_event_that_counts_is_read_and_the_others_are_passed_over():
    read = {
        "SparkListenerTaskEnd",
        "SparkListenerJobStart",
        "SparkListenerJobEnd",
        "SparkListenerStageCompleted",
        "SparkListenerExecutorAdded",
        "SparkListenerExecutorRemoved",
    }
    kinds = [json.loads(line)["Event"] for line in LINES]
    assert [event is not None for event in EVENTS] == [kind in read for kind in kinds]
    assert set(kinds) > read


def test_text_that_is_no_event_is_refused():
    with pytest.raises(ValueError, match="Expecting"):
        parse("no event")
    with pytest.raises(KeyError):
        parse('{"Event": "SparkListenerTaskEnd"}')


def test_scope_is_the_local_property_before_the_query():
    words, *flights = [start for start in of(JobStart) if start.scope]
    assert (words.scope, words.query, words.batch) == ("words", None, None)
    assert {start.scope for start in flights} == {"flights"}
    assert [start.batch for start in flights] == [0, 2, 5]
    assert len({start.query for start in flights}) == 1


@pytest.mark.parametrize("name", ["headworks.scope", "sql.streaming.queryId", "spark.jobGroup.id"])
def test_each_scope_property_counts_alone(name):
    document = json.loads(next(line for line in LINES if "SparkListenerJobStart" in line))
    document["Properties"] = {name: "mine"}
    assert parse(json.dumps(document)).scope == "mine"


def test_without_rdds_ordinals_are_ranks_of_stage_ids():
    for start in of(JobStart):
        ids = [stage.stage for stage in start.stages]
        assert [start.ordinal(stage) for stage in sorted(ids)] == list(range(len(ids)))


def joining(left: int, right: int, code: int) -> JobStart:
    """A join of 3 and 5 partitions, with these ids of the stages of its sides; `code` numbers the generated code."""

    def stage(ident, tasks, parents, names):
        scopes = [json.dumps({"id": "1", "name": name}) for _, name in names]
        rdds = [{"RDD ID": rdd, "Scope": scope} for (rdd, _), scope in zip(names, scopes, strict=True)]
        return {"Stage ID": ident, "Number of Tasks": tasks, "Parent IDs": parents, "RDD Info": [*rdds[::-1]]}

    code_of = f"WholeStageCodegen ({code})"
    infos = [
        stage(9, 2, [left, right], [(14, "Exchange"), (15, code_of), (17, code_of)]),
        stage(left, 3, [], [(10, "Scan ExistingRDD"), (11, "Exchange")]),
        stage(right, 5, [], [(12, "Scan ExistingRDD"), (13, "Exchange")]),
    ]
    job = {"Event": "SparkListenerJobStart", "Job ID": 2, "Submission Time": 0, "Stage Infos": infos}
    return parse(json.dumps(job))


@pytest.mark.parametrize(("left", "right", "code"), [(7, 8, 1), (8, 7, 3)])
def test_siblings_are_told_apart_by_their_rdds_whatever_their_ids(left, right, code):
    start = joining(left, right, code)
    assert [start.ordinal(stage) for stage in (left, right, 9)] == [0, 1, 2]
    assert [start.signature(ordinal) for ordinal in range(4)] == [
        "3 3 Scan ExistingRDD,Exchange",
        "3 5 Scan ExistingRDD,Exchange",
        "3 2 Exchange,WholeStageCodegen",
        "",
    ]


STATE = "Exchange,WholeStageCodegen,StateStoreRestore,WholeStageCodegen,StateStoreSave,WholeStageCodegen"


@pytest.mark.parametrize(
    ("operators", "name"),
    [
        (STATE, "stage-0-StateStoreSave"),
        (f"{STATE},MapInArrow", "stage-0-StateStoreSave"),
        ("Exchange,WholeStageCodegen,MapInArrow,WholeStageCodegen", "stage-0-MapInArrow"),
        ("Scan parquet spark_catalog.default.flights,WholeStageCodegen,Exchange", "stage-0-Scan-parquet"),
        ("Scan JDBCRelation((select a / b)) [numPartitions=1],Exchange", "stage-0-Scan-JDBCRelation"),
        ("Exchange,WholeStageCodegen", "stage-0"),
        ("", "stage-0"),
    ],
)
def test_a_stage_is_called_by_its_rank_and_its_telling_operator(operators, name):
    stage = StageShape(stage=1, tasks=2, parents=(), rdd=3, operators=operators)
    found = shape(attrs.evolve(joining(7, 8, 1), stages=(stage,)), "orders/eu\n")
    assert (found.topology.id, dict(found.stages)) == ("orders-eu-", {name: 0})


@pytest.mark.parametrize(("left", "right", "code"), [(7, 8, 1), (8, 7, 3)])
def test_stages_of_the_same_operator_have_names_of_their_own_in_every_batch(left, right, code):
    assert shape(joining(left, right, code), "join").stages == {
        "stage-0-Scan-ExistingRDD": 0,
        "stage-1-Scan-ExistingRDD": 1,
        "stage-2": 2,
    }


def test_a_task_that_is_tried_again_keeps_its_partition():
    document = json.loads(next(line for line in LINES if "SparkListenerTaskEnd" in line))
    document["Task Info"] |= {"Index": 0, "Partition ID": 5}
    assert parse(json.dumps(document)).partition == 5
    document["Task Info"] |= {"Index": 3, "Partition ID": 0}
    assert parse(json.dumps(document)).partition == 0
    document["Task Info"].pop("Partition ID")
    assert parse(json.dumps(document)).partition == 3


def test_a_lost_task_has_no_metrics_and_counts_as_failed():
    document = json.loads(next(line for line in LINES if "SparkListenerTaskEnd" in line))
    document["Task End Reason"] = {"Reason": "ExecutorLostFailure"}
    document["Task Metrics"] = None
    end = parse(json.dumps(document))
    assert (end.failed, end.cpu, end.read) == (True, 0.0, 0)


TASK_END = {
    "Event": "SparkListenerTaskEnd",
    "Stage ID": 3,
    "Stage Attempt ID": 1,
    "Task End Reason": {"Reason": "Success"},
    "Task Info": {
        "Task ID": 40,
        "Index": 4,
        "Partition ID": 5,
        "Executor ID": "7",
        "Host": "127.0.0.2",
        "Launch Time": 1_700_000_000_250,
        "Finish Time": 1_700_000_001_750,
        "Locality": "NODE_LOCAL",
        "Failed": False,
        "Killed": False,
        "Accumulables": [
            {"Name": "time to execute Python code", "Update": "300"},
            {"Name": "time to execute Python code", "Update": 450},
            {"Name": "time to execute Python code", "Value": 9},
            {"Name": "time to run Python workers", "Update": 8000},
        ],
    },
    "Task Metrics": {
        "Executor Run Time": 1250,
        "Executor CPU Time": 500_000_000,
        "Input Metrics": {"Bytes Read": 11, "Records Read": 12},
        "Output Metrics": {"Bytes Written": 13, "Records Written": 14},
        "Shuffle Read Metrics": {
            "Remote Bytes Read": 21,
            "Remote Bytes Read To Disk": 22,
            "Local Bytes Read": 23,
            "Total Records Read": 24,
            "Fetch Wait Time": 250,
        },
        "Shuffle Write Metrics": {"Shuffle Bytes Written": 31, "Shuffle Write Time": 32, "Shuffle Records Written": 33},
    },
}


def test_a_task_is_read_in_seconds_rows_and_bytes():
    assert parse(json.dumps(TASK_END)) == TaskEnd(
        stage=3,
        attempt=1,
        task=40,
        partition=5,
        executor="7",
        host="127.0.0.2",
        started=1_700_000_000.25,
        ended=1_700_000_001.75,
        locality="NODE_LOCAL",
        failed=False,
        run=1.25,
        cpu=0.5,
        waited=0.25,
        python=0.75,
        taken=12,
        output=14,
        local=23,
        remote=21,
        read=24,
        written=33,
        written_bytes=31,
    )


@pytest.mark.parametrize(
    ("info", "reason"), [({"Failed": True}, "Success"), ({"Killed": True}, "Success"), ({}, "TaskKilled")]
)
def test_what_failed_was_killed_or_did_not_succeed_counts_as_failed(info, reason):
    document = {
        **TASK_END,
        "Task Info": {**TASK_END["Task Info"], **info},
        "Task End Reason": {"Reason": reason},
    }
    assert parse(json.dumps(document)).failed


def test_times_of_jobs_and_executors_are_seconds():
    job = {"Event": "SparkListenerJobStart", "Job ID": 2, "Submission Time": 1_700_000_000_500}
    job["Stage Infos"] = [{"Stage ID": 3, "Number of Tasks": 4, "Parent IDs": [1, 2]}]
    job["Properties"] = {"streaming.sql.batchId": "9", "sql.streaming.queryId": "q"}
    stages = (StageShape(stage=3, tasks=4, parents=(1, 2)),)
    found = parse(json.dumps(job))
    assert found == JobStart(job=2, time=1_700_000_000.5, stages=stages, scope="q", query="q", batch=9)
    end = {"Event": "SparkListenerJobEnd", "Job ID": 2, "Completion Time": 1_700_000_002_500}
    for result, succeeded in (("JobSucceeded", True), ("JobFailed", False)):
        found = parse(json.dumps({**end, "Job Result": {"Result": result}}))
        assert found == JobEnd(job=2, time=1_700_000_002.5, succeeded=succeeded)
    added = {"Event": "SparkListenerExecutorAdded", "Executor ID": "1", "Timestamp": 1_700_000_000_100}
    added["Executor Info"] = {"Host": "h", "Total Cores": 3}
    assert parse(json.dumps(added)) == ExecutorAdded(executor="1", host="h", cores=3, time=1_700_000_000.1)
    removed = {"Event": "SparkListenerExecutorRemoved", "Executor ID": "1", "Timestamp": 1_700_000_000_200}
    removed["Removed Reason"] = "lost"
    assert parse(json.dumps(removed)) == ExecutorRemoved(executor="1", reason="lost", time=1_700_000_000.2)


def test_tasks_of_an_executor_that_names_its_node_ran_there():
    """As in a pod, whose address says nothing of its machine; one without a name has its host."""
    history = History()
    names = {"10.1.0.1": {"NODE": "node-a", "MACHINE_TYPE": "i5"}, "10.1.0.2": {}}
    for number, (host, attributes) in enumerate(names.items()):
        added = {"Event": "SparkListenerExecutorAdded", "Executor ID": str(number), "Timestamp": 1}
        added["Executor Info"] = {"Host": host, "Total Cores": 1, "Attributes": attributes}
        history.add(parse(json.dumps(added)))
    assert {each.host for each in history.executors.values()} == {"node-a", "10.1.0.2"}
    stages = (StageShape(stage=0, tasks=2, parents=()),)
    history.add(JobStart(job=0, time=0.0, stages=stages, scope="q", query=None, batch=None))
    for partition, host in enumerate(names):
        more = {"attempt": 0, "task": partition, "partition": partition, "executor": str(partition)}
        history.add(TaskEnd(stage=0, host=host, started=0, ended=1, locality="ANY", failed=False, **more))
    history.add(JobEnd(job=0, time=1.0, succeeded=True))
    assert [end.host for end in history.jobs[0].tasks] == ["node-a", "10.1.0.2"]


def test_a_stage_that_failed_says_why():
    stage = {"Event": "SparkListenerStageCompleted", "Stage Info": {"Stage ID": 4, "Stage Attempt ID": 2}}
    assert parse(json.dumps(stage)) == StageCompleted(stage=4, attempt=2)
    stage["Stage Info"]["Failure Reason"] = "lost a block"
    assert parse(json.dumps(stage)) == StageCompleted(stage=4, attempt=2, reason="lost a block")


def test_python_time_is_read_from_either_accumulable():
    ends = [end for end in of(TaskEnd) if end.python is not None]
    assert len(ends) > 20
    line = next(line for line in LINES if "time to execute Python code" in line)
    exact = parse(line)
    wider = parse(line.replace("time to execute Python code", "renamed"))
    assert exact.python < wider.python
    assert parse(line.replace("time to", "renamed")).python is None


def test_executors_come_and_go():
    assert Counter(event.host for event in of(ExecutorAdded)) >= Counter(["127.0.0.2", "127.0.0.3", "127.0.0.4"])
    (removed,) = of(ExecutorRemoved)
    live = history().executors
    assert removed.executor not in live
    assert {event.host for event in live.values()} == {"127.0.0.2", "127.0.0.3", "127.0.0.4"}
    assert {event.cores for event in live.values()} == {4, 2, 1}


def test_jobs_hold_every_partition_once():
    *finished, stopped = [job for job in history().jobs if job.start.scope == "flights"]
    assert len(finished) == 2
    for job in finished:
        for ordinal in (0, 1):
            assert [end.partition for end in job.stage(ordinal)] == list(range(12))
        assert job.stage(2) == ()
    assert not stopped.end.succeeded
    assert any(end.failed for end in of(TaskEnd))


def test_what_was_written_is_what_was_read():
    for job in history().jobs:
        if job.start.scope == "flights" and not job.failed and job.end.succeeded:
            assert sum(end.written for end in job.stage(0)) == sum(end.read for end in job.stage(1))
            written = sum(end.written_bytes for end in job.stage(0))
            assert written == sum(end.local + end.remote for end in job.stage(1))


def words():
    (job,) = [job for job in history().jobs if job.start.scope == "words"]
    return job


def test_shuffles_of_a_stage_name_the_successful_map_ids():
    job = words()
    before = EVENTS[: next(i for i, event in enumerate(EVENTS) if isinstance(event, StageCompleted))]
    (exchange,) = history(before).shuffles_written(StageCompleted(stage=job.stage(0)[0].stage, attempt=0))
    target, tasks, maps = exchange
    assert (target, tasks) == (job.stage(1)[0].stage, 6)
    assert maps == {end.task: end.partition for end in job.stage(0)}


def test_a_stage_that_failed_names_nothing_as_it_is_tried_again():
    job = words()
    before = EVENTS[: next(i for i, event in enumerate(EVENTS) if isinstance(event, StageCompleted))]
    broken = StageCompleted(stage=job.stage(0)[0].stage, attempt=0, reason="lost a block")
    assert history(before).shuffles_written(broken) == ()


RAN = parse(json.dumps(TASK_END))
TWO_STAGES = JobStart(
    job=1,
    time=100.0,
    stages=(StageShape(stage=3, tasks=2, parents=(2,)), StageShape(stage=2, tasks=1, parents=())),
    scope=None,
    query=None,
    batch=None,
)
DONE = JobEnd(job=1, time=102.5, succeeded=True)


def test_attempts_that_failed_are_counted_and_only_the_successful_one_is_kept():
    lost = [attrs.evolve(RAN, task=number, failed=True) for number in (38, 39)]
    never = attrs.evolve(RAN, task=41, partition=6, failed=True)
    (job,) = history([TWO_STAGES, *lost, RAN, never, DONE]).jobs
    assert (job.failed, job.tasks, job.seconds) == (3, (RAN,), 2.5)


def test_stages_are_counted_by_their_ids_in_whatever_order_spark_names_them():
    first = attrs.evolve(RAN, stage=2, partition=0)
    (job,) = history([TWO_STAGES, RAN, first, DONE]).jobs
    assert (job.stage(0), job.stage(1), job.stage(2)) == ((first,), (RAN,), ())


def test_an_exchange_is_of_the_tasks_of_its_own_stage():
    mine, reader = attrs.evolve(RAN, stage=2, task=7, partition=0), attrs.evolve(RAN, task=8, partition=1)
    live = history([TWO_STAGES, mine, reader])
    assert live.shuffles_written(StageCompleted(stage=2, attempt=0)) == ((3, 2, {7: 0}),)
    assert live.shuffles_written(StageCompleted(stage=3, attempt=0)) == ()


def test_nothing_of_a_finished_job_is_kept_but_the_job():
    live = history([TWO_STAGES, RAN, DONE])
    live.add(RAN)
    live.add(DONE)
    assert (len(live.jobs), live._running, live._job_of) == (1, {}, {})


def test_micro_batches_are_remembered_as_they_were_reported():
    figures = {"name": "n", "begin": 7.0, "rows": 5, "done": 2.0, "seconds": 0.5, "add": 0.25}
    batches = [QueryProgress(query="q", run="r", batch=number, **figures) for number in (1, 2)]
    assert list(history(batches).progress) == batches


def test_a_batch_is_over_when_its_query_has_reported_it_and_a_job_of_no_query_by_itself():
    report = QueryProgress(query="q", run="r", name="n", batch=2, begin=7.0, rows=5, done=2.0, seconds=0.5, add=0.25)
    live = history([TWO_STAGES, RAN, DONE])
    (alone,) = live.jobs
    second = attrs.evolve(alone, start=attrs.evolve(TWO_STAGES, query="q", batch=2))
    assert (live.complete(alone), live.complete(second)) == (True, False)
    live.add(attrs.evolve(report, batch=1))
    live.add(attrs.evolve(report, query="p"))
    assert not live.complete(second)
    live.add(report)
    assert live.complete(second)
    assert not live.complete(attrs.evolve(second, start=attrs.evolve(second.start, batch=3)))


def test_the_latest_hundred_ends_of_queries_are_remembered():
    live = history([QueryEnded(query="q", run=f"{number}") for number in range(103)])
    assert list(live.ended) == [f"{number}" for number in range(3, 103)]


def test_of_a_shuffle_that_was_written_twice_the_later_one_counts():
    start = next(event for event in of(JobStart) if event.scope == "words")
    source, target = sorted(stage.stage for stage in start.stages)[:2]
    made = history([start])
    for size in (1.0, 2.0):
        made.add_shuffle(Shuffle(source=source, target=target, sizes=np.full((6, 6), size)))
    made.add(JobEnd(job=start.job, time=start.time, succeeded=True))
    ((shuffle,),) = [job.shuffles for job in made.jobs]
    assert shuffle.sizes.max() == 2.0


def shuffled(sizes):
    job = words()
    source, target = job.stage(0)[0].stage, job.stage(1)[0].stage
    return attrs.evolve(job, shuffles=(Shuffle(source=source, target=target, sizes=sizes),))


def test_an_exchange_is_scaled_to_what_the_readers_measured():
    sizes = np.random.default_rng(1).uniform(1, 100, (6, 6))
    job = shuffled(sizes)
    (exchange,) = shuffle_traffic(job)
    assert (exchange.source, exchange.target) == (0, 1)
    assert exchange.bytes.sum(axis=0) == pytest.approx([end.local + end.remote for end in job.stage(1)])
    assert exchange.rows.sum(axis=0) == pytest.approx([end.read for end in job.stage(1)])
    assert exchange.bytes / exchange.bytes.sum(axis=0) == pytest.approx(sizes / sizes.sum(axis=0))


def test_an_exchange_whose_partitions_are_not_its_tasks_is_left_out():
    assert list(shuffle_traffic(shuffled(np.ones((6, 12))))) == []


def test_an_empty_shuffle_moves_nothing():
    (exchange,) = shuffle_traffic(shuffled(np.zeros((6, 6))))
    assert not exchange.bytes.any()

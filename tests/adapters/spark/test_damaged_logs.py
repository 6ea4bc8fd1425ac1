"""Event logs as they are found: other slots than cores, parts that are missing, and lines that nobody wrote so."""

from __future__ import annotations

import json
import os
import random

import pytest
from click.testing import CliRunner

from adapters.spark.spark_logs import LINES, compress
from headworks.cli.main import headworks
from headworks.control.guards import running
from headworks.documents import read
from headworks.errors import HeadworksError
from headworks.model import Request
from headworks_spark.events.eventlog import replay
from headworks_spark.replay.estimate import with_executors, with_placement
from headworks_spark.replay.queries import logged_queries
from headworks_spark.replay.request import request_of

DAMAGED = int(os.environ.get("HEADWORKS_DAMAGED_LOGS", "300"))
"""Logs that are damaged at random."""
WRONG = (None, [], {}, "x", "12", -1, 0, 1.5, 10**9, 10**400, 1e308, float("nan"), True, {"a": None}, [[1]], "\ud800")
METRICS = json.loads(next(line for line in LINES if '"SparkListenerTaskEnd"' in line))["Task Metrics"]


def made(*, cores=4, cpus=1, gpus=None, amount=1.0, added=True, others=0, tasks=8, seconds=1, slots=1):
    """A log of two executors, whose one stage runs in waves of so many tasks an executor at once."""
    settings = {"spark.task.cpus": str(cpus)}
    if gpus is not None:
        settings["spark.task.resource.gpu.amount"] = str(amount)
    yield {"Event": "SparkListenerEnvironmentUpdate", "Spark Properties": settings}
    for name in ("0", "1") if added else ():
        gpu = {"gpu": {"name": "gpu", "addresses": [str(each) for each in range(gpus or 0)]}}
        info = {"Host": f"node-{name}", "Total Cores": cores, "Resources": gpu if gpus is not None else {}}
        yield {"Event": "SparkListenerExecutorAdded", "Timestamp": 0, "Executor ID": name, "Executor Info": info}
    end = 1000 + 1000 * seconds * tasks // (2 * slots)
    for job in range(1 + others):
        stage = {"Stage ID": job, "Number of Tasks": tasks, "Parent IDs": []}
        properties = {"spark.jobGroup.id": "nightly" if job == 0 else f"other-{job}"}
        begun = {"Job ID": job, "Submission Time": 1000, "Stage Infos": [stage], "Properties": properties}
        yield {"Event": "SparkListenerJobStart", **begun}
    for job in range(1 + others):
        for task in range(tasks):
            wave = task // (2 * slots)
            times = {"Launch Time": 1000 + 1000 * seconds * wave, "Finish Time": 1000 + 1000 * seconds * (wave + 1)}
            place = {"Executor ID": str(task % 2), "Host": f"node-{task % 2}", "Locality": "ANY", "Index": task}
            info = {
                "Task ID": job * tasks + task,
                "Failed": False,
                "Killed": False,
                "Accumulables": [],
                **place,
                **times,
            }
            head = {"Stage ID": job, "Stage Attempt ID": 0, "Task End Reason": {"Reason": "Success"}}
            yield {"Event": "SparkListenerTaskEnd", **head, "Task Info": info, "Task Metrics": METRICS}
        result = {"Job ID": job, "Completion Time": end, "Job Result": {"Result": "JobSucceeded"}}
        yield {"Event": "SparkListenerJobEnd", **result}


def run(path, *words):
    return CliRunner().invoke(headworks, ["import", "spark-eventlog", str(path), *map(str, words)])


def figures(path, events, *words):
    path.write_text("".join(f"{json.dumps(each)}\n" for each in events))
    done = run(path, "--query", "nightly", "--json", *words)
    assert done.exit_code == 0, done.output
    return json.loads(done.stdout)


@pytest.mark.parametrize(
    ("log", "slots"),
    [
        ({"cpus": 4}, 1),
        ({"cpus": 2, "slots": 2}, 2),
        ({"gpus": 1}, 1),
        ({"gpus": 4, "amount": 2.0, "slots": 2}, 2),
        ({"gpus": 1, "amount": 0.5, "slots": 2}, 2),
        ({"added": False, "slots": 2}, 2),
    ],
)
def test_slots_are_what_a_task_leaves_of_every_resource(tmp_path, log, slots):
    file = tmp_path / "request.json"
    found = figures(tmp_path / "app-1", made(**log), "-O", file)
    now = found["executors"][0]
    assert (now["executors"], now["slots"]) == (2, 2 * slots)
    assert now["seconds"] == found["seconds"] == 8 / (2 * slots)
    assert found["marks"] == []
    cpus = log.get("cpus", 1)
    request = read(file, Request)
    assert {node.capacity.cpu for node in request.cluster.nodes} == {100.0 * slots * cpus}
    assert {part.threads for part in request.topologies[0].components} == {cpus}


def test_a_job_group_that_is_no_id_has_a_request(tmp_path):
    path, file = tmp_path / "app-1", tmp_path / "request.json"
    path.write_text("".join(f"{json.dumps(each)}\n" for each in made()).replace("nightly", "nightly/all\\u0007"))
    done = run(path, "-O", file)
    assert done.exit_code == 0, done.output
    assert "\\x07" in done.stdout
    assert [each.id for each in read(file, Request).topologies] == ["nightly-all-"]


def test_executors_of_another_profile_are_not_those_of_a_stage(tmp_path):
    events = list(made(cpus=2, slots=2))
    needs = {"cpus": {"Resource Name": "cpus", "Amount": 4.0}}
    profile = {"Event": "SparkListenerResourceProfileAdded", "Resource Profile Id": 1, "Task Resource Requests": needs}
    info = {"Host": "node-2", "Total Cores": 8, "Resource Profile Id": 1}
    third = {"Event": "SparkListenerExecutorAdded", "Timestamp": 0, "Executor ID": "2", "Executor Info": info}
    found = figures(tmp_path / "app-1", [profile, third, *events])
    assert (found["executors"][0]["executors"], found["executors"][0]["slots"]) == (2, 4)


def test_jobs_beside_a_batch_are_told_where_they_change_its_time(tmp_path):
    found = figures(tmp_path / "app-1", made(others=1))
    assert found["executors"][0]["seconds"] == 1.0
    (mark,) = found["marks"]
    assert "a batch took 4.00 s and is computed as 1.00 s" in mark
    assert "other jobs ran in 100% of its time" in mark


@pytest.mark.parametrize(
    "text",
    [
        '[{"id": "app-1"}]',
        "null",
        "12",
        '"x"',
        "26/11/29 12:38:25 WARN Utils: Set SPARK_LOCAL_IP",
        '{"topologies": [{"id": "a"}]}',
        '{"Event":"SparkListenerTaskEnd","Stage ID":0,"Task Type":"ResultTask","Task Info":{"Task ID":0}}',
    ],
)
def test_a_file_that_is_no_event_log_is_one_sentence(tmp_path, text):
    path = tmp_path / "app-1"
    path.write_text(f"{text}\n" * 3)
    done = run(path)
    assert isinstance(done.exception, HeadworksError)
    assert done.exception.exit_code == 2
    assert "0 of its 3 lines are events as Spark 2.1 and later write them" in str(done.exception)


def damaged(lines, chance):
    """The lines, a few of which are lost, cut off, exchanged, or have another value somewhere."""
    lines = list(lines)
    for _ in range(chance.randint(1, 6)):
        at = chance.randrange(len(lines))
        how = chance.random()
        if how < 0.1:
            del lines[at]
        elif how < 0.2:
            lines[at] = lines[at][: chance.randrange(len(lines[at]))]
        elif how < 0.3:
            lines.insert(at, lines[chance.randrange(len(lines))])
        else:
            try:
                document = json.loads(lines[at])
            except ValueError:
                continue
            spoil(document, chance)
            lines[at] = json.dumps(document)
    return lines


def spoil(document, chance):
    """Put a wrong value somewhere in a document."""
    while True:
        keys = list(document) if isinstance(document, dict) else list(range(len(document)))
        if not keys:
            return
        key = chance.choice(keys)
        if not isinstance(document[key], (dict, list)) or not document[key] or chance.random() < 0.2:
            document[key] = chance.choice(WRONG)
            return
        document = document[key]


@pytest.mark.parametrize("lines", [LINES, [f"{json.dumps(each)}\n" for each in made(others=1)]], ids=["run", "made"])
def test_a_damaged_log_is_figures_or_one_error(tmp_path, lines):
    path = tmp_path / "app-1"
    for seed in range(DAMAGED // 2):
        path.write_text("".join(f"{line.rstrip()}\n" for line in damaged(lines, random.Random(seed))))
        is_figures_or_one_error(path, seed)


@pytest.mark.parametrize("codec", ["zstd", "lz4"])
def test_a_damaged_file_of_a_compressed_log_is_figures_or_one_error(tmp_path, codec):
    path = tmp_path / f"app-1.{codec}"
    whole = compress(path, "".join(LINES), codec).read_bytes()
    for seed in range(DAMAGED // 6):
        chance, data = random.Random(seed), bytearray(whole)
        for _ in range(chance.randint(1, 6)):
            data[chance.randrange(len(data))] = chance.randrange(256)
        path.write_bytes(data[: chance.choice((None, chance.randrange(len(data))))])
        is_figures_or_one_error(path, seed)


def is_figures_or_one_error(path, seed):
    """A log is refused, or what is found in it is text and finite."""
    try:
        log = replay(path)
        for query in logged_queries(log):
            request = request_of(query, log.executors)
            found = [with_executors(query, log.executors, count).seconds for count in (None, 3)]
            if not running(request).unplaced:
                found.append(with_placement(query, log.executors, request.assignment))
            shown = [*found, query.seconds, query.name, [(each.stage, each.skew) for each in query.stages()]]
            json.dumps(shown, allow_nan=False, ensure_ascii=False).encode()
    except HeadworksError:
        return
    except Exception as error:
        raise AssertionError(seed) from error

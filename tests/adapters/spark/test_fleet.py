"""`headworks import spark-eventlog --fleet`: verdicts by hand, every form of a log, and passes that are ended."""

from __future__ import annotations

import json
import os
from functools import partial
from pathlib import Path

import pyarrow.parquet as pq
import pytest
from click.testing import CliRunner

from adapters.spark.dying import dies_at
from adapters.spark.spark_logs import LINES, RECORDED, compress
from headworks import PluginHost
from headworks.cli.main import headworks
from headworks.errors import HeadworksError
from headworks_spark.events import eventlog
from headworks_spark.events.eventlog import replay
from headworks_spark.replay.fleet import ROWS, _in_processes, _written
from headworks_spark.replay.fleet_report import TABLE
from headworks_spark.replay.queries import logged_queries
from headworks_spark.replay.verdict import judged, prediction_error

SCHEDULERS = ("resource-aware", "dstorm")


def executors(count, at=0, first=0):
    return [
        {
            "Event": "SparkListenerExecutorAdded",
            "Timestamp": at,
            "Executor ID": str(first + each),
            "Executor Info": {"Host": f"h{first + each}", "Total Cores": 1},
        }
        for each in range(count)
    ]


def job(number, begin, tasks, end):
    """A job of one stage: executor, begin and end of each task in milliseconds."""
    stage = {"Stage ID": number, "Number of Tasks": len(tasks), "Parent IDs": []}
    yield {"Event": "SparkListenerJobStart", "Job ID": number, "Submission Time": begin, "Stage Infos": [stage]}
    for index, (executor, launched, finished) in enumerate(tasks):
        info = {"Task ID": 100 * number + index, "Index": index, "Executor ID": str(executor), "Host": f"h{executor}"}
        info |= {"Launch Time": launched, "Finish Time": finished, "Locality": "ANY", "Accumulables": []}
        yield {
            "Event": "SparkListenerTaskEnd",
            "Stage ID": number,
            "Stage Attempt ID": 0,
            "Task End Reason": {"Reason": "Success"},
            "Task Info": info | {"Failed": False, "Killed": False},
        }
    result = {"Result": "JobSucceeded"}
    yield {"Event": "SparkListenerJobEnd", "Job ID": number, "Completion Time": end, "Job Result": result}


def write(path, *events):
    path.write_text("".join(f"{json.dumps(each)}\n" for each in events))
    return path


def test_a_verdict_is_that_of_a_hand(tmp_path):
    """Eight executors, four tasks of 1, 1, 1 and 5 s: a second of scheduling in each of eight jobs of 6 s."""
    lengths = (1000, 1000, 1000, 5000)
    jobs = []
    for number in range(8):
        begin = 6000 * number
        tasks = [(each, begin + 500, begin + 500 + length) for each, length in enumerate(lengths)]
        jobs += job(number, begin, tasks, begin + 6000)
    start = {"Event": "SparkListenerApplicationStart", "App Name": "nightly"}
    version = {"Event": "SparkListenerLogStart", "Spark Version": "3.5.1"}
    log = write(tmp_path / "app-1", version, start, *executors(8), *jobs)
    found = judged(str(log), SCHEDULERS, PluginHost.load())
    assert (found.fault, found.application, found.spark, found.batches) == ("", "nightly", "3.5.1", 8)
    assert (found.executors, found.seconds, found.computed) == (8, 6.0, 5.0)
    # 8 executors for 48 s, of which tasks took 8 * 8 s
    assert found.executor_hours == pytest.approx(8 * 48 / 3600)
    assert found.idle_hours == pytest.approx((8 * 48 - 8 * 8) / 3600)
    assert (found.skew, found.slots, found.remote, found.share) == (3.0, 0.0, 0.0, 1.0)
    # On two executors the long task begins after a second: six.
    assert found.plan == "4 executors, not 8"
    assert (found.planned_seconds, found.planned_hours) == (6.0, pytest.approx(4 * 48 / 3600))
    assert (found.expected, found.error, found.own_error) == (6.0, 0.0, None)
    assert found.marks == ("the earlier half has too few batches to predict itself",)


@pytest.mark.parametrize(("last", "error"), [(1200, 0.0), (1600, 0.25)])
def test_the_later_half_is_predicted_with_its_own_executors(tmp_path, last, error):
    """Four tasks of a second on two executors, then on four: 2.2 s with 0.2 s of scheduling become 1.2 s."""
    jobs = []
    for number in range(4):
        begin = 3000 * number
        pairs = [(each % 2, begin + 1000 * (each // 2), begin + 1000 + 1000 * (each // 2)) for each in range(4)]
        jobs += job(number, begin, pairs, begin + 2200)
    jobs += executors(2, at=11900, first=2)
    for number in range(4, 8):
        begin = 3000 * number
        jobs += job(number, begin, [(each, begin, begin + 1000) for each in range(4)], begin + last)
    read = replay(write(tmp_path / "app-1", *executors(2), *jobs))
    (query,) = logged_queries(read)
    assert prediction_error(query, read.executors) == pytest.approx(error)


@pytest.mark.parametrize(("lengths", "own", "error"), [((5, 5, 5, 5), 0.0, 0.0), ((5, 8, 8, 8), 3 / 8, 1.5 / 8)])
def test_a_half_that_does_not_predict_itself_is_marked_before_the_answer_is_known(tmp_path, lengths, own, error):
    """Quarters of four jobs each, of so many seconds. The median of the earlier half lies between two quarters."""
    jobs = [
        event
        for number, end in enumerate(9000 * number + 1000 * lengths[number // 4] for number in range(16))
        for event in job(number, 9000 * number, [(0, 9000 * number, end)], end)
    ]
    found = judged(str(write(tmp_path / "app-1", *executors(1), *jobs)), SCHEDULERS, PluginHost.load())
    assert (found.own_error, found.error) == pytest.approx((own, error))
    assert any("does not predict itself" in each for each in found.marks) is bool(own)


def forms(folder):
    """The recorded log in forms that are read, and what is no log."""
    text = "".join(LINES)
    (folder / "app-plain").write_text(text)
    compress(folder / "app-packed.zstd", text)
    compress(folder / "app-packed.lz4", text, "lz4")
    rolling = folder / "below" / "eventlog_v2_app-rolling"
    rolling.mkdir(parents=True)
    (rolling / "events_1_app-rolling").write_text("".join(LINES[:60]))
    (rolling / "events_2_app-rolling").write_text("".join(LINES[60:]))
    (rolling / "appstatus_app-rolling").touch()
    dated = folder / "below" / "databricks"
    dated.mkdir()
    compress(dated / "eventlog-2021-06-15--15-00.gz", "".join(LINES[:40]), "gzip")
    (dated / "eventlog-2021-06-15--16-00").write_text("".join(LINES[40:60]))
    (dated / "eventlog").write_text("".join(LINES[60:]))
    (folder / "app-unfinished.inprogress").write_text(text + '{"Event": "SparkLis')
    good = {"app-plain", "app-packed.zstd", "app-packed.lz4", "eventlog_v2_app-rolling", "app-unfinished.inprogress"}
    good.add("databricks")
    (folder / "app-noise").write_bytes(os.urandom(5000))
    (folder / "app-empty").touch()
    (folder / "app-other.snappy").write_bytes(b"\x82SNAPPY\0")
    (folder / "app-first").write_text(LINES[0])
    (folder / "app-gone").symlink_to(folder / "nowhere")
    return good, {"app-noise", "app-empty", "app-other.snappy", "app-first", "app-gone"}


def run(folder, output, code=0, more=()):
    words = ["import", "spark-eventlog", str(folder), "--fleet", "-O", str(output), "--json", *more]
    done = CliRunner().invoke(headworks, words)
    assert done.exit_code == code, done.output
    return done


def rows(output):
    return {Path(each["log"]).name: each for each in pq.read_table(output / "fleet.parquet").to_pylist()}


def test_each_form_of_a_log_is_judged_and_each_damaged_one_is_named(tmp_path):
    logs, output = tmp_path / "logs", tmp_path / "report"
    logs.mkdir()
    good, damaged = forms(logs)
    figures = json.loads(run(logs, output).stdout)
    assert (figures["logs"], figures["unread"]) == (11, 5)
    found = rows(output)
    assert {name for name, each in found.items() if not each["fault"]} == good
    assert {name for name, each in found.items() if each["fault"]} == damaged
    alone = CliRunner().invoke(headworks, ["import", "spark-eventlog", str(RECORDED), "--json"])
    single = json.loads(alone.stdout)
    for name in good:
        assert found[name]["seconds"] == single["seconds"]
        assert found[name]["computed"] == single["executors"][0]["seconds"]
        assert found[name]["batches"] == single["batches"]
    assert any("lines are no events" in each for each in found["app-unfinished.inprogress"]["marks"])
    page = (output / "fleet.html").read_text()
    assert all(name in page for name in damaged)
    assert "compressed by snappy" in found["app-other.snappy"]["fault"]


def test_a_pass_goes_on_where_one_before_it_was_ended(tmp_path):
    logs, output = tmp_path / "logs", tmp_path / "report"
    logs.mkdir()
    for each in "abc":
        (logs / each).write_text("".join(LINES))
    run(logs, output)
    first, second, third = (output / ROWS).read_text().splitlines()
    kept = json.loads(first) | {"query": "kept"}
    # The second line is of a log that changes, and the third was cut off.
    changed = Path(json.loads(second)["log"])
    changed.write_text("".join(LINES[:80]))
    (output / ROWS).write_text(f"{json.dumps(kept)}\n{second}\n{third[:50]}")
    run(logs, output)
    found = rows(output)
    assert found[Path(kept["log"]).name]["query"] == "kept"
    assert found[changed.name]["size"] == changed.stat().st_size
    assert len(found) == 3
    # A line that was cut off spoils none of those after it.
    assert {each.log for each in _written(output / ROWS)} == {str(each) for each in logs.iterdir()}


def test_other_schedulers_are_another_pass(tmp_path):
    logs, output = tmp_path / "logs", tmp_path / "report"
    logs.mkdir()
    (logs / "a").write_text("".join(LINES))
    run(logs, output)
    assert rows(output)["a"]["asked"] == "resource-aware, dstorm"
    run(logs, output, more=("-s", "even"))
    assert rows(output)["a"]["asked"] == "even"


def test_names_that_are_no_text_end_no_report(tmp_path):
    start = {"Event": "SparkListenerApplicationStart", "App Name": "half \ud800 of a character"}
    tasks = [(0, 0, 1000)]
    write(tmp_path / "app", start, *executors(1), *job(0, 0, tasks, 1000))
    (tmp_path / os.fsdecode(b"app-\xff")).touch()
    run(tmp_path, tmp_path / "report")
    names = {each["log"]: each["application"] for each in pq.read_table(tmp_path / "report/fleet.parquet").to_pylist()}
    assert names == {str(tmp_path / "app"): r"half \ud800 of a character", str(tmp_path / r"app-\udcff"): ""}


def test_a_report_that_cannot_be_written_is_said(tmp_path):
    (tmp_path / "app").write_text("".join(LINES))
    (tmp_path / "report" / TABLE).mkdir(parents=True)
    done = run(tmp_path, tmp_path / "report", code=1)
    assert "cannot be written" in str(done.exception)
    assert isinstance(done.exception, HeadworksError)


def test_a_line_without_an_end_stays_small(tmp_path, monkeypatch):
    monkeypatch.setattr(eventlog, "LONGEST", 100_000)
    (tmp_path / "app").write_text("x" * 1_000_000)
    assert max(map(len, eventlog.read_lines(tmp_path / "app"))) < 200_000


def test_a_process_that_dies_ends_no_pass():
    logs = [str(each) for each in range(12)]
    found = {each.log: each.fault for each in _in_processes(logs, partial(dies_at, lost="5"))}
    assert sorted(found, key=int) == logs
    assert {log for log, fault in found.items() if fault} == {"5"}


@pytest.mark.parametrize(
    "words", [["--fleet"], ["--fleet", "-O", "REPORT", "--query", "a"], ["--fleet", "-O", "REPORT", "-s", "nobody"]]
)
def test_a_mistake_is_one_sentence(tmp_path, words):
    words = [str(tmp_path / "report") if each == "REPORT" else each for each in words]
    done = CliRunner().invoke(headworks, ["import", "spark-eventlog", str(tmp_path), *words])
    assert done.exit_code == 2
    assert ("--fleet takes a folder" in done.output) is ("nobody" not in words)
    assert not (tmp_path / "report").exists()


def test_a_folder_without_a_log_is_said(tmp_path):
    done = run(tmp_path, tmp_path / "report", code=1)
    assert "holds no event log" in str(done.exception)

"""Event logs in an object store, on a server that speaks S3: the same jobs as from the same files on this machine."""

from __future__ import annotations

import gzip
import json
import random

import pyarrow.parquet as pq
import pytest
from click.testing import CliRunner

from adapters.spark.spark_logs import LINES, RECORDED, compress
from headworks.cli.main import headworks
from headworks.errors import DocumentError, EngineError
from headworks.samples import objects
from headworks_spark.events.eventlog import read_lines
from headworks_spark.replay.fleet import ROWS

PLAIN = list(read_lines(RECORDED))


def put(client, key, data):
    client.put_object(Bucket="results", Key=key, Body=data)


@pytest.mark.parametrize("codec", ["", "zstd", "lz4"])
def test_a_log_of_one_file_is_read(s3, tmp_path, monkeypatch, codec):
    # So that a file takes several requests.
    monkeypatch.setattr(objects, "READ_AHEAD", 10_000)
    file = compress(tmp_path / "log", "".join(LINES), codec) if codec else RECORDED
    name = f"logs/app-1.{codec}" if codec else "logs/app-1"
    put(s3, name, file.read_bytes())
    put(s3, "logs/app-10", b"of another application")
    assert list(read_lines(f"s3://results/{name}")) == PLAIN
    assert list(read_lines(f"s3a://results/{name}")) == PLAIN


@pytest.mark.parametrize("place", ["logs/eventlog_v2_app-1", "logs/eventlog_v2_app-1/", ""])
def test_a_rolling_log_is_read_in_the_order_of_its_numbers(s3, tmp_path, place):
    folder = f"{place.strip('/')}/".lstrip("/")
    cut = len(LINES) // 2
    put(s3, f"{folder}appstatus_app-1", b"")
    for number, some in ((10, LINES[cut:]), (9, LINES[:cut])):
        put(s3, f"{folder}events_{number}_app-1.zstd", compress(tmp_path / "part", "".join(some)).read_bytes())
    put(s3, f"{folder}older/events_1_app-0.zstd", b"")
    assert list(read_lines(f"s3://results/{place}")) == PLAIN


def test_the_command_says_the_same_of_a_url(s3):
    put(s3, "logs/app-1", RECORDED.read_bytes())
    here, there = (
        json.loads(CliRunner().invoke(headworks, ["import", "spark-eventlog", str(log), "--json"]).stdout)
        for log in (RECORDED, "s3://results/logs/app-1")
    )
    assert (here.pop("log"), there.pop("log")) == (str(RECORDED), "s3://results/logs/app-1")
    assert here == there


def judged(folder, output, code=0):
    words = ["import", "spark-eventlog", str(folder), "--fleet", "-O", str(output), "--json"]
    done = CliRunner().invoke(headworks, words)
    assert done.exit_code == code, done.output
    return pq.read_table(output / "fleet.parquet").to_pylist() if code == 0 else str(done.exception or done.output)


def fleet(s3, tmp_path):
    cut = len(LINES) // 2
    put(s3, "logs/app-1", RECORDED.read_bytes())
    put(s3, "logs/below/app-2.zstd", compress(tmp_path / "part", "".join(LINES)).read_bytes())
    put(s3, "logs/eventlog_v2_app-3/", b"")
    put(s3, "logs/eventlog_v2_app-3/appstatus_app-3", b"")
    put(s3, "logs/eventlog_v2_app-3/events_1_app-3", "".join(LINES[:cut]).encode())
    put(s3, "logs/eventlog_v2_app-3/events_2_app-3", "".join(LINES[cut:]).encode())
    put(s3, "logs/dated/eventlog", "".join(LINES[cut:]).encode())
    put(s3, "logs/dated/eventlog-2021-06-15--15-00.gz", gzip.compress("".join(LINES[:cut]).encode()))
    put(s3, "logs/noise", b"no event")
    put(s3, "other/app-4", RECORDED.read_bytes())


def test_a_fleet_of_logs_is_judged_as_on_this_machine(s3, tmp_path):
    fleet(s3, tmp_path)
    (tmp_path / "here").mkdir()
    (tmp_path / "here" / "app-1").write_bytes(RECORDED.read_bytes())
    (here,) = judged(tmp_path / "here", tmp_path / "report")
    found = {each["log"]: each for each in judged("s3a://results/logs", tmp_path / "remote")}
    good = {f"s3a://results/logs/{each}" for each in ("app-1", "below/app-2.zstd", "eventlog_v2_app-3", "dated")}
    assert {log for log, each in found.items() if not each["fault"]} == good
    assert set(found) - good == {"s3a://results/logs/noise"}
    own = {"log", "size", "changed"}
    for each in good:
        assert {k: v for k, v in found[each].items() if k not in own} == {k: v for k, v in here.items() if k not in own}


def test_a_second_pass_judges_what_is_new_and_what_could_not_be_read(s3, tmp_path):
    fleet(s3, tmp_path)
    judged("s3a://results/logs", tmp_path / "report")
    rows = [json.loads(each) for each in (tmp_path / "report" / ROWS).read_text().splitlines()]
    kept = [each | {"query": "kept", "fault": each["fault"] and "kept"} for each in rows]
    (tmp_path / "report" / ROWS).write_text("".join(f"{json.dumps(each)}\n" for each in kept))
    put(s3, "logs/below/app-2.zstd", compress(tmp_path / "part", "".join(LINES[:80])).read_bytes())
    found = {each["log"].rpartition("/")[2]: each for each in judged("s3a://results/logs/", tmp_path / "report")}
    assert {name for name, each in found.items() if each["query"] == "kept"} == {"app-1", "eventlog_v2_app-3", "dated"}
    assert "kept" not in found["noise"]["fault"]


@pytest.mark.parametrize(
    ("folder", "said"),
    [
        ("s3a://results/none", "holds no event log"),
        ("s3a://other/logs", "s3a://other cannot be used"),
        ("dbfs://logs", "is of no object store that is known"),
    ],
)
def test_a_fleet_that_is_not_there_is_told(s3, tmp_path, folder, said):
    assert said in judged(folder, tmp_path / "report", code=1)
    assert not (tmp_path / "report" / "fleet.html").exists()


def test_a_report_stays_on_this_machine(s3, tmp_path):
    fleet(s3, tmp_path)
    done = CliRunner().invoke(
        headworks, ["import", "spark-eventlog", "s3a://results/logs", "--fleet", "-O", "s3a://r/x"]
    )
    assert done.exit_code == 2
    assert "a folder of this machine as -O" in " ".join(done.output.split())


def test_what_is_not_there_is_told(s3):
    put(s3, "logs/app-1", b"")
    with pytest.raises(DocumentError, match="s3://results/logs is not an event log"):
        list(read_lines("s3://results/logs"))
    with pytest.raises(EngineError, match="s3://other cannot be used"):
        list(read_lines("s3://other/logs"))


def test_a_log_that_goes_while_it_is_read_is_no_log_that_was_cut_off(s3, tmp_path, monkeypatch):
    monkeypatch.setattr(objects, "READ_AHEAD", 10_000)
    noise = random.Random(0).randbytes(1_000_000).hex()
    put(s3, "app-1.zstd", compress(tmp_path / "log", f"{LINES[0]}{noise}").read_bytes())
    lines = read_lines("s3://results/app-1.zstd")
    next(lines)
    s3.delete_object(Bucket="results", Key="app-1.zstd")
    with pytest.raises(EngineError, match="s3://results cannot be used"):
        list(lines)

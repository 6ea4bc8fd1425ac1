"""Logs in each form that Spark writes them, made from recorded events."""

from __future__ import annotations

import json
import random

import pytest

from adapters.spark.spark_logs import LINES, RECORDED, compress
from headworks.errors import DocumentError
from headworks_spark.driver.usage import Usage, node_usage, parse_usage
from headworks_spark.events.event import QueryEnded, QueryProgress, parse
from headworks_spark.events.eventlog import read_lines, replay


def jobs(path):
    found = replay(path)
    assert found.unread == 0
    return [(job.start, job.end, job.tasks) for job in found.history.jobs]


def test_a_plain_log_is_read():
    assert list(read_lines(RECORDED)) == [line.rstrip("\n") for line in LINES]
    assert len(jobs(RECORDED)) > 3


@pytest.mark.parametrize(("suffix", "codec"), [(".zstd", "zstd"), (".lz4", "lz4"), (".zstd.inprogress", "zstd")])
def test_a_compressed_log_is_read(tmp_path, suffix, codec):
    assert jobs(compress(tmp_path / f"app-1{suffix}", "".join(LINES), codec)) == jobs(RECORDED)


def test_a_rolling_log_is_read_in_the_order_of_its_numbers(tmp_path):
    cut = len(LINES) // 2
    folder = tmp_path / "eventlog_v2_app-1"
    folder.mkdir()
    (folder / "appstatus_app-1").touch()
    compress(folder / "events_10_app-1.zstd", "".join(LINES[cut:]))
    compress(folder / "events_9_app-1.zstd", "".join(LINES[:cut]))
    assert jobs(folder) == jobs(RECORDED)


def test_a_compacted_part_stands_for_those_before_it(tmp_path):
    cut = len(LINES) // 2
    (tmp_path / "events_1_app-1").write_text("".join(LINES[: cut // 2]))
    (tmp_path / "events_2_app-1").write_text("".join(LINES[cut // 2 : cut]))
    (tmp_path / "events_3_app-1").write_text("".join(LINES[cut:]))
    (tmp_path / "events_2_app-1.compact").write_text("".join(LINES[:cut]))
    assert jobs(tmp_path) == jobs(RECORDED)


@pytest.mark.parametrize("codec", ["zstd", "lz4"])
@pytest.mark.parametrize("share", [0.5, 0.9])
def test_a_log_that_was_cut_off_ends_there(tmp_path, codec, share):
    chance = random.Random(0)
    others = [f'{{"Event": "other", "noise": "{chance.randbytes(500).hex()}"}}\n' for _ in range(2000)]
    whole = compress(tmp_path / f"app-1.{codec}", "".join([*LINES, *others]), codec).read_bytes()
    cut = tmp_path / f"app-2.{codec}"
    cut.write_bytes(whole[: int(share * len(whole))])
    found = replay(cut)
    assert [(job.start, job.end, job.tasks) for job in found.history.jobs] == jobs(RECORDED)
    assert share - 0.1 < found.lines / (len(LINES) + len(others)) <= share + 0.02
    assert found.unread == 1


def test_lines_that_are_no_events_are_counted(tmp_path):
    path = tmp_path / "app-1"
    path.write_text("".join(LINES[:5]) + "half a li")
    assert (replay(path).lines, replay(path).unread) == (6, 1)


def test_what_is_no_log_is_told(tmp_path):
    with pytest.raises(DocumentError, match="is not an event log"):
        replay(tmp_path)
    (tmp_path / "app-1.lz4").write_bytes(LINES[0].encode())
    with pytest.raises(DocumentError, match="is not compressed as Spark compresses by lz4"):
        replay(tmp_path / "app-1.lz4")
    (tmp_path / "app-1.snappy").touch()
    with pytest.raises(DocumentError, match=r"compression\.codec=zstd"):
        replay(tmp_path / "app-1.snappy")


QUERY = "org.apache.spark.sql.streaming.StreamingQueryListener$"


def test_the_batches_of_a_query_are_read_and_its_end():
    progress = {
        "id": "q",
        "runId": "r",
        "name": None,
        "batchId": 7,
        "timestamp": "2017-07-14T02:40:00.250Z",
        "durationMs": {"addBatch": 100, "triggerExecution": 250},
        "observedMetrics": {"lat": {"avg": 3.5}},
        "sources": [
            {"numInputRows": 10, "inputRowsPerSecond": 5.0, "processedRowsPerSecond": 40.0},
            {"numInputRows": 2, "inputRowsPerSecond": "NaN"},
        ],
    }
    event = parse(json.dumps({"Event": f"{QUERY}QueryProgressEvent", "progress": progress}))
    assert event == QueryProgress(
        query="q",
        run="r",
        name="",
        batch=7,
        begin=1_500_000_000.25,
        rows=12,
        done=40.0,
        seconds=0.25,
        add=0.1,
        observed={"lat": {"avg": 3.5}},
    )
    ended = {"Event": f"{QUERY}QueryTerminatedEvent", "id": "q", "runId": "r", "exception": "broke"}
    event = parse(json.dumps(ended))
    assert event == QueryEnded(query="q", run="r", reason="broke")


def test_the_use_of_nodes_is_the_difference_of_two_looks():
    before, after = (
        parse_usage("0 1000 500 2048 1\n1 1000 0 1024 2\n"),
        parse_usage("0 3000 1500 4096 3\n1 1000 0 1024 2\n"),
    )
    assert before["0"] == Usage(time=1.0, cpu=0.5, memory=2.0, processes=1)
    (sample,) = node_usage(before, after, {"0": "a", "1": "b", "2": "c"})
    assert (sample.node, sample.cpu, sample.memory, sample.source) == ("a", 50.0, 4.0, "processes")

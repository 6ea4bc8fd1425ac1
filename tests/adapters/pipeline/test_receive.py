"""Samples through a real broker: what monitors send, a stream of Spark writes to a folder, each file once."""

from __future__ import annotations

import json
import time
import uuid
from contextlib import closing
from pathlib import Path

import pytest

pytest.importorskip("jgo")
pytest.importorskip("confluent_kafka")
pytest.importorskip("duckdb")

import pyarrow as pa
from confluent_kafka.admin import AdminClient
from confluent_kafka.cimpl import NewTopic
from pyarrow import parquet

import small_requests
from headworks.documents import write
from headworks.errors import EngineError
from headworks.problem import Problem
from headworks.samples.store import SampleTopic, TopicAddress
from headworks_local.kafka.broker import LocalKafka
from headworks_local.maven import resolve_locked
from headworks_pipeline.receive import Received, receive, write_files
from headworks_storm.nimbus.rounds import Rounds
from headworks_storm.samples.writer import SampleWriter
from headworks_storm.workers.collector import Collector
from manager_kafka import SILENT, send
from manager_kafka import receive as messages
from patience import PATIENCE
from pipeline_command import LOCAL, pipeline_here
from pipeline_tables import same
from shell import called, headworks, running
from storm_reports import report_line
from storm_rounds import round_text, supervisor, word_count

LOCK = Path(__file__).with_name("kafka-4.2.0.txt")
engine = [pytest.mark.spark, pytest.mark.network]
HOUR = "day=2023-11-14/hour=22"
BROKEN = f"{HOUR}/samples-0123456789abcdef.parquet"
STRANGE = (
    *(None, b"\xff", b"../evil", b"_states/../../evil", b"evil\n"),
    b"day=2023-11-14/hour=22/compacted-1.parquet",
    b"day=2023-11-14/hour=24/samples-0123456789abcdef.parquet",
    BROKEN.encode() + b"\n",
)
"""Keys that are no paths of files of samples."""


@pytest.fixture(scope="module")
def broker(java):
    with LocalKafka() as made:
        yield made


@pytest.fixture
def topic(broker):
    where = TopicAddress(broker.bootstrap, f"samples-{uuid.uuid4().hex[:8]}")
    admin = AdminClient({"bootstrap.servers": broker.bootstrap}, logger=SILENT)
    admin.create_topics([NewTopic(where.topic, 1)])[where.topic].result(PATIENCE)
    return where


def report(numbers, *places):
    """Workers report to a collector, which sends what they say to folders and topics."""
    rounds = Rounds(lambda request: Problem.of(request).plan([-1] * Problem.of(request).n), shadow=True)
    rounds.answer(round_text([supervisor("s1")], [word_count()]))
    with Collector(token="t") as collector:
        writers = [SampleWriter(collector, each, rounds) for each in places]
        for each in writers:
            each.__enter__()
        for number in numbers:
            collector.take(report_line(number=number, time=1_700_000_000_000 + 5000 * number))
        for each in writers:
            each.__exit__()


def words(topic, folder):
    jars = ",".join(map(str, resolve_locked(LOCK)))
    return ("pipeline", "receive", topic, folder, *LOCAL, "--conf", f"spark.jars={jars}", "--json")


def files(folder):
    found = {each.relative_to(folder).as_posix(): each for each in folder.rglob("*") if each.is_file()}
    return {name: each for name, each in found.items() if name.startswith(("day=", "_states"))}


class TestOnABroker:
    pytestmark = engine

    def test_what_workers_report_comes_back_as_knowledge_each_file_once(self, broker, topic, tmp_path):
        here, there = tmp_path / "here", tmp_path / "there"
        report(range(1, 20), here, topic)
        with running(*words(topic, there), "--follow", "0.5", folder=tmp_path) as (process, _):
            deadline = time.monotonic() + PATIENCE
            while len(files(there)) < 2:
                assert process.poll() is None
                assert time.monotonic() < deadline
                time.sleep(0.1)
            process.kill()
        before = {name: each.stat().st_mtime_ns for name, each in files(there).items()}
        report(range(20, 40), here, topic)
        for key in STRANGE:
            send(broker, topic.topic, [b"x"], key=key)
        send(broker, topic.topic, [b"no Parquet"], key=BROKEN.encode())
        (here / BROKEN).write_bytes(b"no Parquet")
        done = headworks(*words(topic, there), timeout=PATIENCE)
        assert done.returncode == 0, done.stderr
        found = files(there)
        assert json.loads(done.stdout) == {"files": 2, "states": 1, "refused": len(STRANGE)}
        assert {name: found[name].stat().st_mtime_ns for name in before} == before
        sent = messages(broker, topic.topic, len(found) + len(STRANGE))
        assert {name: each.read_bytes() for name, each in found.items()} == {
            each.key().decode(): each.value() for each in sent if each.key() not in STRANGE
        }
        assert not list(tmp_path.rglob("evil*"))
        for name in ("here", "there"):
            pipeline_here(tmp_path / name, tmp_path / f"{name}-learnt", "--max-rejected", 50)
        learnt = json.loads((tmp_path / "there-learnt" / "knowledge.json").read_text())
        assert (learnt["samples"], learnt["rejected"]) == (6 * 39, {"half-written file": 1})
        assert learnt["traffic"]
        assert same(tmp_path / "here-learnt", tmp_path / "there-learnt")

    def test_a_topic_that_is_not_there_is_one_sentence(self, broker, tmp_path):
        done = headworks(*words(f"kafka://{broker.bootstrap}/absent", tmp_path / "raw"), timeout=PATIENCE)
        assert done.returncode == 4, done.stderr
        assert f"the stream of kafka://{broker.bootstrap}/absent ended: " in done.stderr
        assert "UnknownTopicOrPartition" in done.stderr
        assert len(done.stderr.splitlines()) <= 2

    @pytest.mark.matrix
    def test_a_broker_that_is_not_there_is_one_sentence(self, tmp_path):
        done = headworks(*words("kafka://127.0.0.1:1/t", tmp_path / "raw"), timeout=PATIENCE)
        assert done.returncode == 4, done.stderr
        assert "the stream of kafka://127.0.0.1:1/t ended: " in done.stderr
        assert "Timeout" in done.stderr

    def test_a_reader_that_is_missing_is_named(self, spark, tmp_path):
        with pytest.raises(EngineError, match=r"--packages org\.apache\.spark:spark-sql-kafka-0-10_2\.1[0-9]:[0-9.]+`"):
            receive(spark, TopicAddress("a:1", "t"), tmp_path, interval=None, received=Received())


class TestTheSender:
    pytestmark = pytest.mark.network

    def test_a_run_sends_its_windows_and_states(self, broker, topic, tmp_path):
        request = tmp_path / "request.json"
        write(request, small_requests.word_count())
        pace = ("--rounds", 2, "--window", 1, "--interval", 1)
        done = called("run", "--engine", "sim", "-s", "even", *pace, "--samples", topic, request)
        assert done.returncode == 0, done.stderr
        found = messages(broker, topic.topic, 3)
        rows = [parquet.read_table(pa.BufferReader(each.value())) for each in found if b"hour=" in each.key()]
        assert {name for each in rows for name in each["engine"].to_pylist()} == {"sim"}
        assert b"_states/2000" in b" ".join(each.key() for each in found)

    def test_samples_wait_for_a_broker_that_is_gone(self, broker, topic):
        with closing(SampleTopic(topic)) as sink:
            broker.kill()
            try:
                sink.put([("a", b"1")])
            finally:
                broker.restart()
            assert [each.value() for each in messages(broker, topic.topic, 1)] == [b"1"]

    @pytest.mark.matrix
    def test_samples_that_no_broker_took_are_counted(self, broker, topic):
        sink = SampleTopic(TopicAddress(topic.bootstrap, topic.topic, {"message.timeout.ms": "1000"}))
        broker.kill()
        try:
            sink.put([("a", b"1"), ("b", b"2")])
            with pytest.raises(EngineError, match="did not take 2 files of samples: "):
                sink.close()
        finally:
            broker.restart()

    def test_a_topic_that_is_not_there_is_one_sentence(self, broker):
        done = called("run", "--engine", "sim", "--samples", f"kafka://{broker.bootstrap}/absent", "request.json")
        assert (done.returncode, done.stdout) == (4, "")
        assert "has no topic absent: make it first" in done.stderr


@pytest.mark.parametrize(
    ("place", "more", "said"),
    [
        ("kafka://127.0.0.1:1/t", (), "no broker answers at 127.0.0.1:1"),
        ("kafka://here/t", (), "'here' is not a HOST:PORT of a broker"),
        ("kafka://a:1", (), "'' is not a name of a topic"),
        ("kafka://a:1/x y", (), "'x y' is not a name of a topic"),
        ("s3a://bucket/x", (), "s3a://bucket/x is not a topic"),
        ("folder", ("--kafka-conf", "CONF"), "--kafka-conf is for a topic"),
        ("kafka://a:1/t", ("--kafka-conf", "CONF"), "line 1 of CONF is not a NAME=VALUE"),
    ],
)
def test_a_mistake_in_where_samples_go_is_one_sentence(tmp_path, monkeypatch, place, more, said):
    monkeypatch.chdir(tmp_path)
    Path("CONF").write_text("no setting\n")
    storm = ("storm", "--endpoint", "endpoint.json", "--collector", "127.0.0.1:0")
    for words in (("run", "--engine", "sim"), ("serve", *storm)):
        done = called(*words, "--samples", place, *more, *(["request.json"] if words[0] == "run" else []))
        assert done.returncode in {2, 4}
        assert said in " ".join(done.stderr.split()), words


def test_a_message_that_comes_again_changes_no_file(tmp_path):
    received = Received()
    write_files(tmp_path, [(BROKEN, b"1"), (BROKEN, b"2"), ("../x", b"3")], received)
    assert (received, (tmp_path / BROKEN).read_bytes()) == (Received(files=1, refused=1), b"1")
    assert [each.name for each in tmp_path.rglob("*") if each.is_file()] == [Path(BROKEN).name]

"""Samples and results in HDFS: a real NameNode and DataNode, seen by WebHDFS, which is not the client of Headworks."""

from __future__ import annotations

import contextlib
import itertools
import json
import signal
import threading
import time

import pytest

from adapters.local_hdfs import activate, hdfs_pair, local_hdfs, until_it_serves
from adapters.spark.spark_logs import LINES, RECORDED
from headworks.errors import EngineError
from headworks.samples.remote.folder import DRAFTS, remote_folder
from headworks.samples.remote.hdfs import HdfsFolder
from headworks_pipeline.remote import publish
from headworks_pipeline.synthetic import Plant
from headworks_pipeline.tables.job import survey, update
from headworks_pipeline.tables.on_duckdb import duckdb_backend
from headworks_pipeline.tables.store import Store
from headworks_spark.events.eventlog import read_lines
from pipeline_command import PATIENCE
from pipeline_samples import FIRST, task_row, write
from pipeline_tables import alike
from shell import headworks, running

pytest.importorskip("hdfs_native")
pytest.importorskip("duckdb")
pytestmark = [pytest.mark.network, pytest.mark.slow, pytest.mark.usefixtures("java")]
PLANT = Plant(tasks=1, nodes=1)
HOURS = 3_600_000
"""Milliseconds of an hour."""


@pytest.fixture(scope="module")
def server(tmp_path_factory):
    with local_hdfs(tmp_path_factory.mktemp("hdfs")) as client:
        yield client


@pytest.fixture
def hdfs(server):
    """A client that is not ours, on an empty HDFS."""
    yield server
    for name in {each.partition("/")[0] for each in server.files()}:
        server.delete(name)


def upload(hdfs, folder, prefix):
    for file in folder.rglob("*"):
        if file.is_file():
            hdfs.write(f"{prefix}/{file.relative_to(folder).as_posix()}", file.read_bytes())


def run(hdfs, tmp_path, cache="cache"):
    words = ("pipeline", "run", hdfs.url("raw"), "-O", hdfs.url("learnt"), "--cache", tmp_path / cache, "--json")
    return headworks(*words)


def test_the_tables_in_hdfs_are_those_of_a_folder_and_a_second_machine_has_nothing_to_do(hdfs, tmp_path):
    PLANT.write(tmp_path / "raw", windows=400)
    upload(hdfs, tmp_path / "raw", "raw")
    done = run(hdfs, tmp_path)
    assert done.returncode == 0, done.stderr
    here = headworks("pipeline", "run", tmp_path / "raw", "-O", tmp_path / "here")
    assert here.returncode == 0, here.stderr
    there = hdfs.files("learnt")
    for path in there:
        file = tmp_path / "there" / path.removeprefix("learnt/")
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(hdfs.read(path))
    for table in ("cells", "levels", "sums", "windows"):
        assert alike(tmp_path / "there", tmp_path / "here", table)
    knowledge = [(tmp_path / each / "knowledge.json").read_text() for each in ("there", "here")]
    assert knowledge[0] == knowledge[1]
    assert not any(path.startswith(f"learnt/{DRAFTS}") for path in there)
    again = run(hdfs, tmp_path, cache="elsewhere")
    assert json.loads(again.stdout)["hours"] == []
    assert list(hdfs.files("learnt/manifests")) == [f"learnt/manifests/{number:010d}.json" for number in (1, 2)]
    assert hdfs.files("learnt/data") == {path: each for path, each in there.items() if "/data/" in path}


def test_of_two_runs_that_began_alike_the_first_commit_stays(hdfs, tmp_path):
    made = {}
    for name in ("one", "two"):
        write(tmp_path / name / FIRST / f"{name}.parquet", [task_row(number) for number in range(20)])
        made[name] = Store(folder=tmp_path / f"{name}-made")
        with made[name].locked(), duckdb_backend("500m") as backend:
            update(backend, survey(tmp_path / name, made[name]), made[name])
    there = remote_folder(hdfs.url("learnt"))
    publish(there, made["one"].folder, {}, ())
    first = hdfs.read("learnt/manifests/0000000001.json")
    with pytest.raises(EngineError, match=r"another run committed manifests/0000000001\.json"):
        publish(there, made["two"].folder, {}, ())
    assert hdfs.read("learnt/manifests/0000000001.json") == first


def test_of_many_that_create_a_file_at_once_one_does(hdfs, tmp_path):
    folder, answers, start = HdfsFolder.of(hdfs.url("race")), {}, threading.Barrier(8)

    def create(number):
        file = tmp_path / str(number)
        file.write_text(str(number) * 100_000)
        start.wait(60)
        answers[number] = folder.create("manifest", file)

    threads = [threading.Thread(target=create, args=(number,)) for number in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(120)
    (winner,) = (number for number, created in answers.items() if created)
    assert len(answers) == 8
    assert hdfs.read("race/manifest") == (str(winner) * 100_000).encode()
    assert list(hdfs.files("race")) == ["race/manifest"]


def test_who_reads_beside_a_writer_sees_whole_files(hdfs, tmp_path):
    folder, over = HdfsFolder.of(hdfs.url("beside")), threading.Event()
    files = [tmp_path / name for name in "ab"]
    for file in files:
        file.write_text(file.name * 200_000)
    folder.put("document", files[0])

    def replace():
        while not over.is_set():
            for file in files:
                folder.put("document", file)

    writer, seen, end = threading.Thread(target=replace), [], time.monotonic() + PATIENCE
    writer.start()
    try:
        # A busy machine may hold up the writer: its files have to be seen in turn.
        while len(seen) < 100 or (turns(seen) < 5 and time.monotonic() < end):
            seen.append(hdfs.read("beside/document"))
    finally:
        over.set()
        writer.join(PATIENCE)
    assert {(len(each), len(set(each))) for each in seen} == {(200_000, 1)}
    assert turns(seen) >= 5


def turns(seen):
    return sum(before != after for before, after in itertools.pairwise(seen))


def test_what_a_killed_run_left_is_removed_when_it_is_an_hour_old(hdfs, tmp_path):
    PLANT.write(tmp_path / "raw", windows=40)
    upload(hdfs, tmp_path / "raw", "raw")
    for name, hours in (("old", 2), ("young", 0)):
        hdfs.write(f"learnt/{DRAFTS}{name}", b"half")
        hdfs.age(f"learnt/{DRAFTS}{name}", hours * HOURS)
    done = run(hdfs, tmp_path)
    assert done.returncode == 0, done.stderr
    assert list(hdfs.files("learnt/_drafts")) == [f"learnt/{DRAFTS}young"]


@contextlib.contextmanager
def uploading(hdfs, tmp_path, base, **environment):
    """A run that has begun to upload; what its samples are is in `raw` here, too."""
    PLANT.write(tmp_path / "raw", windows=4000)  # so many hours that the upload lasts
    upload(hdfs, tmp_path / "raw", "raw")
    hdfs.write("learnt/other", b"of somebody else")
    words = ("pipeline", "run", f"{base}/raw", "-O", f"{base}/learnt", "--cache", tmp_path / "cache")
    end = time.monotonic() + PATIENCE
    with running(*words, folder=tmp_path, **environment) as (process, _):
        while process.poll() is None and len(hdfs.files("learnt")) <= 1:
            assert time.monotonic() < end
        yield process


def made_up_for(hdfs, tmp_path, base, **environment):
    """Whether the next run, on another machine, ends with what a run on folders learns, and touches nothing else."""
    words = ("pipeline", "run", f"{base}/raw", "-O", f"{base}/learnt", "--cache", tmp_path / "elsewhere")
    done = headworks(*words, **environment)
    assert done.returncode == 0, done.stderr
    here = headworks("pipeline", "run", tmp_path / "raw", "-O", tmp_path / "here")
    assert here.returncode == 0, here.stderr
    same = hdfs.read("learnt/knowledge.json") == (tmp_path / "here" / "knowledge.json").read_bytes()
    return same and hdfs.read("learnt/other") == b"of somebody else"


@pytest.mark.matrix
def test_a_run_that_is_killed_while_it_uploads_is_made_up_for_by_the_next(hdfs, tmp_path):
    base = hdfs.url("").rstrip("/")
    with uploading(hdfs, tmp_path, base) as process:
        process.kill()
        process.communicate(timeout=PATIENCE)
    assert process.returncode == -signal.SIGKILL
    assert made_up_for(hdfs, tmp_path, base)


@pytest.mark.matrix
@pytest.mark.parametrize("dying", ["namenode", "datanode"])
def test_a_daemon_that_dies_in_an_upload_is_an_error_nothing_is_committed_and_the_next_run_makes_up_for_it(
    hdfs, tmp_path, dying
):
    base = hdfs.url("").rstrip("/")
    with uploading(hdfs, tmp_path, base) as process:
        hdfs.daemons.kill(dying)
        try:
            _, said = process.communicate(timeout=PATIENCE)
        finally:
            hdfs.daemons.start(dying)
            until_it_serves(hdfs)
    assert (process.returncode, "Traceback" in said) == (EngineError.exit_code, False), said
    assert f"{base}/learnt cannot be used: " in " ".join(said.split())
    assert not any(path.startswith("learnt/manifests") for path in hdfs.files("learnt"))
    assert made_up_for(hdfs, tmp_path, base)


@pytest.mark.matrix
def test_of_a_pair_of_name_nodes_the_other_one_serves_when_the_first_died_in_an_upload(tmp_path):
    with hdfs_pair(tmp_path / "hdfs") as (clients, conf):
        settings = {"HADOOP_CONF_DIR": str(conf)}
        with uploading(clients["one"], tmp_path, "hdfs://pair", **settings) as process:
            clients["one"].daemons.kill("one")
            activate(clients["two"].daemons, "two")
            _, said = process.communicate(timeout=PATIENCE)
        # The run goes on, if the other one is active soon enough: it waits for some ten seconds.
        assert process.returncode == 0 or "hdfs://pair/learnt cannot be used: " in " ".join(said.split())
        assert "Traceback" not in said
        until_it_serves(clients["two"])
        assert made_up_for(clients["two"], tmp_path, "hdfs://pair", **settings)


def test_an_event_log_is_read_from_hdfs(hdfs):
    cut = len(LINES) // 2
    hdfs.write("logs/app-1", RECORDED.read_bytes())
    for number, some in ((10, LINES[cut:]), (9, LINES[:cut])):
        hdfs.write(f"logs/eventlog_v2_app-1/events_{number}_app-1", "".join(some).encode())
    plain = list(read_lines(RECORDED))
    assert list(read_lines(hdfs.url("logs/app-1"))) == plain
    assert list(read_lines(hdfs.url("logs/eventlog_v2_app-1"))) == plain


def test_what_is_not_there_is_told_in_a_sentence(hdfs, tmp_path):
    done = run(hdfs, tmp_path)
    assert done.returncode == 2
    assert f"{hdfs.url('raw')} has no samples" in " ".join(done.stderr.split())
    with pytest.raises(EngineError, match=r"hdfs://none/raw (names no NameNode|cannot be used)"):
        remote_folder("hdfs://none/raw").listing()
    with pytest.raises(EngineError, match=r"hdfs://127\.0\.0\.1:1/raw cannot be used: Connection refused"):
        remote_folder("hdfs://127.0.0.1:1/raw").listing()

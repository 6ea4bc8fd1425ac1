"""Samples and results in HDFS: a real NameNode and DataNode, seen by WebHDFS, which is not the client of Headworks."""

from __future__ import annotations

import itertools
import json
import signal
import threading
import time

import pytest

from adapters.local_hdfs import local_hdfs, until_it_serves
from headworks.errors import EngineError
from headworks_pipeline.hadoop import HadoopPath, place_of
from headworks_pipeline.synthetic import Plant
from headworks_pipeline.tables.manifest import Hour, Manifest
from headworks_pipeline.tables.store import OLD, TABLES, Store
from pipeline_arrivals import arrivals
from pipeline_command import LOCAL, PATIENCE, pipeline_here
from pipeline_tables import alike, same
from shell import headworks, running

pytest.importorskip("duckdb")
pytestmark = [pytest.mark.spark, pytest.mark.network, pytest.mark.slow]
BAD_ONES = ("--max-rejected", 50)


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


def download(hdfs, prefix, folder):
    for path in hdfs.files(prefix):
        file = folder / path.removeprefix(f"{prefix}/")
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(hdfs.read(path))
    return folder


def words(hdfs):
    return ("pipeline", "run", hdfs.url("raw"), "-O", hdfs.url("learnt"), *LOCAL)


def test_dirty_samples_in_hdfs_make_what_duckdb_makes_of_a_folder(hdfs, tmp_path):
    arrivals(tmp_path / "raw")
    upload(hdfs, tmp_path / "raw", "raw")
    done = headworks(*words(hdfs), *BAD_ONES, "--json", timeout=PATIENCE)
    assert done.returncode == 0, done.stderr
    pipeline_here(tmp_path / "raw", tmp_path / "here", *BAD_ONES)
    there = download(hdfs, "learnt", tmp_path / "there")
    assert same(there, tmp_path / "here")
    for table in set(TABLES) - {"quarantine"}:
        assert alike(there, tmp_path / "here", table), table
    assert not [path for path in hdfs.files("learnt") if "/." in path and not path.endswith("/.published")]
    again = headworks(*words(hdfs), *BAD_ONES, "--json", timeout=PATIENCE)
    assert json.loads(again.stdout)["hours"] == []
    assert list(hdfs.files("learnt/manifests")) == [f"learnt/manifests/{number:010d}.json" for number in (1, 2)]


def test_of_two_runs_that_began_alike_the_first_commit_stays(hdfs, spark):
    store = Store(folder=HadoopPath(hdfs.url("learnt"), spark))
    first, second = (Manifest().with_hours({"2026-01-05T00": Hour(inputs=each, snapshot=each)}) for each in "ab")
    store.commit(first)
    with pytest.raises(EngineError, match=r"0000000001\.json was committed by another run"):
        store.commit(second)
    assert store.manifest() == first
    assert list(hdfs.files("learnt")) == ["learnt/manifests/0000000001.json"]


def test_of_many_that_create_a_file_at_once_one_does(hdfs, spark):
    place, answers, start = HadoopPath(hdfs.url("race/manifest"), spark), {}, threading.Barrier(8)

    def create(number):
        start.wait(60)
        answers[number] = place.create(str(number).encode() * 100_000)

    threads = [threading.Thread(target=create, args=(number,)) for number in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(120)
    (winner,) = (number for number, created in answers.items() if created)
    assert len(answers) == 8
    assert hdfs.read("race/manifest") == str(winner).encode() * 100_000
    assert list(hdfs.files("race")) == ["race/manifest"]


def test_who_reads_beside_a_writer_sees_whole_files(hdfs, spark):
    place, over = HadoopPath(hdfs.url("beside/document"), spark), threading.Event()
    contents = [name * 200_000 for name in (b"a", b"b")]
    place.write_bytes(contents[0])

    def replace():
        while not over.is_set():
            for each in contents:
                place.write_bytes(each)

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


def test_what_a_killed_run_left_is_removed_when_it_is_an_hour_old(hdfs, spark):
    for name, seconds in (("old", 2 * OLD), ("young", 0)):
        for path in (f"learnt/manifests/.{name}", f"learnt/data/{name}/cells/part.parquet"):
            hdfs.write(path, b"half")
            hdfs.age(path, round(1000 * seconds))
    Store(folder=HadoopPath(hdfs.url("learnt"), spark)).tidy(Manifest())
    assert list(hdfs.files("learnt")) == ["learnt/data/young/cells/part.parquet", "learnt/manifests/.young"]


def test_a_file_is_read_from_any_place_and_what_is_not_there_is_told(hdfs, spark):
    content = bytes(range(256)) * 1000
    hdfs.write("some [x]/file.parquet", content)
    place = HadoopPath(hdfs.url("some [x]"), spark)
    (found,) = place.glob("*.parquet")
    assert [each.url for each in place.walk()] == [found.url]
    with found.open() as file:
        assert (file.seek(-300, 2), file.read()) == (255_700, content[-300:])
        assert (file.seek(5), file.read(7)) == (5, content[5:12])
    assert (found.stat().st_size, found.is_file()) == (256_000, True)
    assert not place.is_file()
    assert not (place / "no").is_file()
    with pytest.raises(FileNotFoundError):
        (place / "no").read_bytes()
    assert ((place / "no").glob("*"), (place / "no").walk()) == ([], [])
    assert str(place_of(hdfs.url("some//folder/"), spark)) == hdfs.url("some/folder")
    with pytest.raises(EngineError, match=r"hdfs://127\.0\.0\.1:1/raw cannot be used: .*Connection refused"):
        HadoopPath("hdfs://127.0.0.1:1/raw", spark).walk()
    with pytest.raises(EngineError, match=r"hdfs://127\.0\.0\.1:99999/raw/ cannot be used: .*99999"):
        place_of("hdfs://127.0.0.1:99999/raw", spark)


@pytest.mark.matrix
@pytest.mark.parametrize("dying", ["run", "datanode"])
def test_a_run_that_is_cut_off_commits_nothing_and_the_next_makes_up_for_it(hdfs, tmp_path, dying):
    Plant(tasks=1, nodes=1).write(tmp_path / "raw", windows=4000)  # so many hours that writing lasts
    upload(hdfs, tmp_path / "raw", "raw")
    hdfs.write("learnt/other", b"of somebody else")
    end = time.monotonic() + PATIENCE
    with running(*words(hdfs), folder=tmp_path) as (process, _):
        while process.poll() is None and len(hdfs.files("learnt")) <= 1:
            assert time.monotonic() < end
        if dying == "run":
            process.send_signal(signal.SIGKILL)
        else:
            hdfs.daemons.kill(dying)
        _, said = process.communicate(timeout=PATIENCE)
    if dying != "run":
        hdfs.daemons.start(dying)
        until_it_serves(hdfs)
    assert process.returncode == (-signal.SIGKILL if dying == "run" else EngineError.exit_code)
    assert "Traceback" not in said
    assert not any(path.startswith("learnt/manifests/0") for path in hdfs.files("learnt"))
    done = headworks(*words(hdfs), timeout=PATIENCE)
    assert done.returncode == 0, done.stderr
    pipeline_here(tmp_path / "raw", tmp_path / "here")
    assert same(download(hdfs, "learnt", tmp_path / "there"), tmp_path / "here")
    assert hdfs.read("learnt/other") == b"of somebody else"

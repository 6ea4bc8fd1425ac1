"""Samples and results in an object store, on a server that speaks S3: one commit wins, and readers see it whole."""

from __future__ import annotations

import contextlib
import io
import json
from datetime import UTC, datetime

import pytest
from click.testing import CliRunner

from headworks.cli.main import headworks as command
from headworks.errors import EngineError
from headworks.samples.remote.folder import Stored, remote_folder
from headworks_pipeline.remote import mirror, publish, working_copy
from headworks_pipeline.synthetic import Plant
from headworks_pipeline.tables.job import survey, update
from headworks_pipeline.tables.on_duckdb import duckdb_backend
from headworks_pipeline.tables.store import Store
from pipeline_samples import FIRST, task_row, write
from pipeline_tables import alike
from shell import headworks

pytest.importorskip("duckdb")
PLANT = Plant(tasks=1, nodes=1)


def keys(client, prefix=""):
    return [each["Key"] for each in client.list_objects_v2(Bucket="results", Prefix=prefix).get("Contents", [])]


def upload(client, folder, prefix):
    for file in folder.rglob("*"):
        if file.is_file():
            client.upload_file(str(file), "results", f"{prefix}/{file.relative_to(folder).as_posix()}")


def download(client, prefix, folder):
    for key in keys(client, prefix):
        file = folder / key.removeprefix(prefix)
        file.parent.mkdir(parents=True, exist_ok=True)
        client.download_file("results", key, str(file))
    return folder


def run(tmp_path, name="s3://results/learnt", cache="cache"):
    words = ("pipeline", "run", "s3://results/raw", "-O", name, "--cache", tmp_path / cache, "--json")
    return headworks(*words)


def test_the_tables_in_a_bucket_are_those_of_a_folder(s3, tmp_path):
    PLANT.write(tmp_path / "raw", windows=400)
    upload(s3, tmp_path / "raw", "raw")
    done = run(tmp_path)
    assert done.returncode == 0, done.stderr
    here = headworks("pipeline", "run", tmp_path / "raw", "-O", tmp_path / "here")
    assert here.returncode == 0, here.stderr
    there = download(s3, "learnt/", tmp_path / "there")
    for table in ("cells", "levels", "sums", "windows"):
        assert alike(there, tmp_path / "here", table)
    assert (there / "knowledge.json").read_text() == (tmp_path / "here" / "knowledge.json").read_text()
    # One of the tables, and one of what was learnt from them.
    committed = [f"learnt/manifests/{number:010d}.json" for number in (1, 2)]
    assert keys(s3, "learnt/manifests/") == committed
    # From another machine, whose copies are empty: there is nothing to do.
    again = run(tmp_path, cache="elsewhere")
    assert json.loads(again.stdout)["hours"] == []
    assert keys(s3, "learnt/manifests/") == committed


def test_an_empty_bucket_takes_nothing_back(s3, tmp_path):
    PLANT.write(tmp_path / "raw", windows=40)
    upload(s3, tmp_path / "raw", "raw")
    assert run(tmp_path).returncode == 0
    before = keys(s3, "learnt/")
    for key in keys(s3, "raw/"):
        s3.delete_object(Bucket="results", Key=key)
    done = run(tmp_path)
    assert (done.returncode, keys(s3, "learnt/")) == (2, before)
    assert "s3://results/raw has no samples" in " ".join(done.stderr.split())


def test_of_two_runs_that_began_alike_the_first_commit_stays(s3, tmp_path):
    for name in ("one", "two"):
        write(tmp_path / name / FIRST / f"{name}.parquet", [task_row(number) for number in range(20)])

    with working_copy(str(tmp_path / "one"), "s3://results/learnt", tmp_path / "inner") as (samples, results):
        store = Store(folder=results)
        with store.locked(), duckdb_backend("500m") as backend:
            update(backend, survey(samples, store), store)
    first = s3.get_object(Bucket="results", Key="learnt/manifests/0000000001.json")["Body"].read()
    late = Store(folder=tmp_path / "late")
    with late.locked(), duckdb_backend("500m") as backend:
        update(backend, survey(tmp_path / "two", late), late)
    with pytest.raises(EngineError, match=r"another run committed manifests/0000000001\.json"):
        publish(remote_folder("s3://results/learnt"), late.folder, {}, ())
    assert s3.get_object(Bucket="results", Key="learnt/manifests/0000000001.json")["Body"].read() == first


def test_a_bucket_that_is_not_there_is_an_error(s3, tmp_path):
    done = run(tmp_path, name="s3://other/learnt")
    assert done.returncode == 4
    assert "s3://other/learnt cannot be used" in done.stderr


@pytest.mark.parametrize(
    "option", [("--follow", "1"), ("--available",), ("--compact",), ("--keep-samples", "3"), ("--master", "local[1]")]
)
def test_an_option_that_is_for_folders_is_told_before_anything_is_asked(tmp_path, option):
    for samples, output in (("s3://none/raw", tmp_path / "out"), (tmp_path, "s3://none/learnt")):
        done = CliRunner().invoke(command, ["pipeline", "run", str(samples), "-O", str(output), *option])
        assert done.exit_code == 2
        assert f"is no folder, for which {option[0]} is: leave out {option[0]}" in " ".join(done.output.split())


@pytest.mark.parametrize(
    "key", ["raw/day=1/../../../../evil.parquet", "raw/day=1/./evil.parquet", "raw//day=1/evil.parquet"]
)
def test_a_key_that_names_another_folder_writes_nothing_there(s3, tmp_path, key):
    """Whoever may write samples to a bucket may not write files to whoever reads them."""
    PLANT.write(tmp_path / "raw", windows=40)
    upload(s3, tmp_path / "raw", "raw")
    s3.put_object(Bucket="results", Key=f"raw/{key}", Body=b"of a stranger")
    done = run(tmp_path)
    assert (done.returncode, "Traceback" in done.stderr) == (4, False), done.stderr
    assert [each for each in tmp_path.rglob("evil*") if tmp_path / "cache" not in each.parents] == []
    assert not (tmp_path.parent / "evil.parquet").exists()


@pytest.mark.parametrize("path", ["day=1/../../../evil", "/day=1/evil"])
def test_a_store_that_lies_about_names_writes_nothing(tmp_path, path):
    class Liar:
        url = "hdfs://liar/raw"

        def listing(self, prefix=""):
            return {path: Stored(1, datetime.now(UTC))}

        def open(self, path):
            return contextlib.nullcontext(io.BytesIO(b"x"))

    with pytest.raises(EngineError, match=r"hdfs://liar/raw names a file outside of it, .*evil': nothing is copied"):
        mirror(Liar(), tmp_path / "a" / "b", "day=", "/day=")
    assert list(tmp_path.rglob("evil")) == []

"""Samples and results in an object store, on a server that speaks S3: executors read and write, one commit wins."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from click.testing import CliRunner

from headworks.cli.main import headworks as command
from headworks.errors import EngineError
from headworks.samples.objects import ObjectFolder
from headworks_local.maven import resolve_locked
from headworks_pipeline.hadoop import HadoopPath
from headworks_pipeline.run import KNOWLEDGE, REQUEST
from headworks_pipeline.synthetic import Plant
from headworks_pipeline.tables.store import TABLES
from pipeline_arrivals import arrivals
from pipeline_command import PATIENCE, pipeline_here
from pipeline_tables import alike, near, same
from shell import headworks

local = pytest.importorskip("headworks_spark.local.cluster")
pytest.importorskip("duckdb")
LOCK = Path(__file__).with_name("s3a-3.5.0.txt")
PLANT = Plant(tasks=1, nodes=1)
BAD_ONES = ("--max-rejected", 50)
S3A = {
    "path.style.access": "true",
    "endpoint.region": "us-east-1",
    # By default it reads with a client that needs Netty 4.1. Spark has 4.2, and LOCK no copy, as the SDK's bundle does.
    "input.stream.type": "classic",
}
"""Settings of `fs.s3a`; Spark takes endpoint and keys from the environment."""
engine = [pytest.mark.spark, pytest.mark.network]


@pytest.fixture(scope="module")
def cluster():
    with local.LocalSpark(local.worker_specs((1, 1))) as running:
        yield running


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


def run(cluster, *words):
    jars = ",".join(map(str, resolve_locked(LOCK)))
    place = ("--master", cluster.master_url, "--driver-memory", "500m", "--executor-memory", "500m")
    conf = [f"spark.jars={jars}", *(f"spark.hadoop.fs.s3a.{name}={value}" for name, value in S3A.items())]
    s3a = [word for each in conf for word in ("--conf", each)]
    words = ("s3a://results/raw", "-O", "s3a://results/learnt", *place, *s3a, *words)
    return headworks("pipeline", "run", *words, "--json", timeout=PATIENCE)


class TestOnACluster:
    pytestmark = engine

    def test_executors_make_of_dirty_samples_in_a_bucket_what_duckdb_makes_of_a_folder(self, cluster, s3, tmp_path):
        arrivals(tmp_path / "raw")
        upload(s3, tmp_path / "raw", "raw")
        done = run(cluster, *BAD_ONES)
        assert done.returncode == 0, done.stderr
        here = tmp_path / "here"
        printed = json.loads(pipeline_here(tmp_path / "raw", here, *BAD_ONES).stdout)
        assert json.loads(done.stdout)["rows"] == printed["rows"]
        there = download(s3, "learnt/", tmp_path / "there")
        assert same(there, here)
        for table in set(TABLES) - {"quarantine"}:
            assert alike(there, here, table), table
        # One of the tables, and one of what was learnt from them. Nothing is left of how they were written.
        committed = [f"learnt/manifests/{number:010d}.json" for number in (1, 2)]
        assert keys(s3, "learnt/manifests/") == committed
        assert not [key for key in keys(s3, "learnt/") if "_temporary" in key]
        again = run(cluster, *BAD_ONES)
        assert json.loads(again.stdout)["hours"] == []
        # Nothing new is committed; an older manifest goes once nobody can read by it any more.
        assert keys(s3, "learnt/manifests/")[-1] == committed[-1]

    @pytest.mark.matrix
    def test_a_stream_of_a_bucket_learns_what_a_run_learns(self, cluster, s3, tmp_path):
        PLANT.write(tmp_path / "raw", windows=40)
        upload(s3, tmp_path / "raw", "raw")
        done = run(cluster, "--available")
        assert done.returncode == 0, done.stderr
        pipeline_here(tmp_path / "raw", tmp_path / "here")
        there = download(s3, "learnt/", tmp_path / "there")
        for name in (KNOWLEDGE, REQUEST):
            assert near(*(json.loads((each / name).read_text()) for each in (there, tmp_path / "here"))), name

    @pytest.mark.matrix
    def test_an_empty_bucket_takes_nothing_back(self, cluster, s3, tmp_path):
        PLANT.write(tmp_path / "raw", windows=40)
        upload(s3, tmp_path / "raw", "raw")
        assert run(cluster).returncode == 0
        before = keys(s3, "learnt/")
        for key in keys(s3, "raw/"):
            s3.delete_object(Bucket="results", Key=key)
        done = run(cluster)
        assert (done.returncode, keys(s3, "learnt/")) == (2, before)
        assert "s3a://results/raw has no samples" in " ".join(done.stderr.split())


@pytest.mark.spark
def test_a_jar_that_is_missing_is_named(s3):
    done = headworks("pipeline", "run", "s3a://results/raw", "-O", "s3a://results/learnt", "--master", "local[1]")
    assert done.returncode == 4
    assert "--packages org.apache.hadoop:hadoop-aws:" in " ".join(done.stderr.split())


def test_of_two_that_create_an_object_the_first_one_stays(s3):
    folder = ObjectFolder.of("s3a://results/learnt/manifests")
    assert folder.create("1.json", b"first")
    assert not folder.create("1.json", b"second")
    assert s3.get_object(Bucket="results", Key="learnt/manifests/1.json")["Body"].read() == b"first"


def test_a_bucket_that_cannot_take_a_commit_is_told_before_anything_is_made(s3):
    HadoopPath("s3a://results/learnt", None).probe()
    with pytest.raises(EngineError, match="s3a://other/learnt cannot be used"):
        HadoopPath("s3a://other/learnt", None).probe()


def test_a_url_of_another_kind_is_told_before_anything_is_asked(tmp_path):
    done = CliRunner().invoke(command, ["pipeline", "run", "s3://none/raw", "-O", str(tmp_path)])
    assert done.exit_code == 2
    assert "begin its URL with hdfs:// or s3a://" in " ".join(done.output.split())


@pytest.mark.parametrize("option", [("--backend", "duckdb"), ("--compact",), ("--keep-samples", "3")])
def test_an_option_that_is_for_folders_is_told_before_anything_is_asked(tmp_path, option):
    said = " ".join(option) if option[0] == "--backend" else option[0]
    for samples, output in (("s3a://none/raw", tmp_path / "out"), (tmp_path, "s3a://none/learnt")):
        done = CliRunner().invoke(command, ["pipeline", "run", str(samples), "-O", str(output), *option])
        assert done.exit_code == 2
        assert f"is not a folder, for which {said} is: leave out {said}" in " ".join(done.output.split())

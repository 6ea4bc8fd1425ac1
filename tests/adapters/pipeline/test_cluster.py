"""Jobs and sweeps on a standalone cluster, with executors of its own: they find what the embedded ones find."""

from __future__ import annotations

import json

import pytest

from pipeline_command import PATIENCE
from pipeline_tables import same
from shell import headworks

local = pytest.importorskip("headworks_spark.local.cluster")
pytestmark = [pytest.mark.spark, pytest.mark.matrix]

SWEEP = ("-w", "dstorm:linear", "-s", "even", "-s", "dstorm", "--nodes", "own,4", "--seeds", 2, "--seconds", 30)


@pytest.fixture(scope="module")
def cluster():
    with local.LocalSpark(local.worker_specs((1, 1))) as running:
        yield running


def on(cluster):
    return ("--master", cluster.master_url, "--driver-memory", "500m", "--executor-memory", "500m")


def completed(cluster):
    return [each["name"] for each in cluster.state()["completedapps"]]


def test_the_job_learns_the_same(cluster, folder, made, tmp_path):
    out = tmp_path / "out"
    done = headworks("pipeline", "run", folder / "raw", "-O", out, *on(cluster), "--json", timeout=PATIENCE)
    assert done.returncode == 0, done.stderr
    assert "headworks pipeline" in completed(cluster)
    assert json.loads(done.stdout)["rows"] == made["rows"]
    assert same(out, folder / "out")


def test_a_sweep_finds_the_same(cluster, tmp_path):
    before = len(completed(cluster))
    found = []
    for name, place in (("cluster", on(cluster)), ("alone", ("--one-process",))):
        done = headworks("sweep", *SWEEP, "-O", tmp_path / name, *place, "--json", timeout=PATIENCE)
        assert done.returncode == 0, done.stderr
        found.append((json.loads(done.stdout), sorted((tmp_path / name / "results.jsonl").read_text().splitlines())))
    assert found[0] == found[1]
    assert len(completed(cluster)) == before + 1

import json

import pytest
from click.testing import CliRunner

from headworks import documents
from headworks.model import Request
from headworks_storm.cli.import_clusterconf import import_group
from headworks_storm.client.clusterconf import read_request
from thrift_writer import component, storm_topology, write_jar


@pytest.fixture
def jar(tmp_path):
    conf = json.dumps({"topology.component.cpu.pcore.percent": 25}).encode()
    code = storm_topology({"spout": component(2)}, {"bolt": component(3)})
    name = "clusterconf/largeCluster03/T-storm"
    return write_jar(tmp_path / "tests.jar", {f"{name}code.ser": code, f"{name}conf.ser": conf})


def run(*args):
    return CliRunner().invoke(import_group, ["storm-clusterconf", *map(str, args)])


def test_a_document_is_written_and_its_figures_printed(jar, tmp_path):
    out = tmp_path / "out"
    result = run("--jar", jar, "-O", out, "largeCluster03", "--json")
    assert result.exit_code == 0, result.output
    (row,) = json.loads(result.stdout)
    assert row["file"] == str(out / "largeCluster03.json")
    assert (row["supervisors"], row["executors"], row["components"], row["streams"]) == (80, 5, 2, 0)
    assert (row["cpu_requested"], row["cpu_capacity"]) == (125, 88_000)
    assert (row["memory_requested"], row["memory_capacity"]) == (640, 4_706_320)
    assert documents.read(row["file"], Request) == read_request(jar, "largeCluster03")


def test_a_table_is_printed_by_default(jar, tmp_path):
    result = run("--jar", jar, "-O", tmp_path, "largeCluster03")
    assert result.exit_code == 0, result.output
    cells = [line.split() for line in result.stdout.splitlines()]
    assert ["executors", "5"] in cells
    assert ["memory", "capacity", "4,706,320"] in cells


def test_an_unknown_cluster_is_refused(jar):
    result = run("--jar", jar, "smallCluster")
    assert result.exit_code == 2
    assert "'smallCluster' is none of largeCluster01" in result.output

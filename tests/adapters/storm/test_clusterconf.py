import json
import zipfile

import pytest

from headworks.errors import DocumentError
from headworks.problem import Problem
from headworks_local.maven import resolve
from headworks_storm.client import clusterconf
from headworks_storm.client.clusterconf import NAMES, read_request
from headworks_storm.client.racks import cluster_of
from headworks_storm.release.artefacts import SERVER_TESTS
from thrift_writer import component, storm_topology, write_jar

FOLDER = "clusterconf/largeCluster03"


def files(name, parallelism):
    code = storm_topology({"spout": component(parallelism)}, {})
    return {f"{FOLDER}/{name}-stormcode.ser": code, f"{FOLDER}/{name}-stormconf.ser": json.dumps({}).encode()}


def test_a_topology_without_executors_is_skipped(tmp_path):
    jar = write_jar(tmp_path / "a.jar", files("One", 2) | files("None", 0))
    request = read_request(jar, "largeCluster03")
    assert [topology.id for topology in request.topologies] == ["One"]
    assert len(request.cluster.nodes) == 80


def test_a_missing_configuration_is_named(tmp_path):
    broken = files("One", 2)
    del broken[f"{FOLDER}/One-stormconf.ser"]
    with pytest.raises(DocumentError, match=r"One-stormconf\.ser is missing"):
        read_request(write_jar(tmp_path / "a.jar", broken), "largeCluster03")


def test_a_jar_without_the_cluster_is_named(tmp_path):
    with pytest.raises(DocumentError, match="holds no topology under clusterconf/largeCluster01"):
        read_request(write_jar(tmp_path / "a.jar", files("One", 2)), "largeCluster01")


def test_a_file_that_is_no_jar_is_named(tmp_path):
    (tmp_path / "a.jar").write_bytes(b"nothing")
    for path in (tmp_path / "a.jar", tmp_path / "b.jar"):
        with pytest.raises(DocumentError, match="is not a readable jar"):
            read_request(path, "largeCluster03")


def test_members_that_are_not_compressed_or_unpack_to_too_much_are_refused(tmp_path, monkeypatch):
    with zipfile.ZipFile(tmp_path / "a.jar", "w") as jar:
        for name, data in files("One", 2).items():
            jar.writestr(name, data)
    with pytest.raises(DocumentError, match="not compressed with gzip"):
        read_request(tmp_path / "a.jar", "largeCluster03")
    monkeypatch.setattr(clusterconf, "MAX_BYTES", 10)
    with pytest.raises(DocumentError, match="more than 10 bytes"):
        read_request(write_jar(tmp_path / "b.jar", files("One", 2)), "largeCluster03")


@pytest.mark.parametrize(
    ("name", "racks", "expected"),
    [
        ("largeCluster01", 16, (1_312, 65_600, 4_067_200, 201_487_120)),
        ("largeCluster02", 21, (1_922, 70_128, 6_821_800, 320_361_862)),
        ("largeCluster03", 2, (80, 960, 88_000, 4_706_320)),
    ],
)
def test_supervisors_add_up_to_the_designed_capacity(name, racks, expected):
    nodes = cluster_of(name).nodes
    slots = sum(len(node.slots) for node in nodes)
    cpu = sum(node.capacity.cpu for node in nodes)
    memory = sum(node.capacity.memory for node in nodes)
    assert (len(nodes), slots, cpu, memory) == expected
    assert len({node.rack for node in nodes}) == racks
    assert len({node.id for node in nodes}) == len({node.host for node in nodes}) == len(nodes)
    assert all(node.capacity["network.resource.units"] == 50 for node in nodes)


@pytest.mark.network
@pytest.mark.parametrize(
    ("name", "topologies", "executors", "components", "edges", "cpu", "memory"),
    [
        ("largeCluster01", 40, 24_349, 389, 663, 3_097_259, 73_544_028),
        ("largeCluster02", 45, 36_086, 434, 746, 4_654_533, 115_586_490),
        ("largeCluster03", 50, 1_221, 743, 1_668, 63_136, 3_328_694),
    ],
)
def test_the_production_clusters_have_their_known_sizes(name, topologies, executors, components, edges, cpu, memory):
    assert name in NAMES
    request = read_request(resolve(SERVER_TESTS), name)
    assert len(request.topologies) == topologies
    assert sum(len(topology.components) for topology in request.topologies) == components
    assert sum(len(topology.streams) for topology in request.topologies) == edges
    problem = Problem.of(request)
    assert problem.n == executors
    assert (problem.wanted.sum(), problem.demand[:, 1].sum()) == (cpu, memory)
    assert (problem.heap <= problem.heap_limit[problem.topology]).all()

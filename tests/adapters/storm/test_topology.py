import pytest

from headworks.errors import DocumentError
from headworks.model import Kind, Resources
from headworks_storm.client.thrift import read_struct
from headworks_storm.client.topology import CPU, DECLARED, OFF_HEAP, ON_HEAP, topology_of
from thrift_writer import component, fields_grouping, null_grouping, record, storm_topology


def topology(spouts, bolts, conf=None):
    return topology_of("word-count", read_struct(storm_topology(spouts, bolts)), conf or {})


def only(conf=None, defaults=None):
    (found,) = topology({"spout": component(1, conf=conf)}, {}, defaults).components
    return found


def test_components_have_their_kind_and_parallelism():
    found = topology({"lines": component(2)}, {"split": component(3), "idle": component(None)})
    assert [(each.id, each.kind, each.parallelism) for each in found.components] == [
        ("lines", Kind.SPOUT, 2),
        ("split", Kind.BOLT, 3),
        ("idle", Kind.BOLT, 0),
    ]


def test_what_says_nothing_needs_the_defaults_of_storm():
    assert only().demand == Resources(cpu=10.0, memory=128.0)
    found = topology({"spout": component(1)}, {})
    assert (found.worker_heap, found.workers, found.priority, found.owner) == (768.0, 1, 0, None)


def test_the_topology_overrides_the_defaults_and_the_component_the_topology():
    found = only({ON_HEAP: 256}, {CPU: 4, OFF_HEAP: 32.0, ON_HEAP: 64})
    assert found.demand == Resources(cpu=4.0, memory=288.0)
    assert found.heap == 256.0


def test_the_resource_map_wins_and_holds_further_resources():
    found = only({CPU: 10, DECLARED: {CPU: 25.0, "network.resource.units": 2}})
    assert found.demand == Resources({"cpu": 25.0, "memory": 128.0, "network.resource.units": 2.0})


def test_streams_carry_one_tuple_a_second_and_name_their_grouping():
    inputs = [
        ("lines", "a", fields_grouping("word")),
        ("lines", "b", fields_grouping()),
        *(("lines", str(number), null_grouping(number)) for number in (2, 3, 4, 5, 6, 7, 8)),
    ]
    found = topology({"lines": component(1)}, {"count": component(1, inputs)})
    assert [(each.name, each.grouping) for each in found.streams] == [
        ("a", "fields"),
        ("b", "global"),
        ("2", "shuffle"),
        ("3", "all"),
        ("4", "none"),
        ("5", "direct"),
        ("6", "custom"),
        ("7", "custom"),
        ("8", "local-or-shuffle"),
    ]
    assert {(each.source, each.target, each.rate) for each in found.streams} == {("lines", "count", 1.0)}


def test_settings_of_the_topology_are_taken_over():
    conf = {
        "topology.submitter.user": "ann",
        "topology.priority": 29,
        "topology.workers": 3,
        "topology.worker.max.heap.size.mb": "2048.0",
    }
    found = topology({"lines": component(1)}, {}, conf)
    assert (found.owner, found.priority, found.workers, found.worker_heap) == ("ann", 29, 3, 2048.0)


@pytest.mark.parametrize(
    "bolt",
    [record(), component(1, [("lines", "a", null_grouping(99))]), component(1, conf={CPU: "much"})],
    ids=["no common part", "unknown grouping", "no number"],
)
def test_a_broken_component_is_refused_by_name(bolt):
    with pytest.raises(DocumentError, match="word-count is not a Storm topology"):
        topology({"lines": component(1)}, {"bolt": bolt})

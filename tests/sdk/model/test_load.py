"""The same topologies at another load: figures worked by hand."""

from __future__ import annotations

import attrs
import pytest

from headworks.errors import DocumentError
from headworks.model import Flow, Metrics, NodeSample, Resources, StreamSample, TaskSample, TopologySample
from headworks.model.scaling import at_load, at_offered_load, declared_from_measured, scaled
from small_requests import component, node, request, topology

OTHER = {"topology": "u", "source": "c", "target": "c"}
METRICS = Metrics(
    window=30.0,
    tasks=(
        TaskSample(task="t/c/0", cpu=10.0, received=4.0, emitted=6.0, memory=64.0, queue=3.0, source="thread"),
        TaskSample(task="t/c/1", cpu=30.0),
        TaskSample(task="t/d/0", received=8.0),
        TaskSample(task="u/c/0", emitted=5.0, cpu=60.0),
    ),
    flows=(
        Flow(source="t/c/0", target="t/d/0", tuples=2.0, bytes=100.0),
        Flow(source="t/c/1", target="t/d/0", tuples=3.0),
        Flow(source="t/c/1", target="t/d/1", bytes=50.0),
    ),
    nodes=(NodeSample(node="a", cpu=70.0),),
    topologies=(TopologySample(topology="t", offered=9.0),),
    streams=(StreamSample(topology="t", source="c", target="e", tuples=4.0), StreamSample(**OTHER, bytes=8.0)),
)


def measured():
    """Nodes of 150 and 250 points, of which tasks were measured to use 100."""
    nodes = [node("a", 150.0), node("b", 250.0)]
    first = topology("t", component("c", 2, 1.0), component("d", 2, 7.0), component("e", 1, 9.0))
    return request(nodes, [first, topology("u", component("c", 1, 2.0))], {"t/c/0": "a"}, metrics=METRICS)


def test_rates_and_cpu_of_tasks_and_of_their_nodes_grow_with_the_load_and_nothing_else_does():
    found = scaled(measured(), 2.5)
    assert found.metrics == attrs.evolve(
        METRICS,
        tasks=(
            TaskSample(task="t/c/0", cpu=25.0, received=10.0, emitted=15.0, memory=64.0, queue=3.0, source="thread"),
            TaskSample(task="t/c/1", cpu=75.0),
            TaskSample(task="t/d/0", received=20.0),
            TaskSample(task="u/c/0", emitted=12.5, cpu=150.0),
        ),
        flows=(
            Flow(source="t/c/0", target="t/d/0", tuples=5.0, bytes=250.0),
            Flow(source="t/c/1", target="t/d/0", tuples=7.5),
            Flow(source="t/c/1", target="t/d/1", bytes=125.0),
        ),
        nodes=(NodeSample(node="a", cpu=85.0),),
        streams=(StreamSample(topology="t", source="c", target="e", tuples=10.0), StreamSample(**OTHER, bytes=20.0)),
    )
    assert attrs.evolve(found, metrics=METRICS) == measured()
    assert scaled(measured(), 1.0) == measured()


def test_memory_grows_where_it_is_asked_to_and_a_topology_has_a_factor_of_its_own():
    found = scaled(measured(), {"t": 2.0}, memory=True)
    samples = {sample.task: (sample.cpu, sample.memory) for sample in found.metrics.tasks}
    assert samples == {"t/c/0": (20.0, 128.0), "t/c/1": (60.0, None), "t/d/0": (None, None), "u/c/0": (60.0, None)}
    assert [flow.tuples for flow in found.metrics.flows] == [4.0, 6.0, None]


@pytest.mark.parametrize(("sample", "factor"), [
    (TopologySample(topology="t", offered=9.0, throughput=6.0), 1.5),
    (TopologySample(topology="t", offered=9.0, throughput=9.5), 1.0),  # it keeps up
    (TopologySample(topology="t", offered=9.0), 1.0),  # not measured
    (TopologySample(topology="t", throughput=9.0), 1.0),
    (TopologySample(topology="t", offered=9.0, throughput=0.0), 1.0),  # nothing is known of a tuple
])  # fmt: skip
def test_at_the_offered_load_a_topology_that_lags_needs_more(sample, factor):
    asked = attrs.evolve(measured(), metrics=attrs.evolve(METRICS, topologies=(sample,)))
    assert at_offered_load(asked) == scaled(asked, {"t": factor})
    assert (at_offered_load(asked) is asked) == (factor == 1.0)


def test_at_the_offered_load_no_task_needs_more_than_its_threads():
    samples = tuple(TaskSample(task=f"t/{part}/0", cpu=cpu) for part, cpu in (("c", 60.0), ("d", 90.0), ("e", 130.0)))
    load = TopologySample(topology="t", offered=300.0, throughput=100.0)
    parts = component("c", threads=2), component("d"), component("e")
    metrics = Metrics(tasks=samples, topologies=(load,))
    found = at_offered_load(request([node("a", 800.0)], [topology("t", *parts)], metrics=metrics))
    assert [sample.cpu for sample in found.metrics.tasks] == [180.0, 100.0, 200.0]


def test_a_share_of_all_cpu_is_kept_busy():
    found = at_load(measured(), 0.5)  # 200 of 400 points, where 100 are used
    assert [sample.cpu for sample in found.metrics.tasks] == [20.0, 60.0, None, 120.0]
    assert found == scaled(measured(), 2.0)


@pytest.mark.parametrize(("cpu", "have", "words"), [
    (0.0, 150.0, "0 CPU points measured of 150: there is nothing to scale"),
    (40.0, 0.0, "40 CPU points measured of 0: there is nothing to scale"),
])  # fmt: skip
def test_where_nothing_was_used_or_nothing_is_there_no_load_can_be_had(cpu, have, words):
    metrics = Metrics(tasks=(TaskSample(task="t/c/0", cpu=cpu), TaskSample(task="t/c/1")))
    asked = request([node("a", have)], [topology("t", component("c", 2))], metrics=metrics)
    with pytest.raises(DocumentError) as raised:
        at_load(asked, 0.5)
    assert (raised.value.pointer, raised.value.message) == ("/metrics/tasks", words)


def test_a_component_declares_the_mean_of_its_own_tasks():
    asked = measured()
    found = declared_from_measured(asked)
    declared = {(each.id, part.id): part.demand for each in found.topologies for part in each.components}
    assert declared == {
        ("t", "c"): Resources(cpu=20.0),
        ("t", "d"): Resources(cpu=0.0),  # measured, and no CPU seen
        ("t", "e"): Resources(cpu=9.0),  # not measured
        ("u", "c"): Resources(cpu=60.0),
    }
    assert attrs.evolve(found, topologies=asked.topologies) == asked


def test_a_component_whose_id_has_a_slash_declares_what_its_own_tasks_need():
    asked = request([node("a")], [topology("t", component("a/b", 2, 10.0), component("b", 1, 30.0))])
    samples = tuple(TaskSample(task=f"t/a/b/{number}", cpu=40.0 + number) for number in range(2))
    (found,) = declared_from_measured(attrs.evolve(asked, metrics=Metrics(tasks=samples))).topologies
    assert [part.demand.cpu for part in found.components] == [40.5, 30.0]


def test_what_else_a_component_needs_it_goes_on_to_need():
    part = attrs.evolve(component("c"), demand=Resources(cpu=50.0, memory=128.0, disk=3.0))
    asked = request([node("a")], [topology("t", part)], metrics=Metrics(tasks=(TaskSample(task="t/c/0", cpu=4.0),)))
    ((found,),) = (each.components for each in declared_from_measured(asked).topologies)
    assert found == attrs.evolve(part, demand=Resources(cpu=4.0, memory=128.0, disk=3.0))

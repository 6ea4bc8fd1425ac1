"""Observations of several queries on the same nodes become one: no JVM is needed for that."""

from __future__ import annotations

from headworks.model import (
    Cluster,
    Component,
    FrozenMap,
    Kind,
    Metrics,
    Node,
    NodeSample,
    Observation,
    Resources,
    Slot,
    TaskSample,
    Topology,
)
from headworks_spark.targets import merged

NODES = Cluster(nodes=tuple(Node(id=name, capacity=Resources(cpu=100.0)) for name in "ab"))


def seen(name: str, cpu: dict[str, float], *, window: float) -> Observation:
    """One query of one task, which runs on the first of the nodes."""
    metrics = Metrics(
        window=window,
        tasks=(TaskSample(task=f"{name}/stage-0/0", cpu=sum(cpu.values())),),
        nodes=tuple(NodeSample(node=node, cpu=each) for node, each in cpu.items()),
    )
    topology = Topology(id=name, components=(Component(id="stage-0", kind=Kind.SPOUT, parallelism=1),))
    running = FrozenMap({f"{name}/stage-0/0": Slot(min(cpu), 0)}) if cpu else FrozenMap()
    return Observation(cluster=NODES, topologies=(topology,), assignment=running, metrics=metrics, notes=(name,))


def test_what_nodes_do_for_each_query_is_added_up() -> None:
    both = merged((seen("x", {"a": 10.0, "b": 5.0}, window=2.0), seen("y", {"b": 7.0}, window=9.0)))
    assert both.cluster == NODES
    assert [each.id for each in both.topologies] == ["x", "y"]
    assert both.assignment == {"x/stage-0/0": Slot("a", 0), "y/stage-0/0": Slot("b", 0)}
    assert {each.node: each.cpu for each in both.metrics.nodes} == {"a": 10.0, "b": 12.0}
    assert ([each.task for each in both.metrics.tasks], both.notes) == (["x/stage-0/0", "y/stage-0/0"], ("x", "y"))
    assert both.metrics.window == 9.0


def test_the_speed_of_a_node_is_the_median_of_what_queries_tell() -> None:
    told: list[tuple[float | None, float | None]] = [(10.0, 0.5), (None, 0.7), (5.0, None)]
    nodes = [(NodeSample(node="a", cpu=cpu, speed=speed), NodeSample(node="b", speed=1.0)) for cpu, speed in told]
    found = merged([Observation(metrics=Metrics(nodes=each)) for each in nodes]).metrics.nodes
    assert [(each.node, each.cpu, each.speed) for each in found] == [("a", 15.0, 0.6), ("b", None, 1.0)]


def test_a_query_that_ended_meanwhile_leaves_its_note() -> None:
    one = merged((Observation(notes=("y has ended",)), seen("x", {"a": 1.0}, window=1.0)))
    assert ([each.id for each in one.topologies], one.cluster) == (["x"], NODES)
    assert one.notes == ("y has ended", "x")

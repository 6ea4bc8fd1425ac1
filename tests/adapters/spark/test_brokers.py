"""Brokers beside a query, as schedulers see them: requests by hand, no engine."""

from __future__ import annotations

import attrs
import pytest

import headworks
from headworks.model import (
    Cluster,
    Component,
    Flow,
    FrozenMap,
    Kind,
    Limits,
    Metrics,
    Node,
    Observation,
    Request,
    Resources,
    Slot,
    Stream,
    TaskSample,
    Topology,
)
from headworks_spark.brokers import Brokers
from headworks_spark.driver.leaders import Leader
from headworks_spark.driver.operators import PlanNode, scans

RACKS = ("r1", "r2", "r3")
READ = 1000.0
"""Rows/s of each task that reads."""
TOPOLOGY = Topology(
    id="q",
    components=(
        Component(id="reads", kind=Kind.SPOUT, parallelism=6, demand=Resources(cpu=10.0)),
        Component(id="sums", parallelism=3, demand=Resources(cpu=10.0)),
    ),
    streams=(Stream(source="reads", target="sums", grouping="fields"),),
    sequential=True,
)


def nodes(each):
    capacity = Resources(cpu=200.0, memory=1024.0)
    return tuple(Node(id=f"{rack}-{number}", capacity=capacity, rack=rack) for rack in RACKS for number in range(each))


def observed(cluster, leaders):
    """A query whose tasks run in turn on all nodes, with its brokers."""
    samples = [TaskSample(task=f"q/reads/{index}", cpu=10.0, received=READ) for index in range(6)]
    samples += [TaskSample(task=f"q/sums/{index}", cpu=10.0) for index in range(3)]
    shuffle = (Flow(source=a.task, target=b.task, tuples=1.0, bytes=10.0) for a in samples[:6] for b in samples[6:])
    brokers = Brokers(nodes=tuple(each.id for each in cluster), leaders={"reads": leaders})
    places = {each.task: cluster[index % len(cluster)].id for index, each in enumerate(samples)}
    seen = Observation(
        cluster=Cluster(nodes=cluster, shared_slots=True),
        topologies=(TOPOLOGY,),
        assignment=FrozenMap({task: Slot(node, 0) for task, node in (places | brokers.places(TOPOLOGY)).items()}),
        metrics=Metrics(window=10.0, tasks=tuple(samples), flows=tuple(shuffle)),
    )
    return brokers.beside(seen)


def far(assignment, leaders, cluster):
    """Tasks that read from another rack."""
    racks = {each.id: each.rack for each in cluster}
    return sum(racks[assignment[f"q/reads/{index}"].node] != leader.rack for index, leader in enumerate(leaders))


@pytest.mark.parametrize("scheduler", ["dstorm-plus", "optimal", "otd"])
@pytest.mark.parametrize("each", [1, 2])
def test_a_scheduler_that_looks_at_traffic_reads_in_the_rack_of_the_leader(scheduler, each):
    """One of them moves a task a round."""
    if scheduler == "optimal":
        pytest.importorskip("ortools")
    cluster = nodes(each)
    leaders = tuple(Leader(host="elsewhere", rack=RACKS[(index // 2 + 1) % 3]) for index in range(6))
    seen = observed(cluster, leaders)
    limits = Limits(deadline=60.0, slowdown=None)
    found = headworks.plan(Request.of(seen, limits=limits), scheduler)
    before = far(seen.assignment, leaders, cluster)
    assert far(found.assignment, leaders, cluster) == (before - 1 if scheduler == "otd" else 0)
    stands = [task for task in seen.assignment if task.startswith("q/kafka/")]
    assert len(stands) == len(cluster)
    assert all(found.assignment[task] == seen.assignment[task] for task in stands)


@pytest.mark.parametrize("scheduler", ["even", "hetero-plus", "resource-aware", "sps-v2"])
def test_a_scheduler_that_does_not_leaves_the_tasks_of_brokers_alone(scheduler):
    cluster = nodes(2)
    seen = observed(cluster, tuple(Leader(host="elsewhere", rack="r1") for _ in range(6)))
    found = headworks.plan(Request.of(seen, limits=Limits(deadline=60.0)), scheduler)
    assert {task: found.assignment[task] for task in seen.assignment if "kafka" in task} == {
        f"q/kafka/{index}": Slot(node.id, 0) for index, node in enumerate(cluster)
    }


def test_bytes_come_from_each_node_of_the_rack_else_from_the_machine():
    cluster = (*nodes(2), Node(id="n", capacity=Resources(), host="machine"))
    known = (Leader(host="n", rack="r2", row=30.0), Leader(host="machine", rack="r9"), Leader(host="nowhere"), None)
    seen = observed(cluster, (*known, *known[2:]))
    own = [each for each in seen.metrics.flows if each.source.startswith("q/kafka/")]
    assert own == [
        Flow(source="q/kafka/2", target="q/reads/0", tuples=0.0, bytes=30.0 * READ),
        Flow(source="q/kafka/3", target="q/reads/0", tuples=0.0, bytes=30.0 * READ),
        Flow(source="q/kafka/6", target="q/reads/1", tuples=0.0, bytes=100.0 * READ),
    ]


def test_nothing_is_added_where_no_kafka_is_read():
    seen = Observation(cluster=Cluster(nodes=nodes(1)), topologies=(TOPOLOGY,))
    assert Brokers().beside(seen) == seen
    assert Brokers().places(TOPOLOGY) == {}


def test_a_node_that_is_gone_sends_nothing():
    cluster, leaders = nodes(1), tuple(Leader(host="elsewhere", rack="r1") for _ in range(6))
    brokers = Brokers(nodes=("r1-0", "r1-1"), leaders={"reads": leaders})
    samples = (TaskSample(task="q/reads/0", received=READ),)
    bare = Observation(cluster=Cluster(nodes=cluster), topologies=(TOPOLOGY,), metrics=Metrics(tasks=samples))
    seen = brokers.beside(bare)
    assert [each.source for each in seen.metrics.flows] == ["q/kafka/0"]
    assert seen.topologies[0].components[-1].parallelism == 2
    assert attrs.evolve(seen.topologies[0], components=TOPOLOGY.components) == TOPOLOGY


def test_scans_are_known_by_the_stage_that_they_are_in():
    left = PlanNode("ShuffleExchangeExec", (PlanNode("MicroBatchScanExec", scan="left"),))
    right = PlanNode("ProjectExec", (PlanNode("MicroBatchScanExec", scan="right"),))
    assert scans(PlanNode("SortMergeJoinExec", (left, right))) == (("left",), ("right",))

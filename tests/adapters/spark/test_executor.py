"""A plan of the core, made true on a real session through the plugin's hooks, and taken back."""

from __future__ import annotations

from typing import TYPE_CHECKING

import attrs
import pytest

from adapters.spark.spark_jobs import HOSTS, PARTITIONS, rotation, three_stages
from headworks.errors import EngineError
from headworks.model import (
    Cluster,
    Component,
    FrozenMap,
    Kind,
    Metrics,
    Node,
    Plan,
    Request,
    Resources,
    Slot,
    Stream,
    TaskSample,
    Topology,
)
from headworks.problem import Problem
from headworks_spark.events.recorder import EventRecorder
from headworks_spark.placement.table import PlacementTable
from headworks_spark.plugin import spark as plugin
from headworks_spark.target import SparkTarget
from patience import PATIENCE

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = pytest.mark.spark

STAGES = {"source": 0, "middle": 1, "sink": 2}
TOPOLOGY = Topology(
    id="job",
    components=(
        Component(id="source", kind=Kind.SPOUT, parallelism=PARTITIONS),
        Component(id="middle", parallelism=PARTITIONS),
        Component(id="sink", parallelism=PARTITIONS),
    ),
    streams=(
        Stream(source="source", target="middle", grouping="fields"),
        Stream(source="middle", target="sink", grouping="fields"),
    ),
)
NODES = tuple(Node(id=host, capacity=Resources(cpu=100.0, memory=512.0)) for host in HOSTS)


@pytest.fixture
def target(spark: SparkSession) -> SparkTarget:
    placement = PlacementTable.of(spark)
    placement.clear("job")
    return SparkTarget(spark=spark, topology=TOPOLOGY, scope="job", stages=STAGES, placement=placement)


def plan(shift: int, running: FrozenMap[str, Slot] = FrozenMap()) -> Plan:
    """What a scheduler would answer that rotates tasks over the nodes: they differ, as equal ones keep places."""
    loads = tuple(TaskSample(task=each.id, cpu=1.0 + each.index) for each in TOPOLOGY.tasks())
    seen = Metrics(window=1.0, tasks=loads)
    request = Request(cluster=Cluster(nodes=NODES), topologies=(TOPOLOGY,), assignment=running, metrics=seen)
    problem = Problem.of(request)
    hosts = rotation(shift, 3)
    return problem.plan([problem.node_index[hosts[STAGES[task.component], task.index]] for task in problem.tasks])


def test_a_plan_places_every_task_and_rollback_restores(spark: SparkSession, target: SparkTarget) -> None:
    first, second = plan(0), plan(1, plan(0).assignment)
    assert plugin.headworks_preflight(target, first) == ()
    receipt = plugin.headworks_execute(target, first)
    assert (receipt.done, receipt.level, receipt.undo) == (True, "hard", {})
    assert [step.subject for step in receipt.steps] == [move.task for move in first.moves]
    assert three_stages(spark, "job") == rotation(0, 3)
    receipt = plugin.headworks_execute(target, second)
    assert receipt.undo == first.assignment
    assert three_stages(spark, "job") == rotation(1, 3)
    for _ in range(2):
        assert plugin.headworks_rollback(target, receipt).done
        assert target.asked() == first.assignment
    assert three_stages(spark, "job") == rotation(0, 3)


def test_rollback_of_the_first_plan_leaves_the_tasks_to_spark(target: SparkTarget) -> None:
    receipt = plugin.headworks_execute(target, plan(0))
    plugin.headworks_rollback(target, receipt)
    assert target.asked() == {}


def test_a_session_keeps_the_tasks_that_it_was_asked_for_and_no_others(target: SparkTarget) -> None:
    assert not plugin.headworks_keeps(target, plan(0))
    receipt = plugin.headworks_execute(target, plan(0))
    assert plugin.headworks_keeps(target, plan(0))
    assert not plugin.headworks_keeps(target, plan(1))
    plugin.headworks_rollback(target, receipt)
    assert not plugin.headworks_keeps(target, plan(0))


def test_a_look_shows_the_nodes_and_where_the_last_job_ran(spark: SparkSession, target: SparkTarget) -> None:
    with EventRecorder(spark) as recorder:
        heard = attrs.evolve(target, recorder=recorder)
        plugin.headworks_execute(heard, plan(0))
        three_stages(spark, "job")
        recorder.wait("job", 1, since=0, timeout=PATIENCE)
        seen = plugin.headworks_look(heard)
    assert sorted(each.id for each in seen.cluster.nodes) == sorted(HOSTS)
    assert seen.cluster.shared_slots
    assert [each.id for each in seen.topologies] == ["job"]
    assert seen.assignment == plan(0).assignment


def test_tasks_of_another_topology_are_left_alone(target: SparkTarget) -> None:
    both = attrs.evolve(plan(0), assignment=FrozenMap(plan(0).assignment | {"other/source/0": Slot(HOSTS[0], 0)}))
    plugin.headworks_execute(target, both)
    assert target.asked() == plan(0).assignment


def test_what_cannot_be_enforced_is_said_before(target: SparkTarget) -> None:
    partial = attrs.evolve(target, stages={"source": 0, "middle": 1})
    lost = attrs.evolve(plan(0), assignment=FrozenMap(plan(0).assignment | {"job/source/0": Slot("10.9.9.9", 0)}))
    objections = plugin.headworks_preflight(partial, lost)
    assert len(objections) == 2
    assert "component 'sink' of 'job' has no stage" in objections[0]
    assert "no executor is alive on node '10.9.9.9'" in objections[1]


def test_without_a_placement_nothing_is_done(target: SparkTarget) -> None:
    plugin.headworks_execute(target, plan(0))
    unable = attrs.evolve(target, placement=None)
    (objection,) = plugin.headworks_preflight(unable, plan(1))
    assert "so that no task is placed: start it on a standalone cluster" in objection
    receipt = plugin.headworks_execute(unable, plan(1))
    assert not receipt.done
    assert all(not step.done and step.message == objection for step in receipt.steps)
    assert plugin.headworks_rollback(target, receipt).steps == ()
    assert target.asked() == plan(0).assignment
    with pytest.raises(EngineError, match="does not have Headworks's task scheduler"):
        unable.ask({})

"""The control loop on tasks that have seats: schedulers move them while all workers of a real cluster run."""

from __future__ import annotations

from typing import TYPE_CHECKING

import attrs
import pytest

from headgate.control.loop import Control, Loop
from headgate.model import Component, FrozenMap, Kind, Plan, Receipt, Resources, Slot, Stream, Topology
from headgate.plugins.host import PluginHost
from headgate_storm.demo.experiment import experiment
from headgate_storm.local.cluster import SupervisorSpec
from headgate_storm.workload.describe import describe
from patience import PATIENCE
from storm_cluster import RELEASE, wait_for

if TYPE_CHECKING:
    from collections.abc import Iterator

    from headgate_storm.demo.experiment import ServedCluster

pytestmark = [
    pytest.mark.storm,
    pytest.mark.slow,
    pytest.mark.network,
    pytest.mark.matrix,
    pytest.mark.xdist_group("storm-seats"),
]

NODES = tuple(SupervisorSpec(host=f"127.0.0.{last}", cpu=400.0, memory_mb=2048.0, slots=2) for last in (57, 58))
NAME = "looped"
TASK = Resources(cpu=10, memory=64)
TOPOLOGY = Topology(
    id=NAME,
    components=(
        Component(id="in", kind=Kind.SPOUT, rate=200, demand=TASK),
        Component(id="mid", parallelism=4, selectivity=0.25, demand=TASK),
        Component(id="out", parallelism=4, demand=TASK),
    ),
    streams=(
        Stream(source="in", target="mid", grouping="fields"),
        Stream(source="mid", target="out", grouping="fields"),
    ),
    workers=2,
)
"""Most tuples go from the spout to the tasks of one bolt, of which half are on the other node."""
MOVABLE = {"mid": "fields:credit", "out": "stateless"}


@pytest.fixture(scope="module")
def cluster(java: None, tmp_path_factory: pytest.TempPathFactory) -> Iterator[ServedCluster]:
    """A topology whose bolts have seats, placed by Headgate."""
    folder = tmp_path_factory.mktemp("looped")
    conf = {"nimbus.monitor.freq.secs": 2}
    with experiment(PluginHost.load(), NODES, folder, fill="even", conf=conf, version=RELEASE) as served:
        served.run(describe(TOPOLOGY, conf={"topology.acker.executors": 0}), shadow=False, seats=MOVABLE)
        yield served


def observed(cluster: ServedCluster, seconds: float = 3.0):
    return cluster.host.observe("storm", cluster.service.target, seconds)


def living(cluster: ServedCluster) -> dict[str, Slot]:
    """Where tasks with seats live, by component and index."""
    seen = observed(cluster, 0.1)
    assert not any("stay in their seats" in note for note in seen.notes), seen.notes
    parts = {task.partition("/")[2]: slot for task, slot in seen.assignment.items()}
    return {task: slot for task, slot in parts.items() if task.partition("/")[0] in MOVABLE}


def pids(cluster: ServedCluster) -> set[int]:
    return {each.pid for each in cluster.storm.workers() if each.topology.startswith(f"{NAME}-")}


def execute(cluster: ServedCluster, wanted: dict[str, Slot]) -> Receipt:
    seen = observed(cluster, 0.1)
    (topology,) = seen.topologies
    asked = {**seen.assignment, **{f"{topology.id}/{task}": slot for task, slot in wanted.items()}}
    target = attrs.evolve(cluster.service.target, patience=PATIENCE)
    return cluster.host.execute("storm", target, Plan(assignment=FrozenMap(asked)))


@pytest.mark.timeout(1800)
def test_a_plan_moves_several_tasks_from_seat_to_seat_and_a_rollback_moves_them_back(cluster):
    wait_for("the ledger", lambda: not any("seats" in note for note in observed(cluster, 0.1).notes))
    before, workers = living(cluster), pids(cluster)
    assert len(before) == 8
    assert len(workers) == len(set(before.values())) == 2
    (here, there) = sorted(set(before.values()))
    wanted = {task: there if slot == here else here for task, slot in before.items()}
    receipt = execute(cluster, wanted)
    assert receipt.done, receipt
    assert receipt.level == "seats"
    assert [step.action for step in receipt.steps] == ["seat"] * 8
    assert all("by seats, pause " in step.message and step.message.endswith(" ms") for step in receipt.steps)
    assert living(cluster) == wanted
    back = cluster.host.rollback("storm", cluster.service.target, receipt)
    assert (back.done, back.level, len(back.steps)) == (True, "seats", 8)
    assert living(cluster) == before
    assert pids(cluster) == workers


@pytest.mark.timeout(1800)
def test_traffic_is_measured_of_tasks_wherever_they_live(cluster):
    def measured():
        seen = observed(cluster)
        tasks = {each.id for each in seen.topologies[0].tasks()}
        rates = {each.task: each.received or 0.0 for each in seen.metrics.tasks}
        whole = {task for task in tasks if "/mid/" in task or "/out/" in task} <= rates.keys()
        return whole and seen.metrics.flows and seen

    seen = wait_for("samples of all tasks", measured)
    (topology,) = seen.topologies
    assert topology.live
    received = {"mid": 0.0, "out": 0.0}
    for each in seen.metrics.tasks:
        name = each.task.split("/")[1]
        if name in received:
            received[name] += each.received
    assert received["mid"] / 4 == pytest.approx(received["out"], rel=0.5)
    pairs = {(each.source.split("/")[1], each.target.split("/")[1]) for each in seen.metrics.flows}
    assert {("in", "mid"), ("mid", "out")} <= pairs


@pytest.mark.timeout(1800)
def test_otd_moves_one_task_a_round_until_it_rests_and_no_worker_restarts(cluster):
    target = attrs.evolve(cluster.service.target, patience=PATIENCE)
    # Nodes have far more CPU than the tasks use, so that it brings these to where their traffic is.
    options = {"low_load": 0.95, "high_load": 0.99, "high_queue": 1e9}
    loop = Loop(cluster.host, Control(scheduler="otd", engine="storm", options=options, window=5.0), target)
    workers, first = pids(cluster), cluster.measure(5.0)
    rounds = []
    for _ in range(12):
        rounds.append(loop.round())
        if rounds[-1].outcome in ("quiet", "unchanged"):
            break
    moves = [each for each in rounds if each.outcome == "executed"]
    assert moves, [(each.outcome, each.message) for each in rounds]
    for each in moves:
        assert each.receipt.level == "seats"
        assert len(each.receipt.steps) == 1
        assert "by seats, pause " in each.receipt.steps[0].message
    assert pids(cluster) == workers
    assert cluster.measure(5.0).share < first.share

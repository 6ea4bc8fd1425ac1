"""The control loop on tasks with seats: they move, and more or fewer work, while all workers of a real cluster run."""

from __future__ import annotations

import gc
import time
from typing import TYPE_CHECKING

import attrs
import pytest

from headworks.control.guards import Guards
from headworks.control.loop import Control, Loop
from headworks.control.moves_per import MovesPer
from headworks.model import Component, FrozenMap, Kind, Plan, Receipt, Resources, Slot, Stream, Topology
from headworks.plugins.host import PluginHost
from headworks_storm.demo.experiment import experiment
from headworks_storm.local.cluster import SupervisorSpec
from headworks_storm.seats.ledger import open_ledger
from headworks_storm.seats.moves import SECONDS
from headworks_storm.seats.view import SeatWish
from headworks_storm.workload.describe import describe
from patience import PATIENCE
from storm_cluster import RELEASE, wait_for
from storm_movers import Chooser, Mover
from storm_tally import Tally

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from headworks_storm.demo.experiment import ServedCluster

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
    """A topology whose bolts have seats, placed by Headworks."""
    folder = tmp_path_factory.mktemp("looped")
    conf = {"nimbus.monitor.freq.secs": 2, "nimbus.topology.validator": "headworks.storm.seats.Validator"}
    with experiment(PluginHost.load(), NODES, folder, scheduler="even", conf=conf, version=RELEASE) as served:
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


def pids(cluster: ServedCluster, name: str = NAME) -> set[int]:
    return {each.pid for each in cluster.storm.workers() if each.topology.startswith(f"{name}-")}


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
def test_a_plan_that_empties_a_host_restarts_no_worker(cluster):
    wait_for("the ledger", lambda: not any("seats" in note for note in observed(cluster, 0.1).notes))
    before, workers = living(cluster), pids(cluster)
    (left, there) = sorted(set(before.values()))
    receipt = execute(cluster, dict.fromkeys(before, there))
    assert (receipt.done, receipt.level) == (True, "seats"), receipt
    assert set(living(cluster).values()) == {there}
    assert left.node != there.node
    assert cluster.host.rollback("storm", cluster.service.target, receipt).done
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


@pytest.mark.timeout(1800)
def test_bounds_on_moves_hold_for_tasks_with_seats(cluster):
    wait_for("the ledger", lambda: not any("seats" in note for note in observed(cluster, 0.1).notes))
    seen, before = observed(cluster, 0.1), living(cluster)
    hosts = [slot.node for slot in before.values()]
    here, there = sorted((each.id for each in seen.cluster.nodes), key=hosts.count, reverse=True)
    own = [f"{seen.topologies[0].id}/{task}" for task, slot in sorted(before.items()) if slot.node == here]
    assert len(own) >= 4
    host = cluster.host.with_plugin("mover", Mover(own, there))
    guards = Guards(cooldown=0.0, goal=None)
    control = Control(scheduler="mover", engine="storm", window=1.0, guards=guards, moves_per=MovesPer(node=1, day=1))
    loop = Loop(host, control, attrs.evolve(cluster.service.target, patience=PATIENCE))
    first, second = loop.round(replan=True), loop.round(replan=True)
    assert (first.outcome, first.moved, len(first.receipt.steps)) == ("executed", 1, 1), first
    assert set(first.dropped) == set(own[1:])
    assert first.forecast.why == ""
    assert {each.figure for each in second.checked} >= {"share", "completed"}
    assert [(each.engine, each.kind) for each in first.stops] == [("storm", "live")]
    assert 0 < first.stops[0].seconds < PATIENCE
    assert (second.outcome, second.moved) == ("waiting", 0), second
    assert "at most 1 running tasks move in 24 hours" in second.message
    after = living(cluster)
    assert [task for task, slot in after.items() if slot != before[task]] == [own[0].partition("/")[2]]


COUNTED = "counted"
"""Numbered tuples, shuffled over four tasks of `pass`, that sinks count: each has to come once."""


def placed_and_seen(cluster: ServedCluster):
    seen = observed(cluster, 0.1)
    own = [each for each in seen.topologies if each.name == COUNTED and each.live]
    return not any("seats" in note for note in seen.notes) and own and own[0]


def working(cluster: ServedCluster) -> set[int]:
    """Tasks of `pass` that had tuples in the last seconds, by what their workers say."""
    seen = observed(cluster, 2.0)
    own = [each for each in seen.metrics.tasks if each.task.startswith(f"{COUNTED}-") and "/pass/" in each.task]
    return {int(each.task.rpartition("/")[2]) for each in own if each.received}


def busy_seats(cluster: ServedCluster) -> int:
    """Seats of `pass` in which something was executed, by the newest report of each worker of the topology."""
    snapshot = cluster.service.target.latest()
    (own,) = [each for each in snapshot.scheduled if each.name == COUNTED]
    ids = {first for task, (first, _) in own.executors.items() if "/pass/" in task}
    reports = [each for each in cluster.service.collector.recent(PATIENCE) if each.topology == own.topology.id]
    latest = {each.worker: each for each in reports}
    return len({row.task for each in latest.values() for row in each.tasks if row.task in ids and row.received})


@pytest.mark.timeout(1800)
def test_numbers_of_tasks_that_a_scheduler_chooses_are_carried_out_while_all_workers_run(cluster, tmp_path: Path):
    numbers = Tally(cluster.storm, tmp_path)
    conf = {
        "headworks.seats.movable": "pass=stateless; number=fields:counts",
        "numbers.shuffle": True,
        "topology.disable.loadaware.messaging": True,  # which may leave out a task that is far away
    }
    numbers.submit_numbers(COUNTED, tuples=10**9, rate=300.0, acked=True, **conf)
    topology = wait_for("the ledger", lambda: placed_and_seen(cluster))
    bounds = {part.id: (part.min_parallelism, part.max_parallelism) for part in topology.components}
    assert [bounds[name] for name in ("numbers", "pass", "number", "sink")] == [(2, 2), (1, 4), (3, 3), (2, 2)]
    wait_for("tuples", lambda: numbers.written("sink")[0] > 0)
    before, others = pids(cluster, COUNTED), pids(cluster)
    assert len(before) == 2
    there = max(slot.node for slot in observed(cluster, 0.1).assignment.values())
    chosen = [("pass", 1), ("pass", 3), ("pass", 9), ("number", 2), ("pass", 2)]
    host = cluster.host.with_plugin("chooser", Chooser(*chosen, node=there))
    control = Control(scheduler="chooser", engine="storm", window=1.0)
    # What a busy machine does to latencies undoes nothing here.
    control = attrs.evolve(control, guards=attrs.evolve(control.guards, cooldown=0.0, goal=None))
    loop = Loop(host, control, attrs.evolve(cluster.service.target, patience=PATIENCE))
    said = []
    for was, count in ((4, 1), (1, 3), (3, 4), (4, 4), (4, 2)):
        done = loop.round()
        if was == count:
            assert (done.outcome, done.receipt) == ("unchanged", None)
            said.append(done.warnings[0])
            continue
        assert done.outcome == "executed", (done.outcome, done.message, done.receipt)
        assert done.receipt.level == "seats"
        assert done.receipt.undo_parallelism == {f"{topology.id}/pass": was}
        said.append(done.receipt.steps[-1].message)
        wait_for(f"{count} tasks work", lambda n=count: working(cluster) == set(range(n)))
        wait_for(f"{count} seats at work", lambda n=count: busy_seats(cluster) == n)
        if count == 3:
            at = observed(cluster, 0.1).assignment
            assert {at[f"{topology.id}/pass/{index}"].node for index in (1, 2)} == {there}
    assert [text.partition(" tasks")[0] for text in said] == ["4 -> 1", "1 -> 3", "3 -> 4", "all 3", "4 -> 2"]
    assert all(" tasks work, in " in said[index] and " ms" in said[index] for index in (0, 1, 2, 4))
    assert said[2].endswith("pass has 4 tasks: from 1 to 4 can work, and not 9; submit it with more tasks")
    assert said[3].startswith("all 3 tasks of number have to work: only a stateless component whose inputs are")
    back = host.rollback("storm", cluster.service.target, done.receipt)
    assert back.done, back
    wait_for("4 tasks work", lambda: working(cluster) == set(range(4)))
    cluster.storm.gateway.deactivate(COUNTED)
    sent = wait_for("all tuples acked", numbers.all_acked)
    wait_for("all tuples written", lambda: numbers.written("sink")[0] >= sent)
    assert numbers.written("sink") == [sent, 0, 0]
    assert (pids(cluster, COUNTED), pids(cluster)) == (before, others)
    cluster.storm.gateway.kill(COUNTED, wait=0)
    wait_for("its end", lambda: not pids(cluster, COUNTED))
    numbers.submit_numbers(COUNTED, tuples=10**9, rate=300.0, acked=True, **conf)
    again = wait_for("the ledger of the one that has its name now", lambda: placed_and_seen(cluster))
    assert (again.name, again.id == topology.id) == (COUNTED, False)
    wish = SeatWish(task=f"{topology.id}/pass/0", component="pass", index=0, seat=1, before=Slot("gone", 1))
    begin = time.monotonic()
    (told,) = cluster.service.target.seats.move({topology.id: [wish]})[topology.id]
    assert str(told) == f"no topology {topology.id!r} runs on this cluster"
    assert time.monotonic() - begin < SECONDS / 2  # nobody waits for a worker of what was killed
    cluster.storm.gateway.kill(COUNTED, wait=0)
    wait_for("its end", lambda: not pids(cluster, COUNTED) and len(observed(cluster, 0.1).topologies) == 1)


ORDERS = (
    (1, {}, 1, ""),
    (3, {"pass": 2}, 2, "2 executors of pass hold its 4 seats: its tasks stay where they are until `storm rebalance"),
    (2, {"pass": 4}, 2, ""),
)
"""Orders to rebalance: workers and executors that are asked for, workers that it has then, what Nimbus shows."""


@pytest.mark.timeout(1800)
def test_a_rebalance_by_storm_is_carried_out_and_what_it_takes_from_seats_is_said(cluster, tmp_path: Path):
    name, tally, gateway = "rebalanced", Tally(cluster.storm, tmp_path), cluster.storm.gateway
    tally.submit_durable(name, rate=50.0, **{"headworks.seats.movable": "pass=stateless; sum=fields:sums"})
    others = pids(cluster)

    def carried_out(workers: int, executors: int) -> bool:
        own = gateway.topology(name).executors if len(set(gateway.assignment(name).slots.values())) == workers else ()
        return sum(each.component == "pass" for each in own) == executors and all(each.uptime for each in own)

    wait_for("all executors", lambda: carried_out(2, 4))
    for asked, executors, workers, said in ORDERS:
        gateway.rebalance(name, wait=0, workers=asked, executors=executors)
        wait_for(f"{workers} workers", lambda n=workers, e=executors: carried_out(n, e.get("pass", 4)))
        written = len(tally.numbers("written"))
        wait_for("tuples", lambda n=written: len(tally.numbers("written")) > n + 100)
        status = gateway.topology(name).scheduling
        assert said in status
        assert ("for 3 workers, submit it anew" in status) == (asked == 3), status
        if said:
            seen = next(each for each in observed(cluster, 0.1).topologies if each.name == name)
            assert {each.id: each.movable for each in seen.components if each.id in ("pass", "sum")} == {
                "pass": False,
                "sum": True,
            }
    with open_ledger(gateway, name) as ledger:
        wait_for("no move under way", lambda: len(ledger.told()) == 8 and all(each.settled for each in ledger.told()))
        there = next(
            each.place for each in ledger.seats() if (each.component, each.index, each.owner) == ("pass", 0, False)
        )
        assert ledger.move("pass", 0, there, seconds=PATIENCE).target == there
    (tally.counts_folder / "stop").touch()
    wait_for("all that was sent is acked", lambda: tally.numbers("acked") == tally.numbers("sent"))
    assert tally.numbers("sent") <= tally.numbers("written")
    assert pids(cluster) == others
    gateway.kill(name, wait=0)
    wait_for("its end", lambda: not pids(cluster, name) and len(observed(cluster, 0.1).topologies) == 1)


@pytest.mark.timeout(1800)
def test_a_jvm_that_reaches_nimbus_and_dies_costs_no_round_and_no_traceback(cluster, caplog):
    before = living(cluster)
    with cluster.service.target.seats.nimbus.use() as gateway:
        gateway._process.kill()
        gateway._process.wait()
    (here, there) = sorted(set(before.values()))
    (task, slot) = sorted(before.items())[0]
    wanted = {**before, task: there if slot == here else here}
    receipt = execute(cluster, wanted)
    assert (receipt.done, receipt.level, len(receipt.steps)) == (True, "seats", 1)
    assert living(cluster) == wanted
    gc.collect()
    assert not [each for each in caplog.records if each.name.startswith("py4j") and each.levelname == "ERROR"]

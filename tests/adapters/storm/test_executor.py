"""Plans made true on a real cluster: stored by Nimbus, alive where asked, no other worker touched; or taken back."""

from __future__ import annotations

from typing import TYPE_CHECKING

import attrs
import pytest

from headworks.control.guards import Guards
from headworks.control.loop import Control, Loop
from headworks.hooks import Description, hookimpl
from headworks.model import Component, FrozenMap, Kind, Limits, Plan, Resources, Slot, Stream, Topology
from headworks.plugins.host import PluginHost
from headworks_storm.demo.experiment import ServedCluster, experiment
from headworks_storm.executor import restarted
from headworks_storm.install.submit import submit_description
from headworks_storm.local.cluster import SupervisorSpec
from headworks_storm.workload.describe import Load, describe
from patience import PATIENCE
from shadowed import acted, check_in_shadow
from storm_cluster import RELEASE
from storm_movers import Mover
from storm_words import all_run, eventually

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path

    from headworks.model import Observation, Receipt
    from headworks_storm.target import StormTarget

A, B, C, D = (Slot("n", port) for port in range(4))
NODES = tuple(SupervisorSpec(host=f"127.0.0.{last}", cpu=200.0, memory_mb=2048.0, slots=2) for last in (71, 72, 73))
NAME, UNHOOKED = "moved", "unhooked"
TASK = Resources(cpu=10, memory=64)
TOPOLOGY = Topology(
    id=NAME,
    components=(
        Component(id="in", kind=Kind.SPOUT, parallelism=3, rate=100, demand=TASK),
        Component(id="out", parallelism=3, demand=TASK),
    ),
    streams=(Stream(source="in", target="out"),),
    workers=3,
)
LIGHT = Load(cpu=0.1)
"""Part of what tasks declare that they use: what is tested is where they are, and these cores have other work."""


def test_workers_that_end_are_those_whose_executors_change() -> None:
    before = {"x": A, "y": A, "z": B, "w": C}
    assert restarted(before, before) == ()
    assert restarted(before, {**before, "x": B}) == (A, B)
    assert restarted(before, {**before, "w": D}) == (C,)
    assert restarted(before, {**before, "new": D}) == ()


@pytest.fixture(scope="module")
def running(java: None, tmp_path_factory: pytest.TempPathFactory) -> Iterator[ServedCluster]:
    """A topology of nine executors on three nodes, which Nimbus asks this process about."""
    folder = tmp_path_factory.mktemp("executor")
    conf = {"nimbus.monitor.freq.secs": 1}
    with experiment(PluginHost.load(), NODES, folder, scheduler="even", conf=conf, version=RELEASE) as cluster:
        cluster.run(describe(TOPOLOGY, load=LIGHT))
        cluster.service.target.rounds.shadow = False
        yield cluster


def stored(cluster: ServedCluster) -> dict[str, Slot]:
    """Where Nimbus says that each executor is, by task id of the model."""
    (scheduled,) = cluster.service.target.rounds.latest(PATIENCE).scheduled
    slots = cluster.storm.gateway.assignment(NAME).slots
    return {task: Slot(*slots[pair]) for task, pair in scheduled.executors.items()}


def processes(cluster: ServedCluster) -> dict[int, int]:
    return {each.port: each.pid for each in cluster.storm.workers() if each.pid}


def processes_of(cluster: ServedCluster) -> dict[str, set[int]]:
    """Worker processes by the name of their topology."""
    workers = [(each.topology.rsplit("-", 2)[0], each.pid) for each in cluster.storm.workers() if each.pid]
    return {name: {pid for owner, pid in workers if owner == name} for name, _ in workers}


def carry_out(cluster: ServedCluster, assignment: dict[str, Slot]) -> Receipt:
    plan = Plan(assignment=FrozenMap(assignment))
    return cluster.host.execute("storm", attrs.evolve(cluster.service.target, patience=PATIENCE), plan)


@pytest.mark.storm
@pytest.mark.slow
@pytest.mark.network
@pytest.mark.smoke
class TestRealCluster:
    """In this order: each leaves a whole topology for the next."""

    def test_only_the_two_workers_of_a_move_restart(self, running: ServedCluster) -> None:
        before, workers = stored(running), processes(running)
        (task,) = [name for name in before if name.endswith("/out/0")]
        target = next(slot for slot in sorted(set(before.values())) if slot != before[task])
        wanted = {**before, task: target}
        receipt = carry_out(running, wanted)
        assert receipt.done, receipt
        assert [step.action for step in receipt.steps] == ["assign", "alive"]
        assert stored(running) == wanted
        after = processes(running)
        changed = {port for port in workers if workers[port] != after.get(port)}
        assert changed == {before[task].port, target.port} == {slot.port for slot in restarted(before, wanted)}
        back = running.host.rollback("storm", running.service.target, receipt)
        assert back.done
        assert stored(running) == before

    def test_a_whole_worker_that_moves_to_a_free_slot_disturbs_no_other(self, running: ServedCluster) -> None:
        before, workers = stored(running), processes(running)
        source = min(before.values())
        nodes = running.service.target.rounds.latest(PATIENCE).nodes
        free = {Slot(node.id, port) for node in nodes for port in node.slots} - set(before.values())
        target = min(slot for slot in free if slot.node != source.node)
        wanted = {task: target if slot == source else slot for task, slot in before.items()}
        assert carry_out(running, wanted).done
        assert stored(running) == wanted
        eventually(lambda: source.port not in processes(running))
        after = processes(running)
        assert {port: after.get(port) for port in workers if port != source.port} == {
            port: pid for port, pid in workers.items() if port != source.port
        }

    def test_a_slot_that_is_not_there_is_told_and_nothing_restarts(self, running: ServedCluster) -> None:
        before, workers = stored(running), processes(running)
        impatient = attrs.evolve(running.service.target, patience=8.0)
        wanted = {**before, next(iter(before)): Slot("no-such-supervisor", 1)}
        receipt = running.host.execute("storm", impatient, Plan(assignment=FrozenMap(wanted)))
        assert not receipt.done
        assert "1 executors" in receipt.steps[0].message
        assert "not assigned as asked" in receipt.steps[0].message
        assert (stored(running), processes(running)) == (before, workers)

    def test_what_does_not_come_alive_in_time_is_taken_back_by_the_loop(self, running: ServedCluster) -> None:
        before = stored(running)
        last = next(task for task in sorted(before) if "/in/" in task)
        target = next(slot for slot in sorted(set(before.values())) if slot.node != before[last].node)

        class Patient:
            """Storm, with less patience for a plan than a worker needs to start, and with enough for the way back."""

            @hookimpl
            def headworks_describe(self) -> Description:
                return Description(summary="impatient, and patient")

            @hookimpl
            def headworks_observe(self, target: StormTarget, window: float) -> Observation:
                return running.host.observe("storm", target, window)

            @hookimpl
            def headworks_preflight(self, target: StormTarget, plan: Plan) -> Sequence[str]:
                return running.host.preflight("storm", target, plan)

            @hookimpl
            def headworks_execute(self, target: StormTarget, plan: Plan) -> Receipt:
                return running.host.execute("storm", attrs.evolve(target, patience=4.0), plan)

            @hookimpl
            def headworks_rollback(self, target: StormTarget, receipt: Receipt) -> Receipt:
                return running.host.rollback("storm", attrs.evolve(target, patience=PATIENCE), receipt)

        host = running.host.with_plugin("mover", Mover((last,), target.node)).with_plugin("patient", Patient())
        control = Control(scheduler="mover", engine="patient", window=1.0, limits=Limits(deadline=60.0))
        done = Loop(host, control, running.service.target).round(replan=True)
        assert done.outcome == "rolled-back", done
        assert "not alive where asked" in done.message
        running.service.target.rounds.until(lambda each: dict(each.assignment) == before, PATIENCE)
        assert stored(running) == before
        everything = running.service.target
        eventually(lambda: dict(everything.watch.alive(everything.rounds.latest(PATIENCE))) == before)  # type: ignore[union-attr]

    def test_each_observation_of_rounds_that_act_gives_the_same_plan_in_shadow(
        self, running: ServedCluster, tmp_path: Path
    ) -> None:
        node = min(each.node for each in stored(running).values())
        host = running.host.with_plugin("mover", Mover(sorted(stored(running))[:1], node))
        guards = Guards(cooldown=0.0, gain=0.0)
        control = Control(scheduler="mover", engine="storm", window=1.0, guards=guards, limits=Limits(deadline=60.0))
        rounds = acted(host, control, running.service.target, tmp_path, ("mover", "dstorm", "mover"))
        assert "executed" in [done.outcome for done, _ in rounds]
        for done, seen in rounds:
            check_in_shadow(host, control, done, seen)

    def test_a_topology_without_hooks_costs_nobody_a_move(self, running: ServedCluster) -> None:
        target, conf = running.service.target, {"topology.auto.task.hooks": [], "topology.metrics.reporters": []}
        described = describe(attrs.evolve(TOPOLOGY, id=UNHOOKED, workers=1), load=LIGHT, conf=conf)
        submit_description(described, running.storm.client_conf, version=RELEASE)
        eventually(lambda: all_run(running.storm, UNHOOKED))
        before, workers = target.latest().assignment, processes_of(running)
        (task,) = [name for name in before if name.startswith(NAME) and name.endswith("/out/0")]
        other = next(slot for name, slot in sorted(before.items()) if name.startswith(NAME) and slot != before[task])
        receipt = carry_out(running, {**before, task: other})
        assert receipt.done, receipt
        assert [step.action for step in receipt.steps] == ["assign", "alive"]
        assert receipt.steps[1].message.endswith("alive where asked"), receipt
        assert processes_of(running)[UNHOOKED] == workers[UNHOOKED]
        # And one that moves the silent topology is carried out, stays, and says what it does not know.
        now = target.latest().assignment
        slots = {Slot(node.id, port) for node in target.latest().nodes for port in node.slots}
        mine = {slot for name, slot in now.items() if name.startswith(UNHOOKED)}
        one = min(slots - set(now.values()) or mine)
        there = {name: one if name.startswith(UNHOOKED) else slot for name, slot in now.items()}
        receipt = carry_out(running, there)
        assert receipt.done, receipt
        (unseen,) = [step.message for step in receipt.steps if step.action == "verify"]
        assert "cannot be verified: no hooks" in unseen
        eventually(lambda: processes_of(running).get(UNHOOKED, set()).isdisjoint(workers[UNHOOKED]))
        eventually(lambda: len(processes_of(running).get(UNHOOKED, ())) == 1)
        assert dict(target.latest().assignment) == there

"""Rounds that follow the manager: the control loop on the simulated engine, and rounds as Nimbus asks for them."""

from __future__ import annotations

import threading
import time

import attrs
import pytest

from headworks.control.guards import Guards
from headworks.control.loop import Control, Loop
from headworks.control.priorities import Priorities
from headworks.errors import DocumentError, PluginError
from headworks.hooks import Description, hookimpl
from headworks.model import Component, FrozenMap, Observation, Slot, Topology
from headworks.plugins.host import PluginHost
from headworks_manager.database.connection import opened
from headworks_manager.database.store import Author, Store
from headworks_manager.plugin import Manager
from headworks_manager.rules.indication import Trigger
from headworks_priority.workloads import USE_CASE_1, use_case
from headworks_sim.fluid.world import World
from headworks_sim.target import SimTarget, observe
from patience import PATIENCE

ANN = Author(who="ann")
EVENTS = ("EventTP1", "EventTP2")


@pytest.fixture
def path(tmp_path):
    return tmp_path / "state" / "priorities.sqlite"


@pytest.fixture
def store(path):
    with opened(str(path)) as engine:
        yield Store(engine)


def loop_on(path, scheduler="dps"):
    target = SimTarget(world=World(use_case(USE_CASE_1, 16, ())))
    host = PluginHost.load([scheduler, "sim"]).with_plugin("manager", Manager())
    control = Control(
        scheduler=scheduler, engine="sim", window=10.0, guards=Guards(cooldown=0.0), priorities=f"manager:{path}"
    )
    return target, Loop(host, control, target, clock=target.clock)


def round_of(loop, target):
    done = loop.round()
    target.wait(120.0)
    return done


def nodes_of(target):
    """Nodes on which each topology runs, by the simulated engine itself."""
    found = {}
    for task, slot in observe(target, 1.0).assignment.items():
        found.setdefault(task.split("/")[0], set()).add(slot.node)
    return {name: len(nodes) for name, nodes in sorted(found.items())}


def registered(store):
    for name in USE_CASE_1:
        store.set(name, {"hold": 0}, ANN)
    return store


def test_dps_follows_the_triggers_as_table_9_prints_it(path, store):
    registered(store)
    target, loop = loop_on(path)
    round_of(loop, target)
    assert nodes_of(target) == {"ArchivalTP1": 3, "ArchivalTP2": 3, "EventTP1": 5, "EventTP2": 5}
    for name in EVENTS:
        store.trigger(Trigger(topology=name, on=True, source="person"), ANN)
    assert round_of(loop, target).outcome == "executed"
    assert nodes_of(target) == {"EventTP1": 8, "EventTP2": 8}
    for name in EVENTS:
        store.trigger(Trigger(topology=name, on=False, source="person"), ANN)
    starving = round_of(loop, target)
    assert any("ArchivalTP1 starves; it would take" in note for note in starving.notes)
    assert nodes_of(target) == {"ArchivalTP1": 3, "ArchivalTP2": 3, "EventTP1": 5, "EventTP2": 5}
    round_of(loop, target)
    assert [each.verdict for each in store.history("ArchivalTP1") if each.action == "round"][:2] == ["runs", "starves"]
    assert store.seen()["ArchivalTP1"].starving is None


def test_what_a_person_sets_overrides_what_topologies_declare(path, store):
    for name in USE_CASE_1:
        store.set(name, {"desired_nodes": 4, "minimum_nodes": 4, "priority": 2}, ANN)
    target, loop = loop_on(path, "sps-v2")
    round_of(loop, target)
    assert nodes_of(target) == dict.fromkeys(sorted(USE_CASE_1), 4)
    store.set("EventTP1", {"desired_nodes": 6}, ANN)
    store.set("ArchivalTP1", {"minimum_nodes": 2}, ANN)
    round_of(loop, target)
    assert nodes_of(target) == {"ArchivalTP1": 3, "ArchivalTP2": 4, "EventTP1": 5, "EventTP2": 4}


def test_aging_gives_a_starving_topology_its_turn(path, store):
    """The clock of the database is real, so aging of 0 s is over at once: no wait, the order is what is tested."""
    registered(store)
    target, loop = loop_on(path)
    for name in EVENTS:
        store.trigger(Trigger(topology=name, on=True, source="person"), ANN)
    round_of(loop, target)
    assert nodes_of(target) == {"EventTP1": 8, "EventTP2": 8}
    store.set("ArchivalTP2", {"aging": 0}, ANN)
    round_of(loop, target)
    assert nodes_of(target) == {"ArchivalTP2": 4, "EventTP1": 6, "EventTP2": 6}
    assert "preferred" in [each.verdict for each in store.history("ArchivalTP2")]


def test_a_minimum_above_the_nodes_that_were_seen_is_refused(path, store):
    registered(store)
    target, loop = loop_on(path)
    round_of(loop, target)
    with pytest.raises(DocumentError, match="must have 17 nodes, the cluster had 16 when it was seen last"):
        store.set("EventTP1", {"minimum_nodes": 17, "desired_nodes": 20}, ANN)


def test_rounds_hold_while_the_database_is_gone_and_come_back(path, store):
    registered(store)
    target, loop = loop_on(path)
    round_of(loop, target)
    before = nodes_of(target)
    folder = path.parent.rename(path.parent.with_name("away"))
    path.parent.write_text("in its place")
    done = round_of(loop, target)
    assert done.outcome == "held"
    assert "priorities are not known" in done.message
    assert nodes_of(target) == before
    path.parent.unlink()
    folder.rename(path.parent)
    store.trigger(Trigger(topology="EventTP1", on=True, source="person"), ANN)
    assert round_of(loop, target).outcome == "executed"
    assert nodes_of(target)["EventTP1"] == 8


def test_rounds_of_nimbus_go_on_with_what_was_said_last(path, store):
    """Whatever has no slot has to be placed: the answer to Nimbus does not wait for a database."""
    store.set("EventTP1", {"priority": 3}, ANN)
    request = use_case(USE_CASE_1, 16, ())
    observation = Observation(cluster=request.cluster, topologies=request.topologies, notes=("old",))
    asked = Priorities(PluginHost().with_plugin("manager", Manager()), f"manager:{path}")
    priority = {each.id: each.priority for each in asked.latest(observation).topologies}
    declared = {each.id: each.priority for each in observation.topologies}
    assert priority == {**declared, "EventTP1": 3}
    folder = path.parent.rename(path.parent.with_name("away"))
    path.parent.write_text("in its place")
    said = asked.latest(observation)
    assert {each.id: each.priority for each in said.topologies} == priority
    assert said.notes[0] == "old"
    assert "manager: priorities are as they were" in said.notes[1]
    path.parent.unlink()
    folder.rename(path.parent)
    store.set("EventTP1", {"priority": 4}, ANN)
    (back,) = [each for each in asked.latest(observation).topologies if each.id == "EventTP1"]
    assert back.priority == 4


class Hanging:
    """Says nothing until it may; counts the questions."""

    def __init__(self):
        self.may, self.questions = threading.Event(), 0

    @hookimpl
    def headworks_describe(self):
        return Description(summary="Hanging.")

    @hookimpl
    def headworks_prioritise(self, observation):
        self.questions += 1
        self.may.wait(PATIENCE)
        return Observation(topologies=tuple(attrs.evolve(each, priority=9) for each in observation.topologies))


def test_a_manager_that_hangs_keeps_no_round_waiting_and_is_heard_when_it_answers():
    request = use_case(USE_CASE_1, 16, ())
    observation, hanging = Observation(cluster=request.cluster, topologies=request.topologies), Hanging()
    asked = Priorities(PluginHost().with_plugin("hanging", hanging), "hanging")
    for _ in range(3):
        said = asked.latest(observation)
        assert said.topologies == observation.topologies
        assert "hanging: priorities are as topologies declare them: no answer for" in said.notes[-1]
    assert hanging.questions == 1
    hanging.may.set()
    asked.latest(observation)  # the one that was still asked
    end = time.monotonic() + PATIENCE
    while {each.priority for each in asked.latest(observation).topologies} != {9}:
        assert time.monotonic() < end


def test_a_submission_under_a_new_id_keeps_the_indication_of_its_name(path, store):
    store.set("wordcount", {"priority": 7, "minimum_nodes": 2}, ANN)
    request = use_case(USE_CASE_1, 16, ())
    again = attrs.evolve(request.topologies[0], id="wordcount-3-1700000000", name="wordcount")
    observation = Observation(cluster=request.cluster, topologies=(again,))
    (said,) = Manager().headworks_prioritise(observation, str(path)).topologies
    assert (said.priority, said.minimum_nodes, said.desired_nodes) == (7, 2, again.desired_nodes)
    assert set(store.seen()) == {"wordcount"}


def test_a_topology_that_runs_starves_for_no_slash_in_the_id_of_a_component(path, store):
    cluster = use_case(USE_CASE_1, 16, ()).cluster
    running = FrozenMap({"t/a/b/0": Slot(cluster.nodes[0].id, cluster.nodes[0].slots[0])})
    made = Topology(id="t", components=(Component(id="a/b"),))
    said = Manager().headworks_prioritise(
        Observation(cluster=cluster, topologies=(made,), assignment=running), str(path)
    )
    assert not said.notes
    assert (store.seen()["t"].nodes, store.seen()["t"].starving) == (1, None)


class Overreaching:
    """Answers with more than it was asked for."""

    @hookimpl
    def headworks_describe(self):
        return Description(summary="Overreaching.")

    @hookimpl
    def headworks_prioritise(self, observation):
        changed = [attrs.evolve(each, priority=9, workers=99) for each in observation.topologies]
        return Observation(topologies=(*changed, attrs.evolve(changed[0], id="stranger")), notes=("said",))


def test_of_an_answer_only_priorities_and_nodes_are_taken():
    request = use_case(USE_CASE_1, 16, ())
    observation = Observation(cluster=request.cluster, topologies=request.topologies)
    said = Priorities(PluginHost().with_plugin("other", Overreaching()), "other").complete(observation)
    expected = tuple(attrs.evolve(each, priority=9) for each in request.topologies)
    assert said == attrs.evolve(observation, topologies=expected, notes=("said",))


@pytest.mark.parametrize("name", ["nosuch", "even"])
def test_a_plugin_without_priorities_is_refused_before_anything_runs(name):
    with pytest.raises(PluginError, match=r"headworks_prioritise.*; there are: manager"):
        Priorities(PluginHost.load(["even", "manager"]), name)

from __future__ import annotations

import attrs
import pytest

from headworks.control.autoscale import Fleet, FleetMemory, gave_back, watch
from headworks.control.guards import Guards
from headworks.control.loop import Control, Loop
from headworks.hooks import Verdict, hookimpl
from headworks.model import FrozenMap, Observation, Receipt, Step
from headworks.plugins.host import PluginHost
from memory_engine import ElasticEngine, Engine, Judge, Machine
from small_requests import at, component, node, request, topology


class Analyst(Judge):
    """Judge as told, and say that the state is as told."""

    state = "normal"

    @hookimpl
    def headworks_analyse(self, observation):
        return Verdict(replan=self.replan, state=self.state, reasons=(f"it is {self.state}",))


def machine(*places, nodes="abc"):
    made = request([node(each) for each in nodes], [topology("t", component("c", len(places)))], {})
    tasks = {f"t/c/{index}": at(place) for index, place in enumerate(places)}
    return Machine(Observation(cluster=made.cluster, topologies=made.topologies, assignment=FrozenMap(tasks)))


def loop(target, judge, engine=None, *, shadow=False, **fleet):
    host = PluginHost().with_plugin("memory", engine or ElasticEngine()).with_plugin("judge", judge)
    control = Control(
        scheduler="judge", engine="memory", fleet=Fleet(**fleet), shadow=shadow, guards=Guards(cooldown=0.0, give_up=9)
    )
    return Loop(host, control, target)


def nodes(target):
    return "".join(each.id for each in target.seen.cluster.nodes)


def test_a_node_that_a_scheduler_emptied_is_given_back_after_some_rounds():
    target = machine("a", "b", "c")
    made = loop(target, Judge([0, 0, 1]), minimum=1, maximum=3)
    first, second = made.round(), made.round()
    assert (first.outcome, first.scaling) == ("executed", None)
    assert second.outcome == "unchanged"
    assert [step.subject for step in second.scaling.steps] == ["c"]
    assert nodes(target) == "ab"


def test_an_empty_node_goes_and_no_more_than_the_bound_allows():
    target = machine("a", "a")
    made = loop(target, Judge([0, 0], replan=False), minimum=2, maximum=3)
    assert made.round().scaling is None
    done = made.round()
    assert [(step.action, step.subject) for step in done.scaling.steps] == [("drain", "c")]
    assert done.notes == ("nodes: empty for 2 rounds", "drain c: done")
    assert [made.round().scaling, made.round().scaling, nodes(target)] == [None, None, "ab"]


def test_a_node_that_is_used_again_is_not_idle():
    target = machine("a", "b", nodes="ab")
    judge = Judge([0, 0])
    made = loop(target, judge, minimum=1, maximum=2)
    assert made.round().outcome == "executed"
    judge.node_of = [0, 1]
    assert made.round().outcome == "executed"
    judge.node_of = [0, 0]
    assert [made.round().scaling, nodes(target)] == [None, "ab"]
    assert made.round().scaling is not None
    assert nodes(target) == "a"


@pytest.mark.parametrize("state", ["unsatisfactory", "warn"])
def test_an_analysis_that_calls_for_no_plan_but_for_resources_is_given_a_node(state):
    target = machine("a", "b", nodes="ab")
    judge = Analyst([0, 1], replan=False)
    judge.state = state
    done = loop(target, judge, maximum=3).round()
    assert (done.outcome, done.plan, nodes(target)) == ("quiet", None, "abnew2")
    assert done.notes[0] == f"nodes: it is {state}"


def test_a_plan_that_lacks_room_asks_for_a_node_up_to_the_bound():
    target = machine("a", "a", nodes="a")
    judge = Judge([0, -1])
    made = loop(target, judge, maximum=2)
    done = made.round()
    assert (done.outcome, nodes(target)) == ("held", "anew1")
    assert "t/c/1" in done.notes[0]
    done = made.round()
    assert done.scaling is None
    assert "2 nodes are all there may be" in done.notes[0]


@pytest.mark.parametrize(("places", "expected"), [("ab", "abnew2"), ("aa", "ab")])
def test_an_unsatisfactory_state_asks_for_a_node_when_none_is_empty(places, expected):
    target = machine(*places, nodes="ab")
    judge = Analyst([0, 0], replan=False)
    judge.state = "unsatisfactory"
    loop(target, judge, maximum=9).round()
    assert nodes(target) == expected


def test_a_scheduler_that_packs_is_not_given_a_node_and_deprived_of_it_for_ever():
    """Its nodes are asked back after 8 rounds, then after 16."""
    target = machine("a", "a", nodes="ab")
    judge = Analyst([0, 0], replan=False)
    judge.state = "unsatisfactory"
    made = loop(target, judge, minimum=1, maximum=2)
    rounds = [made.round() for _ in range(30)]
    acted = [(at, step.action) for at, done in enumerate(rounds) if done.scaling for step in done.scaling.steps]
    assert acted == [(1, "drain"), (9, "add"), (11, "drain"), (27, "add"), (29, "drain")]
    assert "another one is asked for in 7 rounds" in rounds[2].notes[0]


def test_a_node_that_could_not_be_drained_was_not_given_back():
    class Stubborn(ElasticEngine):
        @hookimpl
        def headworks_scale(self, target, add, drain):
            return Receipt(done=False, steps=(Step(action="add" if add else "drain", subject="b", done=False),))

    target = machine("a", "a", nodes="ab")
    judge = Analyst([0, 0], replan=False)
    judge.state = "unsatisfactory"
    made = loop(target, judge, Stubborn(), minimum=1, maximum=2)
    made.round()
    assert [step.action for step in made.round().scaling.steps] == ["drain"]
    target.seen = attrs.evolve(
        target.seen, cluster=attrs.evolve(target.seen.cluster, nodes=target.seen.cluster.nodes[:1])
    )
    assert [step.action for step in made.round().scaling.steps] == ["add"]


def test_a_lack_of_room_is_met_at_once_though_nodes_were_given_back():
    target = machine("a", "a", nodes="ab")
    judge = Judge([0, 0])
    made = loop(target, judge, minimum=1, maximum=2)
    made.round()
    assert [step.action for step in made.round().scaling.steps] == ["drain"]
    judge.node_of = [0, -1]
    assert [step.action for step in made.round().scaling.steps] == ["add"]


def test_a_node_that_is_used_after_all_ends_the_waiting():
    seen = machine("a", "b", nodes="ab").seen
    memory = gave_back(FleetMemory(), machine("a", "a", nodes="ab").seen)
    assert (memory.enough, memory.wait, memory.pause) == (1, 8, 16)
    assert watch(memory, seen) == FleetMemory()


def test_the_pause_doubles_from_8_to_64_rounds():
    seen, memory, waits = machine("a", "a", nodes="ab").seen, FleetMemory(), []
    for _ in range(5):
        memory = gave_back(memory, seen)
        waits.append(memory.wait)
    assert waits == [8, 16, 32, 64, 64]


@pytest.mark.parametrize("broken", ["observe", "execute"])
def test_after_a_failed_round_no_node_comes_or_goes(broken):
    target = machine("a", "a")
    made = loop(target, Judge([0, 1]), minimum=1, maximum=3)
    target.broken = {broken}
    rounds = [made.round() for _ in range(4)]
    assert [(each.outcome, each.scaling) for each in rounds] == [("failed", None)] * 4
    assert nodes(target) == "abc"


def test_too_few_nodes_are_filled_up():
    target = machine("a", nodes="a")
    loop(target, Judge([0], replan=False), minimum=3, maximum=3).round()
    assert nodes(target) == "anew1new2"


def test_in_shadow_no_node_comes_or_goes():
    target = machine("a", "a")
    made = loop(target, Judge([0, 0]), shadow=True, maximum=3)
    assert [made.round().scaling for _ in range(3)] == [None] * 3


def test_an_engine_that_cannot_scale_is_said_and_the_round_stands():
    target = machine("a", "a", nodes="a")
    done = loop(target, Judge([0, -1]), Engine(), maximum=2).round()
    assert (done.outcome, done.scaling) == ("held", None)
    assert "nodes could not be changed: memory is not a plugin with headworks_scale" in done.notes[-1]


def test_an_observation_without_tasks_empties_nothing():
    target = machine("a", "a")
    target.seen = attrs.evolve(target.seen, assignment=FrozenMap())
    made = loop(target, Judge([0, 0], replan=False), minimum=1, maximum=3)
    assert [made.round().scaling for _ in range(3)] == [None] * 3

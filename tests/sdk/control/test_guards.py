from __future__ import annotations

import attrs
import pytest

from headgate.cli.control import _GOALS
from headgate.control.guards import GOALS, Guards, Memory, Trial, asked_again, gain, measure, wait_reason
from headgate.control.loop import Control, Loop
from headgate.model import Flow, FrozenMap, Metrics, Observation, Reason, Scores, TopologySample
from headgate.model.plan import STARVED
from headgate.plugins.host import PluginHost
from headgate.problem import Problem
from memory_engine import Engine, Judge, Machine
from small_requests import at, component, node, request, topology

SPREAD, PACKED = [0, 1], [0, 0]
FLOWS = (Flow(source="t/c/0", target="t/c/1", tuples=100.0),)


class Clock:
    def __init__(self):
        self.now = 0.0

    def __call__(self):
        return self.now


def machine(running=("a", "a"), nodes="ab", **metrics):
    tasks = {f"t/c/{index}": at(place) for index, place in enumerate(running)}
    made = request([node(each) for each in nodes], [topology("t", component("c", 2))], {})
    seen = Observation(
        cluster=made.cluster, topologies=made.topologies, assignment=FrozenMap(tasks), metrics=Metrics(**metrics)
    )
    return Machine(seen)


def loop(target, judge, clock=None, **guards):
    host = PluginHost().with_plugin("memory", Engine()).with_plugin("judge", judge)
    control = Control(scheduler="judge", engine="memory", guards=Guards(**guards))
    return Loop(host, control, target, clock=clock or Clock())


def places(target):
    return "".join(slot.node for _, slot in sorted(target.seen.assignment.items()))


def latency(target, value):
    sample = TopologySample(topology="t", latency=value)
    target.seen = attrs.evolve(target.seen, metrics=Metrics(topologies=(sample,)))


def test_the_command_line_knows_every_goal():
    assert _GOALS == GOALS


def test_after_acting_plans_wait_for_the_cool_down():
    clock, target, judge = Clock(), machine(), Judge(SPREAD)
    made = loop(target, judge, clock, cooldown=60)
    assert made.round().outcome == "executed"
    judge.node_of = PACKED
    clock.now = 59.0
    done = made.round()
    assert (done.outcome, places(target)) == ("waiting", "ab")
    assert "1 of 60 s are left, 1 moves wait" in done.message
    clock.now = 60.0
    assert made.round().outcome == "executed"


def test_a_failure_doubles_the_cool_down_and_a_success_ends_that():
    clock, target, judge = Clock(), machine(), Judge(SPREAD)
    made = loop(target, judge, clock, cooldown=10)
    target.refuses = True
    for now, outcome in [(0, "rolled-back"), (19, "waiting"), (20, "rolled-back"), (59, "waiting")]:
        clock.now = now
        assert made.round().outcome == outcome
    target.refuses = False
    clock.now = 60
    assert made.round().outcome == "executed"
    judge.node_of = PACKED
    clock.now = 70
    assert made.round().outcome == "executed"


def test_a_plan_has_to_gain_enough():
    target = machine(running=("a", "b"), flows=FLOWS)
    assert loop(target, Judge(PACKED), gain=0.5).round().outcome == "executed"  # no traffic between nodes any more
    done = loop(target, Judge([1, 1]), gain=0.5).round()
    assert (done.outcome, places(target)) == ("waiting", "aa")
    assert "gains 0.0% and at least 50.0% are asked" in done.message
    assert loop(target, Judge([1, 1])).round().outcome == "executed"  # nobody asked for a gain


def test_a_task_that_runs_nowhere_does_not_wait():
    clock, target, judge = Clock(), machine(), Judge(SPREAD)
    made = loop(target, judge, clock, cooldown=60, gain=0.9)
    assert loop(target, judge, clock).round().outcome == "executed"
    target.seen = attrs.evolve(target.seen, assignment=FrozenMap({"t/c/0": at("a")}))
    judge.node_of = PACKED
    assert made.round().outcome == "executed"


def test_what_made_the_goal_worse_is_undone_and_not_tried_again():
    target, judge = machine(), Judge(SPREAD)
    latency(target, 100.0)
    made = loop(target, judge, goal="latency", worse=0.2)
    assert made.round().outcome == "executed"
    latency(target, 121.0)
    done = made.round()
    assert (done.outcome, places(target)) == ("undone", "aa")
    assert done.message == "latency went from 100 to 121 after round 1"
    done = made.round()
    assert (done.outcome, places(target)) == ("waiting", "aa")
    assert "made things worse before" in done.message


def test_what_is_bearable_stays_and_is_judged_once():
    target, judge = machine(), Judge(SPREAD)
    latency(target, 100.0)
    made = loop(target, judge, goal="latency", worse=0.2)
    made.round()
    latency(target, 119.0)
    assert made.round().outcome == "unchanged"
    latency(target, 500.0)
    assert (made.round().outcome, places(target)) == ("unchanged", "ab")


def test_a_plan_is_judged_when_it_has_settled():
    target, judge = machine(), Judge(SPREAD)
    latency(target, 100.0)
    made = loop(target, judge, goal="latency", settle=2)
    assert made.round().outcome == "executed"
    latency(target, 900.0)
    assert [made.round().outcome, made.round().outcome] == ["unchanged", "undone"]


def test_taking_back_that_fails_is_said():
    target, judge = machine(), Judge(SPREAD)
    latency(target, 100.0)
    made = loop(target, judge, goal="latency")
    made.round()
    latency(target, 900.0)
    target.broken = {"rollback"}
    done = made.round()
    assert done.outcome == "failed"
    assert "latency went from 100 to 900" in done.message
    assert "taking it back failed" in done.message


def test_tasks_that_left_their_places_are_asked_again():
    target, judge = machine(), Judge(SPREAD, replan=False)
    made = loop(target, judge)
    assert made.round(replan=True).outcome == "executed"
    target.run({"t/c/0": at("b"), "t/c/1": at("b")})
    assert (made.round().outcome, places(target)) == ("asserted", "ab")
    assert made.round().outcome == "quiet"


def test_a_deaf_engine_is_reminded_so_often_and_then_planned_for_anew():
    target, judge = machine(), Judge(SPREAD)
    target.deaf = True
    made = loop(target, judge, reassert=2)
    rounds = [made.round() for _ in range(4)]
    assert [each.outcome for each in rounds] == ["missed"] * 4
    assert ["asked again" in each.plan.explanation for each in rounds] == [False, True, True, False]


def test_a_place_on_a_node_that_is_gone_is_not_insisted_on():
    seen = machine(running=("a", "a")).seen
    made = attrs.evolve(request([node("a")], seen.topologies, {}), assignment=seen.assignment)
    memory = Memory(asked=FrozenMap({"t/c/0": at("a"), "t/c/1": at("b")}))
    assert asked_again(made, Guards(), memory) == []


def test_in_shadow_nothing_is_remembered():
    target = machine()
    host = PluginHost().with_plugin("memory", Engine()).with_plugin("judge", Judge(SPREAD))
    control = Control(scheduler="judge", engine="memory", shadow=True, guards=Guards(cooldown=60, goal="nodes"))
    made = Loop(host, control, target)
    assert [made.round().outcome for _ in range(3)] == ["unchanged"] * 3
    assert "execute" not in target.calls


FASTER, SLOWER = Scores(share=0.2, nodes_used=3, utilisation=0.5), Scores(share=0.4, nodes_used=2, utilisation=0.5)


@pytest.mark.parametrize(
    ("goal", "expected"), [(None, 0.5), ("traffic", 0.5), ("nodes", -0.5), ("latency", 0.5), ("cost", 0.0)]
)
def test_gain_is_relative_in_the_goal_or_where_it_is_largest(goal, expected):
    assert gain(SLOWER, FASTER, goal) == pytest.approx(expected)


def test_what_was_not_measured_judges_nothing():
    made = request([node("a")], [topology("t", component("c", 2))], {"t/c/0": "a", "t/c/1": "a"})
    assert [measure(made, goal) for goal in ("traffic", "latency", "throughput", "cost")] == [None] * 4
    assert measure(made, "nodes") == 1
    sample = TopologySample(topology="t", offered=10.0, throughput=8.0)
    assert measure(attrs.evolve(made, metrics=Metrics(topologies=(sample,))), "throughput") == 0.8


def test_a_plan_that_starves_on_purpose_needs_no_gain_but_obeys_the_cool_down():
    running = {"high/c/0": "a", "low/c/0": "a"}
    made = request([node("a")], [topology("high", component("c")), topology("low", component("c"))], running)
    starved = Reason(code=STARVED, subject="low", message="low waits", resource="nodes", need=1.0, have=0.0)
    plan, guards = Problem.of(made).plan((0, -1), reasons=(starved,)), Guards(gain=0.5, cooldown=60.0, goal="nodes")
    assert wait_reason(made, plan, guards, Memory(), now=0.0) == ""
    assert "cool-down" in wait_reason(made, plan, guards, Memory(acted=0.0), now=30.0)
    other = Problem.of(made).plan((0, -1))
    assert "at least 50.0% are asked" in wait_reason(made, other, guards, Memory(), now=0.0)


def test_a_regret_outlives_a_cool_down():
    made = request([node("a"), node("b")], [topology("t", component("c", 2))], {"t/c/0": "a", "t/c/1": "a"})
    plan = Problem.of(made).plan(SPREAD)
    memory = Memory(
        acted=0.0,
        regrets=(plan.assignment,),
        trial=Trial(round=1, before=1.0, asked=plan.assignment, undo=plan.assignment),
    )
    assert "undone" in wait_reason(made, plan, Guards(), memory, now=1e9)

from __future__ import annotations

import attrs
import pytest

from headworks.control.guards import (
    Guards,
    Memory,
    Repeated,
    Trial,
    Window,
    gain,
    measure,
    regret_reason,
    remember,
    tasks_to_reassert,
    wait_reason,
)
from headworks.control.journal import Round
from headworks.control.loop import Control, Loop
from headworks.hooks import Description, hookimpl
from headworks.model import (
    Flow,
    FrozenMap,
    Limits,
    Metrics,
    Observation,
    Provenance,
    Reason,
    Receipt,
    Scores,
    TopologySample,
)
from headworks.model.plan import STARVED
from headworks.plugins.host import PluginHost
from headworks.problem import Problem
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
    # No pause where a test asks for none: its rounds follow at once.
    guarded = Guards(**{"cooldown": 0.0, "settle": 1, **guards})
    control = Control(scheduler="judge", engine="memory", limits=Limits(), guards=guarded)
    return Loop(host, control, target, clock=clock or Clock())


def places(target):
    return "".join(slot.node for _, slot in sorted(target.seen.assignment.items()))


def latency(target, value):
    sample = TopologySample(topology="t", latency=value)
    target.seen = attrs.evolve(target.seen, metrics=Metrics(topologies=(sample,)))


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


def test_no_plan_is_asked_for_within_the_scheduling_interval():
    clock, target, judge = Clock(), machine(), Judge(SPREAD, interval=600.0)
    made = loop(target, judge, clock)
    assert made.round().outcome == "executed"  # nothing was carried out before
    judge.node_of = PACKED
    clock.now = 599.0
    done = made.round()
    assert (done.outcome, done.plan, places(target)) == ("quiet", None, "ab")
    assert done.message == "scheduling interval: 1 of 600 s are left (normal; all is well)"
    judge.interval = 0.0  # what cannot wait
    assert made.round().outcome == "executed"
    judge.node_of, judge.interval = SPREAD, 600.0
    assert made.round(replan=True).outcome == "executed"
    judge.node_of = PACKED
    clock.now = 1199.0
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


def test_an_assignment_that_misses_counts_as_a_failure():
    clock, target = Clock(), machine()
    target.deaf = True
    made = loop(target, Judge(SPREAD), clock, cooldown=10, reassert=0)
    for now, outcome in [(0, "missed"), (19, "waiting"), (20, "missed"), (59, "waiting"), (60, "missed")]:
        clock.now = now
        assert made.round().outcome == outcome


def test_undoing_starts_a_cool_down_that_counts_as_a_failure():
    clock, target, judge = Clock(), machine(nodes="abc"), Judge(SPREAD)
    latency(target, 100.0)
    made = loop(target, judge, clock, goal="latency", cooldown=10)
    made.round()
    latency(target, 900.0)
    clock.now = 50
    assert made.round().outcome == "undone"
    judge.node_of = [0, 2]
    for now, outcome in [(69, "waiting"), (70, "executed")]:
        clock.now = now
        assert made.round().outcome == outcome


def test_a_failed_round_ends_the_trial_and_asks_nothing_again():
    target, judge = machine(nodes="abc"), Judge(SPREAD)
    latency(target, 100.0)
    made = loop(target, judge, goal="latency", settle=2)
    assert made.round().outcome == "executed"
    judge.node_of, target.broken = [0, 2], {"execute"}
    assert made.round().outcome == "failed"
    judge.node_of, target.broken = SPREAD, set()
    latency(target, 900.0)
    target.run({"t/c/0": at("a"), "t/c/1": at("a")})
    judge.replan = False
    assert [made.round().outcome, made.round().outcome] == ["quiet", "quiet"]


def test_a_cool_down_doubles_six_times_at_most():
    made = request([node("a"), node("b")], [topology("t", component("c", 2))], {"t/c/0": "a", "t/c/1": "a"})
    plan, guards = Problem.of(made).plan(SPREAD), Guards(cooldown=10.0)
    waits = [wait_reason(made, plan, guards, Memory(acted=100.0, failures=times), now=101.0) for times in (0, 6, 99)]
    assert waits == [f"cool-down: {pause - 1} of {pause} s are left, 1 moves wait" for pause in (10, 640, 640)]


def test_the_gain_that_is_asked_is_enough():
    made = request([node("a"), node("b")], [topology("t", component("c", 2))], {"t/c/0": "a", "t/c/1": "b"})
    plan = Problem.of(made).plan(PACKED)
    assert gain(Problem.of(made).plan(SPREAD).scores, plan.scores, "nodes") == 0.5
    assert wait_reason(made, plan, Guards(gain=0.5, goal="nodes"), Memory(), now=0.0) == ""
    assert "50.0% and at least 50.1%" in wait_reason(made, plan, Guards(gain=0.501, goal="nodes"), Memory(), now=0.0)


def pair_homes(homes):
    return {f"t/{side}{number}/0": both[at] for number, both in enumerate(homes) for at, side in enumerate("pq")}


def pairs(*rates, homes, live=True):
    """Pairs of tasks that exchange so much, each pair on the nodes of its letters, of which each has room for all."""
    parts = [component(f"{side}{number}", cpu=1.0) for number in range(len(rates)) for side in "pq"]
    where = pair_homes(homes)
    flows = [Flow(source=f"t/p{at}/0", target=f"t/q{at}/0", tuples=float(rate)) for at, rate in enumerate(rates)]
    nodes = [node("a"), node("b", price=1.0)]
    return request(nodes, [topology("t", *parts, live=live)], where, metrics=Metrics(flows=tuple(flows)))


def wait(made, homes, max_moves=None, aware=True, **guards):
    """Why the plan with these homes waits."""
    made = attrs.evolve(made, limits=attrs.evolve(made.limits, max_moves=max_moves))
    problem = Problem.of(made)
    where = pair_homes(homes)
    plan = problem.plan([problem.node_index[where[task]] for task in problem.task_ids])
    return wait_reason(made, plan, Guards(**guards), Memory(), now=0.0, traffic_aware=aware)


@pytest.mark.parametrize(("split", "waits"), [(9, True), (10, False)])
def test_of_traffic_aware_schedulers_one_percent_of_all_traffic_is_asked(split, waits):
    made = pairs(500, 500 - split, split, homes=("aa", "bb", "ab"))
    assert bool(wait(made, ("aa", "bb", "bb"))) is waits
    assert "and at least 1.0% are asked; 2 moves wait" in wait(made, ("aa", "bb", "ba"))
    assert wait(made, ("aa", "bb", "bb"), aware=False) == ""
    assert wait(made, ("aa", "bb", "bb"), gain=0.0) == ""
    assert wait(made, ("aa", "bb", "bb"), aware=False, gain=0.5)


def test_where_fewer_tasks_may_move_less_gain_is_asked():
    made = pairs(500, 498, 2, homes=("aa", "bb", "ab"))
    assert wait(made, ("aa", "bb", "bb"))
    assert wait(made, ("aa", "bb", "bb"), max_moves=2)
    assert wait(made, ("aa", "bb", "bb"), max_moves=1) == ""


def test_consolidation_waits_for_no_gain_unless_one_is_asked():
    """One of 200 nodes is half a percent."""
    nodes = [node(f"n{number:03}") for number in range(200)]
    where = {f"t/c/{number}": f"n{number:03}" for number in range(200)}
    made = request(nodes, [topology("t", component("c", 200, cpu=50.0))], where)
    plan = Problem.of(made).plan([0, 0, *range(2, 200)])
    asked = [Guards(), Guards(goal="nodes"), Guards(goal="traffic"), Guards(gain=0.01)]
    waits = [bool(wait_reason(made, plan, guards, Memory(), now=0.0, traffic_aware=True)) for guards in asked]
    assert waits == [False, False, True, True]


def test_a_node_that_is_relieved_waits_for_no_gain():
    """Two nodes are overloaded, and one is relieved: the fullest is as full as before."""
    parts = [component("c", 6, cpu=60.0)]
    where = {f"t/c/{number}": "aabbcc"[number] for number in range(6)}
    nodes = [node(each, cpu=100.0) for each in "abcd"]
    made = request(nodes, [topology("t", *parts)], where)
    plan = Problem.of(made).plan([0, 0, 1, 1, 2, 3])
    assert plan.scores.fullest_node == 1.2
    for guards in (Guards(), Guards(gain=0.9, goal="nodes")):
        assert wait_reason(made, plan, guards, Memory(), now=0.0, traffic_aware=True) == ""


@pytest.mark.parametrize(("capabilities", "outcome"), [((), "executed"), (("traffic-aware",), "waiting")])
def test_the_loop_knows_who_promises_less_traffic(capabilities, outcome):
    class Promising(Judge):
        @hookimpl
        def headworks_describe(self):
            return Description(summary="Judge", capabilities=frozenset(capabilities))

    target = machine(running=("a", "a"), flows=FLOWS)
    assert loop(target, Promising([1, 1])).round().outcome == outcome


def test_of_assignments_that_were_undone_the_latest_are_remembered():
    undone = Round(number=1, outcome="undone", receipt=Receipt())
    memory, asked = Memory(), [FrozenMap({"t/c/0": at(f"n{number}")}) for number in range(10)]
    for each in asked:
        memory = attrs.evolve(memory, trial=Trial(round=1, before=1.0, asked=each, undo=FrozenMap()))
        memory = remember(memory, undone, Guards(), now=5.0)
    assert memory == Memory(
        acted=5.0, failures=10, regrets=tuple(asked[-8:]), repeated=Repeated(what="undone", times=10)
    )
    assert remember(Memory(regrets=(asked[0],)), undone, Guards(), now=5.0).regrets == (asked[0],)


def test_a_later_plan_does_not_make_an_undone_one_forgotten():
    target, judge = machine(nodes="abc"), Judge(SPREAD)
    latency(target, 100.0)
    made = loop(target, judge, goal="latency")
    made.round()
    latency(target, 900.0)
    assert made.round().outcome == "undone"
    judge.node_of = [0, 2]
    assert made.round().outcome == "executed"
    judge.node_of = SPREAD
    assert "made things worse before" in made.round().message


def test_what_is_undone_is_the_part_that_was_carried_out():
    made = pairs(500, 500, homes=("ab", "ab"))
    plan = attrs.evolve(Problem.of(made).plan([0, 0, 0, 0]), provenance=Provenance(scheduler="judge"))
    stays = plan.moves[0].task
    receipt = Receipt(dropped=FrozenMap({stays: "held back"}))
    done = Round(number=1, outcome="executed", request=made, plan=plan, receipt=receipt)
    memory = remember(Memory(), done, Guards(goal="traffic"), now=5.0)
    assert memory.trial is not None
    assert memory.trial.asked == {**plan.assignment, stays: made.assignment[stays]}


def throughput(target, value):
    sample = TopologySample(topology="t", offered=100.0, throughput=value)
    target.seen = attrs.evolve(target.seen, metrics=Metrics(topologies=(sample,)))


@pytest.mark.parametrize(("after", "outcome", "where"), [(90.0, "unchanged", "ab"), (59.0, "undone", "aa")])
def test_more_throughput_is_better(after, outcome, where):
    target, judge = machine(), Judge(SPREAD)
    throughput(target, 70.0)
    made = loop(target, judge, goal="throughput", worse=0.1)
    assert made.round().outcome == "executed"
    throughput(target, after)
    assert (made.round().outcome, places(target)) == (outcome, where)


def measured(offered, completed, latency):
    return Metrics(topologies=(TopologySample(topology="t", offered=offered, throughput=completed, latency=latency),))


@pytest.mark.parametrize(
    ("now", "said"),
    [
        ((100.0, 97.0, 11.0), ""),
        ((100.0, 60.0, 11.0), "throughput went from 95 to 60 after round 3, at an equal load"),
        ((100.0, 96.0, 40.0), "latency went from 11 to 40 after round 3, at an equal load"),
        ((60.0, 55.0, 10.0), ""),  # less was offered
        ((100.0, 84.0, 11.0), ""),  # within the spread of before
        ((100.0, None, 40.0), ""),
    ],
)
def test_without_a_goal_a_plan_is_judged_by_what_users_feel_at_an_equal_load(now, said):
    target, judge = machine(), Judge(SPREAD, replan=False)
    made = loop(target, judge, settle=2)
    for window in ((100.0, 95.0, 10.0), (100.0, 99.0, 12.0), (105.0, 84.0, 11.0)):
        target.seen = attrs.evolve(target.seen, metrics=measured(*window))
        judge.replan = window[0] == 105.0
        done = made.round()
    assert (done.outcome, places(target)) == ("executed", "ab")
    judge.replan = False
    target.seen = attrs.evolve(target.seen, metrics=measured(100.0, 10.0, 900.0))
    assert made.round().outcome == "quiet"  # what follows a change at once is the change
    target.seen = attrs.evolve(target.seen, metrics=measured(*now))
    done = made.round()
    assert (done.outcome, done.message if said else "") == ("undone" if said else "quiet", said)
    assert places(target) == ("aa" if said else "ab")


@pytest.mark.parametrize(("latency", "outcome"), [(14.0, "quiet"), (16.0, "undone")])
def test_before_three_windows_half_as_much_again_is_no_loss(latency, outcome):
    target, judge = machine(), Judge(SPREAD)
    made = loop(target, judge)
    target.seen = attrs.evolve(target.seen, metrics=measured(100.0, 95.0, 10.0))
    assert made.round().outcome == "executed"
    judge.replan = False
    target.seen = attrs.evolve(target.seen, metrics=measured(100.0, 95.0, latency))
    assert made.round().outcome == outcome


@pytest.mark.parametrize(
    ("wish", "outcome"),
    [
        ({}, "undone"),
        ({"desired_nodes": 1}, "quiet"),
        ({"minimum_nodes": 1}, "quiet"),
        ({"priority": 1}, "quiet"),  # the other's is the default
    ],
)
def test_a_topology_that_loses_a_node_by_priority_is_meant_to_lose(wish, outcome):
    target, judge = machine(running=("a", "b")), Judge([*PACKED, 1])
    mine, other = target.seen.topologies[0], topology("u", component("c", 1))
    running = FrozenMap({**target.seen.assignment, "u/c/0": at("b")})
    both = (attrs.evolve(mine, **wish), other)
    target.seen = attrs.evolve(target.seen, topologies=both, assignment=running, metrics=offered("tu", 10.0))
    made = loop(target, judge)
    assert made.round().outcome == "executed"
    judge.replan = False
    target.seen = attrs.evolve(target.seen, metrics=offered("tu", 900.0))
    assert made.round().outcome == outcome


@pytest.mark.parametrize(("wish", "failures"), [({}, 2), ({"desired_nodes": 1}, 0)])
def test_a_plan_that_nothing_judges_ends_the_pause_after_failures(wish, failures):
    part = component("c", 2)
    made = request([node("a"), node("b")], [attrs.evolve(topology("t", part), **wish)], {"t/c/0": "a", "t/c/1": "b"})
    plan = Problem.of(made).plan(PACKED)
    plan = attrs.evolve(plan, provenance=attrs.evolve(plan.provenance, scheduler="judge"))
    done = Round(number=1, outcome="executed", request=made, plan=plan, receipt=Receipt())
    before = Memory(failures=2, windows=(Window(offered=100.0, completed=95.0),))
    assert remember(before, done, Guards(), now=5.0).failures == failures


def offered(names, latency):
    each = (TopologySample(topology=name, offered=100.0, throughput=90.0, latency=latency) for name in names)
    return Metrics(topologies=tuple(each))


@pytest.mark.parametrize("when", ["before", "after"])
def test_windows_from_before_a_node_came_say_nothing_of_a_plan(when):
    target, judge = machine(), Judge(SPREAD, replan=False)
    made = loop(target, judge)
    target.seen = attrs.evolve(target.seen, metrics=measured(100.0, 95.0, 10.0))
    made.round()
    if when == "before":
        target.seen = attrs.evolve(target.seen, cluster=machine(nodes="abc").seen.cluster, metrics=Metrics())
    judge.replan = True
    assert made.round().outcome == "executed"
    judge.replan = False
    if when == "after":
        target.seen = attrs.evolve(target.seen, cluster=machine(nodes="abc").seen.cluster)
    target.seen = attrs.evolve(target.seen, metrics=measured(100.0, 5.0, 900.0))
    assert made.round().outcome == "quiet"


@pytest.mark.parametrize(
    ("before", "now", "worse", "undone"),
    [
        (0.5, 0.5625, 0.1, True),  # relative: by an eighth
        (0.5, 0.5625, 0.125, False),  # as much as is borne
        (0.0, 0.001, 0.1, True),
        (0.5, None, 0.1, False),
        (None, 0.5, 0.1, False),
    ],
)
def test_a_loss_is_relative_and_what_was_not_measured_is_no_loss(before, now, worse, undone):
    made = request([node("a")], [topology("t", component("c", 2))], {"t/c/0": "a", "t/c/1": "a"})
    made = attrs.evolve(made, metrics=Metrics(topologies=(TopologySample(topology="t", latency=now),)))
    memory = Memory(trial=Trial(round=1, before=before, asked=FrozenMap(), undo=FrozenMap()))
    assert bool(regret_reason(made, Guards(goal="latency", settle=1, worse=worse), memory, number=2)) is undone
    assert regret_reason(made, Guards(goal="latency", settle=1, worse=worse), memory, number=1) == ""


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


def test_reminders_are_counted_anew_after_one_that_helped():
    target, judge = machine(), Judge(SPREAD, replan=False)
    made = loop(target, judge, reassert=1)
    assert made.round(replan=True).outcome == "executed"
    for _ in range(3):
        target.run({"t/c/0": at("b"), "t/c/1": at("b")})
        assert made.round().outcome == "asserted"


def test_a_reminder_starts_a_cool_down_and_counts_as_a_failure_when_it_misses():
    clock, target, judge = Clock(), machine(), Judge(SPREAD)
    made = loop(target, judge, clock, cooldown=10, reassert=1)
    assert made.round().outcome == "executed"
    target.run({"t/c/0": at("b"), "t/c/1": at("b")})
    target.deaf, clock.now = True, 100
    assert made.round().outcome == "missed"
    for now, outcome in [(119, "waiting"), (120, "missed")]:
        clock.now = now
        assert made.round().outcome == outcome


def test_a_task_that_runs_nowhere_is_not_astray():
    seen = machine(running=("a", "b")).seen
    made = attrs.evolve(request([node("a"), node("b")], seen.topologies, {}), assignment={"t/c/0": at("a")})
    memory = Memory(asked=seen.assignment)
    assert tasks_to_reassert(made, Guards(), memory) == []
    astray = attrs.evolve(made, assignment={"t/c/0": at("b")})
    assert tasks_to_reassert(astray, Guards(), memory) == [0, 1]


def test_a_place_on_a_node_that_is_gone_is_not_insisted_on():
    seen = machine(running=("a", "a")).seen
    made = attrs.evolve(request([node("a")], seen.topologies, {}), assignment=seen.assignment)
    memory = Memory(asked=FrozenMap({"t/c/0": at("a"), "t/c/1": at("b")}))
    assert tasks_to_reassert(made, Guards(), memory) == []


def test_tasks_that_cannot_go_back_are_planned_for_anew():
    target, judge = machine(), Judge(SPREAD)
    made = loop(target, judge)
    assert made.round().outcome == "executed"
    (found,) = target.seen.topologies
    target.seen = attrs.evolve(target.seen, topologies=(attrs.evolve(found, components=(_pinned(found),)),))
    target.run({"t/c/0": at("b"), "t/c/1": at("b")})
    judge.node_of = [1, 1]
    done = made.round()
    assert (done.outcome, "asked again" in done.plan.explanation) == ("unchanged", False)


def test_places_that_have_no_room_any_more_are_planned_for_anew():
    target, judge = machine(), Judge(SPREAD)
    made = loop(target, judge)
    assert made.round().outcome == "executed"
    small = attrs.evolve(target.seen.cluster, nodes=(node("a", slots=0), node("b")))
    target.seen = attrs.evolve(target.seen, cluster=small)
    target.run({"t/c/0": at("b"), "t/c/1": at("b")})
    judge.node_of = [1, 1]
    done = made.round()
    assert (done.outcome, "asked again" in done.plan.explanation) == ("unchanged", False)


def _pinned(topology):
    (part,) = topology.components
    return attrs.evolve(part, movable=False)


def test_in_shadow_nothing_is_remembered():
    target = machine()
    host = PluginHost().with_plugin("memory", Engine()).with_plugin("judge", Judge(SPREAD))
    control = Control(
        scheduler="judge", engine="memory", limits=Limits(), shadow=True, guards=Guards(cooldown=60, goal="nodes")
    )
    made = Loop(host, control, target)
    assert [made.round().outcome for _ in range(3)] == ["unchanged"] * 3
    assert "execute" not in target.calls


FASTER, SLOWER = Scores(share=0.2, nodes_used=3, fullest_node=0.5), Scores(share=0.4, nodes_used=2, fullest_node=0.5)


@pytest.mark.parametrize(
    ("goal", "expected"), [(None, 0.2), ("traffic", 0.2), ("nodes", -0.5), ("latency", 0.2), ("cost", 0.0)]
)
def test_gain_is_that_of_the_goal_or_the_largest_and_of_traffic_a_share_of_all(goal, expected):
    assert gain(SLOWER, FASTER, goal) == pytest.approx(expected)


def test_what_was_not_measured_judges_nothing():
    made = request([node("a")], [topology("t", component("c", 2))], {"t/c/0": "a", "t/c/1": "a"})
    assert [measure(made, goal) for goal in ("traffic", "latency", "throughput", "cost")] == [None] * 4
    assert measure(made, "nodes") == 1
    sample = TopologySample(topology="t", offered=10.0, throughput=8.0)
    idle = TopologySample(topology="u", throughput=5.0)
    silent = TopologySample(topology="v", offered=10.0)
    assert measure(attrs.evolve(made, metrics=Metrics(topologies=(sample, idle, silent))), "throughput") == 0.8
    flows = attrs.evolve(made, metrics=Metrics(flows=FLOWS))
    assert measure(flows, "traffic") == 0.0
    assert measure(attrs.evolve(flows, assignment={"t/c/0": at("a")}), "traffic") is None


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


def test_by_default_a_failure_skips_the_next_round():
    clock, target = Clock(), machine()
    made = Loop(
        PluginHost().with_plugin("memory", Engine()).with_plugin("judge", Judge(SPREAD)),
        Control(scheduler="judge", engine="memory", limits=Limits()),
        target,
        clock=clock,
    )
    target.refuses = True
    assert made.round().outcome == "rolled-back"
    clock.now = 59.0
    assert made.round().outcome == "waiting"
    clock.now = 60.0
    assert made.round().outcome == "rolled-back"


def test_the_same_failure_three_times_ends_in_hold_until_something_changes():
    target, judge = machine(), Judge(SPREAD)
    made = loop(target, judge)
    target.refuses = True
    assert [made.round().outcome for _ in range(5)] == ["rolled-back"] * 3 + ["held"] * 2
    done = made.round()
    assert done.message == (
        "3 rounds in a row failed alike (move t): running tasks stay until nodes, topologies or priorities change, "
        "or you start it again; 1 moves are not made"
    )
    assert target.calls.count("execute") == target.calls.count("rollback") == 3
    nodes = (*target.seen.cluster.nodes, node("c"))
    target.seen = attrs.evolve(target.seen, cluster=attrs.evolve(target.seen.cluster, nodes=nodes))
    assert made.round().outcome == "rolled-back"  # it is tried again, and counted anew
    target.refuses = False
    assert made.round().outcome == "executed"


def test_a_trigger_that_changes_a_priority_has_its_plan_tried_again():
    target, judge = machine(), Judge(SPREAD)
    made = loop(target, judge)
    target.refuses = True
    assert [made.round().outcome for _ in range(4)] == ["rolled-back"] * 3 + ["held"]
    topologies = tuple(attrs.evolve(each, priority=each.priority + 1) for each in target.seen.topologies)
    target.seen = attrs.evolve(target.seen, topologies=topologies)
    target.refuses = False
    assert made.round().outcome == "executed"


def test_a_task_without_a_place_does_not_make_the_same_failure_endless():
    target, judge = machine(), Judge(PACKED)
    target.seen = attrs.evolve(target.seen, assignment=FrozenMap({"t/c/0": at("a")}))
    made = loop(target, judge, give_up=2)
    target.refuses = True
    assert [made.round().outcome for _ in range(4)] == ["rolled-back"] * 2 + ["held"] * 2


def test_a_way_back_that_raises_is_not_tried_for_ever():
    target, judge = machine(), Judge(SPREAD)
    latency(target, 100.0)
    made = loop(target, judge, goal="latency", worse=0.2)
    assert made.round().outcome == "executed"
    latency(target, 200.0)
    target.broken.add("rollback")
    judge.replan = False
    assert [made.round().outcome for _ in range(3)] == ["failed", "quiet", "quiet"]
    assert target.calls.count("rollback") == 1


def test_plans_that_are_undone_each_time_end_in_hold():
    target, judge = machine(nodes="abcdefgh"), Judge(SPREAD)
    made = loop(target, judge, goal="latency", worse=0.2)
    outcomes = []
    for number in range(1, 6):
        latency(target, 100.0)
        judge.node_of = [0, number]
        outcomes.append(made.round().outcome)
        latency(target, 200.0)
        outcomes.append(made.round().outcome)
    assert outcomes == ["executed", "undone"] * 3 + ["held"] * 4

"""OTD: gains, the four cases, one migration a round, and the word count of the paper."""

from __future__ import annotations

import random
from collections import Counter
from itertools import pairwise

import attrs
import numpy as np
import pytest

from headworks.control.autoscale import Fleet
from headworks.control.loop import Control, Loop
from headworks.model import Flow, FrozenMap, Kind, Metrics, Observation, TaskSample
from headworks.plugins.host import PluginHost
from headworks.problem import Problem
from headworks.problem.plan.check import check_plan
from headworks.testing.instances.build import SeededDice, build_request
from headworks_nstorm.cases import case_of, loads
from headworks_nstorm.deployment import deal, rounds
from headworks_nstorm.gains import Gains
from headworks_nstorm.migration import Feasibility, pinned
from headworks_nstorm.options import Options
from headworks_nstorm.plugin import otd
from headworks_nstorm.workers import Workers
from headworks_nstorm.workloads import computation, word_count
from memory_engine import ElasticEngine, Machine
from random_requests import random_request
from small_requests import at, component, node, request, topology

EAGER = Options(threshold=0.0, low_load=0.7, high_load=0.75, guard=False)
PRINTED = Options(guard=False)
ANYWHERE = tuple(attrs.evolve(each, capacity="ignored") for each in (PRINTED, EAGER))
"""Algorithms 1 and 2 to the letter: every executor with every Worker under low load."""


def running_problems(count):
    """Problems in which every task runs, of every kind that the kit has."""
    dice, found = SeededDice(random.Random(5)), []
    while len(found) < count:
        asked = build_request(dice)
        node_of, _ = deal(Problem.of(asked))
        if len(node_of) and node_of.min() >= 0:
            plan = Problem.of(asked).plan(node_of)
            found.append(Problem.of(attrs.evolve(asked, assignment=plan.assignment)))
    return found


PROBLEMS = running_problems(60)


def traffic_with(problem, node_of, executor, node):
    """What an executor exchanges with those on a node, from the definition: traffic between nodes with and without."""
    alone = np.full_like(node_of, -1)
    others = node_of == node
    others[executor] = False
    alone[others] = np.arange(others.sum()) + 1
    apart = alone.copy()
    apart[executor] = 0
    total = 0
    for other in np.flatnonzero(others):
        together = apart.copy()
        together[executor] = together[other]
        total += problem.traffic.inter_node(apart) - problem.traffic.inter_node(together)
    return total


def literal(problem, node_of, options):
    """Algorithms 1 and 2 as two loops."""
    workers = Workers.by_node(problem, node_of)
    found = loads(problem, workers, options)
    executors = np.flatnonzero(~pinned(problem, options)).tolist()
    if found.case not in ("balance", "optimise"):
        return None
    if found.case == "balance":
        worst = int(np.where(found.high, found.ratio, -1.0).argmax())
        executors = [each for each in executors if node_of[each] == worst]
    fit, best = Feasibility(problem, workers, found, options), None
    for executor in executors:
        here = traffic_with(problem, node_of, executor, node_of[executor])
        for target in np.flatnonzero(found.low).tolist():
            allowed = options in ANYWHERE or fit.on(executor, target) >= 0
            if target != node_of[executor] and allowed:
                gain = traffic_with(problem, node_of, executor, target) - here
                if best is None or gain > best[2]:
                    best = (executor, target, gain)
    if best is not None and found.case == "optimise" and best[2] <= options.threshold * problem.traffic.total:
        return None
    return best


def case_on(problem, options):
    return loads(problem, Workers.by_node(problem, problem.current), options).case


def answer(migration):
    return None if migration is None else (migration.executor, migration.target, migration.gain)


@pytest.mark.parametrize(
    "options", [EAGER, PRINTED, *ANYWHERE, Options(), Options(spouts="stay", threshold=0.0)], ids=str
)
def test_a_round_decides_as_the_two_loops_do(options):
    moved = 0
    for problem in PROBLEMS:
        node_of = problem.current
        for decision, after in rounds(problem, options, 3) if problem.n <= 60 else ():
            assert answer(decision.migration) == literal(problem, node_of, options)
            moved += decision.migration is not None
            node_of = after
    assert moved > 10


def test_traffic_between_nodes_falls_by_exactly_the_gain():
    moved = 0
    for problem in PROBLEMS:
        before = problem.traffic.inter_node(problem.current)
        for decision, node_of in rounds(problem, EAGER, 30):
            if decision.migration is not None:
                moved += 1
                before -= decision.migration.gain
                assert problem.traffic.inter_node(node_of) == before
    assert moved > 50


def test_c_is_what_an_executor_exchanges_with_a_node():
    for problem in PROBLEMS[:12]:
        table = Gains(problem, problem.current).rows(np.arange(problem.n))
        for executor, home in ((one, home) for one in range(problem.n) for home in range(problem.m)):
            assert table[executor, home] == traffic_with(problem, problem.current, executor, home)


def test_algorithm_2_always_gains_and_ends():
    options = Options(threshold=0.0, low_load=100.0, high_load=200.0)
    for problem in PROBLEMS:
        decisions = [decision for decision, _ in rounds(problem, options, 10_000)]
        assert decisions[-1].migration is None
        assert all(each.migration.gain > 0 for each in decisions[:-1])
        assert {each.case for each in decisions} == {"optimise"}


@pytest.mark.parametrize(
    ("high", "low", "case"),
    [(True, True, "balance"), (True, False, "warn"), (False, True, "optimise"), (False, False, "nothing")],
)
def test_the_four_cases(high, low, case):
    assert case_of(high, low) == case


def two_nodes(a, b, **more):
    """One task of `a` points on node a, another of `b` on node b, each 10 points in four tasks."""
    parts = component("p", 4, cpu=a / 4), component("q", 4, cpu=b / 4)
    where = {f"t/{part}/{index}": home for part, home in (("p", "a"), ("q", "b")) for index in range(4)}
    return request([node("a"), node("b")], [topology("t", *parts)], where, **more)


@pytest.mark.parametrize(
    ("a", "b", "state", "replan"),
    [
        (90, 20, "balance", True),
        (90, 85, "warn", False),
        (50, 20, "optimise", True),
        (70, 65, "nothing", False),
    ],
)
def test_the_analysis_says_which_case_it_is(a, b, state, replan):
    asked = two_nodes(a, b)
    seen = Observation(cluster=asked.cluster, topologies=asked.topologies, assignment=asked.assignment)
    verdict = otd.headworks_analyse(seen, Options())
    assert (verdict.state, verdict.replan) == (state, replan)
    assert verdict.reasons


def test_a_task_that_runs_nowhere_calls_for_a_plan():
    asked = two_nodes(50, 20)
    seen = Observation(cluster=asked.cluster, topologies=asked.topologies)
    assert otd.headworks_analyse(seen, Options()).state == "unassigned"


def test_a_long_queue_is_high_load_too():
    metrics = Metrics(tasks=(TaskSample(task="t/p/0", queue=5000.0),))
    asked = two_nodes(20, 20, metrics=metrics)
    assert case_on(Problem.of(asked), Options()) == "balance"
    assert case_on(Problem.of(asked), Options(high_queue=6000.0)) == "optimise"
    unmeasured = Problem.of(asked, measured=False)
    assert case_on(unmeasured, Options()) == "optimise"


def planned(asked, options=None):
    plan = otd.headworks_schedule(asked, options or Options())
    assert check_plan(Problem.of(asked), plan) == ()
    return plan


def test_balance_moves_one_executor_off_the_fullest_node():
    plan = planned(two_nodes(90, 20))
    (move,) = plan.moves
    assert (move.kind, move.task, move.target.node) == ("migrate", "t/p/0", "b")
    assert plan.explanation.startswith("balance: t/p/0 to b")


def test_the_guard_does_not_overload_the_target():
    asked = two_nodes(100, 58)
    assert planned(asked, PRINTED).moves
    assert not planned(asked).moves


def test_as_printed_the_best_executor_competes_though_there_is_no_room_for_it_and_then_nothing_moves():
    """Node b has 50 points left: t/p/0, which has all traffic with it, needs 60, and t/r/0, which has none, 40."""
    parts = [component(name, cpu=cpu) for name, cpu in (("p", 60.0), ("q", 50.0), ("r", 40.0))]
    metrics = Metrics(flows=(Flow(source="t/p/0", target="t/q/0", tuples=100.0),))
    where = {"t/p/0": "a", "t/q/0": "b", "t/r/0": "a"}
    asked = request([node("a"), node("b")], [topology("t", *parts)], where, metrics=metrics)
    (move,) = planned(asked, PRINTED).moves
    assert (move.task, move.target.node) == ("t/r/0", "b")
    plan = planned(asked, ANYWHERE[0])
    assert (plan.status, plan.moves) == ("ok", ())
    assert plan.explanation == "balance: t/p/0 would go to b, which has no room for it, no executor moves"


def test_warn_and_nothing_move_nothing():
    assert planned(two_nodes(90, 85)).moves == ()
    assert planned(two_nodes(70, 65)).moves == ()


def test_what_runs_nowhere_is_dealt_first_and_nothing_migrates():
    asked = two_nodes(90, 10)
    rest = FrozenMap({task: at for task, at in asked.assignment.items() if task != "t/q/0"})
    plan = planned(attrs.evolve(asked, assignment=rest))
    assert [(move.kind, move.task) for move in plan.moves] == [("place", "t/q/0")]


def test_topologies_share_the_slots_when_they_are_dealt():
    parts = [topology(name, component("c", 4, cpu=5.0)) for name in "tuvw"]
    asked = request([node("a", slots=1), node("b", slots=1), node("c", slots=1), node("d", slots=1)], parts)
    plan = planned(asked)
    assert (plan.status, plan.scores.workers) == ("ok", 4)


def test_an_executor_that_may_not_move_stays():
    asked = two_nodes(90, 20)
    parts = tuple(attrs.evolve(part, movable=False) for part in asked.topologies[0].components)
    asked = attrs.evolve(asked, topologies=(attrs.evolve(asked.topologies[0], components=parts),))
    assert planned(asked).moves == ()


def pair(kind=Kind.BOLT):
    parts = component("p", 1, cpu=10.0, kind=kind), component("q", 1, cpu=10.0)
    metrics = Metrics(flows=(Flow(source="t/p/0", target="t/q/0", tuples=100.0),))
    return request([node("a"), node("b")], [topology("t", *parts)], {"t/p/0": "a", "t/q/0": "b"}, metrics=metrics)


def test_optimise_brings_together_what_talks_and_ties_go_to_the_lowest():
    plan = planned(pair())
    (move,) = plan.moves
    assert (move.task, move.target.node, plan.scores.inter_node) == ("t/p/0", "b", 0.0)


def test_spouts_may_be_told_to_stay():
    (move,) = planned(pair(Kind.SPOUT), Options(spouts="stay")).moves
    assert (move.task, move.target.node) == ("t/q/0", "a")


def test_a_gain_at_the_threshold_moves_nothing():
    assert planned(pair(), Options(threshold=0.999)).moves
    parts = [component(name, 1, cpu=10.0) for name in "pqr"]
    flows = (Flow(source="t/p/0", target="t/q/0", tuples=50.0), Flow(source="t/q/0", target="t/r/0", tuples=50.0))
    where = {"t/p/0": "a", "t/q/0": "b", "t/r/0": "b"}
    asked = request([node("a"), node("b")], [topology("t", *parts)], where, metrics=Metrics(flows=flows))
    assert planned(asked, Options(threshold=0.49)).moves
    assert not planned(asked, Options(threshold=0.5)).moves


@pytest.mark.parametrize(("words", "least", "most"), [(8, 0.054, 0.057), (10, 0.044, 0.047)])
def test_the_word_count_goes_from_half_to_less_than_six_percent_within_twenty_moves(words, least, most):
    problem = Problem.of(word_count(words))
    assert problem.traffic.inter_node(problem.current) / problem.traffic.total == pytest.approx(0.5)
    course = list(rounds(problem, Options(spouts="stay"), 100))
    assert len(course) - 1 == 18
    assert least < problem.traffic.inter_node(course[-1][1]) / problem.traffic.total < most


def test_with_spouts_that_move_nothing_is_left_between_nodes():
    problem = Problem.of(word_count())
    course = list(rounds(problem, Options(), 100))
    assert len(course) - 1 == 22
    assert problem.traffic.inter_node(course[-1][1]) == 0


def test_the_loop_of_plans_and_the_rounds_go_the_same_way():
    asked = word_count()
    for _, node_of in rounds(Problem.of(asked), Options(spouts="stay"), 4):
        plan = planned(asked, Options(spouts="stay"))
        asked = attrs.evolve(asked, assignment=plan.assignment)
        assert np.array_equal(Problem.of(asked).current, node_of)


def test_a_tabu_of_one_cycle_keeps_a_task_from_going_back_and_forth():
    problem = Problem.of(computation())
    free = [each.migration.executor for each, _ in rounds(problem, PRINTED, 8)]
    assert any(one == two for one, two in pairwise(free))
    kept = [each.migration.executor for each, _ in rounds(problem, PRINTED, 8, tabu=True) if each.migration is not None]
    assert all(one != two for one, two in pairwise(kept))


def decisions_until_rest(problem, options):
    """Decisions of OTD until it rests, None where it comes back to a deployment that it has left."""
    seen = {problem.current.tobytes()}
    for made, (decision, node_of) in enumerate(rounds(problem, options, 10_000)):
        if decision.migration is None:
            return made
        if node_of.tobytes() in seen:
            return None
        seen.add(node_of.tobytes())
    raise AssertionError("neither rest nor cycle in 10,000 rounds")


def test_it_comes_to_rest_where_the_printed_reading_goes_to_and_fro():
    """200 random requests, half of them with executors whose queues are long."""
    courses, cycles, number = [], 0, 0
    while len(courses) < 200:
        asked, dice = random_request(number, "rest"), random.Random(number)
        number += 1
        problem = Problem.of(asked)
        plan = problem.plan(deal(problem)[0])
        if plan.scores.unplaced:
            continue
        queues = [TaskSample(task=task, queue=5000.0) for task in problem.task_ids if dice.random() < number % 2 / 8]
        running = attrs.evolve(asked, assignment=plan.assignment, metrics=Metrics(tasks=tuple(queues)))
        courses.append(decisions_until_rest(Problem.of(running), Options()))
        cycles += decisions_until_rest(Problem.of(running), PRINTED) is None
    assert None not in courses
    assert sum(courses) > 200
    assert cycles > 10


def test_what_has_a_long_queue_stays_and_the_others_make_way():
    metrics = Metrics(tasks=(TaskSample(task="t/p/0", queue=5000.0),))
    asked = two_nodes(20, 20, metrics=metrics)
    (move,) = planned(asked).moves
    assert move.task == "t/p/1"
    (move,) = planned(asked, PRINTED).moves
    assert move.task == "t/p/0"


@pytest.mark.parametrize(("guard", "load", "moves"), [(True, 80.0, 1), (True, 80.5, 0), (False, 80.5, 1)])
def test_the_guard_allows_up_to_the_threshold_of_high_load(guard, load, moves):
    """Node b holds 60 points and gets one task of the rest: at 80 of 100 points it is not under high load."""
    more = load - 60.0
    parts = component("p", 5, cpu=more), component("q", 1, cpu=60.0)
    where = {f"t/p/{index}": "a" for index in range(5)} | {"t/q/0": "b"}
    asked = request([node("a", cpu=100.0), node("b", cpu=100.0)], [topology("t", *parts)], where)
    assert len(planned(asked, Options(guard=guard, low_load=0.61)).moves) == moves


def test_load_at_the_threshold_is_not_high():
    asked = two_nodes(80, 20)
    assert case_on(Problem.of(asked), Options()) == "optimise"
    above = two_nodes(80.5, 20)
    assert case_on(Problem.of(above), Options()) == "balance"


SLOTS = Options(workers="slots")


def test_a_topology_that_starts_is_dealt_over_all_its_workers_if_workers_are_slots():
    asked = request(
        [node("a", cpu=800.0, slots=4), node("b", cpu=800.0, slots=4)], [topology("t", component("p", 16), workers=8)]
    )
    slots = Counter(planned(asked, SLOTS).assignment.values())
    assert len(slots) == 8
    assert set(slots.values()) == {2}
    assert len(set(planned(asked).assignment.values())) == 2


def test_eight_workers_on_six_nodes_have_four_executors_each_as_storm_deals_them():
    machines = [node(f"n{number}", cpu=800.0, slots=4) for number in range(6)]
    parts = [component(name, 8) for name in "pqrs"]
    slots = Counter(planned(request(machines, [topology("t", *parts, workers=8)]), SLOTS).assignment.values())
    assert sorted(Counter(slot.node for slot in slots).values()) == [1, 1, 1, 1, 2, 2]
    assert set(slots.values()) == {4}


def test_a_topology_with_fewer_workers_than_nodes_has_one_on_each():
    machines = [node(name, cpu=800.0, slots=4) for name in "abc"]
    slots = Counter(planned(request(machines, [topology("t", component("p", 6))]), SLOTS).assignment.values())
    assert (len({slot.node for slot in slots}), set(slots.values())) == (3, {2})


def test_algorithm_1_relieves_one_worker_by_another_on_the_same_node():
    """Two slots of 100 points each: 120 in one, 20 in the other; as one node they are at 70 %."""
    where = {f"t/p/{index}": "a:6700" for index in range(6)} | {"t/p/6": "a:6701"}
    asked = request([node("a", cpu=200.0, slots=2)], [topology("t", component("p", 7, cpu=20.0))], where)
    assert planned(asked).moves == ()
    plan = planned(asked, SLOTS)
    assert [(move.task, move.source, move.target) for move in plan.moves] == [("t/p/0", at("a:6700"), at("a:6701"))]
    assert plan.explanation.startswith("balance")


def test_an_executor_goes_to_workers_of_its_own_topology_only():
    where = {f"t/p/{index}": "a:6700" for index in range(6)} | {"u/p/0": "a:6701"}
    parts = [topology("t", component("p", 6, cpu=20.0)), topology("u", component("p", cpu=1.0))]
    asked = request([node("a", cpu=200.0, slots=2)], parts, where)
    assert planned(asked, SLOTS).moves == ()


def test_workers_that_are_slots_come_to_rest_by_the_plans_that_were_made():
    rests = 0
    for number in range(40):
        asked = random_request(number, "slots")
        asked = attrs.evolve(asked, topologies=tuple(attrs.evolve(each, workers=6) for each in asked.topologies))
        plan = planned(asked, SLOTS)
        seen = set()
        while plan.status == "ok" and plan.moves:
            assert len([move for move in plan.moves if move.source is not None]) <= 2 - (not seen)
            assert plan.assignment not in seen
            seen.add(plan.assignment)
            asked = attrs.evolve(asked, assignment=plan.assignment)
            plan = planned(asked, SLOTS)
        rests += plan.status == "ok"
    assert rests > 20


def test_a_warning_of_lacking_resources_has_the_loop_add_a_node_to_which_the_next_round_moves_a_task():
    nodes = [node("a", cpu=100.0), node("b", cpu=100.0)]
    places = {f"t/c/{index}": "ab"[index % 2] for index in range(4)}
    asked = request(nodes, [topology("t", component("c", 4, cpu=48.0))], places)
    target = Machine(Observation(cluster=asked.cluster, topologies=asked.topologies, assignment=asked.assignment))
    host = PluginHost().with_plugin("memory", ElasticEngine()).with_plugin("otd", otd)
    made = Loop(host, Control(scheduler="otd", engine="memory", fleet=Fleet(maximum=3)), target)
    first, second = made.round(), made.round()
    assert (first.verdict.state, first.outcome) == ("warn", "quiet")
    assert [step.action for step in first.scaling.steps] == ["add"]
    assert (second.verdict.state, second.outcome) == ("balance", "executed")
    assert len({slot.node for slot in target.seen.assignment.values()}) == 3

"""Optima on instances that are small enough to try everything, and what the plan says of them."""

from __future__ import annotations

import itertools
import math
import random

import attrs
import numpy as np
import pytest
from ortools.linear_solver import pywraplp

from headworks.model import ENDED_EARLY, NOT_SEARCHED, Flow, Metrics, Resources, Status
from headworks.plugins.host import PluginHost
from headworks.problem import Problem
from headworks.problem.arrays import workers
from headworks.problem.arrays.profiles import FULL, Profiled
from headworks.problem.plan.check import check_plan
from headworks.testing.instances.build import SMALL, SeededDice, build_request
from headworks.testing.reference import placeable
from headworks.toolbox.instance_counts import InstanceCounts
from headworks_dstorm.workloads import BenchmarkSetting, micro_benchmark
from headworks_exact import by_topology, placement, solver
from headworks_exact.any_number import AnyNumber, highest_of_any
from headworks_exact.classes import Classes
from headworks_exact.options import Options
from headworks_exact.plugin import optimal
from headworks_hetero.workloads import micro_benchmark as throughput_benchmark
from hetero_cases import profiled
from small_requests import component, node, request, topology
from tight_heaps import six_heaps, tight_heaps

PATIENT = 600.0


def run(asked, **options):
    host = PluginHost().with_plugin("optimal", optimal)
    limits = attrs.evolve(asked.limits, deadline=PATIENT)
    return host.schedule("optimal", attrs.evolve(asked, limits=limits), Options(**options))


def least(problem):
    """Traffic between nodes and nodes used of the best placement, by trying all; None if there is none."""
    found = []
    for nodes in itertools.product(range(problem.m), repeat=problem.n):
        plan = problem.plan(nodes)
        used = np.zeros_like(problem.capacity)
        np.add.at(used, np.array(nodes, dtype=int), problem.demand)
        if plan.status is Status.OK and (used <= problem.capacity).all():
            found.append((plan.scores.inter_node, plan.scores.nodes_used))
    return min(found, default=None)


@pytest.mark.parametrize("seed", range(12))
def test_no_placement_is_better_on_small_requests(seed):
    dice = SeededDice(random.Random(seed))
    asked = build_request(dice, attrs.evolve(SMALL, topologies=1, components=2, parallelism=3), fresh=True)
    best, plan = least(Problem.of(asked)), run(asked)
    assert (plan.status is Status.OK) == (best is not None)
    if best is not None:
        assert (plan.scores.inter_node, plan.scores.nodes_used) == best
        assert plan.bound == attrs.evolve(plan.bound, figure="inter_node", value=best[0], proven=True)


def test_measured_flows_of_single_tasks_count():
    parts = [component("a", 2, 50.0), component("b", 2, 50.0)]
    flows = (Flow(source="t/a/0", target="t/b/1", tuples=9.0), Flow(source="t/a/1", target="t/b/0", tuples=7.0))
    asked = request([node("x"), node("y")], [topology("t", *parts)], metrics=Metrics(flows=flows))
    plan = run(asked)
    assert (plan.scores.inter_node, plan.bound.proven) == (0.0, True)
    assert plan.assignment["t/a/0"].node == plan.assignment["t/b/1"].node


def test_interchangeable_tasks_and_nodes_are_one():
    classes = Classes.of(Problem.of(micro_benchmark("linear", BenchmarkSetting())))
    assert classes.count.tolist() == [4, 4, 4, 4]
    assert [len(nodes) for nodes in classes.nodes] == [4, 4, 4]


@pytest.mark.parametrize(("cs", "inter_node", "nodes"), [(40, 5625.0, 6), (30, 5000.0, 4)])
def test_the_micro_benchmark_is_proven(cs, inter_node, nodes):
    plan = run(micro_benchmark("linear", BenchmarkSetting(cs=cs)))
    assert (plan.scores.inter_node, plan.scores.nodes_used, plan.bound.proven) == (inter_node, nodes, True)


def test_what_runs_at_the_optimum_stays():
    asked = micro_benchmark("linear", BenchmarkSetting(cs=40))
    plan = run(asked)
    assert not run(attrs.evolve(asked, assignment=plan.assignment)).moves


def test_a_model_that_is_too_large_is_not_searched_and_says_so(monkeypatch):
    monkeypatch.setattr(placement, "CLASSES", 3)
    monkeypatch.setattr(by_topology, "COMPONENTS", 0)
    plan = run(micro_benchmark("linear", BenchmarkSetting()))
    assert (plan.status, plan.bound, plan.label) == (Status.OK, None, "ok, not searched")
    assert "not searched" in plan.explanation
    assert [reason.code for reason in plan.reasons] == [NOT_SEARCHED]


def test_a_search_that_is_cut_short_answers_the_best_so_far():
    plan = run(micro_benchmark("linear", BenchmarkSetting(ts=8)), effort=1e-6)
    assert (plan.status, plan.bound.proven) == (Status.OK, False)
    assert plan.bound.value <= plan.scores.inter_node


def test_a_search_that_its_work_ends_is_no_matter_of_the_machine():
    plan = run(micro_benchmark("linear", BenchmarkSetting(ts=8)), effort=1e-6)
    assert plan.label == "ok"


@pytest.mark.parametrize(
    "asked",
    [micro_benchmark("linear", BenchmarkSetting(ts=8)), throughput_benchmark("star", (1, 1, 1), 5.0)],
    ids=["traffic", "throughput"],
)
def test_a_search_that_the_clock_ends_says_that_another_run_may_find_another_plan(asked, monkeypatch):
    monkeypatch.setattr(solver, "SHARE", 1e-3 / PATIENT)
    plan = run(asked)
    assert (plan.label, plan.bound.proven) == ("ok, ended early", False)
    assert [reason.code for reason in plan.reasons] == [ENDED_EARLY]


def test_a_linear_program_ends_with_the_clock_too():
    """GLOP is told what is left: dense rows that it takes far longer for than a thousandth of a second."""
    program, dice = pywraplp.Solver.CreateSolver("GLOP"), random.Random(0)
    amounts = [program.NumVar(0, program.infinity(), "") for _ in range(200)]
    for _ in range(200):
        program.Add(sum(dice.random() * each for each in amounts) <= 1 + dice.random())
    program.Maximize(sum((1 + dice.random()) * each for each in amounts))
    budget = solver.Budget(work=PATIENT, clock=1e-3)
    assert not budget.run_linear(program)
    assert (budget.cut, budget.spent) == (True, True)
    assert solver.Budget(work=PATIENT, clock=PATIENT).run_linear(program)


@pytest.mark.parametrize("met", [0.0, 5.0])
def test_components_that_share_machines_have_half_of_the_rate_that_each_would_have_alone(met):
    instances = InstanceCounts.of(profiled([[0.2, 0.2], [0.2, 0.2]], met))
    spreads = AnyNumber.of(instances, solver.Budget(work=PATIENT, clock=PATIENT))
    assert spreads.alone() == pytest.approx(1000.0 * (1 - met / FULL))
    assert highest_of_any(spreads, spreads.alone(), None).rate == pytest.approx(500.0 * (1 - met / FULL), rel=1e-5)


def highest(asked, most):
    """The highest rate of all counts up to `most` tasks of a component on a machine."""
    model, free = Profiled.of(asked), np.full(len(asked.cluster.nodes), FULL)
    shape, best = model.e.shape, 0.0
    for flat in itertools.product(range(most + 1), repeat=math.prod(shape)):
        counts = np.array(flat).reshape(shape)
        if counts.any(axis=1).all() and counts.sum(axis=1).max() <= 4 * shape[1]:
            best = max(best, model.max_factor(counts, free))
    return best


@pytest.mark.parametrize(
    ("e", "met"), [([[0.1, 0.2]], 0.0), ([[0.1, 0.2]], 5.0), ([[0.1, 0.2], [0.3, 0.2]], 10.0), ([[0.1], [0.2]], 20.0)]
)
def test_no_counts_have_a_higher_rate(e, met):
    asked = profiled(e, met)
    best, plan = highest(asked, 4), run(asked)
    assert plan.bound.proven
    assert plan.input_rate == pytest.approx(best, rel=5e-4)
    assert plan.bound.value >= plan.scores.throughput * (1 - 1e-9)


def test_a5_two_tasks_and_one_fill_both_machines():
    plan = run(profiled([[0.1, 0.2]]))
    assert plan.input_rate == pytest.approx(1500.0, rel=1e-3)
    assert plan.bound.value == pytest.approx(1500.0, rel=1e-3)


def test_a7_linear_with_fixed_costs_on_three_machines():
    plan = run(throughput_benchmark("linear", (1, 1, 1), met=5.0))
    assert plan.bound.proven
    assert plan.input_rate == pytest.approx(550.884, rel=1e-3)


def test_memory_slots_and_profiles_that_are_not_there():
    asked = profiled([[0.1, 0.2]])
    far = tuple(attrs.evolve(each, machine_type=f"not {each.machine_type}") for each in asked.profiles)
    plan = run(attrs.evolve(asked, profiles=far))
    assert (plan.status, plan.reasons[0].code) == (Status.INFEASIBLE, "profile")
    heavy = run(profiled([[0.1], [0.1]], met=60.0))
    assert (heavy.status, heavy.reasons[0].need) == (Status.INFEASIBLE, 120.0)
    assert run(profiled([[0.1]], rate=0.0)).status is Status.OK


def test_without_or_tools_the_plan_names_the_extra(monkeypatch):
    monkeypatch.setattr("headworks_exact.search.find_spec", lambda name: None)
    plan = run(micro_benchmark("linear", BenchmarkSetting()))
    assert plan.status is Status.INFEASIBLE
    (reason,) = plan.reasons  # and nothing of room that there is
    assert "pip install '.[exact]'" in reason.message


@pytest.mark.parametrize("met", [0.0, 5.0])
def test_three_machines_are_proven_with_the_work_that_is_allowed_by_default(met):
    plan = run(throughput_benchmark("star", (1, 1, 1), met), effort=0.3 / PATIENT)
    assert plan.bound.proven
    assert plan.bound.value >= plan.scores.throughput * (1 - 1e-9)


@pytest.mark.parametrize("shape", ["linear", "diamond", "star"])
def test_the_micro_benchmark_is_proven_with_the_work_that_is_allowed_by_default(shape):
    plan = run(micro_benchmark(shape, BenchmarkSetting()), effort=0.3 / PATIENT)
    assert (plan.bound.proven, plan.bound.value) == (True, plan.scores.inter_node)


def two_of_each(need):
    """Two components on two machines of 100 MB, where each task takes so many MB."""
    asked = profiled([[0.1, 0.2], [0.3, 0.2]], 5.0)
    parts = tuple(attrs.evolve(part, demand=Resources(cpu=1.0, memory=need)) for part in asked.topologies[0].components)
    nodes = tuple(attrs.evolve(each, capacity=Resources(cpu=100.0, memory=100.0)) for each in asked.cluster.nodes)
    topologies = (attrs.evolve(asked.topologies[0], components=parts),)
    return attrs.evolve(asked, cluster=attrs.evolve(asked.cluster, nodes=nodes), topologies=topologies)


def test_where_memory_binds_fewer_tasks_have_a_lower_rate():
    wide, narrow = run(two_of_each(1.0)), run(two_of_each(40.0))
    assert wide.bound.proven
    assert narrow.bound.proven
    assert sum(narrow.parallelism.values()) <= 4
    assert narrow.input_rate < wide.input_rate


def test_what_brute_force_places_is_placed():
    """Heaps that need a good packing, in both directions: what is called proven impossible is impossible."""
    placed = refused = 0
    for seed in range(150):
        asked = tight_heaps(seed, tasks=8)
        problem = Problem.of(asked)
        plan, there = run(asked), placeable(problem)
        assert check_plan(problem, plan) == ()
        assert (plan.status is Status.OK) == there, seed
        placed, refused = placed + there, refused + (not there)
        assert there or "proven that no placement" in plan.reasons[0].message
    assert min(placed, refused) > 30


def test_what_no_placement_holds_is_refused_for_what_is_lacking():
    parts = [component(f"c{number}", 1, 1.0, heap=6.0) for number in range(3)]
    asked = request([node("n", 1000.0, slots=2)], [topology("t", *parts, worker_heap=10.0)])
    first = run(asked).reasons[0]
    assert (first.code, first.resource) == ("slots", "slots")
    assert first.message == (
        "it is proven that no placement holds every task; t/c2/0 needs a slot or heap in a worker; the nodes with the "
        "capacity for it, as n, have neither"
    )
    crowded = request([node("n", 1000.0, slots=1)], [topology(name, component("c")) for name in "tu"])
    first = run(crowded).reasons[0]
    assert (first.code, first.need, first.have) == ("slots", 2, 1)
    assert first.message.endswith("all tasks need 2 workers, all nodes have 1 slots")


def test_nothing_is_called_proven_where_workers_were_not_packed_to_the_end(monkeypatch):
    monkeypatch.setattr(workers, "EFFORT", -1000)
    plan = run(six_heaps())
    assert plan.status is Status.INFEASIBLE
    assert not any("proven" in reason.message for reason in plan.reasons)
    two = request([*six_heaps().cluster.nodes, node("m", 1000.0, slots=2)], six_heaps().topologies)
    plan = run(two)
    assert (plan.status, plan.bound.value) == (Status.OK, 0.0)


def test_nothing_to_place_is_placed():
    for asked in (request([], []), request([node("n")], [])):
        assert run(asked).status is Status.OK
    assert run(request([], [topology("t", component("c"))])).status is Status.INFEASIBLE

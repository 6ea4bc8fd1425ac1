"""A bound is a bound: no plan of any scheduler beats it, and `optimal` is never worse than what it starts from."""

from __future__ import annotations

import random
from functools import cache

import attrs
import pytest

from headworks.model import (
    Cluster,
    Flow,
    FrozenMap,
    Kind,
    Limits,
    Metrics,
    Node,
    NodeSample,
    Resources,
    Slot,
    Status,
    Stream,
    TaskSample,
)
from headworks.plugins.host import PluginHost
from headworks.problem import Problem
from headworks.testing.reference import placeable
from headworks_exact.options import Options
from headworks_exact.placement import place
from headworks_exact.solver import Budget
from hetero_cases import profiled
from random_requests import random_request
from small_requests import component, node, request, topology
from tiers import cases
from tight_heaps import tight_heaps

HOST = PluginHost.load()
PATIENT = Limits(deadline=60.0)
"""The work is counted, not the time, so that a busy machine finds as much."""
WORK = {"effort": 1.5 / 60}
"""As much as a deadline of 5 seconds allows."""


def costs(dice, machines):
    """e and MET of one to four components on some machines."""
    parts = dice.randint(1, 4)
    e = [[round(dice.uniform(0.01, 0.4), 3) for _ in range(machines)] for _ in range(parts)]
    return profiled(e, dice.choice([0.0, 1.0, 5.0, 20.0]))


@pytest.mark.parametrize("seed", cases(range(12), 3))
def test_no_plan_beats_the_bound_on_throughput(seed):
    asked = attrs.evolve(costs(random.Random(seed), 2 + seed % 3), limits=PATIENT)
    plan = HOST.schedule("optimal", asked, {**WORK, "within": 0.0})
    for name in ("hetero", "hetero-plus", "even"):
        other = HOST.schedule(name, asked)
        if other.status is Status.OK and other.scores.throughput is not None:
            assert other.scores.throughput <= plan.bound.value * (1 + 1e-9), name
            assert other.scores.throughput <= plan.scores.throughput * (1 + 1e-9), name


@pytest.mark.parametrize("met", [0.0, 0.5])
def test_more_tasks_than_are_searched_beat_no_bound(met):
    """Two machines with e .01/.137: a twelfth of the tasks belongs on the slower one, and eight are searched."""
    asked = attrs.evolve(profiled([[0.01, 0.137]], met), limits=PATIENT)
    few = HOST.schedule("optimal", asked, {**WORK, "ask": False})
    best = HOST.schedule("hetero-plus", asked)
    assert few.scores.throughput < best.scores.throughput <= few.bound.value


def test_a_machine_without_slots_changes_no_bound():
    asked = attrs.evolve(profiled([[0.1, 0.2], [0.3, 0.2]], 2.0), limits=PATIENT)
    kind = asked.cluster.nodes[0].machine_type
    dead = Node(id="zz", capacity=Resources(cpu=0.0), slots=(), machine_type=kind)
    more = attrs.evolve(asked, cluster=Cluster(nodes=(*asked.cluster.nodes, dead)))
    one, other = (HOST.schedule("optimal", each, {**WORK, "ask": False}) for each in (asked, more))
    assert one.bound == other.bound


def test_tasks_without_profiles_may_be_elsewhere_and_beat_no_bound():
    """A bolt without profile takes half of a machine; the bound holds on whichever it runs and may not leave."""
    asked = profiled([[0.1, 0.2], [0.3, 0.2]], 5.0)
    shape = asked.topologies[0]
    beside = topology("z", component("still", 1, 50.0, movable=False))
    free = topology("z", component("still", 1, 50.0))
    bound = HOST.schedule("optimal", attrs.evolve(asked, topologies=(shape, free), limits=PATIENT), WORK).bound.value
    for machine in asked.cluster.nodes:
        running = FrozenMap({"z/still/0": Slot(machine.id, machine.slots[0])})
        pinned = attrs.evolve(asked, topologies=(shape, beside), assignment=running)
        plan = HOST.schedule("hetero-plus", pinned)
        assert plan.status is Status.OK
        assert plan.scores.throughput <= bound * (1 + 1e-9)


@cache
def least_traffic(seed):
    """A random request, and its plan by `optimal`."""
    asked = attrs.evolve(random_request(seed, "proofs"), limits=PATIENT)
    return asked, HOST.schedule("optimal", asked, WORK)


@pytest.mark.parametrize("seed", cases(range(60), 5))
def test_no_plan_beats_the_bound_on_traffic_nor_optimal(seed):
    asked, plan = least_traffic(seed)
    for name in ("dstorm-plus", "dstorm", "even", "resource-aware", "otd"):
        other = HOST.schedule(name, asked)
        if other.status is Status.OK:
            assert plan.status is Status.OK, name
            assert plan.scores.inter_node <= other.scores.inter_node, name
            assert other.scores.inter_node >= plan.bound.value * (1 - 1e-9), name


@pytest.mark.matrix
def test_nineteen_of_twenty_random_requests_are_proven():
    proven = 0
    for seed in range(60):
        _, plan = least_traffic(seed)
        proven += plan.bound.proven if plan.bound is not None else "proven that no" in plan.reasons[0].message
    assert proven >= 57


def test_a_node_that_is_overloaded_already_may_stay_so_and_there_is_no_bound():
    parts = [component("a", 2, 60.0, kind=Kind.SPOUT, rate=10.0), component("b", 2, 60.0)]
    shape = topology("t", *parts, streams=(Stream(source="a", target="b"),))
    running = {f"t/{name}/{number}": "x" for name in "ab" for number in range(2)}
    asked = request([node("x", 100.0), node("y", 300.0, slots=1)], [shape], running, max_moves=0)
    plan = HOST.schedule("optimal", asked)
    assert (plan.status, plan.scores.inter_node, plan.bound) == (Status.OK, 0.0, None)


def test_a_plan_on_declared_demands_promises_no_bound_on_what_was_measured():
    parts = [component("a", 2, 10.0), component("b", 2, 10.0)]
    metrics = Metrics(
        flows=(Flow(source="t/a/0", target="t/b/1", tuples=9.0),), tasks=(TaskSample(task="t/a/0", cpu=90.0),)
    )
    asked = request([node("x"), node("y")], [topology("t", *parts)], metrics=metrics)
    assert HOST.schedule("optimal", asked, {"measured": False}).bound is None
    assert HOST.schedule("optimal", asked).bound is not None


def test_a_search_that_was_asked_to_end_before_it_began_answers_at_once():
    problem = Problem.of(random_request(3, "ended"))
    budget = Budget(work=1.0, clock=1.0)
    budget.end()
    placed = place(problem, [], Options(), budget)
    assert (placed.node_of, placed.proven, placed.infeasible, placed.bound) == (None, False, False, 0)


def test_what_may_not_move_and_heaps_are_in_the_patterns():
    """Against all placements: tasks that stay pull others to them, and take workers and room."""
    for seed in range(40):
        problem = Problem.of(tight_heaps(seed, tasks=6))
        placed = place(problem, [], Options(), Budget(work=2.0, clock=30.0))
        assert placed.infeasible == (not placeable(problem)), seed
        assert placed.infeasible or placed.proven


def test_no_rate_is_sustained_where_a_task_runs_without_a_profile_for_its_machine():
    asked = profiled([[0.5], [0.5]])
    elsewhere = attrs.evolve(asked.profiles[0], machine_type="m9")
    running = FrozenMap({"t/c0/0": Slot("m0-000", 0)})
    limits = Limits(deadline=5.0, max_moves=0)
    profiles = (elsewhere, *asked.profiles[1:])
    plan = HOST.schedule("optimal", attrs.evolve(asked, profiles=profiles, assignment=running, limits=limits))
    assert plan.status is not Status.HELD, plan.reasons
    assert plan.bound is None or plan.bound.value >= (plan.scores.throughput or 0.0)


def test_measurements_of_a_node_without_slots_are_no_contradiction():
    asked = profiled([[0.5], [0.5]])
    full = Node(id="full", capacity=Resources(cpu=100.0), slots=())
    metrics = Metrics(nodes=(NodeSample(node="full", cpu=1.0),))
    cluster = attrs.evolve(asked.cluster, nodes=(*asked.cluster.nodes, full))
    plan = HOST.schedule("optimal", attrs.evolve(asked, cluster=cluster, metrics=metrics))
    assert plan.status is Status.OK, plan.reasons

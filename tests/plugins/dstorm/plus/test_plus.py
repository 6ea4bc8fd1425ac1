"""The refined plan is never worse, and what it counts on the way is right."""

from __future__ import annotations

import attrs
import numpy as np
import pytest

from dstorm_instances import instance
from headworks.model import (
    Cluster,
    FrozenMap,
    Kind,
    Metrics,
    NodeSample,
    Observation,
    Request,
    Resources,
    Status,
    Stream,
    TopologySample,
)
from headworks.plugins.host import PluginHost
from headworks.problem import Problem
from headworks.problem.arrays.workers import Workers
from headworks.toolbox.cancel import Cancellation, attach
from headworks_dstorm.fast import place
from headworks_dstorm.options import PlusOptions
from headworks_dstorm.plus.anneal import anneal
from headworks_dstorm.plus.exchange import Exchange
from headworks_dstorm.plus.fill import fill
from headworks_dstorm.plus.starts import A_SECOND, MOST, improve
from headworks_dstorm.plus.state import AnnealingState
from headworks_dstorm.workloads import BenchmarkSetting, micro_benchmark
from small_requests import component, request, topology
from small_requests import node as machine
from tight_heaps import tight_heaps

STEPS = PlusOptions(steps=400)


def cost(problem, node_of):
    """The order of placements: a node is worth one percent of all traffic."""
    nodes = len(set(node_of[node_of >= 0].tolist()))
    worth = 100 * problem.traffic.inter_node(node_of) + nodes * problem.traffic.total
    return int((node_of < 0).sum()), worth, nodes


@pytest.mark.parametrize("seed", range(40))
def test_it_is_never_worse_than_either_start(seed):
    request = attrs.evolve(instance(seed), limits=attrs.evolve(instance(seed).limits, max_moves=None))
    problem = Problem.of(request)
    plan = improve(problem, attrs.evolve(STEPS, least_gain=0.0))
    found = cost(problem, problem.node_of(plan.assignment))
    assert found <= min(cost(problem, place(problem, STEPS)), cost(problem, fill(problem)))


def test_it_closes_the_gap_of_the_greedy():
    """The star's greedy plan leaves 4,375 tuples/s between nodes; 3,750 is the least."""
    request = micro_benchmark("star", BenchmarkSetting())
    plan = improve(Problem.of(request), PlusOptions())
    assert plan.status is Status.OK
    assert plan.scores.inter_node == pytest.approx(3750)


def test_the_seed_of_the_request_decides():
    request = micro_benchmark("linear", BenchmarkSetting(ts=32, cs=40))
    plans = [improve(Problem.of(attrs.evolve(request, seed=seed)), STEPS) for seed in (0, 0, *range(1, 6))]
    assert plans[0] == plans[1]
    assert any(plan.assignment != plans[0].assignment for plan in plans[2:])


def patient(seconds):
    request = micro_benchmark("star", BenchmarkSetting(ts=64))
    return attrs.evolve(request, limits=attrs.evolve(request.limits, deadline=seconds))


@pytest.mark.parametrize(("seconds", "steps"), [(0.25, 35_000), (5.0, 280_000), (60.0, 280_000)])
def test_the_deadline_bounds_the_steps(seconds, steps):
    """Of 40,000 and 320,000 steps in all the first of two annealings has seven eighths."""
    plan = improve(Problem.of(patient(seconds)), PlusOptions())
    assert f"{steps} steps of annealing (seed 0)" in plan.explanation


def test_near_its_deadline_it_answers_with_the_best_so_far():
    plan = PluginHost.load(["dstorm-plus"]).schedule("dstorm-plus", patient(4.0), {"steps": 10**9})
    assert plan.status is Status.OK, plan.reasons
    assert "ended early" in plan.explanation
    assert plan.scores.inter_node < PluginHost.load(["dstorm"]).schedule("dstorm", patient(60.0)).scores.inter_node


def test_asked_to_end_at_once_it_answers_with_the_plan_of_dstorm():
    problem = Problem.of(patient(60.0))
    attach(Cancellation(requested=True))
    try:
        plan = improve(problem, PlusOptions())
    finally:
        attach(None)
    assert plan.status is Status.OK
    assert "ended early" in plan.explanation
    assert problem.node_of(plan.assignment).tolist() == place(problem, PlusOptions()).tolist()


def test_a_fill_that_is_asked_to_end_leaves_the_rest_out():
    problem = Problem.of(patient(60.0))
    asked = iter([False] * 10 + [True])
    whole, part = fill(problem), fill(problem, ended=lambda: next(asked))
    assert (part >= 0).sum() == 10
    assert (part[part >= 0] == whole[part >= 0]).all()


def test_what_runs_stays_where_little_is_to_be_won():
    request = micro_benchmark("diamond", BenchmarkSetting())
    plan = improve(Problem.of(request), STEPS)
    running = attrs.evolve(request, assignment=plan.assignment)
    again = improve(Problem.of(running), STEPS)
    assert not again.moves
    assert again.explanation.startswith("running tasks stay")


@pytest.mark.parametrize("seed", range(60))
def test_annealing_keeps_capacity_slots_heap_limits_and_fixed_tasks(seed):
    problem = Problem.of(instance(seed, scale=1 + seed % 3))
    start = fill(problem)
    node_of = anneal(problem, Exchange(problem), start, steps=10_000, seed=seed, node_cost=problem.traffic.total // 100)
    before, after = (
        problem.traffic.inter_node(each) + problem.traffic.total // 100 * len(set(each[each >= 0].tolist()))
        for each in (start, node_of)
    )
    assert after <= before
    assert ((node_of < 0) == (start < 0)).all()
    fixed = problem.fixed >= 0
    assert (node_of[fixed] == problem.fixed[fixed]).all()
    usage, before = np.zeros_like(problem.capacity), np.zeros_like(problem.capacity)
    np.add.at(usage, node_of[node_of >= 0], problem.demand[node_of >= 0])
    np.add.at(before, start[start >= 0], problem.demand[start >= 0])
    assert (usage <= np.maximum(problem.capacity, before)).all()
    workers = Workers(problem)
    for node in range(problem.m):
        had, has = (workers.needed(np.flatnonzero(each == node).tolist())[0] for each in (start, node_of))
        assert has <= max(problem.slots[node], had)
    assert problem.plan(node_of).scores.unplaced <= problem.plan(start).scores.unplaced or fixed.any()


@pytest.mark.parametrize("seed", range(24))
def test_what_a_state_counts_is_what_it_would_count_anew(seed):
    problem = Problem.of(instance(seed, scale=2))
    exchange, rng = Exchange(problem), np.random.default_rng(seed)
    state = AnnealingState(problem, exchange, fill(problem))
    for _ in range(40 if len(state.tasks) else 0):
        task, there = rng.choice(state.tasks, 8), rng.integers(problem.m, size=8)
        other = np.where(state.count[there] > 0, state.on[there, 0], -1)
        swaps = (rng.random(8) < 0.5) & (other >= 0)
        gain = state.gain(task, there)
        gain[swaps] += state.gain(other[swaps], state.node_of[task[swaps]]) - state.twice(task[swaps], other[swaps])
        fits = state.fits(task, there)
        fits[swaps] = state.fit_swapped(task[swaps], other[swaps])
        taken = np.flatnonzero(fits & (state.node_of[task] != there))
        taken = taken[state.apart(task[taken], there[taken])]
        before = problem.traffic.inter_node(state.node_of)
        made = state.change(task[taken], there[taken], np.where(swaps, other, -1)[taken])
        assert before - problem.traffic.inter_node(state.node_of) == gain[taken[made]].sum()
    anew = AnnealingState(problem, exchange, state.node_of)
    assert (state.pull == anew.pull).all()
    assert (state.free == anew.free).all()
    assert (state.slots_left == anew.slots_left).all()
    for node in range(problem.m):
        there = state.on[node, : state.count[node]]
        assert set(there.tolist()) == set(anew.on[node, : anew.count[node]].tolist())


def test_it_allows_the_changes_for_which_the_packing_rule_finds_slots():
    """Bounds for many changes at once, and the workers of each counted by themselves, give the same answers."""
    answers = []
    for seed in range(150):
        problem = Problem.of(tight_heaps(seed, tasks=20, nodes=3))
        room, rng = problem.room(), np.random.default_rng(seed)
        for task in np.flatnonzero(problem.fixed < 0).tolist():
            fits = np.flatnonzero(room.fits(task))
            if len(fits):
                room.place(task, int(rng.choice(fits)))
        state = AnnealingState(problem, Exchange(problem), room.node_of)
        if not len(state.tasks) or Workers(problem).plain:
            continue
        task, there = rng.choice(state.tasks, 30), rng.integers(problem.m, size=30)
        other = np.where((state.count[there] > 0) & (rng.random(30) < 0.5), state.on[there, 0], -1)
        away = state.node_of[task] != there
        task, there, other = task[away], there[away], other[away]
        enough = []
        for one, node, two in zip(task.tolist(), there.tolist(), other.tolist(), strict=True):
            after, home = state.node_of.copy(), int(state.node_of[one])
            after[one] = node
            if two >= 0:
                after[two] = home
            need = [Workers(problem).needed(np.flatnonzero(after == at).tolist())[0] for at in (home, node)]
            enough.append(need[0] <= problem.slots[home] and need[1] <= problem.slots[node])
        assert state._heaps.allow(task, there, other).tolist() == enough, seed
        answers += enough
    assert min(answers.count(True), answers.count(False)) > 100


def test_tasks_change_places_where_heap_limits_leave_no_room():
    """Nodes have capacity left and workers have not: the proven optimum is found by tasks that change places."""
    request = instance(20375, scale=2)
    limits = attrs.evolve(request.limits, deadline=60.0)
    request = attrs.evolve(request, limits=limits)
    proven = PluginHost.load(["optimal"]).schedule("optimal", request, {"effort": 0.02})
    assert proven.bound.proven
    assert improve(Problem.of(request), PlusOptions()).scores.inter_node == proven.scores.inter_node


def test_a_placement_of_too_many_cells_is_not_annealed(monkeypatch):
    monkeypatch.setattr("headworks_dstorm.plus.starts.CELLS", 0)
    problem = Problem.of(micro_benchmark("star", BenchmarkSetting()))
    plan = improve(problem, PlusOptions())
    assert "annealing" not in plan.explanation
    better = min(problem.traffic.inter_node(each) for each in (place(problem, PlusOptions()), fill(problem)))
    assert plan.scores.inter_node == better / problem.traffic.scale


def test_large_problems_are_annealed_at_once_and_alike_each_time():
    requests = [micro_benchmark("star", BenchmarkSetting(ts=12, cs=cs)) for cs in (10, 20, 30)]
    parts = [attrs.evolve(each.topologies[0], id=f"t{number}") for number, each in enumerate(requests * 2)]
    nodes = [attrs.evolve(node, id=f"{node.id}-{number}") for number in range(6) for node in requests[0].cluster.nodes]
    request = Request(cluster=Cluster(nodes=tuple(nodes)), topologies=tuple(parts))
    problem = Problem.of(request)
    assert problem.n > 200
    plans = [improve(each, attrs.evolve(STEPS, steps=50_000)) for each in (problem, Problem.of(request))]
    assert plans[0] == plans[1]
    assert plans[0].status is Status.OK
    assert plans[0].scores.inter_node < problem.traffic.inter_node(place(problem, STEPS)) / problem.traffic.scale


def pipelines(count, cpu=10.0, load=None):
    """Pipelines of two tasks, each on a node of its own that has room for all of them."""
    parts = [
        (component(f"p{at}", cpu=cpu, kind=Kind.SPOUT, rate=100.0), component(f"q{at}", cpu=cpu)) for at in range(count)
    ]
    topologies = [
        topology(f"t{at}", *both, streams=(Stream(source=f"p{at}", target=f"q{at}"),)) for at, both in enumerate(parts)
    ]
    where = {task.id: f"n{at}" for at, each in enumerate(topologies) for task in each.tasks()}
    nodes = [machine(f"n{at}", cpu=2.0 * cpu * count, slots=count, price=0.117) for at in range(count)]
    return request(nodes, topologies, where)


@pytest.mark.parametrize("least_gain", [0.0, 0.01, 0.5])
def test_what_runs_apart_is_consolidated_as_d_storm_consolidates(least_gain):
    host, asked = PluginHost.load(["dstorm", "dstorm-plus"]), pipelines(8)
    base, ours = (
        host.schedule(name, asked, options)
        for name, options in (("dstorm", {}), ("dstorm-plus", {"least_gain": least_gain}))
    )
    assert (base.scores.nodes_used, base.scores.cost) == (1, 0.117)
    assert (ours.scores.nodes_used, ours.scores.cost, ours.scores.share) == (1, 0.117, 0.0)


def test_annealing_opens_a_node_where_that_saves_more_traffic_than_a_node_is_worth():
    """Three pairs, three tasks a node: on the two nodes of the start one pair is always apart."""
    asked = attrs.evolve(pipelines(3, cpu=30.0), assignment=FrozenMap())
    nodes = tuple(attrs.evolve(each, capacity=Resources(cpu=90.0)) for each in asked.cluster.nodes)
    problem = Problem.of(attrs.evolve(asked, cluster=Cluster(nodes=nodes)))
    start, total = np.array([0, 0, 0, 1, 1, 1]), problem.traffic.total
    for node_cost, nodes_used in ((total // 100, 3), (total, 2)):
        node_of = anneal(problem, Exchange(problem), start, steps=4_000, seed=1, node_cost=node_cost)
        assert (len(set(node_of.tolist())), problem.traffic.inter_node(node_of) == 0) == (nodes_used, nodes_used == 3)


def test_nodes_count_by_their_price_where_that_is_asked():
    """A dear node holds two pipelines, and two cheap ones one each: none has traffic between nodes."""
    parts = [component("a", 1, 50.0, kind=Kind.SPOUT, rate=100.0), component("b", 1, 50.0)]
    streams = (Stream(source="a", target="b"),)
    nodes = [machine("dear", 200.0, price=8.0), machine("one", price=1.0), machine("two", price=1.0)]
    asked = request(nodes, [topology(name, *parts, streams=streams) for name in "tu"])
    host = PluginHost.load(["dstorm-plus"])
    for by_price, used in ((False, {"dear"}), (True, {"one", "two"})):
        plan = host.schedule("dstorm-plus", asked, {"node_cost": 0.1, "by_price": by_price})
        assert ({slot.node for slot in plan.assignment.values()}, plan.scores.share) == (used, 0.0)


def test_under_a_move_limit_it_consolidates_a_pipeline_a_round():
    asked = pipelines(4)
    for left in (3, 2, 1, 1):
        asked = attrs.evolve(asked, limits=attrs.evolve(asked.limits, max_moves=2))
        plan = improve(Problem.of(asked), STEPS)
        assert (plan.scores.nodes_used, plan.scores.share) == (left, 0.0)
        asked = attrs.evolve(asked, assignment=plan.assignment)


def test_it_analyses_as_d_storm_does():
    """Two nodes that are little used call for a plan, and what is normal for none."""
    host, asked = PluginHost.load(["dstorm", "dstorm-plus"]), pipelines(3)
    samples = tuple(NodeSample(node=each.id, cpu=5.0) for each in asked.cluster.nodes)
    done = tuple(TopologySample(topology=each.id, offered=100.0, throughput=100.0) for each in asked.topologies)
    states = []
    for metrics in (Metrics(nodes=samples, topologies=done), Metrics(topologies=done), Metrics()):
        seen = Observation(
            cluster=asked.cluster, topologies=asked.topologies, assignment=asked.assignment, metrics=metrics
        )
        verdicts = [host.analyse(name, seen) for name in ("dstorm", "dstorm-plus")]
        assert verdicts[0] == verdicts[1]
        states.append(verdicts[1].replan)
    assert states == [True, False, False]


@pytest.mark.filterwarnings("error")
def test_workers_without_heap_hold_what_needs_none():
    parts = component("a", 4, cpu=30.0, heap=0.0), component("b", 4, cpu=30.0, heap=0.0)
    made = topology("t", *parts, streams=(Stream(source="a", target="b", rate=10.0),), worker_heap=0.0)
    nodes = [machine(f"n{number}", cpu=100.0, slots=1) for number in range(4)]
    plan = PluginHost.load(["dstorm-plus"]).schedule("dstorm-plus", request(nodes, [made]))
    assert plan.status == "ok"


def test_the_options_say_how_many_steps_a_second_of_the_deadline_allows():
    assert f"{MOST:,}, and to {A_SECOND:,} for each second of the deadline" in " ".join(PlusOptions.__doc__.split())

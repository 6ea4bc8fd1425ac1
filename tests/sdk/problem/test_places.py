"""Equal tasks keep their places: a plan moves as few of them as its decision allows."""

from __future__ import annotations

import random
from collections import Counter, defaultdict

import attrs
import numpy as np

from headworks.model import Flow, FrozenMap, Metrics, Resources, Stream, TaskSample
from headworks.problem import Problem
from headworks.problem.plan import planning
from headworks.problem.plan.check import check_plan
from headworks.problem.plan.places import Seating
from headworks.problem.room.slots import assign_slots
from headworks.testing.instances.build import SeededDice, Size, build_request, constrained
from headworks.toolbox.move_limit import plan_within_limit
from small_requests import component, node, request, topology

STREAM = Stream(source="s", target="c")
REQUESTS = 500
SIZE = Size(nodes=4, topologies=2, components=3, parallelism=6)
OF_MOVES = ("moves", "state_seconds")
"""Figures that say what moves cost."""


def drawn(seed):
    """A request of which most tasks run, several of a component in a worker; constraints and batches in some."""
    dice = SeededDice(random.Random(f"places {seed}"))
    made = build_request(dice, SIZE)
    nodes = tuple(attrs.evolve(each, capacity=Resources(cpu=1500.0, memory=9000.0)) for each in made.cluster.nodes)
    parts = {each.id: tuple(free(dice, part) for part in each.components) for each in made.topologies}
    made = attrs.evolve(
        made,
        cluster=attrs.evolve(made.cluster, nodes=nodes),
        topologies=tuple(
            attrs.evolve(each, components=parts[each.id], streams=tuple(map(spread, each.streams)))
            for each in made.topologies
        ),
        metrics=made.metrics if dice.number(0, 2) == 0 else type(made.metrics)(),
        assignment=FrozenMap(),
    )
    if dice.number(0, 2) == 0:
        made = constrained(dice, made)
    if dice.number(0, 2) == 0:
        made = in_batches(dice, made)
    idle = Problem.of(made)
    running = idle.plan(scattered(idle, dice), worker_of=[dice.number(-1, 1) for _ in range(idle.n)]).assignment
    kept = {task: slot for task, slot in running.items() if dice.number(0, 4)}
    return attrs.evolve(made, assignment=FrozenMap(kept)), dice


def spread(stream):
    """The stream, spread over all tasks: tasks that send to their own share alone are never equal."""
    return attrs.evolve(stream, grouping="shuffle") if stream.grouping == "local-or-shuffle" else stream


def free(dice, part):
    demand = Resources(cpu=50.0, memory=part.demand.get("memory", 0.0))
    return attrs.evolve(part, movable=part.movable or dice.number(0, 1) == 0, demand=demand)


def in_batches(dice, made):
    topologies = tuple(attrs.evolve(each, sequential=True) for each in made.topologies)
    samples = {each.task: each for each in made.metrics.tasks}
    states = tuple(
        attrs.evolve(samples.get(task.id, TaskSample(task=task.id)), state=dice.pick((None, None, 1.0, 50.0)))
        for each in topologies
        for task in each.tasks()
    )
    nodes = tuple(attrs.evolve(each, bandwidth=dice.pick((1e5, 1e7))) for each in made.cluster.nodes)
    return attrs.evolve(
        made,
        topologies=topologies,
        metrics=attrs.evolve(made.metrics, tasks=states),
        cluster=attrs.evolve(made.cluster, nodes=nodes),
        limits=attrs.evolve(made.limits, slowdown=dice.pick((None, None, 1.5))),
    )


def scattered(problem, dice):
    """Nodes at random among those with room."""
    room = problem.room()
    for task in dice.random.sample(range(problem.n), problem.n):
        fits = np.flatnonzero(room.fits(task)).tolist()
        if problem.fixed[task] < 0 and fits:
            room.place(task, dice.pick(fits))
    return room.node_of


def decided(problem, dice):
    """Nodes at random, or those of what runs, in another order within each component; and workers now and then."""
    if dice.number(0, 2) == 0:
        node_of = scattered(problem, dice)
    else:
        node_of = problem.current.copy()
        for part in np.unique(problem.component).tolist():
            of = np.flatnonzero((problem.component == part) & (problem.fixed < 0)).tolist()
            node_of[of] = node_of[dice.random.sample(of, len(of))]
    return node_of, np.array([dice.number(-1, 1) for _ in range(problem.n)]) if dice.number(0, 2) == 0 else None


def as_it_is(problem, node_of, worker_of=None):
    slots, reasons = assign_slots(problem, node_of, worker_of)
    return Seating(taken=np.arange(problem.n), slots=slots, reasons=reasons)


def equals(asked):
    """What equal tasks have in common, by id of the task, found one task after the other."""
    samples = {each.task: (each.cpu, each.memory, each.state) for each in asked.metrics.tasks}
    flows = defaultdict(Counter)
    for flow in asked.metrics.flows:
        flows[flow.source]["to", flow.target, flow.bytes] += flow.tuples
        flows[flow.target]["from", flow.source, flow.bytes] += flow.tuples
    found = {}
    for each in asked.topologies:
        alone = {stream.target for stream in each.streams if stream.grouping == "global"}
        work = defaultdict(set)
        for task in each.tasks():
            work[task.component].add(samples.get(task.id, (None,))[0])
        for task in each.tasks():
            mixed = each.sequential and len(work[task.component]) > 1  # then the order within a batch counts
            first = task.index == 0 and task.component in alone
            flow = frozenset(flows[task.id].items())
            found[task.id] = (each.id, task.component, first, samples.get(task.id), flow, mixed and task.id)
    return found


def would_gain(problem, plan):
    """Tasks that run, are free and planned elsewhere, while an equal one comes to the slot that they leave."""
    kind, running = equals(problem.request), problem.request.assignment
    fixed, current = problem.fixed.tolist(), problem.current.tolist()
    loose = {task for at, task in enumerate(problem.task_ids) if fixed[at] < 0}
    here = {task: running[task] for at, task in enumerate(problem.task_ids) if current[at] >= 0 and task in loose}
    comes = {(kind[task], slot) for task, slot in plan.assignment.items() if task in loose and here.get(task) != slot}
    return [task for task, slot in here.items() if plan.assignment.get(task) != slot and (kind[task], slot) in comes]


def test_only_moves_differ_and_no_two_equal_tasks_would_gain_by_changing_places(monkeypatch):
    fewer = cut = spared = 0
    for seed in range(REQUESTS):
        asked, dice = drawn(seed)
        problem = Problem.of(asked, measured=bool(dice.number(0, 3)))
        node_of, workers = decided(problem, dice)
        plan = problem.plan(node_of, worker_of=workers)
        with monkeypatch.context() as patch:
            patch.setattr(planning, "seat", as_it_is)
            before = problem.plan(node_of, worker_of=workers)
        assert check_plan(problem, plan) == (), seed
        assert would_gain(problem, plan) == [], seed
        if any(reason.code == "move-limit" for reason in before.reasons):
            cut += 1
            continue
        assert len(plan.repaired) <= len(before.repaired), seed
        if len(plan.repaired) < len(before.repaired):
            spared += 1
            continue
        assert plan.status == before.status, seed
        assert all((getattr(plan.scores, each) or 0) <= (getattr(before.scores, each) or 0) for each in OF_MOVES), seed
        figures = {each: getattr(before.scores, each) for each in OF_MOVES}
        assert attrs.evolve(plan.scores, **figures) == before.scores, seed
        fewer += plan.scores.moves < before.scores.moves
    assert min(fewer, cut) > 20
    assert spared < 10  # a way that breaks no constraint, where moves in vain led through one that does


def three(**metrics):
    """Three tasks of a component on as many nodes, and room for all of them on each."""
    parts = component("s"), component("c", 3, 50.0)
    running = {"t/s/0": "a", "t/c/0": "a", "t/c/1": "b", "t/c/2": "c"}
    asked = request([node(name, 400.0) for name in "abc"], [topology("t", *parts, streams=(STREAM,))], running)
    return Problem.of(attrs.evolve(asked, metrics=Metrics(window=10.0, **metrics)))


def moved(problem, decision):
    plan = problem.plan(decision)
    assert (plan.status, plan.repaired) == ("ok", ())
    return {move.task: move.target.node for move in plan.moves}


def test_equal_tasks_that_change_places_in_a_circle_stay():
    assert moved(three(), [1, 2, 0, 0]) == {}


def test_of_two_that_would_move_the_one_that_leaves_its_node_takes_the_place():
    assert moved(three(), [1, 1, 2, 0]) == {"t/c/0": "b"}


def test_what_was_measured_of_one_task_alone_sets_it_apart():
    circle = {"t/c/0": "b", "t/c/1": "c", "t/c/2": "a"}
    samples = tuple(TaskSample(task=f"t/c/{index}", cpu=50.0 + index) for index in range(3))
    assert moved(three(tasks=samples), [1, 2, 0, 0]) == circle
    flows = tuple(Flow(source="t/s/0", target=f"t/c/{index}", tuples=10.0 + index) for index in range(3))
    assert moved(three(flows=flows), [1, 2, 0, 0]) == circle
    alike = tuple(attrs.evolve(flow, tuples=10.0) for flow in flows)
    assert moved(three(flows=alike), [1, 2, 0, 0]) == {}


def test_measurements_count_for_a_scheduler_that_plans_on_declarations():
    samples = tuple(TaskSample(task=f"t/c/{index}", cpu=50.0 + index) for index in range(3))
    problem = Problem.of(three(tasks=samples).request, measured=False)
    assert len(moved(problem, [1, 2, 0, 0])) == 3


def test_equal_tasks_keep_their_workers_where_a_scheduler_decides_them():
    parts = topology("t", component("c", 4))
    running = {f"t/c/{index}": f"a:670{index % 2}" for index in range(4)}
    problem = Problem.of(request([node("a", 400.0)], [parts], running))
    assert problem.plan([0] * 4).moves == ()
    assert problem.plan([0] * 4, worker_of=[0, 0, 1, 1]).moves == ()


def test_no_worker_more_goes_on_running_for_a_task_that_keeps_its_place():
    """Two workers of the topology run on a; the decision moves the task of one of them, and an equal one comes."""
    parts = topology("t", component("c", 2), component("d"))
    running = {"t/c/0": "a:6700", "t/c/1": "b:6700", "t/d/0": "a:6701"}
    plan = Problem.of(request([node("a", 400.0), node("b", 400.0)], [parts], running)).plan([1, 0, 0])
    assert (plan.scores.workers, plan.scores.nodes_used) == (2, 2)


def test_a_limit_on_moves_is_not_spent_on_equal_tasks():
    """Three tasks of c would change places in vain before d, whose move saves traffic."""
    parts = component("c", 3, 50.0), component("d", 1, 50.0)
    made = topology("t", *parts, streams=(Stream(source="d", target="c"),))
    running = {"t/c/0": "a", "t/c/1": "a", "t/c/2": "b", "t/d/0": "c"}
    problem = Problem.of(request([node(name, 400.0) for name in "abc"], [made], running, max_moves=1))
    plan = plan_within_limit(problem, np.array([1, 0, 0, 0]))
    assert [(move.task, str(move.target)) for move in plan.moves] == [("t/d/0", "a:6700")]
    assert plan.reasons == ()

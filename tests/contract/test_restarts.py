"""Without `limits.restarts`, no built-in scheduler changes what a running worker runs; and none gives up too early."""

from __future__ import annotations

import random

import attrs
import pytest

from headworks.model import FrozenMap, Limits, Status
from headworks.model.scaling import with_instances
from headworks.plugins.host import PluginHost
from headworks.problem import Problem
from headworks.testing.instances.build import MEDIUM, SMALL, SeededDice, build_request, constrained
from headworks.testing.instances.profiled import build_profiled
from headworks.testing.reference import MAX_NODES, MAX_TASKS, broken_constraints, placeable
from tiers import THOROUGH
from tight_heaps import tight_heaps

HOST = PluginHost.load()
NAMES = [name for name in HOST.schedulers if HOST.plugins[name].distribution == "headworks"]
REQUESTS = 60 if THOROUGH else 30


def closed(seed):
    """A request in which workers that run stay: of any kind, small, short of heap, with profiles, or constrained."""
    dice = SeededDice(random.Random(seed))
    makers = (
        lambda: tight_heaps(seed),
        lambda: build_request(dice, MEDIUM),
        lambda: build_request(dice, SMALL),
        lambda: bereft(build_profiled(dice), dice),
        lambda: constrained(dice, build_request(dice, SMALL)),
    )
    return attrs.evolve(makers[seed % len(makers)](), limits=Limits(restarts=False))


def bereft(request, dice):
    """A request with profiles that was carried out, and some of whose workers have died since."""
    plan = HOST.schedule("hetero", request)
    alive = {slot for slot in sorted(set(plan.assignment.values())) if dice.number(0, 2)}
    left = FrozenMap({task: slot for task, slot in plan.assignment.items() if slot in alive})
    return attrs.evolve(with_instances(request, plan.parallelism), assignment=left)


def workers(problem, assignment):
    """Tasks in each worker that runs, by its slot."""
    live = [task for task, node in zip(problem.task_ids, problem.current.tolist(), strict=True) if node >= 0]
    slots = {problem.request.assignment[task] for task in live}
    return {slot: sorted(task for task, at in assignment.items() if at == slot) for slot in slots}, live


@pytest.mark.parametrize("name", NAMES)
def test_no_running_worker_changes(name):
    # engines that cannot change a topology's numbers of tasks ask for this one
    given = (
        {"counts": "given"} if "counts" in {field.name for field in attrs.fields(HOST.describe(name).options)} else {}
    )
    if name == "optimal":
        given = {"effort": 0.4 * 5 / 60}  # the work of its usual deadline
    met = {"filled": 0, "beside": 0}
    for seed in range(REQUESTS):
        request = closed(seed)
        request = attrs.evolve(request, limits=attrs.evolve(request.limits, deadline=60.0))  # a machine may be busy
        problem = Problem.of(request)
        plan = HOST.schedule(name, request, given)
        assert plan.status is not Status.HELD, (seed, plan.reasons)
        running, live = workers(problem, request.assignment)
        before = {slot: [task for task in tasks if task in live] for slot, tasks in running.items()}
        if plan.parallelism:
            continue  # other numbers of tasks: what an engine makes of them is another question
        assert workers(problem, plan.assignment)[0] == before, seed
        come = plan.assignment.keys() - set(live)
        homes = {(slot.node, task.split("/")[0]) for task, slot in request.assignment.items() if task in live}
        met["filled"] += bool(live and come)
        met["beside"] += any((plan.assignment[task].node, task.split("/")[0]) in homes for task in come)
        assert not broken_constraints(request, plan.assignment), seed
        # a scheduler that counts slots as the plan does is never told that a node has too few
        assert not [each for each in plan.reasons if each.code == "slots" and each.subject in problem.node_ids], seed
        constrained_too = any(each.constraints for each in request.topologies)  # `placeable` knows none
        if name == "optimal" and not constrained_too and problem.n <= MAX_TASKS and problem.m <= MAX_NODES:
            assert plan.status is Status.OK or not placeable(problem), seed
    assert met["filled"] > 5
    assert met["beside"] > 0, "no task came to a node on which its topology runs"

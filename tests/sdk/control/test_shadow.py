"""Shadow says what acting does: the same observation gives the same plan, whoever asks and whatever was done before."""

from __future__ import annotations

import random

import attrs
import pytest

from headworks.control.guards import Guards
from headworks.control.journal import FileJournal, Round, read_journal
from headworks.control.loop import Control, Loop
from headworks.documents import dumps, fingerprint, restore
from headworks.model import Flow, Limits, Metrics, Observation, Status, TaskSample
from headworks.plugins.host import PluginHost
from headworks.problem import Problem
from memory_engine import Engine, Machine
from random_requests import random_request
from shadowed import check_in_shadow

ROUNDS = 200
SCHEDULERS = ("dstorm", "otd")
"""Schedulers that move tasks at every load, and plan within milliseconds."""


def engine(number):
    """A machine on which all tasks run, by the number of a request that fits."""
    asked = random_request(number, "shadow")
    problem = Problem.of(asked)
    room = problem.room()
    for task in range(problem.n):
        nodes = room.fits(task).nonzero()[0].tolist()
        if nodes:
            room.place(task, nodes[-1])
    plan = problem.plan(room.node_of)
    assert plan.status is Status.OK
    return Machine(Observation(cluster=asked.cluster, topologies=asked.topologies, assignment=plan.assignment))


def drifted(dice, seen):
    """The engine at another load: each task and each pair of tasks has more or less to do."""
    parts = {f"{each.id}/{part.id}": part for each in seen.topologies for part in each.components}
    tasks = tuple(
        TaskSample(task=task, cpu=parts[task.rpartition("/")[0]].demand.cpu * dice.uniform(0.3, 1.0))
        for task in sorted(seen.assignment)
    )
    flows = tuple(
        Flow(source=source.id, target=target.id, tuples=dice.uniform(1.0, 1000.0))
        for each in seen.topologies
        for stream in each.streams
        for source in each.tasks()
        for target in each.tasks()
        if (source.component, target.component) == (stream.source, stream.target)
    )
    return attrs.evolve(seen, metrics=Metrics(window=10.0, tasks=tasks, flows=flows))


def control_of(scheduler):
    guards = Guards(cooldown=0.0, goal=None, gain=0.0)
    # A search that is cut short by a clock may end anywhere: these have time.
    limits = Limits(deadline=600.0, fill=0.8)
    return Control(scheduler=scheduler, engine="memory", limits=limits, seed=3, guards=guards)


@pytest.mark.slow
@pytest.mark.parametrize("scheduler", SCHEDULERS)
def test_every_observation_of_an_acting_run_gives_the_same_plan_in_shadow(tmp_path, scheduler):
    host = PluginHost.load([scheduler]).with_plugin("memory", Engine())
    target, dice, kept = engine(1), random.Random(7), []
    control = control_of(scheduler)
    acting = Loop(host, control, target, FileJournal(tmp_path / "journal"), keep=kept.append)
    observations = []
    for _ in range(ROUNDS):
        target.seen = drifted(dice, target.seen)
        first = len(kept)
        acting.round(replan=True)
        observations.append(kept[first])
    rounds = [restore(each, Round) for each in read_journal(tmp_path / "journal")]
    assert len(rounds) == ROUNDS
    assert sum(each.outcome == "executed" for each in rounds) >= ROUNDS / 4
    for done, seen in zip(rounds, observations, strict=True):
        check_in_shadow(host, control, done, seen)


@pytest.mark.parametrize("scheduler", [*SCHEDULERS, "dstorm-plus"])
def test_two_clusters_that_are_started_alike_get_the_same_first_plan(scheduler):
    host = PluginHost.load([scheduler]).with_plugin("memory", Engine())
    one = drifted(random.Random(5), engine(1).seen)
    cluster = attrs.evolve(one.cluster, nodes=one.cluster.nodes[::-1])
    other = attrs.evolve(one, cluster=cluster, topologies=one.topologies[::-1])
    control = control_of(scheduler)
    first, second = (Loop(host, control, Machine(seen)).round(replan=True) for seen in (one, other))
    assert first.plan.provenance.request == second.plan.provenance.request
    assert fingerprint(dumps(first.plan)) == fingerprint(dumps(second.plan))

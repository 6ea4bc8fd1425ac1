"""A task of the simulator beside a queue of tuples: it completes no more than its threads can."""

from __future__ import annotations

import heapq
import random

import attrs
import numpy as np
import pytest

from headworks.model import Kind, Profile, Stream
from headworks_sim.fluid.layout import Layout
from headworks_sim.fluid.steady import Model
from headworks_sim.fluid.world import World
from small_requests import at, component, node, request, topology

SECONDS = 60.0


def hot(offered, cores=4, tasks=1, threads=1, priced=True):
    """A spout that costs nothing, and a bolt of 1 ms of a core for each tuple."""
    declared = 0.0 if priced else 0.1 * offered / tasks
    parts = (
        component("s", 1, 0.0, kind=Kind.SPOUT, rate=offered),
        component("b", tasks, declared, threads=threads),
    )
    profiles = (Profile(topology="t", component="b", machine_type="m", e=0.1 / cores),) if priced else ()
    asked = request(
        [node("a", 100.0 * cores, machine_type="m")],
        [topology("t", *parts, streams=(Stream(source="s", target="b"),))],
        profiles=profiles,
    )
    running = {f"t/{name}": at("a") for name in ("s/0", *(f"b/{index}" for index in range(tasks)))}
    return attrs.evolve(asked, assignment=type(asked.assignment)(running))


def completed(asked):
    """Tuples/s that the simulator completes, its backlog after `SECONDS`, and the points of the fullest task."""
    world = World(asked)
    world.advance(SECONDS)
    tuples = sum(span.length * span.throughput[0] for span in world.spans)
    return tuples / SECONDS, float(world.spans[-1].backlog[0]), max(span.steady.cpu.max() for span in world.spans)


def queued(offered, cores, tasks, threads, seed):
    """The same of a queue of tuples: Poisson arrivals dealt in turn to the tasks, 1 ms each, one a thread at a time."""
    dice, now, arrivals = random.Random(seed), 0.0, []
    while (now := now + dice.expovariate(offered)) < SECONDS:
        arrivals.append(now)
    free = [[0.0] * threads for _ in range(tasks)]
    node = [0.0] * cores
    done = 0
    for number, arrival in enumerate(arrivals):
        thread, core = heapq.heappop(free[number % tasks]), heapq.heappop(node)
        end = max(arrival, thread, core) + 0.001
        heapq.heappush(free[number % tasks], end)
        heapq.heappush(node, end)
        done += end <= SECONDS
    return done / SECONDS


@pytest.mark.parametrize("priced", [True, False])
def test_one_thread_of_a_node_of_four_cores_takes_a_thousand_tuples_of_a_millisecond(priced):
    done, backlog, points = completed(hot(2500.0, priced=priced))
    assert done == pytest.approx(1000.0)
    assert backlog == pytest.approx(1500.0 * SECONDS)
    assert points == pytest.approx(100.0)


@pytest.mark.parametrize(
    ("offered", "cores", "tasks", "threads"),
    [(2500.0, 4, 1, 1), (900.0, 4, 1, 1), (2500.0, 4, 2, 1), (2500.0, 4, 1, 2), (2500.0, 4, 4, 1), (5000.0, 2, 4, 1)],
)
def test_it_completes_what_a_queue_of_tuples_completes(offered, cores, tasks, threads):
    done, backlog, _ = completed(hot(offered, cores, tasks, threads))
    assert done == pytest.approx(queued(offered, cores, tasks, threads, seed=7), rel=0.03)
    assert (backlog > 0) == (offered > 1000.0 * min(cores, tasks * threads))


def test_no_task_of_random_requests_uses_more_than_its_threads():
    for seed in range(200):
        dice = np.random.default_rng(seed)
        nodes = [node(f"n{index}", float(dice.choice([100, 250, 400, 1600]))) for index in range(3)]
        sizes = dice.integers(1, 4, (4, 2)).tolist()
        parts = [
            component(f"c{index}", tasks, float(dice.uniform(0, 300)), threads=threads)
            for index, (tasks, threads) in enumerate(sizes)
        ]
        parts[0] = attrs.evolve(parts[0], kind=Kind.SPOUT, rate=float(dice.uniform(10, 1000)))
        streams = tuple(Stream(source=f"c{index}", target=f"c{index + 1}") for index in range(3))
        made = request(nodes, [topology("t", *parts, streams=streams)])
        layout = Layout.of(made)
        problem = layout.problem
        node_of = dice.integers(0, problem.m, problem.n)
        found = Model(layout).steady(node_of, node_of, np.array([dice.choice([1.0, 3.0, np.inf])]))
        assert (found.cpu <= problem.thread_points * (1 + 1e-9)).all()
        limit = np.array([parts[index].thread_points for index in problem.component])
        assert found.factor[0] <= (limit / problem.wanted)[problem.wanted > 0].min(initial=np.inf) * (1 + 1e-9)

"""Planning on its own plan moves nothing, though tasks that may not move have become fixed by it."""

from __future__ import annotations

import attrs
import pytest

from headworks.model import (
    Cluster,
    Component,
    Flow,
    FrozenMap,
    Kind,
    Metrics,
    Node,
    Request,
    Resources,
    Slot,
    Status,
    Stream,
    TaskSample,
    Topology,
)
from headworks.problem import Problem
from headworks_dstorm.options import Options
from headworks_dstorm.plugin import dstorm
from headworks_dstorm.settling import schedule


def node(name: str, cpu: float, memory: float, slots: int, **more: float) -> Node:
    capacity = Resources({"cpu": cpu, "memory": memory, **more})
    return Node(id=name, capacity=capacity, slots=tuple(range(6700, 6700 + slots)))


def part(name: str, tasks: int, cpu: float, memory: float, **more) -> Component:
    kind = Kind.BOLT if name > "c0" else Kind.SPOUT
    return Component(id=name, kind=kind, parallelism=tasks, demand=Resources(cpu=cpu, memory=memory), **more)


def stream(source: str, target: str, grouping: str, **more) -> Stream:
    return Stream(source=source, target=target, grouping=grouping, **more)


def flows(*rows: tuple[str, str, float, float | None]) -> tuple[Flow, ...]:
    return tuple(Flow(source=a, target=b, tuples=tuples, bytes=size) for a, b, tuples, size in rows)


def samples(*rows: tuple[str, float | None, float | None]) -> tuple[TaskSample, ...]:
    return tuple(TaskSample(task=task, cpu=cpu, memory=memory) for task, cpu, memory in rows)


def what_fails_with_its_own_plan_in_place() -> Request:
    """Algorithm 1 places all seven tasks; with the two of c1 fixed where it put them, it leaves one."""
    first = Topology(
        id="t0",
        components=(part("c0", 2, 65, 500, rate=0.0, selectivity=0.1), part("c1", 1, 35, 0, selectivity=0.1)),
        streams=(stream("c0", "c1", "global"),),
        worker_heap=500.0,
    )
    second = Topology(
        id="t1",
        components=(
            part("c0", 1, 0, 500, rate=1000.0 / 3),
            part("c1", 2, 100, 500, selectivity=2.5, movable=False),
            part("c2", 1, 35, 500),
        ),
        streams=(
            stream("c0", "c1", "local-or-shuffle", fanout="split", tuple_bytes=64.0),
            stream("c1", "c2", "global", fanout="split", tuple_bytes=64.0),
            stream("c0", "c2", "shuffle", name="more", fanout="split", tuple_bytes=64.0),
        ),
        workers=2,
        worker_heap=500.0,
    )
    measured = samples(
        ("t0/c0/0", 33.25, None),
        ("t0/c0/1", 5.0, 200.0),
        ("t0/c1/0", 33.25, None),
        ("t1/c0/0", 120.0, 900.0),
        ("t1/c1/0", 33.25, 900.0),
    )
    exchanged = flows(
        ("t1/c0/0", "t1/c1/0", 1000.0, 4096.0),
        ("t1/c0/0", "t1/c1/1", 1.5, None),
        ("t1/c0/0", "t1/c2/0", 10.0, None),
        ("t1/c1/0", "t1/c2/0", 10.0, 4096.0),
        ("t1/c1/1", "t1/c2/0", 1000.0, 4096.0),
    )
    nodes = (node("n0", 100, 2048, 3), node("n1", 400, 1024, 1), node("n2", 400, 1024, 2), node("n3", 100, 1024, 1))
    return Request(
        cluster=Cluster(nodes=nodes),
        topologies=(first, second),
        metrics=Metrics(window=10.0, tasks=measured, flows=exchanged),
    )


def what_goes_elsewhere_with_its_own_plan_in_place() -> Request:
    """A task of c1 runs on a node that is gone; with both fixed, Algorithm 1 sends three others elsewhere."""
    first = Topology(id="t0", components=(part("c0", 2, 0, 128, selectivity=0.1),), workers=3, worker_heap=128.0)
    second = Topology(
        id="t1",
        components=(
            part("c0", 2, 50, 500, selectivity=0.1),
            part("c1", 2, 35, 500, selectivity=2.5, movable=False),
            part("c2", 1, 10, 128, heap=64.0, selectivity=0.1),
        ),
        streams=(
            stream("c0", "c1", "all", tuple_bytes=64.0),
            stream("c1", "c2", "partial-key", fanout="split", tuple_bytes=64.0),
        ),
        worker_heap=500.0,
    )
    measured = samples(
        ("t0/c0/1", None, 900.0), ("t1/c0/1", 120.0, 200.0), ("t1/c1/1", 33.25, 200.0), ("t1/c2/0", 120.0, 900.0)
    )
    exchanged = flows(
        ("t1/c0/0", "t1/c1/0", 10.0, None),
        ("t1/c0/0", "t1/c1/1", 10.0, 4096.0),
        ("t1/c0/1", "t1/c1/0", 1000.0, 4096.0),
        ("t1/c1/0", "t1/c2/0", 1000.0, None),
        ("t1/c1/1", "t1/c2/0", 1000.0, 4096.0),
    )
    nodes = (
        node("n0", 400, 2048, 3),
        node("n1", 200, 4096, 3, gpu=1.0),
        node("n2", 100, 1024, 3),
        node("n3", 400, 1024, 3),
    )
    running = {
        "t0/c0/1": Slot("n3", 6701),
        "t1/c1/0": Slot("gone", 6700),
        "t1/c1/1": Slot("n0", 6700),
        "t1/c2/0": Slot("n3", 6700),
    }
    return Request(
        cluster=Cluster(nodes=nodes),
        topologies=(first, second),
        assignment=FrozenMap(running),
        metrics=Metrics(window=10.0, tasks=measured, flows=exchanged),
    )


@pytest.mark.parametrize(
    "make", [what_fails_with_its_own_plan_in_place, what_goes_elsewhere_with_its_own_plan_in_place]
)
def test_planning_on_the_plan_moves_nothing(make) -> None:
    request = make()
    plan = dstorm.headworks_schedule(request, Options())
    assert plan.status is Status.OK
    again = dstorm.headworks_schedule(attrs.evolve(request, assignment=plan.assignment), Options())
    assert (again.status, again.moves) == (Status.OK, ())


def test_one_run_of_algorithm_1_is_not_enough() -> None:
    request = what_goes_elsewhere_with_its_own_plan_in_place()
    once = schedule(Problem.of(request), Options())
    assert schedule(Problem.of(attrs.evolve(request, assignment=once.assignment)), Options()).moves


def test_what_runs_stays_where_algorithm_1_fails() -> None:
    request = what_fails_with_its_own_plan_in_place()
    plan = dstorm.headworks_schedule(request, Options())
    again = dstorm.headworks_schedule(attrs.evolve(request, assignment=plan.assignment), Options())
    assert again.explanation.endswith("running tasks stay")

"""The joint choice of instance counts and nodes, on one request that is worked out by hand."""

from __future__ import annotations

import attrs
import numpy as np
import pytest

from headworks.model import (
    FrozenMap,
    Kind,
    Limits,
    Metrics,
    Node,
    Profile,
    Reason,
    Resources,
    Slot,
    Status,
    Stream,
    TaskSample,
)
from headworks.problem import Problem
from headworks.toolbox.instance_counts import InstanceCounts
from hetero_cases import profiled
from small_requests import component, node, request, topology

ALPHA, BETA = 0, 1  # nodes by id
SPOUT, BOLT = 0, 1  # rows
NAMES = ("t/bolt", "t/spout")


def machine(name, kind, cpu, memory=1000.0, slots=3, **more):
    capacity = Resources(cpu=cpu, memory=memory, **more)
    return Node(id=name, capacity=capacity, slots=tuple(range(6700, 6700 + slots)), machine_type=kind)


def part(name, tasks, cpu=50.0, memory=0.0, **more):
    return attrs.evolve(component(name, tasks, **more), demand=Resources(cpu=cpu, memory=memory))


def mixed(**more):
    """A profiled topology, one of whose tasks may not move, and two others without profiles.

    Of `u`, one task runs on the larger node and a new one fits there as well; `big` fits nowhere.
    """
    parts = (
        part("bolt", 3, memory=10.0, heap=40.0, movable=False),
        part("spout", 2, memory=100.0, heap=70.0, kind=Kind.SPOUT, rate=100.0),
    )
    first = topology("t", *parts, streams=(Stream(source="spout", target="bolt"),), worker_heap=200.0)
    others = topology("u", part("big", 1, cpu=500.0, threads=5), part("x", 2, cpu=30.0, memory=50.0))
    profiles = (
        Profile(topology="t", component="spout", machine_type="small", e=0.2, met=1.0),
        Profile(topology="t", component="spout", machine_type="large", e=0.1, met=2.0),
        Profile(topology="t", component="bolt", machine_type="small", e=0.4, met=3.0),
    )
    return request(
        [machine("beta", "large", 200.0), machine("alpha", "small", 100.0)],
        [others, first],
        {"t/bolt/1": "alpha", "u/x/0": "beta", "t/spout/0": "beta:6701", "t/spout/1": "alpha"},
        profiles=profiles,
        **more,
    )


def test_what_tasks_with_profiles_need_and_what_the_others_leave():
    found = InstanceCounts.of(mixed())
    assert found.names() == NAMES
    assert [Problem.of(found.request).components[each] for each in found.parts] == [("t", "bolt"), ("t", "spout")]
    assert found.profiled.e.tolist() == [[0.4, 0.0], [0.2, 0.1]]
    assert found.profiled.met.tolist() == [[3.0, 0.0], [1.0, 2.0]]
    assert found.profiled.covers.tolist() == [[True, False], [True, True]]
    assert found.profiled.covered.tolist() == [True, True]
    assert found.profiled.gain.tolist() == [100.0, 100.0]
    assert found.free.tolist() == [100.0, 70.0]  # both tasks of u/x on beta: 60 of 200 points
    assert found.need.tolist() == [[10.0, 40.0], [100.0, 70.0]]  # memory, heap of a worker of t
    assert found.room.tolist() == [[990.0, 160.0], [900.0, 200.0]]  # alpha holds the task that may not move
    assert found.topology.tolist() == [0, 0]
    assert found.slots.tolist() == [2, 2]
    assert found.present.tolist() == [[True, False], [False, True]]
    assert found.floor.tolist() == [[1, 0], [0, 0]]
    assert found.given.tolist() == [3, 2]


def test_a_topology_without_a_heap_limit_has_no_column_for_it():
    asked = mixed()
    asked = attrs.evolve(asked, topologies=tuple(attrs.evolve(each, worker_heap=None) for each in asked.topologies))
    found = InstanceCounts.of(asked)
    assert found.need.tolist() == [[10.0], [100.0]]
    assert found.room.tolist() == [[990.0], [900.0]]


def test_each_topology_with_a_limit_has_a_column_of_its_own():
    asked = mixed()
    twin = attrs.evolve(asked.topologies[1], id="s", worker_heap=90.0)
    asked = attrs.evolve(
        asked,
        topologies=(*asked.topologies, twin),
        profiles=(*asked.profiles, Profile(topology="s", component="bolt", machine_type="large", e=0.3)),
    )
    found = InstanceCounts.of(asked)  # s/spout has no profile: one task on each node, 70 of 90 MB of its worker
    assert found.names() == ("s/bolt", *NAMES)
    assert found.need.tolist() == [[10.0, 40.0, 0.0], [10.0, 0.0, 40.0], [100.0, 0.0, 70.0]]
    assert found.topology.tolist() == [0, 1, 1]
    assert found.given.tolist() == [3, 3, 2]
    assert found.floor.tolist() == [[0, 0], [1, 0], [0, 0]]


def test_where_nothing_has_a_profile_there_is_nothing_to_choose():
    asked = request([node("a"), node("b")], [topology("t", component("c", 2))], {"t/c/1": "b"})
    found = InstanceCounts.of(asked)
    assert (found.names(), found.need.shape, found.given.tolist()) == ((), (0, 1), [])
    plan = found.others("as before")
    assert attrs.evolve(plan, reasons=()) == Problem.of(asked).plan([0, 1], "as before")
    message = "no component of the request has a profile, and the scheduler plans by profiles"
    lacking = {"code": "no-profiles", "subject": "profiles", "resource": "profiles", "need": 1.0, "have": 0.0}
    assert plan.reasons == (Reason(message=message, **lacking),)


def test_a_plan_has_the_counts_that_were_chosen_and_keeps_what_runs_where_it_can():
    found = InstanceCounts.of(mixed())
    counts = np.array([[2, 0], [1, 2]])
    plan = found.plan(counts, 0.5, "chosen")
    assert dict(plan.parallelism) == {"t/bolt": 2, "t/spout": 3}
    assert plan.input_rate == 50.0  # half of what the spout states
    assert plan.explanation == "chosen"
    at = {task: slot.node for task, slot in plan.assignment.items()}
    assert {task: at[task] for task in ("t/bolt/0", "t/bolt/1")} == {"t/bolt/0": "alpha", "t/bolt/1": "alpha"}
    assert {task: at[task] for task in ("t/spout/0", "t/spout/1")} == {"t/spout/0": "beta", "t/spout/1": "alpha"}
    assert at["t/spout/2"] == "beta"
    assert {task: node for task, node in at.items() if task.startswith("u/")} == {"u/x/0": "beta", "u/x/1": "beta"}
    assert (plan.status, [reason.subject for reason in plan.reasons]) == (Status.INFEASIBLE, ["u/big/0"])


def test_a_task_that_may_not_move_stays_when_others_of_its_component_have_to_go():
    asked = mixed()
    running = {**asked.assignment, "t/bolt/0": asked.assignment["t/spout/1"]}
    everywhere = Profile(topology="t", component="bolt", machine_type="large", e=0.2, met=3.0)
    free = attrs.evolve(asked, assignment=type(asked.assignment)(running), profiles=(*asked.profiles, everywhere))
    plan = InstanceCounts.of(free).plan(np.array([[2, 1], [1, 1]]), 1.0)
    at = {task: slot.node for task, slot in plan.assignment.items() if task.startswith("t/bolt")}
    assert at == {"t/bolt/0": "alpha", "t/bolt/1": "alpha", "t/bolt/2": "beta"}


def test_components_that_are_left_out_have_a_reason_and_the_others_their_places():
    found = InstanceCounts.of(mixed())
    reason = found.no_machine(BOLT)
    plan = found.refuse(reason, "nothing fits")
    assert plan.status is Status.INFEASIBLE
    assert plan.reasons[0] == reason
    assert plan.explanation == "nothing fits"
    placed = {task: slot.node for task, slot in plan.assignment.items()}
    assert placed == {"t/bolt/1": "alpha", "u/x/0": "beta", "u/x/1": "beta"}  # the first may not move
    assert set(found.others().assignment) == {"t/bolt/1", "u/x/0", "u/x/1"}


@pytest.mark.parametrize(("nodes", "demand", "code", "resource", "need", "have", "words"), [
    ([("m1", 1000.0, 2)], {}, "profile", "profiles", 1.0, 0.0,
     "t/c0 has no profile for any machine type of the cluster; profile it on one of them"),
    ([("m0", 90.0, 2), ("m0", 70.0, 2), ("m1", 500.0, 2)], {"memory": 128.0}, "capacity", "memory", 128.0, 90.0,
     "t/c0 needs 128 memory, the machine with most has 90"),
    ([("m0", 900.0, 2)], {"memory": 128.0, "disk": 7.0}, "capacity", "disk", 7.0, 0.0,
     "t/c0 needs 7 disk, the machine with most has 0"),
    ([("m0", 900.0, 2)], {"memory": 300.0}, "capacity", "heap", 300.0, 256.0,
     "t/c0 needs 300 heap, the machine with most has 256"),
    ([("m0", 900.0, 0), ("m0", 90.0, 2)], {"memory": 128.0}, "slots", "slots", 1.0, 0.0,
     "t/c0 finds no machine with a free slot and enough memory among those it has a profile for"),
])  # fmt: skip
def test_why_no_machine_takes_a_first_task(nodes, demand, code, resource, need, have, words):
    asked = profiled([[0.1]])
    (one,) = asked.topologies
    parts = tuple(attrs.evolve(each, demand=Resources(demand)) for each in one.components)
    machines = tuple(
        machine(f"n{number}", kind, 100.0, memory, slots) for number, (kind, memory, slots) in enumerate(nodes)
    )
    asked = attrs.evolve(
        asked,
        topologies=(attrs.evolve(one, components=parts, worker_heap=256.0),),
        cluster=attrs.evolve(asked.cluster, nodes=machines),
    )
    found = InstanceCounts.of(asked).no_machine(0)
    assert (found.code, found.subject, found.resource, found.need, found.have) == (code, "t/c0", resource, need, have)
    assert found.message == words


def test_a_plan_that_the_move_limit_cuts_short_is_at_the_rate_that_it_sustains():
    # Both tasks of c1 run on m0, where c0 is; one may move to the faster m1.
    asked = profiled([[0.1, 0.1], [0.4, 0.1]], 0.0, rate=100.0)
    wide = attrs.evolve(asked, topologies=(_doubled(asked.topologies[0], "c1"),))
    at = dict.fromkeys(("t/c0/0", "t/c1/0", "t/c1/1"), "m0-000:0")
    running = attrs.evolve(wide, assignment=FrozenMap({task: Slot.parse(slot) for task, slot in at.items()}))
    counts = np.array([[1, 0], [0, 2]])
    free = InstanceCounts.of(running).plan(counts, 10.0)
    assert free.input_rate == 1000.0
    one = attrs.evolve(running, limits=Limits(max_moves=1))
    plan = InstanceCounts.of(one).plan(counts, 10.0, "both on m1")
    # m0: 0.1 R + 0.4 R / 2 = 100 %
    assert plan.input_rate == pytest.approx(100.0 / 0.3)
    assert plan.explanation == "both on m1; 33.3% of the rate, as not all running tasks may move"
    none = InstanceCounts.of(attrs.evolve(running, limits=Limits(max_moves=0))).plan(np.array([[1, 0], [2, 0]]), 10.0)
    assert none.input_rate == pytest.approx(100.0 / 0.5)
    assert none.explanation == "running tasks stay: within the move limit nothing is better"


def _doubled(whole, name):
    return attrs.evolve(
        whole, components=tuple(attrs.evolve(p, parallelism=2) if p.id == name else p for p in whole.components)
    )


def test_fixed_costs_beyond_a_machine_and_tasks_without_a_profile_are_refused_with_a_reason():
    heavy = InstanceCounts.of(profiled([[0.1], [0.1]], 60.0, rate=1.0)).plan(np.array([[1], [1]]), 1.0)
    assert heavy.status is Status.INFEASIBLE
    assert heavy.reasons[0].message == "the tasks of node m0-000 need 120 % before the first tuple, 100 % are free"
    assert (heavy.input_rate, dict(heavy.parallelism)) == (None, {})
    asked = profiled([[0.1, 0.1]], 0.0, rate=1.0)
    half = attrs.evolve(asked, profiles=asked.profiles[:1])
    lost = InstanceCounts.of(half).plan(np.array([[0, 1]]), 1.0)
    lacking = lost.reasons[0]
    assert (lost.status, lacking.code, lacking.subject) == (Status.INFEASIBLE, "profile", "t/c0")
    assert (lacking.resource, lacking.need, lacking.have) == ("profiles", 1.0, 0.0)
    assert "t/c0 has no profile for node m1-000, which a task of it may not leave" in lost.reasons[0].message


def test_what_runs_without_a_profile_and_overloads_a_node_is_a_reason_to_refuse():
    asked = profiled([[0.1]], 0.0, rate=1.0)
    where = attrs.evolve(asked.cluster.nodes[0], slots=(6700, 6701))
    asked = attrs.evolve(
        asked,
        cluster=attrs.evolve(asked.cluster, nodes=(where,)),
        topologies=(*asked.topologies, topology("u", component("c", movable=False))),
        assignment=FrozenMap({"t/c0/0": Slot(node=where.id, port=6700), "u/c/0": Slot(node=where.id, port=6701)}),
        metrics=Metrics(tasks=(TaskSample(task="u/c/0", cpu=120.0),)),
    )
    plan = InstanceCounts.of(asked).plan(np.array([[1]]), 1.0)
    assert (plan.status, plan.input_rate, plan.reasons[0].code) == (Status.INFEASIBLE, None, "capacity")
    assert "tasks without a profile take 120 %" in plan.reasons[0].message


def test_what_runs_and_takes_tuples_stays_where_a_scheduler_would_refuse():
    asked = profiled([[0.1], [0.2]], 10.0, rate=1.0)
    running = attrs.evolve(asked, assignment=FrozenMap(dict.fromkeys(("t/c0/0", "t/c1/0"), Slot("m0-000", 0))))
    reason = Reason(code="capacity", subject="t/c1", message="c1 finds no machine")
    assert InstanceCounts.of(asked).refuse(reason).status is Status.INFEASIBLE
    plan = InstanceCounts.of(running).refuse(reason)
    assert (plan.status, plan.moves, plan.explanation) == (Status.OK, (), "running tasks stay: c1 finds no machine")
    assert plan.input_rate == pytest.approx(80.0 / 0.3)
    full = attrs.evolve(running, profiles=tuple(attrs.evolve(each, met=50.0) for each in running.profiles))
    assert InstanceCounts.of(full).refuse(reason).status is Status.INFEASIBLE


@pytest.mark.parametrize("measured", [(250.0, 40.0), (40.0, 250.0)])
def test_a_component_needs_what_its_largest_measured_task_needs(measured):
    samples = tuple(TaskSample(task=f"t/spout/{number}", memory=memory) for number, memory in enumerate(measured))
    found = InstanceCounts.of(mixed(metrics=Metrics(window=10.0, tasks=samples)))
    assert found.need[NAMES.index("t/spout"), 0] == 250.0


@pytest.mark.parametrize(
    ("row", "floor", "least", "most", "expected"),
    [
        ([2, 1, 0], [0, 0, 0], 1, 9, [2, 1, 0]),
        ([4, 2, 2], [0, 0, 0], 1, 4, [2, 1, 1]),
        ([4, 2, 2], [0, 2, 0], 1, 4, [1, 2, 1]),  # of 6 that may move, 2 stay: 4/3 and 2/3
        ([1, 1, 0], [0, 0, 0], 5, 5, [3, 2, 0]),
        ([0, 1, 0], [0, 1, 0], 3, 9, [0, 3, 0]),
    ],
)
def test_counts_are_brought_to_the_nearest_number_that_can_be(row, floor, least, most, expected):
    bounds = {"floor": np.array([floor]), "least": np.array([least]), "most": np.array([most])}
    assert attrs.evolve(InstanceCounts.of(mixed()), **bounds).within_bounds(np.array([row])).tolist() == [expected]


def test_tasks_that_may_not_move_are_there_whatever_the_bounds_say():
    asked = mixed()
    parts = [attrs.evolve(part, min_parallelism=1, max_parallelism=1) for part in asked.topologies[1].components]
    (name, first) = asked.topologies
    found = InstanceCounts.of(attrs.evolve(asked, topologies=(name, attrs.evolve(first, components=tuple(parts)))))
    assert (found.least.tolist(), found.most.tolist()) == ([1, 1], [1, 1])
    free = InstanceCounts.of(asked)
    assert free.least.tolist() == [1, 1]
    assert free.most.min() > 10_000

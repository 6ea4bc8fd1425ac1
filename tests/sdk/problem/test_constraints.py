"""Placement constraints: what a room allows, what a plan repairs, what the check refuses, and what reasons say."""

from __future__ import annotations

import random

import attrs
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from headworks import PluginHost
from headworks.documents import loads
from headworks.errors import DocumentError
from headworks.hooks import Description, hookimpl
from headworks.model import (
    Cluster,
    Component,
    Constraint,
    ConstraintKind,
    FrozenMap,
    Kind,
    Limits,
    Node,
    Plan,
    Request,
    Resources,
    Scope,
    Slot,
    Status,
    Stream,
    Topology,
)
from headworks.problem import Problem
from headworks.problem.plan.check import check_plan
from headworks.testing.instances.build import SeededDice, build_request, constrained
from headworks.testing.instances.strategies import requests
from headworks.testing.reference import broken_constraints

SPREAD = Constraint(kind=ConstraintKind.AT_MOST, components=("db",), limit=1)
APART = Constraint(kind=ConstraintKind.APART, components=("db", "fast"))
TOGETHER = Constraint(kind=ConstraintKind.TOGETHER, components=("db",))


def on(kind, components=(), **labels):
    wanted = FrozenMap({name: (value,) for name, value in labels.items()})
    return Constraint(kind=ConstraintKind(kind), components=components, labels=wanted)


def asked(*constraints, nodes=3, db=3, fast=2, cpu=400.0, running=None, **limits):
    """Tasks of `db` read from `fast`; nodes n0, n1, ... in racks r0, r1, r0, ..., of which n0 has an SSD."""
    machines = tuple(
        Node(
            id=f"n{number}",
            capacity=Resources(cpu=cpu),
            slots=(1, 2, 3),
            rack=f"r{number % 2}",
            zone=f"z{number % 2}",
            labels=FrozenMap(disk="hdd" if number else "ssd"),
        )
        for number in range(nodes)
    )
    parts = (
        Component(id="db", parallelism=db, demand=Resources(cpu=100.0)),
        Component(id="fast", kind=Kind.SPOUT, rate=100.0, parallelism=fast, demand=Resources(cpu=10.0)),
    )
    stream = Stream(source="fast", target="db")
    whole = Topology(id="t", components=parts, streams=(stream,), constraints=constraints)
    at = FrozenMap({f"t/{task}": Slot.parse(slot) for task, slot in (running or {}).items()})
    return Request(cluster=Cluster(nodes=machines), topologies=(whole,), assignment=at, limits=Limits(**limits))


def nodes_of(plan, component):
    return [slot.node for task, slot in sorted(plan.assignment.items()) if task.startswith(f"t/{component}/")]


def all_on_the_first(request):
    problem = Problem.of(request)
    return problem.plan(np.zeros(problem.n, dtype=np.int64))


class TestMend:
    def test_at_most_one_a_node(self):
        assert sorted(nodes_of(all_on_the_first(asked(SPREAD)), "db")) == ["n0", "n1", "n2"]

    def test_components_that_are_apart_share_no_node(self):
        plan = all_on_the_first(asked(APART))
        assert plan.status is Status.OK
        assert not set(nodes_of(plan, "db")) & set(nodes_of(plan, "fast"))

    def test_two_a_rack(self):
        rule = attrs.evolve(SPREAD, limit=2, scope=Scope.RACK)
        racks = [int(node[1]) % 2 for node in nodes_of(all_on_the_first(asked(rule)), "db")]
        assert sorted(racks) == [0, 0, 1]

    def test_together_goes_where_all_have_room(self):
        problem = Problem.of(asked(TOGETHER))
        plan = problem.plan(np.array([0, 1, 2, 0, 0]))
        assert plan.status is Status.OK
        assert len(set(nodes_of(plan, "db"))) == 1

    def test_labels(self):
        assert nodes_of(Problem.of(asked(on("only_on", ("db",), disk="ssd"))).plan([1, 1, 2, 2, 2]), "db") == ["n0"] * 3
        plan = all_on_the_first(asked(on("never_on", node="n0")))
        assert "n0" not in nodes_of(plan, "db") + nodes_of(plan, "fast")

    def test_one_a_worker_takes_slots_of_other_nodes(self):
        rule = Constraint(kind=ConstraintKind.AT_MOST, scope=Scope.WORKER, limit=1)
        plan = all_on_the_first(asked(rule))
        assert plan.status is Status.OK
        assert len(set(plan.assignment.values())) == 5

    def test_what_is_together_in_a_worker_is_in_one(self):
        rule = attrs.evolve(TOGETHER, scope=Scope.WORKER)
        plan = Problem.of(asked(rule)).plan([0, 1, 2, 1, 1])
        assert plan.status is Status.OK
        assert len({slot for task, slot in plan.assignment.items() if "/db/" in task}) == 1

    def test_a_tangle_takes_backtracking(self):
        # db fills every node first: fast finds one only where db is placed anew
        plan = Problem.of(asked(APART, attrs.evolve(SPREAD, limit=2))).plan([0, 1, 2, 0, 1])
        assert plan.status is Status.OK

    def test_a_decision_that_breaks_nothing_stays(self):
        problem = Problem.of(asked(SPREAD, APART, nodes=5))
        decided = np.array([4, 2, 0, 1, 1])
        assert problem.repair(decided).tolist() == decided.tolist()

    def test_what_runs_and_breaks_a_constraint_moves_if_it_may(self):
        running = {"db/0": "n0:1", "db/1": "n0:1", "db/2": "n1:1", "fast/0": "n0:1", "fast/1": "n1:1"}
        free, still = asked(SPREAD, running=running), asked(SPREAD, running=running, max_moves=0)
        assert sorted(nodes_of(Problem.of(free).plan(Problem.of(free).current), "db")) == ["n0", "n1", "n2"]
        kept = Problem.of(still).plan(Problem.of(still).current)
        assert not kept.moves
        assert check_plan(Problem.of(still), kept) == ()

    def test_a_limit_on_moves_cuts_no_way_where_a_constraint_is_broken(self):
        running = {"db/0": "n0:1", "db/1": "n0:1", "db/2": "n0:1", "fast/0": "n1:1", "fast/1": "n1:1"}
        request = asked(TOGETHER, running=running, max_moves=1)
        plan = Problem.of(request).plan([2, 2, 2, 1, 1])
        assert nodes_of(plan, "db") == ["n0"] * 3

    @given(requests(bound=True), st.data())
    def test_no_decision_makes_a_plan_that_breaks_one(self, request, data):
        problem = Problem.of(request)
        decided = [data.draw(st.integers(-1, problem.m - 1)) for _ in range(problem.n)]
        plan = problem.plan(decided)
        assert broken_constraints(request, plan.assignment) == ()
        assert not [reason for reason in check_plan(problem, plan) if reason.code == "constraint"]


class TestRoom:
    @given(requests(bound=True), st.data())
    def test_both_questions_agree_and_what_fits_breaks_nothing(self, request, data):
        problem = Problem.of(request)
        room = problem.room()
        for task in np.flatnonzero(problem.fixed < 0).tolist():
            fits = room.fits(task)
            assert fits.tolist() == [room.fits_on(task, node) for node in range(problem.m)]
            assert not (fits & ~room.open_to(task)).any()
            if fits.any():
                room.place(task, data.draw(st.sampled_from(np.flatnonzero(fits).tolist())))
        slots = {
            task: Slot(problem.node_ids[node], 0)
            for task, node in zip(problem.task_ids, room.node_of.tolist(), strict=True)
            if node >= 0
        }
        on_nodes = tuple(
            attrs.evolve(each, constraints=tuple(one for one in each.constraints if one.scope is not Scope.WORKER))
            for each in request.topologies
        )
        assert broken_constraints(attrs.evolve(request, topologies=on_nodes), slots) == ()

    def test_a_limit_bounds_tasks_placed_at_once(self):
        room = Problem.of(asked(attrs.evolve(SPREAD, limit=2))).room()
        assert room.place_alike([0, 1, 2], 0) == 2
        assert room.fits(2).tolist() == [False, True, True]

    def test_the_first_of_a_set_needs_room_for_the_whole_set(self):
        request = asked(TOGETHER, cpu=290.0)
        assert not Problem.of(request).room().fits(0).any()
        assert Problem.of(asked(TOGETHER, cpu=300.0)).room().fits(0).all()


class Careless:
    """Puts all tasks of a request on the first node, without `Problem.plan`."""

    @hookimpl
    def headworks_describe(self):
        return Description(summary="All on one node.")

    @hookimpl
    def headworks_schedule(self, request):
        plain = attrs.evolve(request, topologies=tuple(attrs.evolve(t, constraints=()) for t in request.topologies))
        return all_on_the_first(plain)


class TestCheck:
    @pytest.mark.parametrize(
        ("constraint", "said"),
        [
            (SPREAD, "at most 1 of db a node, but node 'n0' would hold 3 of them, t/db/0 among them"),
            (APART, "db, fast apart on every node, but node 'n0' would hold 5 of them"),
            (on("only_on", ("fast",), node="n1"), "fast only on node=n1, but t/fast/0 would be on n0, and 1 more"),
        ],
    )
    def test_a_strangers_plan_that_breaks_one_is_held(self, constraint, said):
        host = PluginHost().with_plugin("careless", Careless())
        plan = host.schedule("careless", asked(constraint))
        assert plan.status is Status.HELD
        assert [reason.code for reason in plan.reasons] == ["constraint"]
        assert said in plan.reasons[0].message

    def test_what_it_did_not_cause_is_not_refused(self):
        running = {"db/0": "n0:1", "db/1": "n0:1", "fast/0": "n0:1"}
        request = asked(SPREAD, db=2, fast=1, running=running)
        assert check_plan(Problem.of(request), Plan(assignment=request.assignment)) == ()
        more = asked(SPREAD, db=3, fast=1, running=running)
        worse = Plan(assignment=FrozenMap({**more.assignment, "t/db/2": Slot("n0", 1)}))
        assert "constraint" in {reason.code for reason in check_plan(Problem.of(more), worse)}


class TestReasons:
    def test_the_limit_that_helps_is_named(self):
        (reason,) = all_on_the_first(asked(SPREAD, db=4)).reasons
        assert reason.code == "constraint"
        assert (reason.resource, reason.need, reason.have) == ("at most 1 of db a node", 2.0, 1.0)
        assert "with 2 in place of 1 t/db/3 fits on n0" in reason.message
        relaxed = all_on_the_first(asked(attrs.evolve(SPREAD, limit=2), db=4))
        assert relaxed.status is Status.OK

    def test_a_limit_that_does_not_suffice_for_all_is_not_called_enough(self):
        reason = all_on_the_first(asked(SPREAD, db=8)).reasons[0]
        assert reason.need == 3.0
        assert all_on_the_first(asked(attrs.evolve(SPREAD, limit=2), db=8)).status is Status.INFEASIBLE
        assert all_on_the_first(asked(attrs.evolve(SPREAD, limit=3), db=8)).status is Status.OK

    def test_labels_that_no_node_has(self):
        reason = all_on_the_first(asked(on("only_on", ("db",), disk="nvme"))).reasons[0]
        assert "db only on disk=nvme; without this constraint t/db/0 fits on n0" in reason.message
        assert (reason.code, reason.subject, reason.need, reason.have) == ("constraint", "t/db/0", 1.0, 0.0)

    def test_a_set_that_no_node_holds(self):
        reason = Problem.of(asked(TOGETHER, cpu=250.0)).plan([0, 1, 2, 0, 1]).reasons[0]
        assert "they need 300 cpu of 250 that one node has" in reason.message

    def test_two_that_are_in_the_way_together_are_both_named(self):
        rules = on("only_on", ("db",), disk="nvme"), on("only_on", ("db",), rack="none")
        reason = all_on_the_first(asked(*rules)).reasons[0]
        assert "db only on disk=nvme; db only on rack=none; to relax one is not enough" in reason.message
        assert (reason.code, reason.subject, reason.need, reason.have) == ("constraint", "t/db/0", 1.0, 0.0)

    @pytest.mark.parametrize("scheduler", ["even", "dstorm", "resource-aware"])
    def test_a_slot_that_others_have_for_their_constraint_is_not_called_room(self, scheduler):
        """Each task of `db` has a worker to itself, and with that a slot of the only node: none is left."""
        alone = Constraint(kind=ConstraintKind.AT_MOST, components=("db",), scope=Scope.WORKER, limit=1)
        request = asked(alone, nodes=1, fast=0)
        other = Topology(id="u", components=(Component(id="c", kind=Kind.SPOUT, rate=1.0),))
        both = attrs.evolve(request, topologies=(*request.topologies, other))
        plan = PluginHost.load([scheduler]).schedule(scheduler, both)
        (reason,) = plan.reasons
        assert (plan.status, reason.code, reason.resource, reason.have) == (Status.INFEASIBLE, "slots", "slots", 0.0)
        assert "as on n0, constraints give others all workers" in reason.message


class TestSoft:
    def test_preferred_nodes_are_taken_where_they_have_room(self):
        plan = all_on_the_first(asked(on("prefer", rack="r1")))
        assert set(nodes_of(plan, "db") + nodes_of(plan, "fast")) == {"n1"}
        assert plan.scores.penalty == 0

    def test_what_finds_no_room_there_counts(self):
        rule = attrs.evolve(on("prefer", ("db",), rack="r1"), weight=2.5)
        plan = all_on_the_first(asked(rule, cpu=250.0))
        assert sorted(nodes_of(plan, "db")) == ["n0", "n1", "n1"]
        assert plan.scores.penalty == 2.5

    def test_a_soft_limit_yields_to_a_hard_one(self):
        soft = attrs.evolve(SPREAD, hard=False)
        assert len(set(nodes_of(all_on_the_first(asked(soft)), "db"))) == 3
        plan = all_on_the_first(asked(soft, TOGETHER))
        assert len(set(nodes_of(plan, "db"))) == 1
        assert plan.scores.penalty == 2.0

    def test_nothing_that_runs_moves_for_it_under_a_limit(self):
        running = {"db/0": "n0:1", "db/1": "n0:1", "db/2": "n0:1", "fast/0": "n0:1", "fast/1": "n0:1"}
        assert not all_on_the_first(asked(on("prefer", rack="r1"), running=running, max_moves=3)).moves


class TestDocuments:
    @pytest.mark.parametrize(
        ("constraint", "pointer"),
        [
            ('{"kind": "apart", "components": ["db", "nobody"]}', "/components/1"),
            ('{"kind": "at_most"}', "/limit"),
            ('{"kind": "apart", "limit": 2}', "/limit"),
            ('{"kind": "only_on"}', "/labels"),
            ('{"kind": "only_on", "labels": {"disk": []}}', "/labels/disk"),
            ('{"kind": "only_on", "labels": {"disk": [1]}}', "/labels/disk/0"),
            ('{"kind": "only_on", "labels": {"disk": "ssd"}}', "/labels/disk"),
            ('{"kind": "near"}', "/kind"),
            ('{"kind": "apart", "scope": "planet"}', "/scope"),
            ('{"kind": "apart", "components": ["db", "db"]}', "/components/1"),
        ],
    )
    def test_a_mistake_has_a_pointer(self, constraint, pointer):
        text = f'{{"topologies": [{{"id": "t", "components": [{{"id": "db"}}], "constraints": [{constraint}]}}]}}'
        with pytest.raises(DocumentError) as caught:
            Problem.of(loads(text, Request))
        assert caught.value.pointer == f"/topologies/0/constraints/0{pointer}"

    def test_a_label_of_the_wrong_type_has_a_pointer(self):
        with pytest.raises(DocumentError) as caught:
            loads('{"cluster": {"nodes": [{"id": "n", "capacity": {}, "labels": {"disk": 1}}]}}', Request)
        assert caught.value.pointer == "/cluster/nodes/0/labels/disk"

    def test_a_label_that_is_a_field_is_refused(self):
        node = Node(id="n", capacity=Resources(), labels=FrozenMap(rack="r0"))
        with pytest.raises(DocumentError, match="state it there"):
            Problem.of(Request(cluster=Cluster(nodes=(node,))))


@pytest.mark.parametrize("seed", [10870, 17365, 26182, 31286])
@pytest.mark.parametrize("scheduler", ["even", "dstorm"])
def test_workers_that_run_and_cannot_be_divided_anew_stay(seed, scheduler):
    dice = SeededDice(random.Random(seed))
    request = constrained(dice, build_request(dice, fresh=seed % 3 == 0))
    plan = PluginHost.load().schedule(scheduler, request)
    assert plan.status is not Status.HELD, plan.reasons


def test_a_task_that_is_left_for_a_constraint_is_given_it_as_the_reason():
    parts = (
        Component(id="c0", kind=Kind.SPOUT, parallelism=2, rate=100.0, demand=Resources({"gpu": 1.0})),
        Component(id="c1"),
    )
    rule = Constraint(kind=ConstraintKind.TOGETHER, scope=Scope.RACK)
    topology = Topology(id="t", components=parts, streams=(Stream(source="c0", target="c1"),), constraints=(rule,))
    nodes = tuple(Node(id=name, capacity=Resources(cpu=100.0, memory=1024.0)) for name in ("n0", "n1", "n2"))
    running = FrozenMap({f"t/c0/{index}": Slot("n0", 0) for index in range(2)})  # on a node without a gpu
    request = Request(cluster=Cluster(nodes=nodes), topologies=(topology,), assignment=running)
    plan = PluginHost.load().schedule("dstorm", request)
    assert plan.status is Status.INFEASIBLE
    assert [(each.code, each.subject, each.resource) for each in plan.reasons] == [("constraint", "t/c1/0", str(rule))]


def test_what_had_no_room_follows_its_topology_to_the_node_that_a_repair_gave_it():
    """The other topology had the only slot of both nodes; `fast` is bound by nothing."""
    made = asked(TOGETHER, nodes=2, db=2)
    nodes = tuple(attrs.evolve(each, slots=(1,)) for each in made.cluster.nodes)
    other = Topology(id="u", components=(Component(id="c", kind=Kind.SPOUT, rate=1.0, parallelism=2),))
    problem = Problem.of(
        attrs.evolve(made, cluster=attrs.evolve(made.cluster, nodes=nodes), topologies=(*made.topologies, other))
    )
    plan = problem.plan([-1, -1, -1, -1, 0, 1])
    assert (plan.status, plan.reasons) == (Status.OK, ())
    assert len({slot.node for task, slot in plan.assignment.items() if task.startswith("t/")}) == 1
    followed = [each.why for each in plan.repaired if each.task.startswith("t/fast/")]
    assert followed == ["it had no node, and this one serves its topology by now"] * 2

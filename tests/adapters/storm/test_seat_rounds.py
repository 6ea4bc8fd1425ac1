"""Rounds of Nimbus in which tasks have seats: what schedulers see, where seats begin, what a plan moves."""

from __future__ import annotations

import json

import attrs
import pytest

from headworks.model import ConstraintKind, Flow, Limits, Metrics, Plan, Request, Slot, TaskSample
from headworks.model.parts import known_metrics
from headworks.plugins.host import PluginHost
from headworks.problem import Problem
from headworks_storm.nimbus.rounds import Rounds, decide
from headworks_storm.nimbus.seat_slots import assign_seat_slots
from headworks_storm.samples.rows import sample_rows
from headworks_storm.seats.homes import NOWHERE, homes, lived_in, owners
from headworks_storm.seats.metrics import logical_metrics
from headworks_storm.seats.plan import carry_out
from headworks_storm.seats.seat import SeatState
from headworks_storm.seats.view import logical_snapshot
from headworks_storm.target import StormTarget
from storm_reports import report
from storm_rounds import component, round_text, supervisor, topology, word_count
from storm_seated import LIVE, OWNERS, A, B, flat, seated, snapshot

HOST = PluginHost.load()
STAY = "its tasks stay where they are until"


def test_schedulers_see_a_task_where_it_lives_and_not_its_seats():
    seen = logical_snapshot(snapshot(seated()), OWNERS).observation()
    (wc,) = seen.topologies
    parts = {each.id: each for each in wc.components}
    assert {name: (part.parallelism, part.movable) for name, part in parts.items()} == {
        "__acker": (1, False),
        "__seats": (2, False),
        "count": (3, True),
        "lines": (1, False),
    }
    assert wc.live
    assert dict(seen.assignment) == LIVE | {
        "wc/__acker/0": A,
        "wc/__seats/0": A,
        "wc/__seats/1": B,
        "wc/lines/0": B,
    }
    assert [(each.source, each.name) for each in wc.streams] == [("lines", "default")]


def test_cpu_goes_with_a_task_and_memory_stays_with_the_worker():
    before = snapshot(seated())
    (physical,), (wc,) = before.observation().topologies, logical_snapshot(before, OWNERS).observation().topologies
    seat, task, worker = (
        {each.id: each for each in one.components}[name]
        for one, name in ((physical, "count"), (wc, "count"), (wc, "__seats"))
    )
    assert task.demand.cpu == 2 * seat.demand.cpu
    assert (task.demand.memory, task.task_heap) == (0.0, 0.0)
    assert worker.demand.memory == 3 * seat.demand.memory
    assert worker.task_heap == 3 * seat.task_heap


def test_without_knowing_where_tasks_live_seats_are_shown_and_none_may_move():
    before = snapshot(seated())
    assert logical_snapshot(before, {}) == before
    (wc,) = before.observation().topologies
    assert not any(each.movable for each in wc.components)
    placed, (note,) = StormTarget(rounds=Rounds(lambda request: Plan())).seated(before)
    assert placed == before
    assert note.startswith("tasks of wc stay in their seats: give --home")


@pytest.mark.parametrize(
    "odd",
    [
        {"workers": 3, "components": {"count": {"tasks": 3}}},
        {"workers": 10**9, "components": {"count": {"tasks": 10**9}}},
        {"workers": 2, "components": {"count": {"tasks": "3"}}},
        {"workers": 2, "components": {"other": {"tasks": 3}}},
        {"workers": True, "components": []},
        [],
    ],
)
def test_a_topology_that_says_of_itself_what_is_not_so_is_one_like_any(odd):
    (scheduled,) = snapshot(seated(seats=odd)).scheduled
    assert scheduled.seating is None
    assert all(each.movable for each in scheduled.topology.components)


def test_the_ledger_is_asked_by_storm_s_own_name_of_a_component():
    odd = "co\x00unt"
    parts = (component(odd, flat(1, 2)), component("lines", flat(3, 3), kind="spout"))
    seats = {"workers": 2, "components": {odd: {"tasks": 1}}}
    where = {"slots": list(map(attrs.astuple, (A, B))), "assignment": [0, 1, 0]}
    before = snapshot(topology("t", *parts, conf={"headworks.seats": seats}, **where))
    (scheduled,) = before.scheduled
    ((name, own),) = scheduled.seating.ids.items()
    assert (own, scheduled.seating.tasks[name]) == (odd, 1)

    class Odd(Seats):
        def state(self, topology):
            return SeatState(owners={odd: [2]}, working={odd: 1})

    placed, notes = StormTarget(rounds=Rounds(lambda request: Plan()), seats=Odd()).seated(before)
    assert (placed.assignment[f"t/{name}/0"], notes) == (B, ())


def plan_of(seen, moves, **limits):
    problem = Problem.of(Request.of(seen, limits=Limits(**limits)))
    node_of = problem.node_of(seen.assignment)
    for task, node in moves.items():
        node_of[problem.task_index[task]] = problem.node_index[node]
    return problem.plan(node_of)


def test_tasks_go_where_their_topology_has_a_worker_and_no_more_than_have_heap_there():
    before = snapshot(seated(), supervisors=("s1", "s2", "s3"))
    (wc,) = logical_snapshot(before, OWNERS).observation().topologies
    rules = {each.kind: each for each in wc.constraints}
    assert rules[ConstraintKind.ONLY_ON].labels == {"node": ("s1", "s2")}
    assert ConstraintKind.AT_MOST not in rules  # of two workers each has heap for twice its even share: for all
    third = snapshot(seated(**{"headworks.seats.fit": 1.0}))
    (wc,) = logical_snapshot(third, {"wc": {"count": [3, 6, 8]}}).observation().topologies
    rules = {each.kind: each for each in wc.constraints}
    assert rules[ConstraintKind.AT_MOST].limit == 2  # an even share is one and a half, and two are there already


def test_no_scheduler_puts_a_task_on_a_node_without_a_seat_of_it():
    before = snapshot(seated(assignment=(0,) * 8), supervisors=("s1", "s2"))
    seen = logical_snapshot(before, {"wc": {"count": [3, 5, 7]}}).observation()
    for name in ("even", "resource-aware", "dstorm", "otd"):
        plan = HOST.schedule(name, Request.of(seen), {"rebalance": True} if name == "resource-aware" else {})
        assert {plan.assignment[task].node for task in LIVE} == {"s1"}, name


def test_a_move_to_another_seat_restarts_nothing_and_is_allowed_where_nothing_may_restart():
    seen = logical_snapshot(snapshot(seated()), OWNERS).observation()
    plan = plan_of(seen, {"wc/count/0": "s2"}, restarts=False)
    assert [(move.task, move.target) for move in plan.moves] == [("wc/count/0", B)]
    seen = snapshot(word_count(slots=[("s1", 6700), ("s2", 6700)], assignment=[0, 0, 1, 1])).observation()
    plan = plan_of(seen, {"wc/count/0": "s2"}, restarts=False)
    assert not plan.moves


def test_what_is_measured_of_seats_is_that_of_their_task():
    before = snapshot(seated())
    metrics = Metrics(
        window=10,
        tasks=(
            TaskSample(task="wc/count/0", cpu=3.0, received=5.0, emitted=1.0, source="thread"),
            TaskSample(task="wc/count/1", cpu=None, received=2.0, emitted=1.0, queue=4.0, source="hook"),
            TaskSample(task="wc/lines/0", cpu=1.0, emitted=7.0, source="thread"),
        ),
        flows=(
            Flow(source="wc/count/0", target="wc/count/1", tuples=1.0, bytes=10.0),
            Flow(source="wc/lines/0", target="wc/count/0", tuples=4.0, bytes=40.0),
            Flow(source="wc/lines/0", target="wc/count/1", tuples=2.0, bytes=None),
        ),
    )
    after = logical_snapshot(before, OWNERS)
    found = logical_metrics(metrics, before, after)
    assert known_metrics(found, after.observation()) == found
    count, lines = found.tasks
    assert (count.task, count.cpu, count.received, count.queue, count.source) == ("wc/count/0", 3.0, 7.0, 4.0, "thread")
    assert lines == metrics.tasks[2]
    assert found.flows == (Flow(source="wc/lines/0", target="wc/count/0", tuples=6.0, bytes=40.0),)


class Seats:
    """Where tasks live, of which all work; none is to move."""

    def state(self, topology):
        return SeatState(owners=OWNERS[topology], working={})

    def move(self, wishes):
        pytest.fail(f"{wishes}")

    def scale(self, topology, component, count):
        pytest.fail(f"{topology}: {component}={count}")


def test_nothing_moves_if_one_task_has_no_seat_where_it_is_asked():
    before = snapshot(seated(), supervisors=("s1", "s2", "s3"))
    target = StormTarget(rounds=Rounds(lambda request: Plan()), seats=Seats())
    placed, notes = target.seated(before)
    assert (placed, notes) == (logical_snapshot(before, OWNERS), ())
    asked = {**LIVE, "wc/count/0": B, "wc/count/1": Slot("s3", 6700)}
    receipt = carry_out(target.seats, before, placed, asked)
    assert not receipt.done
    assert [step.message for step in receipt.steps] == [
        "wc/count/1 has no seat at s3:6700: it has some at s1:6700, s2:6700"
    ]
    assert not receipt.undo
    assert carry_out(target.seats, before, placed, LIVE).steps == ()


def test_seats_begin_in_a_worker_of_their_own_each_and_no_scheduler_is_asked():
    new = snapshot(seated(assignment=()))
    decision = decide(new, {}, Metrics(), lambda request: pytest.fail("asked"))
    (layout,) = decision.answer.layouts.values()
    slots = {each: slot for slot, row in layout.items() for each in row}
    assert {slots[each] for each in (1, 3, 5, 7)} == {slots[3]}
    assert {slots[each] for each in (2, 4, 6, 8)} == {slots[4]}
    assert {slots[3].node, slots[4].node} == {"s1", "s2"}


def test_beside_seats_that_begin_the_scheduler_places_the_others():
    both = snapshot(seated(assignment=()), word_count("other"))
    seen = []

    def schedule(request):
        seen.append(request)
        return HOST.schedule("even", request, {})

    decision = decide(both, {}, Metrics(), schedule)
    assert set(decision.answer.layouts) == {"wc", "other"}
    slots = [set(layout) for layout in decision.answer.layouts.values()]
    assert not slots[0] & slots[1]
    assert all(task in seen[0].assignment for task in both.scheduled[0].executors)


def test_fewer_slots_than_workers_are_shared_and_none_is_no_start():
    one = snapshot(seated(assignment=()), supervisors=("s1",), ports=(6700,))
    assert set(assign_seat_slots(one, {}).slots.values()) == {A}
    assert len(assign_seat_slots(one, {}).slots) == 8
    none = snapshot(seated(assignment=()), supervisors=("s1",), ports=())
    decision = decide(none, {}, Metrics(), lambda request: pytest.fail("asked"))
    assert not decision.answer.layouts
    assert decision.answer.status["wc"].startswith("8 executors cannot be placed: ")


def rebalanced(*, workers=2, pairs=(), **more):
    """The topology after Storm's own command: other workers, or the executors of `count`, as first and last tasks."""
    told = {**seated(**more), "workers": workers}
    told["components"][1]["executors"] = list(pairs) or flat(3, 8)
    return {**told, "assignment": told["assignment"][: len(pairs) // 2 + 2]} if pairs else told


def test_fewer_workers_after_a_rebalance_hold_several_seats_of_a_task_each():
    new = snapshot(rebalanced(workers=1, assignment=()))
    assert len(assign_seat_slots(new, {}).slots) == 8
    assert len(set(assign_seat_slots(new, {}).slots.values())) == 1
    one = logical_snapshot(snapshot(rebalanced(workers=1, assignment=(0,) * 8)), OWNERS)
    two = logical_snapshot(snapshot(seated()), OWNERS)
    memory = [
        each.demand.memory
        for seen in (one, two)
        for each in seen.observation().topologies[0].components
        if each.id == "__seats"
    ]
    assert memory[0] == 2 * memory[1] > 0
    assert one.scheduled[0].unkept == ""


def test_seats_of_several_workers_that_one_had_go_to_one_slot_when_it_dies():
    four = {"workers": 4, "components": {"count": {"tasks": 2}}}
    lost = rebalanced(pairs=flat(2, 9), seats=four, slots=(A,))
    lost["components"][2]["executors"] = flat(10, 10)
    lost["assignment"] = [-1 if task % 2 else 0 for task in range(1, 11)]
    found = assign_seat_slots(snapshot(lost, supervisors=("s1", "s3")), {}).slots
    assert len(found) == 5
    assert {slot.node for slot in found.values()} == {"s3"}
    assert len(set(found.values())) == 1


def test_seats_of_several_workers_that_died_share_the_only_free_slot_as_storm_has_them():
    three = {"workers": 3, "components": {"count": {"tasks": 2}}}
    lost = {**rebalanced(workers=3, seats=three, slots=(A,)), "assignment": [0, -1, -1] * 2 + [0, -1]}
    found = assign_seat_slots(snapshot(lost, supervisors=("s1",), ports=(6700, 6701)), {})
    assert (set(found.slots.values()), len(found.slots), dict(found.lacking)) == ({Slot("s1", 6701)}, 5, {})
    (heap,) = {each.task_heap for each in snapshot(lost).scheduled[0].topology.components}
    found = assign_seat_slots(snapshot({**lost, "heap": 4 * heap}, supervisors=("s1",), ports=(6700, 6701)), {})
    assert (set(found.slots.values()), len(found.slots)) == ({Slot("s1", 6701)}, 4)
    assert found.lacking["wc"].startswith("1 executors have no slot")


@pytest.mark.parametrize(
    ("workers", "pairs", "said"),
    [
        (3, (), "tasks have 2 seats, in as many workers: for 3 workers, submit it anew"),
        (2, (3, 4, 5, 6, 7, 8), f"3 executors of count hold its 6 seats: {STAY} `storm rebalance wc -e count=6`"),
    ],
)
def test_what_a_rebalance_takes_from_seats_is_said_and_no_loop_restarts_them(workers, pairs, said):
    told = rebalanced(workers=workers, pairs=pairs)
    (scheduled,) = snapshot(told).scheduled
    assert scheduled.unkept == said
    assert not any(each.movable for each in scheduled.topology.components)
    rounds = Rounds(lambda request: pytest.fail("asked"))
    status = json.loads(rounds.answer(round_text([supervisor("s1"), supervisor("s2")], [told])))["status"]
    assert status["wc"].endswith(f" executors in 2 workers on 2 nodes; {said}")
    rounds.say({"wc": "a word"})
    status = json.loads(rounds.answer(round_text([supervisor("s1"), supervisor("s2")], [told])))["status"]
    assert status["wc"] == f"a word; {said}"


def test_tasks_of_another_component_move_on_beside_one_whose_executors_hold_several_seats():
    seats = {"workers": 2, "components": {"count": {"tasks": 3}, "lines": {"tasks": 1}}}
    parts = (component("count", [1, 3, 4, 6]), component("lines", flat(7, 8)))
    where = {"slots": list(map(attrs.astuple, (A, B))), "assignment": [0, 1, 0, 1]}
    before = snapshot(topology("wc", *parts, conf={"headworks.seats": seats}, **where))
    (seen,) = logical_snapshot(before, {"wc": {"lines": [8]}}).observation().topologies
    assert {each.id: (each.parallelism, each.movable) for each in seen.components} == {
        "__seats": (2, False),
        "count": (2, False),
        "lines": (1, True),
    }
    bound = {each for rule in seen.constraints for each in rule.components}
    assert bound == {"lines"}


def test_seats_of_a_worker_that_is_gone_get_a_slot_of_their_own_and_the_others_stay():
    lost = snapshot(seated(slots=(A,), assignment=(0, *[0, -1] * 3, -1)), supervisors=("s1", "s3"))
    found = assign_seat_slots(lost, {}).slots
    assert {slot.node for slot in found.values()} == {"s3"}
    assert set(found) == {"wc/count/1", "wc/count/3", "wc/count/5", "wc/lines/0"}
    taken = snapshot(seated(slots=(A,), assignment=(0, *[0, -1] * 3, -1)), supervisors=("s1",), ports=(6700,))
    assert assign_seat_slots(taken, {}).slots == {}
    assert set(assign_seat_slots(taken, {}).lacking) == {"wc"}


def said(node, busy, number=1, received=1000.0):
    """What the worker on a node reports: all seats there, of which those did ten tuples each."""
    seats = (3, 5, 7) if node == "s1" else (4, 6, 8)
    rows = [[seat, 10 * (seat in busy), 0, 0, 0, 0, 0] for seat in seats]
    return report(received, supervisor=node, number=number, tasks=rows, flows=[], executors=[])


def sampled(reports, before=()):
    """Rows of tasks by name, node and rate, and where the tasks live."""
    seen = snapshot(seated())
    home = homes(reports, seen, dict(before))
    placed = logical_snapshot(seen, owners(seen, home))
    rows = [row for each in lived_in(reports, seen, home) for row in sample_rows(each, seen, placed)]
    tasks = sorted((row["task"], row["node"], row["received"]) for row in rows if row["kind"] == "task")
    return tasks, home, placed.assignment


def test_samples_are_of_tasks_from_the_seats_in_which_they_live():
    tasks, home, places = sampled([said("s1", {3, 7}), said("s2", {6})])
    assert tasks == [("wc/count/0", "s1", 2.0), ("wc/count/1", "s2", 2.0), ("wc/count/2", "s1", 2.0)]
    assert {task: places[task] for task in LIVE} == LIVE
    again, _, places = sampled([said("s1", ()), said("s2", ())], home)  # nobody does anything now
    assert again == [(task, node, 0.0) for task, node, _ in tasks]
    assert {task: places[task] for task in LIVE} == LIVE


def test_a_task_that_moves_is_sampled_where_it_was_and_where_it_is_and_no_idle_seat_is():
    minute = [said("s1", {3}), said("s2", ()), said("s1", (), 2, 1005.0), said("s2", {4}, 2, 1005.0)]
    tasks, home, places = sampled(minute)
    assert tasks == [("wc/count/0", "s1", 2.0), ("wc/count/0", "s2", 2.0)]
    assert (home, places["wc/count/0"]) == ({("wc", 3): 4}, B)


def test_a_task_that_did_nothing_yet_has_no_place_and_one_of_a_topology_that_is_gone_is_forgotten():
    tasks, home, places = sampled([said("s1", ())], {("gone", 1): 2})
    assert (tasks, home) == ([], {})
    assert not places.keys() & LIVE.keys()
    assert owners(snapshot(seated()), home) == {"wc": {"count": [NOWHERE] * 3}}

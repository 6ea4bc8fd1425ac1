"""Bounds on moves: what they hold back, what they never do, and how the journal counts a day."""

from __future__ import annotations

import attrs
import pytest

from headworks.control import moves_per
from headworks.control.guards import Guards
from headworks.control.journal import FileJournal, Round, read_journal
from headworks.control.loop import Control, Loop
from headworks.control.moves_per import MovesPer, moving, within
from headworks.control.past import DAY, Past, later, past_of
from headworks.documents import dumps, restore
from headworks.model import Flow, FrozenMap, Limits, Metrics, Observation, Request, Resources, Status
from headworks.plugins.host import PluginHost
from headworks.problem import Problem
from memory_engine import AwareJudge, Engine, Judge, Machine
from random_requests import random_request
from small_requests import at, component, node, request, topology

NODES = [node("a"), node("b"), node("c")]
TWO = [topology("t", component("c", 3, 10.0)), topology("u", component("c", 3, 10.0))]
RUNNING = {f"{name}/c/{index}": f"a:{port}" for name, port in (("t", 6700), ("u", 6701)) for index in range(3)}
ASKED = request(NODES, TWO, RUNNING)
ALL = Problem.of(ASKED).plan([1, 1, 2, 1, 2, 2])
"""Every task leaves node a."""


def held(bounds, asked=ASKED, plan=ALL, today=0):
    return within(asked, plan, MovesPer.parse(bounds), today=today)


@pytest.mark.parametrize(
    ("text", "bounds"),
    [
        ("topology=2,node=4,day=20", MovesPer(topology=2, node=4, day=20)),
        (" day = 0 ", MovesPer(day=0)),
        ("node=1,topology=3", MovesPer(topology=3, node=1)),
    ],
)
def test_bounds_are_read_in_any_order(text, bounds):
    assert MovesPer.parse(text) == bounds


@pytest.mark.parametrize(
    "text", ["", "4", "day", "day=", "day=-1", "day=x", "hour=3", "day=1,day=2", "day=1,", "day=1.5"]
)
def test_what_bounds_nothing_is_refused(text):
    with pytest.raises(ValueError, match=r"."):
        MovesPer.parse(text)


@pytest.mark.parametrize(
    ("bounds", "moved", "why"),
    [
        ("topology=2", "t/c/0 t/c/1 u/c/0 u/c/1", "at most 2 running tasks of topology t move in a round"),
        ("day=3", "t/c/0 t/c/1 t/c/2", "at most 3 running tasks move in 24 hours"),
        ("node=2", "t/c/0 t/c/1", "at most 2 running tasks leave node a or come to it in a round"),
        ("topology=2,day=3", "t/c/0 t/c/1 u/c/0", "at most 2 running tasks of topology t move in a round"),
        ("topology=9,node=9,day=9", "t/c/0 t/c/1 t/c/2 u/c/0 u/c/1 u/c/2", ""),
        ("day=0", "", "at most 0 running tasks move in 24 hours"),
    ],
)
def test_tasks_beyond_a_bound_stay_and_say_why(bounds, moved, why):
    left = held(bounds)
    assert moving(ASKED, left.plan) == tuple(moved.split())
    assert set(left.dropped) == set(RUNNING) - set(moved.split())
    assert not why or why in left.dropped.values()
    assert all(left.plan.assignment[task] == at(RUNNING[task]) for task in left.dropped)
    assert left.plan.scores.moves == len(moved.split())


def test_moves_of_the_day_count():
    assert len(moving(ASKED, held("day=5", today=3).plan)) == 2
    assert moving(ASKED, held("day=5", today=7).plan) == ()


def test_a_task_that_runs_nowhere_is_placed_and_no_move():
    asked = request(NODES, TWO, {task: slot for task, slot in RUNNING.items() if task != "u/c/2"})
    left = held("day=0", asked, Problem.of(asked).plan([1, 1, 2, 1, 2, 2]))
    assert left.plan.assignment["u/c/2"].node == "c"
    assert len(left.dropped) == 5


def test_tasks_of_a_dead_node_are_placed():
    asked = request(NODES, TWO, {**RUNNING, "u/c/2": "dead"})
    left = held("day=0,node=0,topology=0", asked, Problem.of(asked).plan([0, 0, 0, 0, 0, 1]))
    assert (left.plan.assignment["u/c/2"].node, left.dropped) == ("b", {})


def test_an_overloaded_node_is_relieved_before_all_else():
    running = {f"t/c/{index}": "abbbca"[index] for index in range(6)}
    asked = request([*NODES, node("d")], [topology("t", component("c", 6, 40.0))], running)
    plan = Problem.of(asked).plan([3, 1, 1, 2, 2, 0])
    assert set(moving(asked, plan)) == {"t/c/0", "t/c/3"}
    for bounds in ("day=0", "day=1", "topology=1", "node=0"):
        assert moving(asked, held(bounds, asked, plan).plan) == ("t/c/3",)
    assert held("day=2", asked, plan).dropped == {}


def test_a_task_that_makes_room_for_one_without_a_slot_moves():
    parts = [component("big", 1, 90.0), component("small", 1, 40.0)]
    asked = request([node("a"), node("b", 50.0)], [topology("t", *parts)], {"t/small/0": "a"})
    plan = Problem.of(asked).plan([0, 1])
    assert (plan.status, moving(asked, plan)) == (Status.OK, ("t/small/0",))
    left = held("day=0", asked, plan)
    assert (left.plan, left.dropped) == (plan, {})


@pytest.mark.parametrize("number", range(60))
def test_what_is_left_keeps_all_rules_and_the_bounds(number):
    asked = random_request(number, "moves-per")
    problem = Problem.of(asked)
    room = problem.room()
    for task in range(problem.n):
        nodes = room.fits(task).nonzero()[0].tolist()
        if nodes:
            room.place(task, nodes[-1])
    asked = attrs.evolve(asked, assignment=problem.plan(room.node_of).assignment)
    plan = PluginHost.load(["dstorm"]).schedule("dstorm", asked, {})
    if plan.status is not Status.OK or len(asked.assignment) < problem.n:
        return
    left = held("topology=2,node=3,day=4", asked, plan)
    moved = moving(asked, left.plan)
    assert len(moved) <= 4
    for topology_ in asked.topologies:
        assert sum(task.startswith(f"{topology_.id}/") for task in moved) <= 2
    for each in asked.cluster.nodes:
        slots = [(asked.assignment[task].node, left.plan.assignment[task].node) for task in moved]
        assert sum(each.id in pair for pair in slots) <= 3
    assert set(left.plan.assignment) == set(plan.assignment)
    assert {task for task in plan.assignment if plan.assignment[task] != left.plan.assignment[task]} <= set(
        left.dropped
    )
    again = Problem.of(asked)
    node_of = again.node_of(left.plan.assignment)
    assert not (again.used(node_of) > again.capacity).any()


class Clock:
    def __init__(self):
        self.now = 0.0

    def __call__(self):
        return self.now


def loop(target, judge, bounds, clock, journal=None, **more):
    host = PluginHost().with_plugin("memory", Engine()).with_plugin("judge", judge)
    control = Control(
        scheduler="judge",
        engine="memory",
        limits=Limits(),
        guards=Guards(cooldown=0.0, goal=None),
        moves_per=MovesPer.parse(bounds),
        **more,
    )
    return Loop(host, control, target, journal, clock=clock)


def machine():
    return Machine(Observation(cluster=ASKED.cluster, topologies=ASKED.topologies, assignment=ASKED.assignment))


def places(target):
    return "".join(slot.node for _, slot in sorted(target.seen.assignment.items()))


def test_each_round_moves_as_many_as_may_and_names_the_others(tmp_path):
    clock, target, journal = Clock(), machine(), FileJournal(tmp_path / "rounds.jsonl")
    made = loop(target, Judge([1, 1, 2, 1, 2, 2]), "topology=2,day=5", clock, journal)
    done = made.round()
    assert (done.outcome, done.moved, places(target)) == ("executed", 4, "bbabca")
    assert done.message == "4 of 4 tasks run where asked; not moved: " + ", ".join(
        f"{each}/c/2 (at most 2 running tasks of topology {each} move in a round)" for each in "tu"
    )
    assert set(done.dropped) == {"t/c/2", "u/c/2"}
    assert done.notes[0].startswith("held back: t/c/2 (at most 2 running tasks")
    done = made.round()
    assert (done.outcome, done.moved, places(target)) == ("executed", 1, "bbcbca")
    done = made.round()
    assert (done.outcome, done.moved, done.message) == (
        "waiting",
        0,
        "not moved: u/c/2 (at most 5 running tasks move in 24 hours)",
    )
    assert done.dropped == {"u/c/2": "at most 5 running tasks move in 24 hours"}
    assert [each.get("moved", 0) for each in read_journal(journal.path)] == [4, 1, 0]
    assert [restore(each, Round).moved for each in read_journal(journal.path)] == [4, 1, 0]
    clock.now = DAY
    assert (made.round().outcome, places(target)) == ("executed", "bbcbcc")


def test_a_process_that_starts_again_counts_the_day_by_the_journal(tmp_path):
    journal, target = FileJournal(tmp_path / "rounds.jsonl"), machine()
    assert loop(target, Judge([1, 1, 2, 1, 2, 2]), "day=4", Clock(), journal).round().moved == 4
    later_clock = Clock()
    later_clock.now = 1e6
    again = FileJournal(journal.path)
    assert loop(target, Judge([1, 1, 2, 1, 2, 2]), "day=4", later_clock, again).round().outcome == "waiting"
    assert loop(target, Judge([1, 1, 2, 1, 2, 2]), "day=5", later_clock, again).round().moved == 1


def test_a_day_has_the_newest_records_of_all_files(tmp_path):
    journal = FileJournal(tmp_path / "rounds.jsonl", largest=1)
    for number, at_ in enumerate(("2001-01-01T00:00:00Z", "2999-01-01T00:00:00Z", "2999-01-01T00:00:00Z"), 1):
        journal.append({"number": number, "at": at_, "moved": number})
    assert [each["moved"] for each in journal.recent("2500-01-01T00:00:00Z")] == [3, 2]
    past = past_of(journal, now=0.0)
    assert past.today(0.0) == 5
    assert past.today(DAY) == 0  # the clock was ahead: they count from now on
    with journal.path.open("ab") as file:
        file.write(b'{"number": 4, "at"')
    assert [each["moved"] for each in journal.recent("")] == [3, 2, 1]


def test_records_are_read_from_their_time_on_and_whole_where_that_stands_elsewhere(tmp_path):
    journal = FileJournal(tmp_path / "rounds.jsonl")
    records = [
        {"number": 1, "message": 'says "at":"2001-01-01T00:00:00Z"', "at": "2999-01-01T00:00:00Z", "moved": 1},
        {"at": "2999-01-01T00:00:00Z", "moved": 2, "request": {"labels": {"at": "home"}}},
        {"number": 3, "moved": 3},
    ]
    for each in records:
        journal.append(each)
    first = {"at": "2999-01-01T00:00:00Z", "moved": 1}
    assert list(journal.recent("")) == [records[2], records[1], first]


@pytest.mark.parametrize(
    "line",
    [
        *("null", "5", "[1]", "\0\0", '{"at":null}', '{"at":"9"}', '{"number":7,"moved":9,"at":"3"}'),
        '{"at":"2999-01-01T00:00:00Z","moved":9,"checked":[{"figure":"share"}]}',
        '{"at":"2999-01-01T00:00:00Z","moved":9,"stops":[{"engine":"e","kind":"live","seconds":1.0,"later":2}]}',
        '{"at":"2999-01-01T00:00:00Z","moved":9,"stops":null}',
    ],
)
def test_a_record_that_cannot_be_read_hides_no_other(tmp_path, line):
    journal = FileJournal(tmp_path / "rounds.jsonl")
    journal.append({"at": "2999-01-01T00:00:00Z", "moved": 3})
    with journal.path.open("ab") as file:
        file.write(line.encode() + b"\n")
    journal.append({"at": "2999-01-01T00:00:00Z", "moved": 4})
    assert past_of(journal, now=0.0).today(0.0) == 7


def test_a_part_of_a_plan_needs_as_large_a_part_of_the_gain():
    pairs = 120
    roomy = [attrs.evolve(each, capacity=Resources({"cpu": 1e4, "memory": 1e6})) for each in NODES[:2]]
    many = [topology("t", component("c", 2 * pairs, 1.0), live=True)]
    asked = request(roomy, many, {f"t/c/{index}": "ab"[index // pairs] for index in range(2 * pairs)})
    flows = tuple(Flow(source=f"t/c/{each}", target=f"t/c/{each + pairs}", tuples=1.0) for each in range(pairs))
    target = Machine(
        Observation(
            cluster=asked.cluster,
            topologies=asked.topologies,
            assignment=asked.assignment,
            metrics=Metrics(flows=flows),
        )
    )
    judge = AwareJudge([int(task.rpartition("/")[2]) % 2 for task in Problem.of(asked).task_ids])
    assert loop(target, judge, "topology=1", Clock()).round().moved == 1


def talking(*flows, running="aaaabbbb"):
    """Eight tasks, and tuples/s between pairs of them."""
    made = request(
        NODES[:2],
        [topology("t", component("c", len(running), 1.0), live=True)],
        {f"t/c/{index}": name for index, name in enumerate(running)},
        metrics=Metrics(
            flows=tuple(Flow(source=f"t/c/{one}", target=f"t/c/{two}", tuples=rate) for one, two, rate in flows)
        ),
    )
    kept = {name: getattr(made, name) for name in ("cluster", "topologies", "assignment", "metrics")}
    return Machine(Observation(**kept))


def test_moves_that_gain_most_are_let_through():
    """The first tasks of the plan move to make room, and gain nothing without the last ones."""
    target = talking((0, 1, 50.0), (2, 3, 50.0), (0, 4, 30.0), (1, 5, 30.0), (2, 6, 80.0), (3, 7, 70.0))
    done = loop(target, AwareJudge([1] * 8), "topology=2", Clock()).round()
    assert (done.outcome, done.moved, places(target)) == ("executed", 2, "aabbbbbb")
    assert set(done.dropped) == {"t/c/0", "t/c/1"}


def test_of_a_scheduler_with_another_goal_the_first_moves_are_let_through():
    target = talking((2, 6, 80.0), (3, 7, 70.0))
    assert loop(target, Judge([1] * 8), "topology=2", Clock()).round().moved == 2
    assert places(target) == "bbaabbbb"


PAIR = ((0, 1, 100.0), (0, 4, 60.0), (1, 5, 60.0))
"""Two tasks that gain only together: one alone would be apart from the other."""


@pytest.mark.parametrize(("largest", "moved"), [(4, ("t/c/2", "t/c/3")), (3, ("t/c/0", "t/c/1"))])
def test_of_very_many_moves_the_first_are_let_through(monkeypatch, largest, moved):
    monkeypatch.setattr(moves_per, "LARGEST", largest)
    asked = Request.of(talking((2, 6, 80.0), (3, 7, 70.0)).seen)
    plan = Problem.of(asked).plan([1] * 8)
    left = within(asked, plan, MovesPer(topology=2, node=9), today=0, traffic_aware=True)
    assert moving(asked, left.plan) == moved
    assert set(left.dropped.values()) == {"at most 2 running tasks of topology t move in a round"}


@pytest.mark.parametrize(
    ("bounds", "enough"), [("topology=1", "topology=2"), ("node=1,day=9", "node=2,day=9"), ("day=1", "day=2")]
)
def test_a_plan_of_which_no_part_gains_says_how_many_moves_it_needs(bounds, enough):
    target = talking(*PAIR)
    made = loop(target, AwareJudge([1] * 2 + [0, 0] + [1] * 4), bounds, Clock())
    for _ in range(2):
        done = made.round()
        assert (done.outcome, done.moved) == ("waiting", 0)
        assert done.message == (
            "the plan needs 2 moves, and no part of it gains enough: "
            f"--moves-per {bounds} lets 0 through, and {enough} would let all"
        )
    assert loop(target, AwareJudge([1] * 2 + [0, 0] + [1] * 4), enough, Clock()).round().moved == 2


def test_a_part_that_gains_too_little_says_so_too():
    target = talking((1, 2, 100.0), (1, 5, 100.4), (2, 6, 100.0))
    done = loop(target, AwareJudge([0, 1, 1, 0] + [1] * 4), "topology=1", Clock()).round()
    assert done.outcome == "waiting"
    assert done.message == (
        "the plan needs 2 moves, and no part of it gains enough: --moves-per topology=1 lets 1 through, and topology=2 "
        "would let all (the plan gains 0.1% and at least 0.5% are asked; 1 moves wait)"
    )


def test_moves_older_than_a_day_are_forgotten():
    past = later(Past(), Round(number=1, outcome="executed", moved=3), now=0.0)
    past = later(past, Round(number=2, outcome="quiet"), now=5.0)
    assert past == Past(moves=((0.0, 3),), still=0.0)
    past = later(past, Round(number=3, outcome="missed", moved=2), now=DAY)
    assert past == Past(moves=((DAY, 2),), still=DAY)


def test_a_plan_is_undone_whatever_the_bounds_and_that_counts(tmp_path):
    clock, target = Clock(), machine()
    flow = Flow(source="t/c/0", target="t/c/1", tuples=100.0)
    target.seen = attrs.evolve(target.seen, metrics=Metrics(flows=(flow,)))
    made = loop(target, Judge([1, 0, 0, 0, 0, 0]), "day=1", clock)
    made._control = attrs.evolve(made._control, guards=Guards(cooldown=0.0, goal="traffic", settle=1))
    assert made.round().moved == 1
    done = made.round()
    assert (done.outcome, done.moved, places(target)) == ("undone", 1, "aaaaaa")
    assert made.past.today(0.0) == 2


def test_a_reminder_is_bounded_too():
    clock, target, judge = Clock(), machine(), Judge([1, 1, 2, 1, 2, 2])
    made = loop(target, judge, "day=7", clock)
    assert made.round().moved == 6
    target.run(ASKED.assignment)
    done = made.round()
    assert (done.outcome, done.moved) == ("asserted", 1)
    target.run(ASKED.assignment)
    judge.replan = False
    assert made.round().outcome == "quiet"


def test_shadow_names_what_would_be_held_back():
    done = loop(machine(), Judge([1, 1, 2, 1, 2, 2]), "day=5", Clock(), shadow=True).round()
    assert (done.outcome, done.receipt) == ("unchanged", None)
    assert done.notes == ("held back: u/c/2 (at most 5 running tasks move in 24 hours)",)


def test_the_plan_of_a_bounded_round_is_the_scheduler_s_own(tmp_path):
    target = machine()
    done = loop(target, Judge([1, 1, 2, 1, 2, 2]), "day=1", Clock()).round()
    assert dumps(attrs.evolve(done.plan, provenance=ALL.provenance)) == dumps(ALL)
    assert FrozenMap(target.seen.assignment) != done.plan.assignment

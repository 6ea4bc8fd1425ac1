"""Numbers of tasks that a plan chooses, of tasks with seats: what is changed, in which order, and what is left."""

from __future__ import annotations

import json

import attrs
import pytest

from headworks.control.guards import Guards
from headworks.control.loop import Control, Loop
from headworks.documents import dumps
from headworks.errors import EngineError
from headworks.model import FrozenMap, Metrics, Move, MoveKind, Plan, Profile, Receipt, TaskSample
from headworks.model.knowledge import Knowledge, ProfileFit
from headworks.model.parts import known_metrics
from headworks.plugins.host import PluginHost
from headworks_storm.executor import execute, keeps, preflight, rollback
from headworks_storm.nimbus.rounds import Rounds
from headworks_storm.seats.counts import count_changes
from headworks_storm.seats.ledger import Seated, SeatLedger
from headworks_storm.seats.metrics import logical_metrics
from headworks_storm.seats.seat import SeatMove, SeatState
from headworks_storm.seats.view import logical_snapshot
from headworks_storm.target import StormTarget
from storm_movers import Chooser
from storm_rounds import round_text, supervisor, word_count
from storm_seated import ELASTIC, LIVE, OWNERS, A, B, seated, snapshot

NUMBER, OTHERS = "wc/count", {"wc/__acker/0": A, "wc/lines/0": B}
ALL_WORK = "all 3 tasks of count have to work: only a stateless component whose inputs are grouped by shuffle, "
TOO_MANY = "count has 3 tasks: from 1 to 3 can work, and not 5; submit it with more tasks"
SEATS_AT = {3: A, 4: B, 5: A, 6: B, 7: A, 8: B}


class Ledger:
    """Where tasks live and how many work, as workers would keep it; what is asked of it is written down."""

    def __init__(self, working=3, refuses=""):
        self.owners, self.working, self.refuses = list(OWNERS["wc"]["count"]), working, refuses
        self.asked = []

    def state(self, topology):
        return SeatState(owners={"count": list(self.owners)}, working={"count": self.working})

    def move(self, wishes):
        return {topology: [self.moved(each) for each in own] for topology, own in wishes.items()}

    def moved(self, wish):
        self.asked.append(f"{wish.task} to {wish.seat}")
        self.owners[wish.index] = wish.seat
        if self.refuses == "move":
            return EngineError("it hangs")
        return SeatMove(task=wish.task, source="x", target="y", epoch=1, pause=1.0, seconds=0.1)

    def scale(self, topology, component, count):
        self.asked.append(f"{topology}:{component}={count}")
        if self.refuses == "scale":
            raise EngineError("ZooKeeper is gone")
        before, self.working = self.working, count
        return before


def target_of(ledger, *topologies, seats=ELASTIC):
    rounds = Rounds(lambda request: Plan())
    rounds.answer(round_text([supervisor("s1"), supervisor("s2")], [seated(seats=seats), *topologies]))
    return StormTarget(rounds=rounds, seats=ledger)


def planned(count, **moves):
    """A plan of so many tasks, those that live somewhere where they do, but for some by index."""
    there = {f"{NUMBER}/{index}": LIVE.get(f"{NUMBER}/{index}", A) for index in range(count)}
    moved = {f"{NUMBER}/{index.removeprefix('task')}": slot for index, slot in moves.items()}
    return Plan(assignment=FrozenMap({**OTHERS, **there, **moved}), parallelism=FrozenMap({NUMBER: count}))


def messages(receipt):
    return [(step.subject, step.done, step.message.partition(", in ")[0]) for step in receipt.steps]


def test_schedulers_see_the_tasks_that_work_and_between_which_numbers_they_may_choose():
    seen = logical_snapshot(snapshot(seated(seats=ELASTIC)), OWNERS, {"wc": {"count": 2}})
    (scheduled,) = seen.scheduled
    parts = {each.id: each for each in scheduled.topology.components}
    assert parts["count"].parallelism == 2
    bounds = {name: (part.min_parallelism, part.max_parallelism) for name, part in parts.items() if name[0] != "_"}
    assert bounds == {"count": (1, 3), "lines": (1, 1)}
    assert {task: slot for task, slot in seen.assignment.items() if task in LIVE} == dict(list(LIVE.items())[:2])
    assert scheduled.idle == {"wc/count/2": A}
    whole = logical_snapshot(snapshot(seated()), OWNERS).scheduled[0].topology
    assert {(each.min_parallelism, each.max_parallelism) for each in whole.components if each.id == "count"} == {(3, 3)}


def test_what_a_task_does_that_works_no_more_is_in_no_metrics():
    before = snapshot(seated(seats=ELASTIC))
    after = logical_snapshot(before, OWNERS, {"wc": {"count": 1}})
    rows = tuple(TaskSample(task=f"wc/count/{index}", received=1.0 + index) for index in range(6))
    found = known_metrics(logical_metrics(Metrics(tasks=rows), before, after), after.observation())
    assert [(each.task, each.received) for each in found.tasks] == [("wc/count/0", 3.0)]


@pytest.mark.parametrize(
    ("wanted", "working", "seats", "after", "why"),
    [
        ({NUMBER: 1}, 3, ELASTIC, 1, ""),
        ({NUMBER: 3}, 1, ELASTIC, 3, ""),
        ({NUMBER: 5}, 1, ELASTIC, 3, TOO_MANY),
        ({NUMBER: 5}, 3, ELASTIC, 3, TOO_MANY),
        ({NUMBER: 2}, 3, {**ELASTIC, "components": {"count": {"tasks": 3}}}, 3, ALL_WORK),
        ({"wc/lines": 2}, 3, ELASTIC, 1, "lines has no seats: those of wc that have are count"),
    ],
)
def test_a_number_is_carried_out_within_its_bounds_and_what_is_left_of_it_is_said(wanted, working, seats, after, why):
    before = snapshot(seated(seats=seats))
    (found,) = count_changes(before, logical_snapshot(before, OWNERS, {"wc": {"count": working}}), wanted)
    assert (found.after, found.topology) == (after, "wc")
    assert found.why.startswith(why)
    assert bool(found.why) == bool(why)


def test_numbers_that_stay_and_those_of_others_are_no_change_and_unknown_ones_stay():
    before = snapshot(seated(seats=ELASTIC), word_count("other"))
    placed = logical_snapshot(before, OWNERS, {"wc": {"count": 2}})
    assert count_changes(before, placed, {NUMBER: 2, "other/count": 9, "gone/x": 1}) == ()
    (unknown,) = count_changes(before, before, {NUMBER: 2})
    assert (unknown.before, unknown.after, unknown.why) == (6, 6, "it is not known how many tasks of count work")


def test_tasks_end_before_others_move_and_begin_where_they_are_to():
    ledger = Ledger(working=1)
    target = target_of(ledger)
    grown = execute(target, planned(3, task0=B, task2=B))
    assert ledger.asked == ["wc/count/0 to 4", "wc/count/2 to 8", "wc:count=3"]
    assert (grown.done, grown.level, grown.undo_parallelism) == (True, "seats", {NUMBER: 1})
    assert messages(grown)[-1] == (NUMBER, True, "1 -> 3 tasks work")
    assert grown.steps[-1].message.endswith(" ms")
    ledger.asked.clear()
    shrunk = execute(target, planned(1, task0=A))
    assert ledger.asked == ["wc:count=1", "wc/count/0 to 3"]
    assert messages(shrunk)[0] == (NUMBER, True, "3 -> 1 tasks work")


def test_a_rollback_restores_the_number_and_the_places_of_before_and_twice_changes_nothing():
    ledger = Ledger(working=1)
    target = target_of(ledger)
    receipt = execute(target, planned(3, task0=B, task2=B))
    assert rollback(target, receipt).done
    assert (ledger.working, [SEATS_AT[each] for each in ledger.owners]) == (1, [A, B, A])
    ledger.asked.clear()
    rollback(target, receipt)
    rollback(target, Receipt())
    assert ledger.asked == []


@pytest.mark.parametrize(("refuses", "asked"), [("scale", 1), ("move", 2)])
def test_what_fails_ends_the_plan_and_the_rollback_restores_the_number(refuses, asked):
    ledger = Ledger(working=3, refuses=refuses)
    target = target_of(ledger)
    receipt = execute(target, planned(2, task0=B))
    assert (receipt.done, len(ledger.asked)) == (False, asked)
    ledger.refuses = ""
    assert rollback(target, receipt).done
    assert ledger.working == 3
    assert ledger.owners == OWNERS["wc"]["count"]


def test_a_number_that_cannot_be_is_said_before_and_after_and_is_no_failure():
    ledger = Ledger(working=3)
    target = target_of(ledger)
    receipt = execute(target, planned(5))
    assert (receipt.done, ledger.asked, receipt.undo_parallelism) == (True, [], {})
    assert [step.message for step in receipt.steps] == [f"3 tasks go on working: {TOO_MANY}"]
    assert preflight(target, planned(5)) == (TOO_MANY,)
    assert keeps(target, planned(5))
    ledger.working = 2
    assert not keeps(target, planned(5))
    assert execute(target, planned(5)).steps[0].message.endswith(f" ms; {TOO_MANY}")
    assert ledger.working == 3


def test_tasks_that_a_plan_evicts_are_told_of_before():
    plan = planned(3)
    left = FrozenMap({task: slot for task, slot in plan.assignment.items() if task != f"{NUMBER}/2"})
    moves = (Move(kind=MoveKind.EVICT, task=f"{NUMBER}/2", source=A), Move(kind=MoveKind.EVICT, task=f"{NUMBER}/1"))
    evicts = attrs.evolve(plan, assignment=left, moves=moves)
    target = target_of(Ledger())
    assert preflight(target, plan) == ()
    assert preflight(target, evicts) == ("tasks that the plan evicts, and that go on where they run: 1",)


def test_other_numbers_of_a_topology_without_seats_are_refused_and_nothing_else_is_done():
    ledger = Ledger(working=3)
    target = target_of(ledger, word_count("other"))
    plan = attrs.evolve(planned(2), parallelism=FrozenMap({NUMBER: 2, "other/count": 4}))
    receipt = execute(target, plan)
    assert [step.message for step in receipt.steps] == ["other/count runs 2 tasks, the plan has 4: rescale it first"]
    assert (receipt.done, ledger.asked) == (False, [])


def test_the_loop_carries_numbers_out_looks_for_tasks_that_there_are_and_rests_when_they_are_there():
    ledger = Ledger(working=3)
    host = PluginHost.load().with_plugin("chooser", Chooser(*(("count", number) for number in (2, 2, 5, 1, 1))))
    control = Control(scheduler="chooser", engine="storm", window=0.1)
    control = attrs.evolve(control, guards=attrs.evolve(control.guards, cooldown=0.0))
    loop = Loop(host, control, target_of(ledger))
    seen = [(each.outcome, ledger.working) for each in (loop.round() for _ in range(5))]
    assert seen == [("executed", 2), ("unchanged", 2), ("executed", 3), ("executed", 1), ("unchanged", 1)]


def test_a_number_that_cannot_change_is_a_warning_of_a_round_in_which_nothing_changes():
    seats = {**ELASTIC, "components": {"count": {"tasks": 3}}}
    host = PluginHost.load().with_plugin("chooser", Chooser(("count", 2)))
    done = Loop(
        host, Control(scheduler="chooser", engine="storm", window=0.1), target_of(Ledger(), seats=seats)
    ).round()
    assert (done.outcome, done.receipt) == ("unchanged", None)
    assert [each[: len(ALL_WORK)] for each in done.warnings] == [ALL_WORK]


def test_a_number_that_is_to_change_waits_for_the_end_of_the_cool_down():
    ledger = Ledger(working=3)
    host = PluginHost.load().with_plugin("chooser", Chooser(("count", 2), ("count", 1)))
    loop = Loop(host, Control(scheduler="chooser", engine="storm", window=0.1), target_of(ledger))
    assert [loop.round().outcome, loop.round().outcome] == ["executed", "waiting"]
    assert ledger.working == 2


def test_a_number_after_which_the_goal_is_worse_is_taken_back():
    ledger = Ledger(working=1)
    host = PluginHost.load().with_plugin("chooser", Chooser(("count", 3)))
    guards = Guards(cooldown=0.0, goal="fullest", settle=1)
    loop = Loop(host, Control(scheduler="chooser", engine="storm", window=0.1, guards=guards), target_of(ledger))
    seen = [(each.outcome, ledger.working) for each in (loop.round() for _ in range(2))]
    assert seen == [("executed", 3), ("undone", 1)]


def test_hetero_chooses_within_the_tasks_that_there_are_and_the_loop_carries_it_out(tmp_path):
    learned = tmp_path / "knowledge.json"
    fits = [Profile(topology="wc", component="lines", machine_type="m", e=0.1, met=1.0)]
    fits += [Profile(topology="wc", component="count", machine_type="m", e=0.6, met=1.0)]
    learned.write_text(dumps(Knowledge(profiles=tuple(ProfileFit(profile=each, samples=9) for each in fits))))
    ledger = Ledger(working=1)
    rounds = Rounds(lambda request: Plan())
    machines = [supervisor(name, machine="m") for name in ("s1", "s2")]
    rounds.answer(round_text(machines, [seated(seats=ELASTIC)]))
    target = StormTarget(rounds=rounds, seats=ledger)
    control = Control(scheduler="hetero", engine="storm", window=0.1, knowledge=learned, guards=Guards(cooldown=0.0))
    loop = Loop(PluginHost.load(), control, target)
    first, second = loop.round(), loop.round()
    assert first.plan.parallelism == {NUMBER: ledger.working, "wc/lines": 1}
    assert ledger.working > 1
    assert (first.outcome, second.outcome) == ("executed", "unchanged"), (first.message, second.message)


class Unheard(SeatLedger):
    """A page whose first change is written, and the answer lost: the client writes again, and hears of a conflict.

    What somebody else changes after that is in `meanwhile`.
    """

    def __init__(self, page, meanwhile=None):
        self.page, self.version, self.meanwhile, self.writes = page, 0, meanwhile, 0
        parts = {"count": {"tasks": 3, "elastic": True}}
        super().__init__(Seated(id="wc-1", name="wc", components=parts, servers="", root="/storm"), self)

    def read(self, path):
        return json.dumps(self.page), self.version

    def write(self, path, text, version):
        assert version == self.version
        self.page, self.version, self.writes = json.loads(text), self.version + 1, self.writes + 1
        if self.writes == 1 and self.meanwhile:
            self.page |= self.meanwhile
        return self.writes > 1


@pytest.mark.parametrize(("meanwhile", "before"), [(None, 3), ({"working": [1, 9]}, 1)])
def test_a_change_whose_answer_is_lost_still_tells_how_many_worked_before(meanwhile, before):
    ledger = Unheard({"owners": [], "working": [3, 4]}, meanwhile)
    assert ledger.scale("count", 2) == before
    assert ledger.page["working"][0] == 2
    assert ledger.writes == 2


CARRIED_OUT = {"owners": [[7, 1], [5, 2, 1]], "wanted": {}}
LOST = {"owners": [[7, 1], [4, 1]], "wanted": {"1": [6, 2]}}
NEWER = {"owners": [[7, 1], [6, 3]], "wanted": {}}


@pytest.mark.parametrize("meanwhile", [None, CARRIED_OUT], ids=["written", "carried out"])
def test_a_move_whose_answer_is_lost_is_no_conflict_with_itself(meanwhile):
    ledger = Unheard({"owners": [[7, 1], [4, 1]], "wanted": {}}, meanwhile)
    ledger._order("count", 1, 5, 2)
    assert ledger.page == (meanwhile or {"owners": [[7, 1], [4, 1]], "wanted": {"1": [5, 2]}})


@pytest.mark.parametrize(("meanwhile", "told"), [(LOST, "count/1 was ordered to seat 6"), (NEWER, "ownership 3 of")])
def test_a_move_that_another_overtook_is_a_conflict(meanwhile, told):
    ledger = Unheard({"owners": [[7, 1], [4, 1]], "wanted": {}}, meanwhile)
    with pytest.raises(EngineError, match=f"conflict: {told}"):
        ledger._order("count", 1, 5, 2)
    assert ledger.page == meanwhile


def test_an_order_that_nobody_has_carried_out_is_taken_back():
    ledger = Unheard({**LOST, "wanted": {"1": [6, 2], "0": [9, 2]}})
    ledger.cancel("count", 1)
    assert ledger.page["wanted"] == {"0": [9, 2]}
    with pytest.raises(EngineError, match="nothing is ordered of count/1"):
        ledger.cancel("count", 1)
    with pytest.raises(EngineError, match="count has 3 tasks: there is no count/3"):
        ledger.cancel("count", 3)

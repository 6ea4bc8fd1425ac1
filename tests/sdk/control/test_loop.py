from __future__ import annotations

import json
import logging
import typing

import attrs
import jsonschema
import numpy as np
import pytest

from headworks.control.autoscale import Fleet, FleetMemory, scale
from headworks.control.guards import Guards
from headworks.control.journal import (
    FileJournal,
    Outcome,
    Round,
    compare_assignments,
    now,
    read_journal,
    without_missing_tasks,
)
from headworks.control.loop import Control, Loop
from headworks.documents import dumps, loads, restore
from headworks.documents.schema import schema_of
from headworks.errors import DocumentError
from headworks.hooks import Description, Verdict, hookimpl
from headworks.model import FrozenMap, Limits, Metrics, Observation, Plan, TaskSample
from headworks.plugins.host import PluginHost
from headworks.testing import FirstFit
from memory_engine import Engine, Judge, Listener, Machine, Reviewer
from small_requests import at, component, node, request, topology

RUNNING = {"t/c/0": "a", "t/c/1": "a"}


def machine(**more):
    made = request([node("a"), node("b")], [topology("t", component("c", 2))], RUNNING)
    seen = Observation(cluster=made.cluster, topologies=made.topologies, assignment=made.assignment)
    return Machine(seen, **more)


def loop(target, judge=None, *others, journal=None, counts=dict, **control):
    host = PluginHost().with_plugin("memory", Engine()).with_plugin("judge", judge or Judge([0, 1]))
    for number, other in enumerate(others):
        host = host.with_plugin(f"other{number}", other)
    return Loop(
        host,
        Control(scheduler="judge", engine="memory", **{"guards": Guards(cooldown=0.0), **control}),
        target,
        journal,
        counts=counts,
    )


def babbling():
    target = machine()
    target.seen = attrs.evolve(target.seen, metrics=Metrics(tasks=(TaskSample(task="t/c/0", cpu=float("nan")),)))
    return target


ROUNDS = {
    "the analysis sees no need": (machine(), [Judge([0, 1], replan=False)], {}, "quiet", "all is well"),
    "the analysis says not why": (
        machine(),
        [Judge([0, 1], replan=False, why="")],
        {},
        "quiet",
        "judge sees no need",
    ),
    "nothing is to move": (machine(), [Judge([0, 0])], {}, "unchanged", "where it should be"),
    "in shadow": (machine(), [Judge([0, 1])], {"shadow": True}, "unchanged", "1 moves are not carried out"),
    "no room": (machine(), [Judge([0, -1])], {}, "held", "t/c/1"),
    "the scheduler breaks": (machine(), [Judge([0])], {}, "held", "node_of has shape"),
    "the analysis breaks": (machine(), [Judge([0, 1], replan=None)], {}, "held", "judge: headworks_analyse raised"),
    "a reviewer objects": (machine(), [Judge([0, 1]), Reviewer("not today")], {}, "vetoed", "other0: not today"),
    "a reviewer breaks": (machine(), [Judge([0, 1]), Reviewer(None)], {}, "held", "review broke"),
    "the monitor breaks": (machine(broken={"observe"}), [], {}, "failed", "memory could not be observed"),
    "the monitor tells nonsense": (babbling(), [], {}, "failed", "/metrics/tasks/0/cpu"),
    "the executor breaks": (machine(broken={"execute"}), [], {}, "failed", "execute broke"),
    "the application is over": (machine(over=True), [], {}, "ended", "no query"),
    "the engine does it": (machine(), [], {}, "executed", "2 of 2 tasks run where asked"),
    "the engine is deaf": (machine(deaf=True), [], {}, "missed", "1 of 2"),
    "the engine refuses": (machine(refuses=True), [], {}, "rolled-back", "no worker"),
    "the rollback does not work": (machine(refuses=True, stuck=True), [], {}, "failed", "no worker"),
    "the rollback breaks": (machine(refuses=True, broken={"rollback"}), [], {}, "failed", "rollback broke"),
}


@pytest.mark.parametrize(("target", "plugins", "control", "outcome", "message"), ROUNDS.values(), ids=ROUNDS)
def test_every_round_ends_with_an_outcome_a_reason_and_a_record(tmp_path, target, plugins, control, outcome, message):
    target = attrs.evolve(target, calls=[], broken=set(target.broken))
    listener, journal = Listener(), FileJournal(tmp_path / "journal")
    done = loop(target, *(plugins or [Judge([0, 1])]), listener, journal=journal, **control).round()
    assert (done.number, done.outcome) == (1, outcome)
    assert message in done.message
    (record,) = read_journal(journal.path)
    assert listener.records == [record]
    jsonschema.validate(record, schema_of(Round))
    assert restore(record, Round) == done
    assert ("execute" in target.calls) == (
        outcome in ("executed", "missed", "rolled-back") or "execute" in target.broken or target.refuses
    )


def test_the_cases_reach_every_outcome_of_a_loop():
    of_several_rounds = {"waiting", "asserted", "undone"}  # see test_guards.py
    reached = {outcome for *_, outcome, _ in ROUNDS.values()}
    assert reached == set(typing.get_args(Outcome)) - {"answered"} - of_several_rounds


def test_a_round_plans_against_the_analysis_when_asked():
    target = machine()
    assert loop(target, Judge([0, 1], replan=False)).round(replan=True).outcome == "executed"
    assert target.seen.assignment["t/c/1"] == at("b")


class Packer(FirstFit):
    """First fit for what waits; what runs moves to node b."""

    @hookimpl
    def headworks_schedule(self, problem):
        node_of = np.where(problem.current >= 0, 1, -1)
        room = problem.capacity[:, 0] - problem.used(node_of)[:, 0]
        for task in np.flatnonzero(node_of < 0).tolist():
            fits = np.flatnonzero(room >= problem.demand[task, 0])
            if len(fits):
                node_of[task] = fits[0]
                room[fits[0]] -= problem.demand[task, 0]
        return problem.plan(node_of)

    @hookimpl
    def headworks_analyse(self, observation):
        return Verdict(replan=True, reasons=("as ever",))


def test_a_topology_that_fits_nowhere_holds_up_no_other():
    """One task of `big` fits and the other does not: `t` moves, and nothing of `big` starts."""
    target = machine()
    big = topology("big", component("c", 2, 90.0))
    target.seen = attrs.evolve(target.seen, topologies=(*target.seen.topologies, big))
    done = loop(target, Packer(), limits=Limits()).round()
    assert (done.outcome, done.message) == ("executed", "2 of 2 tasks run where asked")
    assert target.seen.assignment == {"t/c/0": at("b"), "t/c/1": at("b")}
    (note,) = done.notes
    assert note.startswith("big waits, and the others are planned without it: big/c/1 needs 90 cpu")
    assert [each.id for each in done.request.topologies] == ["t"]


def test_a_node_is_asked_for_where_a_topology_waits_and_the_others_are_planned():
    done = Round(number=1, outcome="executed", plan=Plan())
    seen = machine().seen
    assert scale(done, seen, FleetMemory(), Fleet(minimum=1, maximum=4), waits={"big": "no room"}).add == 1
    assert scale(done, seen, FleetMemory(), Fleet(minimum=1, maximum=4)).add == 0


class Blind(Engine):
    """Of what starts anew, nothing reports task t/c/1."""

    @hookimpl
    def headworks_execute(self, target, plan):
        return attrs.evolve(super().headworks_execute(target, plan), unseen=("t/c/1",))


def test_what_nothing_reports_is_not_said_to_run():
    host = PluginHost().with_plugin("memory", Blind()).with_plugin("judge", Judge([0, 1]))
    done = Loop(host, Control(scheduler="judge", engine="memory"), machine()).round()
    assert done.outcome == "executed"
    assert done.message == "2 of 2 tasks are assigned where asked; nothing reports 1 of them"


def test_a_record_has_the_time_at_which_its_round_ended(tmp_path):
    journal, before = FileJournal(tmp_path / "journal"), now()
    done = loop(machine(), journal=journal).round()
    (record,) = read_journal(journal.path)
    assert before <= done.at == record["at"] <= now()


def test_notes_of_the_look_after_acting_say_so():
    target = machine()
    target.seen = attrs.evolve(target.seen, notes=("a is slow",))
    assert loop(target).round().notes == ("a is slow", "afterwards: a is slow")


def test_what_cannot_be_seen_after_acting_is_missed():
    target = machine(breaks_after={"execute"})
    made = loop(target)
    done = made.round()
    assert (done.outcome, done.receipt.done) == ("missed", True)


def test_a_failed_move_is_undone_and_the_next_round_starts_from_there():
    target = machine(refuses=True)
    made = loop(target)
    assert made.round().outcome == "rolled-back"
    assert target.seen.assignment == {task: at(slot) for task, slot in RUNNING.items()}
    target.refuses = False
    assert [made.round().outcome, made.round().outcome] == ["executed", "unchanged"]


def test_warnings_of_the_executor_are_in_the_record():
    assert loop(machine()).round().warnings == ("slots are not enforced",)


def test_a_listener_that_breaks_is_logged_and_forgotten(caplog):
    with caplog.at_level(logging.WARNING, "headworks"):
        assert loop(machine(), Judge([0, 1]), Listener(broken=True)).round().outcome == "executed"
    assert "listener broke" in caplog.text


class Dealer(Engine):
    """An engine that deals its tasks out anew each time, unless it was asked."""

    @hookimpl
    def headworks_keeps(self, target, plan):
        target.call("keeps")
        return "execute" in target.calls


@pytest.mark.parametrize("shadow", [False, True])
def test_tasks_that_are_in_place_by_chance_are_asked_to_stay(shadow):
    target = machine()
    host = PluginHost().with_plugin("memory", Dealer()).with_plugin("judge", Judge([0, 0]))
    made = Loop(host, Control(scheduler="judge", engine="memory", shadow=shadow), target)
    first, second = made.round(), made.round()
    assert first.plan.moves == ()
    assert (first.outcome, second.outcome) == ("unchanged" if shadow else "executed", "unchanged")
    assert target.calls.count("execute") == (0 if shadow else 1)


def test_an_engine_is_asked_what_it_keeps_only_where_nothing_moves():
    target = machine()
    host = PluginHost().with_plugin("memory", Dealer()).with_plugin("judge", Judge([0, 1]))
    assert Loop(host, Control(scheduler="judge", engine="memory"), target).round().outcome == "executed"
    assert "keeps" not in target.calls


@attrs.frozen(kw_only=True)
class Place:
    """Options of a scheduler: the node of all tasks."""

    node: int = 0


class OneNode:
    """Places all tasks on the node that its options name."""

    @hookimpl
    def headworks_describe(self):
        return Description(summary="All on one node.", options=Place)

    @hookimpl
    def headworks_schedule(self, problem, options):
        return problem.plan([options.node] * problem.n)


@pytest.mark.parametrize(("options", "node"), [({}, "a"), ({"node": 1}, "b")])
def test_options_of_the_scheduler_arrive(options, node):
    target = machine()
    host = PluginHost().with_plugin("memory", Engine()).with_plugin("one", OneNode())
    control = Control(
        scheduler="one",
        engine="memory",
        options=FrozenMap(options),
        limits=Limits(),
        guards=Guards(cooldown=0.0, gain=-1.0),
    )
    done = Loop(host, control, target).round()
    assert {slot.node for slot in done.plan.assignment.values()} == {node}


class FullDisk:
    """A journal that is there no more."""

    def append(self, record):
        raise DocumentError("", "the journal j cannot be written: No space left on device")

    def recent(self, since):
        return ()


def test_a_journal_that_cannot_be_written_is_a_note_and_the_rounds_go_on():
    made = loop(machine(), journal=FullDisk())
    first, second = made.round(), made.round()
    assert (first.outcome, second.outcome) == ("executed", "unchanged")
    assert first.notes[-1].endswith("No space left on device; 1 rounds are not in it")
    assert second.notes[-1].endswith("; 2 rounds are not in it")


def test_what_an_adapter_counts_is_in_each_record_and_a_warning_as_it_grows():
    now = {"received": 5, "refused": 0}
    made = loop(machine(), counts=lambda: dict(now))
    assert made.round().warnings == ("slots are not enforced",)
    now.update(received=9, refused=3)
    done = made.round()
    assert done.counts == {"received": 9, "refused": 3}
    assert done.warnings == ("since the last round: 3 more refused",)
    assert made.round().warnings == ()


def test_a_decision_is_made_again_from_the_journal_byte_for_byte(tmp_path):
    host = PluginHost().with_plugin("memory", Engine()).with_plugin("first-fit", FirstFit())
    control = Control(scheduler="first-fit", engine="memory", limits=Limits(max_moves=1), seed=5)
    seen = machine().seen
    seen = attrs.evolve(seen, assignment=type(seen.assignment)({**seen.assignment, "t/c/1": at("dead")}))
    Loop(host, control, Machine(seen), FileJournal(tmp_path / "journal")).round()
    (record,) = read_journal(tmp_path / "journal")
    done = restore(record, Round)
    origin = done.plan.provenance
    again = host.schedule(origin.scheduler, done.request, dict(origin.options))
    assert dumps(again) == dumps(done.plan)
    assert loads(json.dumps(record), Round) == done


def test_a_task_that_is_not_seen_is_missed():
    asked = {"x": at("a"), "y": at("a"), "z": at("b")}
    check = compare_assignments(asked, {"x": at("a:9"), "y": at("b")})
    assert (check.asked, check.hits, check.missed) == (3, 1, ("y", "z"))


def test_a_task_that_an_engine_has_not_is_not_looked_for_where_the_plan_chose_its_number():
    asked = FrozenMap({f"t/{name}": at("a") for name in ("c/0", "c/1", "d/0", "d/1")} | {"gone/c/7": at("b")})
    plan = Plan(assignment=asked, parallelism=FrozenMap({"t/c": 2, "gone/c": 8}))
    found = without_missing_tasks(plan, [topology("t", component("c", 1), component("d", 1))])
    assert sorted(asked.keys() - found) == ["t/c/1"]
    assert without_missing_tasks(Plan(assignment=asked), [topology("t", component("c", 1))]) == asked

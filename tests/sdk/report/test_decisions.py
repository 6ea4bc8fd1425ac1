from __future__ import annotations

import attrs
import pytest

from headworks.control.journal import FileJournal, Round, read_journal
from headworks.control.loop import Control, Loop
from headworks.documents import unstructure
from headworks.errors import DocumentError, PluginError
from headworks.model import ENDED_EARLY, Limits, Observation, Reason
from headworks.plugins.host import PluginHost
from headworks.report.decisions import Decision, plan_with_other, read_decisions, replay
from memory_engine import Engine, Judge, Machine
from small_requests import component, node, request, topology


def host(*nodes):
    return PluginHost().with_plugin("memory", Engine()).with_plugin("judge", Judge(list(nodes)))


@pytest.fixture
def journal(tmp_path):
    made = request([node("a"), node("b")], [topology("t", component("c", 2))], {"t/c/0": "a", "t/c/1": "a"})
    seen = Observation(cluster=made.cluster, topologies=made.topologies, assignment=made.assignment)
    kept = FileJournal(tmp_path / "journal.jsonl")
    loop = Loop(
        host(0, 1), Control(scheduler="judge", engine="memory", limits=Limits(max_moves=5)), Machine(seen), kept
    )
    assert loop.round().outcome == "executed"
    return kept.path


def decision(journal, **plan):
    (made,) = read_decisions(read_journal(journal))
    return attrs.evolve(made, round=attrs.evolve(made.round, plan=attrs.evolve(made.round.plan, **plan)))


def test_a_decision_made_again_by_its_scheduler_is_the_same(journal):
    found = replay(decision(journal), host(0, 1))
    assert (found.record, found.number, found.scheduler, found.verdict) == (1, 1, "judge", "same")
    assert found.differences == ()


def test_a_scheduler_that_decides_otherwise_is_found_with_the_tasks_that_it_moved(journal):
    found = replay(decision(journal), host(1, 1))
    assert found.verdict == "differs"
    assert found.differences[0] == "a is now b for t/c/0"
    assert {"moves", "scores"} <= set(found.differences)


def test_another_version_is_no_difference_but_is_named_where_there_is_one(journal):
    made = decision(journal)
    older = attrs.evolve(made.round.plan.provenance, version="0.0.1")
    assert replay(decision(journal, provenance=older), host(0, 1)).verdict == "same"
    (*_, last) = replay(decision(journal, provenance=older), host(1, 0)).differences
    assert last.startswith("made by version 0.0.1, ")


def test_a_search_that_was_ended_early_is_named_as_a_reason(journal):
    early = Reason(code=ENDED_EARLY, subject="judge", message="judge was asked for its best plan so far")
    found = replay(decision(journal, reasons=(early,)), host(0, 1))
    assert found.verdict == "differs"
    assert "ended early" in found.differences[-1]


@pytest.mark.parametrize("field", ["status", "explanation", "moves", "input_rate"])
def test_any_part_of_a_plan_that_differs_is_named(journal, field):
    other = {"status": "infeasible", "explanation": "x", "moves": (), "input_rate": 3.0}
    found = replay(decision(journal, **{field: other[field]}), host(0, 1))
    assert (found.verdict, found.differences[0].split()[0]) == ("differs", field)


def test_decisions_that_cannot_be_made_again_say_why(journal):
    made = decision(journal)
    gone = replay(made, PluginHost())
    assert (gone.verdict, "judge" in gone.differences[0]) == ("not made", True)
    quiet = Decision(record=7, round=Round(number=3, outcome="quiet"))
    assert replay(quiet, host(0, 1)).differences == ("the round has no plan",)
    own = decision(journal, provenance=attrs.evolve(made.round.plan.provenance, scheduler=""))
    assert "by itself" in replay(own, host(0, 1)).differences[0]
    other = attrs.evolve(made, round=attrs.evolve(made.round, request=attrs.evolve(made.round.request, seed=9)))
    assert "not the one that the plan was made for" in replay(other, host(0, 1)).differences[0]


def test_another_scheduler_plans_what_was_recorded(journal):
    made = decision(journal)
    there = host(0, 1).with_plugin("other", Judge([1, 1]))
    found = plan_with_other(made, made.round.request, "other", there)
    assert (found.recorded, found.elsewhere) == (made.round.plan, 1)
    assert {slot.node for slot in found.other.assignment.values()} == {"b"}
    without = attrs.evolve(made, round=attrs.evolve(made.round, plan=None))
    assert plan_with_other(without, made.round.request, "other", there).elsewhere == 2
    with pytest.raises(PluginError, match="nobody"):
        plan_with_other(made, made.round.request, "nobody", there)


def test_records_are_chosen_by_their_place_and_bad_ones_named_by_it(journal):
    records = [
        unstructure(Round(number=1, outcome="quiet")),
        {"number": "x"},
        unstructure(Round(number=1, outcome="ended")),
    ]
    assert [each.round.outcome for each in read_decisions(records, (1, 3))] == ["quiet", "ended"]
    with pytest.raises(DocumentError, match=r"\(record 2\)"):
        list(read_decisions(records))

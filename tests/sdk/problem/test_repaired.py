"""Repairs: the core says which tasks are not where the scheduler decided, and why; or it refuses."""

import json

import attrs
import numpy as np
import pytest
from click.testing import CliRunner

from headworks.api import compare, why
from headworks.cli.main import headworks
from headworks.cli.rounds import round_text
from headworks.control.journal import Round
from headworks.documents import dumps, loads, write
from headworks.hooks import Description, hookimpl
from headworks.model import Constraint, ConstraintKind, FrozenMap, Kind, Limits, Plan, Repair, Scope, Slot, Stream
from headworks.plugins.host import PluginHost
from headworks.problem import Problem
from headworks.report.html import comparison_page
from headworks.testing.rules import constraints
from small_requests import component, node, request, topology

APART = Constraint(kind=ConstraintKind.APART, components=("b",))
LIKED = Constraint(kind=ConstraintKind.PREFER, components=("b",), labels=FrozenMap(node=("c",)))
ALONE = Constraint(kind=ConstraintKind.APART, components=("b",), scope=Scope.WORKER)
NODES = "abcd"


class Pack:
    """All on the first node."""

    @hookimpl
    def headworks_describe(self):
        return Description(summary=self.__doc__)

    @hookimpl
    def headworks_schedule(self, problem):
        return problem.plan(np.zeros(problem.n, dtype=int), "all on the first node, as decided")


class Strict(Pack):
    """All on the first node, or nowhere."""

    @hookimpl
    def headworks_schedule(self, problem):
        return problem.plan(np.zeros(problem.n, dtype=int), repair=False)


HOST = PluginHost.load().with_plugin("pack", Pack()).with_plugin("strict", Strict())


PARTS = (component("s", 1, 10.0, kind=Kind.SPOUT, rate=10.0), component("b", 4, 10.0))
STREAMS = (Stream(source="s", target="b"),)


def asked(*rules, running=None, ports=2):
    nodes = [node(name, 400.0, slots=ports) for name in NODES]
    made = request(nodes, [topology("t", *PARTS, streams=STREAMS, constraints=rules)])
    return attrs.evolve(made, assignment=FrozenMap(running or {}))


def repaired(plan):
    return {each.task: (each.source, each.target) for each in plan.repaired}


def reasons(plan):
    return {each.why for each in plan.repaired}


def test_a_decision_that_breaks_nothing_is_not_repaired():
    plan = HOST.schedule("pack", asked())
    assert (plan.label, plan.repaired) == ("ok", ())


def test_tasks_moved_for_a_hard_constraint_are_named():
    plan = HOST.schedule("pack", asked(APART))
    assert plan.label == "ok, repaired"
    assert repaired(plan) == {f"t/b/{number}": ("a", NODES[number]) for number in (1, 2, 3)}
    assert reasons(plan) == {"constraint: b apart on every node"}
    assert loads(dumps(plan), Plan) == plan


def test_a_task_that_is_left_is_named_with_no_node():
    never = Constraint(kind=ConstraintKind.NEVER_ON, components=("s",), labels=FrozenMap(node=tuple(NODES)))
    plan = HOST.schedule("pack", asked(never))
    assert (plan.label, repaired(plan)) == ("infeasible, repaired", {"t/s/0": ("a", None)})


def test_a_task_that_the_core_finds_a_node_for_is_named():
    problem = Problem.of(asked(APART))
    assert repaired(problem.plan([-1, 1, 2, 3, 0])) == {"t/b/0": (None, "a")}


def test_tasks_moved_for_a_soft_constraint_are_named():
    plan = HOST.schedule("pack", asked(LIKED))
    assert repaired(plan) == {f"t/b/{number}": ("a", "c") for number in range(4)}
    assert reasons(plan) == {"soft constraint: b preferably on node=c"}


def test_tasks_moved_as_their_worker_may_not_hold_them_are_named():
    plan = HOST.schedule("pack", asked(ALONE, ports=1))
    assert plan.status == "ok"
    assert set(repaired(plan)) == {"t/b/1", "t/b/2", "t/b/3"}
    assert reasons(plan) == {"constraints within workers leave it no slot: b apart on every worker"}


def slow():
    """Eight tasks on five cores a node: on one node they take two waves, on two nodes one."""
    parts = topology("t", PARTS[0], component("b", 8, 50.0), streams=STREAMS, sequential=True)
    made = request([node(name, 500.0) for name in "ab"], [parts])
    return attrs.evolve(made, limits=Limits(slowdown=1.0))


def test_tasks_moved_for_the_limit_on_batches_are_named():
    problem = Problem.of(slow())
    assert problem.plan([0] * 4 + [1] * 5).repaired == ()
    uneven = problem.plan([1] * 9)
    assert uneven.status == "ok"
    assert reasons(uneven) == {f"limits.slowdown: a batch may take {problem.slowdown.goals[0]:.3g} s"}
    assert {(each.source, each.target) for each in uneven.repaired} == {("b", "a")}


def test_a_fixed_task_stays_and_that_is_named():
    parts = topology("t", attrs.evolve(component("b", 2, 10.0), movable=False))
    made = request([node(name, 400.0) for name in "ab"], [parts])
    problem = Problem.of(attrs.evolve(made, assignment=FrozenMap({"t/b/0": Slot("b", 6700)})))
    plan = problem.plan([0, 0])
    assert plan.repaired == (Repair(task="t/b/0", source="a", target="b", why="it runs there and may not move"),)
    assert problem.plan([-1, 0]).repaired == ()
    refused = problem.plan([0, 0], repair=False)
    assert [each.code for each in refused.reasons] == ["fixed"]


def test_what_repairs_its_decision_itself_has_decided_so():
    problem = Problem.of(asked(APART))
    plan = problem.plan(problem.repair(np.zeros(problem.n, dtype=np.int64)))
    assert (plan.status, plan.repaired) == ("ok", ())


def test_a_plan_that_is_planned_again_keeps_its_repairs():
    problem = Problem.of(asked(APART))
    first = problem.plan([0, 0, 0, 0, 0])
    assert problem.plan_again(first).repaired == first.repaired
    free = Problem.of(asked(LIKED))
    again = free.plan_again(first)
    assert repaired(again) == {f"t/b/{number}": ("a", "c") for number in range(4)}


RUNNING = {f"t/b/{number}": Slot(NODES[number], 6700) for number in range(4)} | {"t/s/0": Slot("a", 6700)}


@pytest.mark.parametrize("running", [{}, RUNNING])
def test_a_decision_is_refused_where_repair_is_not_wanted(running):
    plan = HOST.schedule("strict", asked(APART, running=running))
    assert (plan.label, plan.moves, plan.repaired) == ("infeasible", (), ())
    assert plan.assignment == running
    assert [each.code for each in plan.reasons] == ["constraint"]
    assert HOST.schedule("strict", asked(running=running)).status == "ok"


def test_a_batch_that_is_too_long_is_refused():
    problem = Problem.of(slow())
    plan = problem.plan([1] * 9, repair=False)
    assert ([each.code for each in plan.reasons], plan.assignment) == (["slowdown"], {})


def test_a_soft_constraint_is_counted_where_repair_is_not_wanted():
    plan = HOST.schedule("strict", asked(LIKED))
    assert (plan.status, plan.scores.penalty, plan.repaired) == ("ok", 4.0, ())


def test_the_kit_judges_what_was_decided():
    assert "pack decides against t: b apart on every node" in constraints.judge(HOST, "pack", asked(APART))
    assert constraints.judge(HOST, "strict", asked(APART)) == ""
    assert constraints.judge(HOST, "pack", asked(APART, running=dict.fromkeys(RUNNING, Slot("a", 6700)))) == ""
    assert constraints.judge(HOST, "pack", asked(LIKED)) == ""


def test_comparisons_and_pages_say_so(tmp_path):
    found = compare(asked(APART), ["pack", "even"], host=HOST)
    page = comparison_page(found, asked(APART))
    assert "ok, repaired" in page
    assert "Repaired by the core" in page
    assert "constraint: b apart on every node" in page
    assert "Repaired by the core" not in comparison_page(compare(asked(), ["pack"], host=HOST), asked())
    assert "repaired" in found._repr_html_()


def test_the_reasons_of_a_place_say_so():
    found = why(asked(APART), "t/b/1", "pack", host=HOST)
    assert found.repaired == Repair(task="t/b/1", source="a", target="b", why="constraint: b apart on every node")
    assert "is on b (pack decided on a; constraint: b apart on every node)" in found.sentence
    assert why(asked(APART), "t/b/0", "pack", host=HOST).repaired is None


def test_a_round_says_so():
    asked_now, plan = asked(APART), HOST.schedule("pack", asked(APART))
    _, shown = round_text(Round(number=1, outcome="executed", request=asked_now, plan=plan), as_json=False)
    assert "3 tasks are not where pack decided" in shown
    fine = HOST.schedule("pack", asked())
    assert "decided" not in round_text(Round(number=1, outcome="executed", plan=fine), as_json=False)[1]


def test_the_terminal_says_so(tmp_path):
    file = tmp_path / "request.json"
    write(file, asked(APART))
    run = CliRunner()
    shown = run.invoke(headworks, ["compare", str(file), "-s", "pack", "-s", "even"], obj=HOST)
    assert ("ok, repaired" in shown.stdout, " repaired " in shown.stdout) == (True, True)
    data = json.loads(run.invoke(headworks, ["compare", str(file), "-s", "pack", "--json"], obj=HOST).stdout)
    assert len(data["plans"][0]["plan"]["repaired"]) == 3
    planned = run.invoke(headworks, ["plan", str(file), "-s", "pack"], obj=HOST)
    assert "3 tasks are not where pack decided" in planned.stdout

"""The kit itself: each misbehaving scheduler is found by its rule, and a good one by none."""

from __future__ import annotations

import re
import time
from collections import Counter
from pathlib import Path

import attrs
import pytest

import headworks
from headworks.hooks import Description, hookimpl
from headworks.model import Limits
from headworks.plugins.host import PluginHost
from headworks.plugins.planning_time import STRETCH
from headworks.problem import Problem
from headworks.testing import CAPABILITIES, RULES, FirstFit, make_cases
from headworks.testing.rule import MEANING, SkipRule
from tiers import cases
from zoo import BEASTS, Scheduler

BY_ID = {rule.id: rule for rule in RULES}


FIRST = {beast.rule: name for name, beast in reversed(BEASTS.items())}.values()
"""One that misbehaves for each rule, each time; the others in the matrix."""


@pytest.mark.parametrize("name", cases(sorted(BEASTS, key=lambda name: name not in FIRST), len(FIRST)))
def test_each_misbehaviour_is_found_by_its_rule(name):
    beast = BEASTS[name]
    host = PluginHost().with_plugin(name, beast.plugin)
    findings = BY_ID[beast.rule].check(host, name, make_cases(0, 20))
    assert findings
    assert name in findings[0].message
    assert findings[0].request is not None


def test_the_zoo_has_a_beast_for_every_rule_that_judges_requests():
    found_elsewhere = {"deadline", "renaming", "monotone", "scale-free"}
    assert {rule.id for rule in RULES if rule.judge} - found_elsewhere == {beast.rule for beast in BEASTS.values()}


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule.id)
def test_first_fit_keeps_what_it_promises(rule):
    host = PluginHost().with_plugin("first-fit", FirstFit())
    if rule.needs and rule.needs not in host.describe("first-fit").capabilities:
        pytest.skip(f"{rule.needs} is not promised")
    try:
        assert rule.check(host, "first-fit", make_cases(1, 20)) == []
    except SkipRule as reason:
        assert rule.id == "processes"
        pytest.skip(str(reason))


def sorts_by_amount(request):
    """Start where the capacity exceeds 300 points."""
    problem = Problem.of(request)
    large = (problem.capacity[:, 0] > 300).nonzero()[0]
    return first_fit_from(request, int(large[0]) if large.size else 0)


def shuns_the_last(request):
    """Leave the last node alone, and with it whatever fits nowhere else."""
    problem = Problem.of(request)
    node_of = FirstFit().headworks_schedule(Problem.of(request))
    keep = problem.node_of(node_of.assignment)
    keep[keep == problem.m - 1 if problem.m > 2 else keep < -1] = -1
    return problem.plan(keep)


def first_fit_from(request, start):
    problem = Problem.of(request)
    room = problem.room()
    for task in range(problem.n):
        for node in [*range(start, problem.m), *range(start)]:
            if room.node_of[task] < 0 and room.fits(task)[node]:
                room.place(task, node)
    return problem.plan(room.node_of)


@pytest.mark.parametrize(
    ("act", "rule"), [(sorts_by_amount, "scale-free"), (shuns_the_last, "total")], ids=["scale-free", "total"]
)
def test_a_broken_promise_is_found(act, rule):
    host = PluginHost().with_plugin("acme", Scheduler(act))
    assert BY_ID[rule].check(host, "acme", make_cases(0, 30))


def fills_up(request):
    """Fail where there are more nodes than four."""
    problem = Problem.of(request)
    return problem.plan([-1] * problem.n) if problem.m > 4 else FirstFit().headworks_schedule(Problem.of(request))


def test_one_node_more_that_makes_it_fail_is_found():
    host = PluginHost().with_plugin("acme", Scheduler(fills_up))
    assert BY_ID["monotone"].check(host, "acme", make_cases(0, 30))


def reads_names(request):
    """Fail where the first node is not called n..."""
    problem = Problem.of(request)
    fine = problem.m and problem.node_ids[0].startswith("n")
    return FirstFit().headworks_schedule(Problem.of(request)) if fine else problem.plan([-1] * problem.n)


def test_a_scheduler_that_reads_names_is_found():
    host = PluginHost().with_plugin("acme", Scheduler(reads_names))
    assert BY_ID["renaming"].check(host, "acme", make_cases(0, 5))


def scatters(request):
    """Put neighbours apart."""
    problem = Problem.of(request)
    room = problem.room()
    for task in range(problem.n):
        fits = room.fits(task).nonzero()[0]
        if room.node_of[task] < 0 and fits.size:
            room.place(task, int(max(fits, key=lambda node: (int(node) + int(problem.component[task])) % problem.m)))
    return problem.plan(room.node_of)


def test_traffic_is_compared_with_round_robin():
    rule, cases = BY_ID["traffic-aware"], make_cases(0, 30)
    assert rule.check(PluginHost().with_plugin("ff", FirstFit()), "ff", cases) == []
    found = rule.check(PluginHost().with_plugin("acme", Scheduler(scatters)), "acme", cases)
    assert "acme leaves" in found[0].message


@attrs.frozen
class Unset:
    """An option without a default."""

    level: int


@pytest.mark.parametrize(
    ("description", "text"),
    [
        (Description(summary="x", capabilities=frozenset({"swift"})), "unknown capabilities: swift"),
        (Description(summary="x", options=Unset), "level"),
    ],
)
def test_a_description_that_promises_nonsense_is_found(description, text):
    class Odd(FirstFit):
        """Odd."""

        @hookimpl
        def headworks_describe(self):
            return description

    findings = BY_ID["describes"].check(PluginHost().with_plugin("odd", Odd()), "odd", make_cases(0, 0))
    assert len(findings) == 1
    assert text in findings[0].message


def test_every_reason_to_hold_a_plan_belongs_to_one_rule():
    folder = Path(headworks.__file__).parent
    names = ("problem/plan/check.py", "plugins/sandbox.py", "plugins/processes.py")
    held = set(
        re.findall(r'(?:code=|no_plan\(|_held\()"([a-z-]+)"', "".join((folder / each).read_text() for each in names))
    )
    rules = re.findall(r"held\(([^)]*)\)", (folder / "testing" / "rules.py").read_text())
    judged = Counter(code for call in rules for code in re.findall(r'"([a-z-]+)"', call)[1:])
    assert held - {"isolation"} == set(judged)  # that one is the machine's fault
    assert set(judged.values()) == {1}


def test_capabilities_are_the_ones_that_rules_need():
    assert {rule.needs for rule in RULES} - {""} == CAPABILITIES == frozenset(MEANING)


def test_rules_have_unique_ids_and_statements_of_one_line():
    assert len(BY_ID) == len(RULES)
    assert all(rule.statement.endswith(".") and "\n" not in rule.statement for rule in RULES)


class TooLateAtTimes(FirstFit):
    """First fit that overruns its deadline from the second call on."""

    def __init__(self, calls):
        self.calls = calls

    @hookimpl
    def headworks_schedule(self, problem, options):
        self.calls += 1
        if self.calls > 1:
            time.sleep((STRETCH + 1) * problem.request.limits.deadline)
        return FirstFit.headworks_schedule(self, problem, options)


@pytest.mark.parametrize(("rule", "found"), [("order", 0), ("renaming", 0), ("scale-free", 0), ("deadline", 1)])
def test_a_plan_that_came_too_late_is_found_by_the_rule_of_deadlines_and_judged_by_no_other(rule, found):
    request = attrs.evolve(make_cases(1, 20).mixed[3], limits=Limits(deadline=0.3))
    host = PluginHost().with_plugin("late", TooLateAtTimes(calls=found))
    assert bool(BY_ID[rule].judge(host, "late", request)) == found

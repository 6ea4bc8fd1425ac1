"""A variant beside the published scheduler and the optimum: what each row says, and that nothing is hidden."""

from __future__ import annotations

import attrs
import pytest

from headworks.hooks import Description, hookimpl
from headworks.model import Bound, Status
from headworks.plugins.host import PluginHost
from headworks.problem import Problem
from headworks_lab.evidence.model import Improvement
from headworks_lab.evidence.variants import by_variant, cells, improve, tally
from small_requests import component, node, request, topology

IDEA = "raised RuntimeError: no idea (evidence/test_variants.py:32); the running assignment is held"


class Fixed:
    """A scheduler that puts so many tasks on the first node, the others on the second, and may know a bound."""

    def __init__(self, here: int, bound: Bound | None = None) -> None:
        self.here, self.bound = here, bound

    @hookimpl
    def headworks_describe(self):
        return Description(summary="Fixed.")

    @hookimpl
    def headworks_schedule(self, request, options):
        if self.here < 0:
            raise RuntimeError("no idea")
        problem = Problem.of(request)
        plan = problem.plan([0] * self.here + [1] * (problem.n - self.here))
        return attrs.evolve(plan, bound=self.bound)


class Steps:
    """Moves one task a round from the first node to the second."""

    @hookimpl
    def headworks_describe(self):
        return Description(summary="Steps.")

    @hookimpl
    def headworks_schedule(self, request, options):
        problem = Problem.of(request)
        node_of = problem.current.copy()
        if (node_of == 0).any():
            node_of[(node_of == 0).argmax()] = 1
        return problem.plan(node_of)


def four(running=()):
    return request([node("a", 400.0), node("b", 400.0)], [topology("t", component("c", 4))], running)


def first(plan):
    """Tasks on the first node: less is better."""
    return float(sum(slot.node == "a" for slot in plan.assignment.values())) if plan.status is Status.OK else None


def made(paper, ours, prover=None, **more):
    host = PluginHost()
    for name, plugin in (("paper", paper), ("plus", ours), ("exact", prover)):
        host = host if plugin is None else host.with_plugin(name, plugin)
    given = {"id": "i", "statement": "tasks on a", "build": four, "published": "paper", "figure": first, **more}
    return improve(Improvement(**given), "plus", host)


def proof(value, *, proven=True):
    return Bound(figure="inter_node", value=float(value), proven=proven)


def test_the_optimum_is_the_best_figure_once_it_is_proved():
    row = made(Fixed(4), Fixed(2), Fixed(1, proof(1)), exact="exact")
    assert (row.paper, row.ours, row.optimum, row.bound, row.status) == (4.0, 2.0, 1.0, 1.0, "proved")
    assert cells(row) == ("4", "2", "1", "300.0%", "100.0%")


def test_without_a_proof_the_bound_is_shown_as_one():
    row = made(Fixed(4), Fixed(3), Fixed(3, proof(2, proven=False)), exact="exact")
    assert (row.optimum, row.bound, row.status) == (None, 2.0, "bound")
    assert cells(row) == ("4", "3", ">= 2", "100.0%", "50.0%")


def test_a_plan_that_reaches_a_bound_proves_it():
    row = made(Fixed(4), Fixed(0), bound=lambda asked: 0.0)
    assert (row.optimum, row.status, row.note) == (0.0, "proved", "")
    assert cells(row) == ("4", "0", "0", "", "")


def test_more_may_be_better():
    row = made(Fixed(1), Fixed(2), more=True, bound=lambda asked: float(len(asked.topologies[0].tasks())))
    assert (row.status, cells(row)) == ("bound", ("1", "2", "<= 4", "75.0%", "50.0%"))
    assert made(Fixed(2), Fixed(1), more=True, bound=lambda asked: 4.0).status == "differs"


@pytest.mark.parametrize(
    ("ours", "exact", "said"),
    [
        (Fixed(4), Fixed(3, proof(3)), "plus is worse than paper"),
        (Fixed(1), Fixed(3, proof(3)), "a plan passes the bound, 3"),
        (Fixed(-1), Fixed(3, proof(3)), f"plus has no such figure; plus {IDEA}"),
    ],
)
def test_what_must_not_be_differs_and_says_why(ours, exact, said):
    row = made(Fixed(3), ours, exact, exact="exact")
    assert (row.status, row.note) == ("differs", said)


def test_figures_that_cannot_be_computed_differ():
    row = made(Fixed(3), Fixed(3), figure=lambda plan: 1 / 0)
    assert row.status == "differs"
    assert row.note.startswith("could not be computed: ZeroDivisionError: division by zero (evidence/")


def test_an_exact_scheduler_that_is_not_there_is_named():
    row = made(Fixed(3), Fixed(2), exact="exact", note="a note")
    assert (row.paper, row.ours, row.optimum, row.status) == (3.0, 2.0, None, "no bound")
    assert row.note.startswith("there is no scheduler 'exact'")
    assert row.note.endswith("; a note")
    assert cells(row) == ("3", "2", "", "", "")


def test_an_exact_scheduler_without_a_bound_says_why():
    row = made(Fixed(3), Fixed(2), Fixed(-1), exact="exact")
    assert (row.status, row.note) == ("no bound", f"exact {IDEA}")


def test_a_published_scheduler_that_is_not_there_leaves_its_figure_out():
    row = made(None, Fixed(2), bound=lambda asked: 0.0)
    assert (row.paper, row.status) == (None, "bound")
    assert row.note.startswith("there is no scheduler 'paper'")


@pytest.mark.parametrize(("rounds", "left"), [(1, 3.0), (3, 1.0), (9, 0.0)])
def test_rounds_go_on_from_the_plan_before(rounds, left):
    running = {f"t/c/{index}": "a" for index in range(4)}
    row = made(Steps(), Steps(), build=lambda: four(running), rounds=rounds, bound=lambda asked: 0.0)
    assert row.ours == left


def test_rows_stand_by_variant_and_are_counted():
    rows = [made(Fixed(3), Fixed(2), exact="exact"), made(Fixed(4), Fixed(0), bound=lambda asked: 0.0)]
    assert by_variant(rows) == {"plus, an improved variant of paper": rows}
    assert tally(rows) == "2 improvements; optimum: 1 proved, 1 no bound"

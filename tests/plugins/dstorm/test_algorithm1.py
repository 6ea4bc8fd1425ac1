"""Algorithm 1 on requests that were worked by hand, and its options."""

from __future__ import annotations

import attrs
import pytest

from headworks.model import Status
from headworks.problem import Problem
from headworks.problem.plan.check import check_plan
from headworks_dstorm.algorithm1 import place_literally
from headworks_dstorm.fast import place
from headworks_dstorm.options import Options
from headworks_dstorm.plugin import dstorm
from headworks_dstorm.workloads import BenchmarkSetting, micro_benchmark
from headworks_lab.papers import dstorm_examples as examples

ENGINES = pytest.mark.parametrize("engine", [place, place_literally])


@ENGINES
def test_c1_the_chain_is_cut_where_it_is_thin(engine) -> None:
    problem = Problem.of(examples.chain())
    node_of = engine(problem, Options())
    assert node_of.tolist() == [1, 0, 0, 1]
    assert problem.plan(node_of).scores.inter_node == 20
    assert problem.plan([0, 1, 0, 1]).scores.inter_node == 120


@ENGINES
def test_c2_failure_on_a_request_that_can_be_placed(engine) -> None:
    problem = Problem.of(examples.false_failure())
    assert engine(problem, Options()).tolist() == [-1, 0, 0, 0]
    assert problem.plan([0, 1, 0, 0]).status is Status.OK


@ENGINES
@pytest.mark.parametrize(("threshold", "first"), [(0.8, "q"), (1.0, "p")])
def test_c4_beta_counts_up_to_the_threshold(engine, threshold: float, first: str) -> None:
    problem = Problem.of(examples.nearly_full())
    node_of = engine(problem, Options(threshold=threshold))
    placed = {task.component for task, node in zip(problem.tasks, node_of.tolist(), strict=True) if node == 0}
    assert placed == {"x", first}


@pytest.mark.parametrize(
    ("shape", "ps", "units", "inter_node"),
    [
        ("linear", 10_000, 20, None),
        ("star", 10_000, 22, None),
        ("diamond", 10_000, 24, None),
        ("linear", 2500, 8, 2500),
        ("star", 2500, 8, 4375),
        ("diamond", 2500, 8, 5000),
    ],
)
def test_c5_machines_and_traffic_of_the_micro_benchmark(shape: str, ps: float, units: int, inter_node) -> None:
    plan = dstorm.headworks_schedule(micro_benchmark(shape, BenchmarkSetting(ps=ps)), Options())
    assert plan.status is Status.OK
    assert plan.scores.cost == pytest.approx(units * 0.0292)
    if inter_node is not None:
        assert plan.scores.inter_node == inter_node


def test_failure_is_a_plan_with_reasons() -> None:
    request = examples.false_failure()
    plan = dstorm.headworks_schedule(request, Options(fallback="none"))
    assert plan.status is Status.INFEASIBLE
    assert [(reason.subject, reason.resource, reason.need) for reason in plan.reasons] == [("t/t0/0", "memory", 60)]
    assert set(plan.assignment) == {"t/t1/0", "t/t2/0", "t/t3/0"}
    assert "1 of 4" in plan.explanation


def test_repair_exchanges_one_task() -> None:
    request = examples.false_failure()
    plan = dstorm.headworks_schedule(request, Options())
    assert plan.status is Status.OK
    assert check_plan(Problem.of(request), plan) == ()
    assert plan.assignment["t/t1/0"].node == "n2"
    assert "repair placed 1" in plan.explanation


def test_repair_gives_up_with_reasons() -> None:
    request = examples.request(tasks={"a": (70, 0), "b": (70, 0)}, traffic={}, nodes={"n": (100, 1)})
    plan = dstorm.headworks_schedule(request, Options(fallback="repair"))
    assert plan.status is Status.INFEASIBLE
    assert plan.reasons


def test_the_threshold_may_be_taken_after_the_candidate() -> None:
    """Big brings more than small may bring, but ends above the threshold, where what may follow counts nothing."""
    request = examples.request(
        tasks={"big": (90, 0), "small": (10, 0), "far": (200, 0)},
        traffic={("big", "far"): 90, ("small", "far"): 5},
        nodes={"n": (100, 1)},
    )
    request = _only_one_fits(request)
    before, after = (
        dstorm.headworks_schedule(request, Options(threshold_usage=usage)).assignment for usage in ("before", "after")
    )
    assert set(before) == {"t/big/0"}
    assert set(after) == {"t/small/0"}


def _only_one_fits(request):
    topology = request.topologies[0]
    parts = tuple(attrs.evolve(part, heap=600.0) for part in topology.components)
    return attrs.evolve(request, topologies=(attrs.evolve(topology, components=parts, worker_heap=1000.0),))


@pytest.mark.parametrize(("costless", "first"), [("first", "q"), ("last", "p")])
def test_what_costs_nothing_comes_first_or_last(costless: str, first: str) -> None:
    """Memory is critical; q needs none and so divides by zero. Both talk to x; one heap is left."""
    request = examples.request(
        tasks={"p": (1, 1), "q": (1, 0), "x": (1, 80)},
        traffic={("p", "x"): 100, ("q", "x"): 1},
        nodes={"n": (100, 100)},
        placed={"x": "n"},
    )
    topology = request.topologies[0]
    parts = tuple(attrs.evolve(part, heap=400.0) for part in topology.components)
    request = attrs.evolve(request, topologies=(attrs.evolve(topology, components=parts, worker_heap=1000.0),))
    plan = dstorm.headworks_schedule(request, Options(costless=costless))
    assert set(plan.assignment) == {"t/x/0", f"t/{first}/0"}


@pytest.mark.parametrize(
    "wrong",
    [{"alpha": -1}, {"beta": float("inf")}, {"threshold": -0.1}, {"fallback": "maybe"}, {"latency_constraint": 0}],
)
def test_options_are_checked(wrong) -> None:
    with pytest.raises(ValueError, match=next(iter(wrong))):
        Options(**wrong)


def test_declared_demands_can_be_asked_for() -> None:
    from headworks.model import Metrics, TaskSample

    request = attrs.evolve(examples.chain(), metrics=Metrics(tasks=(TaskSample(task="t/a/0", cpu=500),)))
    assert dstorm.headworks_schedule(request, Options()).status is Status.INFEASIBLE
    problem = Problem.of(request, measured=False)
    assert place(problem, Options(measured=False)).tolist() == [1, 0, 0, 1]

"""A task is one thread, or as many as its component says: no rate gives it more cores than that."""

from __future__ import annotations

import attrs
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from headworks.api import plan
from headworks.model import Kind, Metrics, Plan, Profile, Status, Stream, TaskSample
from headworks.problem import Problem
from headworks.problem.arrays.profiles import Profiled
from headworks.problem.plan.check import check_plan
from headworks.toolbox.instance_counts import InstanceCounts
from small_requests import component, node, request, topology


def hot(points=400.0, nodes=1, tasks=1, met=0.0, **more):
    """A bolt of 1 ms of a core for each tuple on nodes of some points; its spout costs nothing."""
    parts = component("s", kind=Kind.SPOUT, cpu=0.0, rate=1.0), component("b", tasks, cpu=0.0, **more)
    return request(
        [node(f"n{index}", points, machine_type="m") for index in range(nodes)],
        [topology("t", *parts, streams=(Stream(source="s", target="b"),))],
        profiles=(Profile(topology="t", component="b", machine_type="m", e=10.0 / points, met=met),),
    )


@pytest.mark.parametrize(
    ("points", "tasks", "threads", "tuples"),
    [(400.0, 1, 1, 1000), (400.0, 2, 1, 2000), (400.0, 1, 3, 3000), (400.0, 8, 1, 4000), (100.0, 1, 1, 1000),
     (50.0, 1, 1, 500), (150.0, 1, 1, 1000), (150.0, 1, 2, 1500)],
)  # fmt: skip
def test_a_task_takes_what_its_threads_take_and_a_node_no_more_than_all_of_it(points, tasks, threads, tuples):
    made = hot(points, tasks=tasks, threads=threads)
    model = Profiled.of(made)
    counts = np.array([[tasks], [0]])
    assert model.max_factor(counts, np.full(1, 100.0)) == pytest.approx(tuples)
    assert model.threads_bind == (100.0 * threads < points)


def test_a_fixed_cost_beyond_the_threads_leaves_nothing_for_tuples():
    model = Profiled.of(hot(400.0, met=30.0))
    assert model.met[0, 0] == model.limit[0, 0] == 25.0
    assert model.max_factor(np.array([[1], [0]]), np.full(1, 100.0)) == 0.0


@given(st.integers(1, 5), st.integers(1, 3), st.sampled_from([100.0, 250.0, 400.0, 1600.0]), st.floats(0, 30))
def test_the_highest_factor_fills_a_thread_or_a_node(tasks, threads, points, met):
    made = hot(points, tasks=tasks, threads=threads, met=met)
    model, counts = Profiled.of(made), np.array([[tasks], [0]])
    factor = model.max_factor(counts, np.full(1, 100.0))
    assert (model.task_load(counts, factor)[0] <= model.limit[0] * (1 + 1e-9)).all()
    if factor > 0:
        full = model.load(counts, factor)[0] == pytest.approx(100.0)
        assert full or model.task_load(counts, factor)[0, 0] == pytest.approx(model.limit[0, 0])


def test_the_check_refuses_a_rate_that_no_thread_bears():
    made = hot()
    fits = InstanceCounts.of(made).plan(np.array([[1]]), 5000.0)
    assert fits.input_rate == pytest.approx(1000.0)
    problem = Problem.of(made)
    assert not check_plan(problem, fits)
    (reason,) = check_plan(problem, attrs.evolve(fits, input_rate=1001.0))
    assert (reason.code, reason.subject, reason.need, reason.have) == ("threads", "t/b", pytest.approx(100.1), 100.0)
    assert "a task of t/b would need 100.1 points at 1001 tuples/s, its threads have 100" in reason.message


def test_the_load_may_grow_until_a_node_or_a_thread_is_full():
    assert plan(request([node("a", 400.0)], [topology("t", component("c", 1, 50.0))]), "even").scores.factor == 2.0
    assert plan(request([node("a", 60.0)], [topology("t", component("c", 1, 50.0))]), "even").scores.factor == 1.2
    assert plan(hot(), "hetero-plus").scores.factor == pytest.approx(1.0)


class TestDeclared:
    """CPU that is declared beyond the threads of a task."""

    def asked(self, **more):
        parts = component("pool", cpu=250.0, **more), component("one", 2, cpu=100.0)
        return request([node("a", 220.0), node("b", 220.0)], [topology("t", *parts)])

    def test_it_counts_as_the_threads_and_no_task_is_refused(self):
        found = Problem.of(self.asked())
        assert found.demand[:, 0].tolist() == [100.0, 100.0, 100.0]
        assert found.wanted.tolist() == [100.0, 100.0, 250.0]
        made = plan(self.asked(), "even")
        assert (made.status, len(made.assignment)) == (Status.OK, 3)
        assert made.scores.factor == pytest.approx(1 / 2.5)

    def test_the_plan_says_so(self):
        made = plan(self.asked(), "dstorm")
        (reason,) = made.reasons
        assert (reason.code, reason.subject, reason.resource, reason.need, reason.have) == (
            "threads", "t/pool", "cpu", 250.0, 100.0,
        )  # fmt: skip
        assert reason.message.endswith("declare 3 threads if it has a pool")
        assert made.label == "ok, beyond threads"

    def test_with_threads_enough_it_counts_as_it_is(self):
        found = plan(self.asked(threads=3), "even")
        assert Problem.of(self.asked(threads=3)).demand[2, 0] == 250.0
        assert (found.status, found.reasons[0].code) == (Status.INFEASIBLE, "capacity")

    def test_measured_cpu_counts_as_it_is(self):
        made = attrs.evolve(self.asked(), metrics=Metrics(window=1.0, tasks=(TaskSample(task="t/one/0", cpu=180.0),)))
        found = Problem.of(made)
        assert found.demand[0, 0] == found.wanted[0] == 180.0
        assert found.thread_points.tolist() == [200.0, 100.0, 100.0]
        assert Problem.of(made, measured=False).demand[0, 0] == 100.0

    def test_a_topology_that_starves_is_still_one_that_starves(self):
        codes = ("starved", "threads")
        reasons = tuple(attrs.evolve(plan(self.asked(), "even").reasons[0], code=code) for code in codes)
        assert Plan(status=Status.INFEASIBLE, reasons=reasons).starves

from __future__ import annotations

import attrs
import numpy as np
import pytest
from hypothesis import given

from headworks.model import Metrics, Node, Resources, TaskSample
from headworks.problem import STEP, Problem
from headworks.testing.instances.strategies import requests
from small_requests import component, node, request, topology, word_count


def test_tasks_nodes_and_resources_are_in_order_of_their_names():
    extra = Node(id="A", capacity=Resources({"zeta": 1.0, "disk": 2.0, "cpu": 3.0}))
    made = request(
        [node("b"), extra], [topology("z", component("y")), topology("a", component("q", 2), component("p"))]
    )
    problem = Problem.of(made)
    assert problem.task_ids == ("a/p/0", "a/q/0", "a/q/1", "z/y/0")
    assert problem.node_ids == ("A", "b")
    assert problem.resources == ("cpu", "memory", "disk", "zeta")
    assert problem.capacity.tolist() == [[3.0, 0.0, 2.0, 1.0], [100.0, 1000.0, 0.0, 0.0]]
    assert problem.component.tolist() == [0, 1, 1, 2]
    assert [problem.components[index] for index in problem.component] == [("a", "p"), *[("a", "q")] * 2, ("z", "y")]
    assert problem.topology.tolist() == [0, 0, 0, 1]


@given(requests())
def test_shapes_fit_together_and_no_array_can_be_written(request):
    problem = Problem.of(request)
    assert problem.demand.shape == (problem.n, len(problem.resources))
    assert problem.capacity.shape == (problem.m, len(problem.resources))
    assert {len(each) for each in (problem.heap, problem.component, problem.topology, problem.current)} == {problem.n}
    arrays = [
        problem.demand,
        problem.capacity,
        problem.current,
        problem.traffic.blocks.rate,
        problem.traffic.sparse.rate,
    ]
    assert not any(array.flags.writeable for array in arrays)
    assert (problem.demand % STEP == 0).all()


def arrays_of(problem):
    """Every array of a problem by its name, those of its traffic included."""
    owners = (problem, problem.traffic.blocks, problem.traffic.sparse)
    fields = [(name, value) for each in owners for name, value in attrs.asdict(each, recurse=False).items()]
    return {name: value for name, value in fields if isinstance(value, np.ndarray)}


@given(requests())
def test_arrays_that_are_lent_are_equal_and_writing_to_them_reaches_no_other(asked):
    problem, lent = Problem.of(asked), attrs.evolve(asked)
    problem.lend(lent)
    copies, own = arrays_of(Problem.of(lent)), arrays_of(problem)
    fresh = arrays_of(Problem.of(attrs.evolve(asked)))
    assert own.keys() == copies.keys()
    for name, copy in copies.items():
        assert not copy.flags.writeable
        assert copy.dtype == fresh[name].dtype
        assert (copy == fresh[name]).all()
        copy.flags.writeable = True
        copy[...] = copy == 0
        assert (own[name] == fresh[name]).all()
    assert Problem.of(lent).request is lent


def test_measured_demands_replace_declared_ones_where_there_are_any():
    sample = TaskSample(task="words/split/1", cpu=77.0)
    asked = attrs.evolve(word_count(), metrics=Metrics(tasks=(sample,)))
    index = Problem.of(asked).task_index["words/split/1"]
    assert Problem.of(asked).demand[index].tolist() == [77.0, 0.0]
    assert Problem.of(asked, measured=False).demand[index].tolist() == [30.0, 0.0]


def test_a_task_on_a_dead_node_or_slot_does_not_run():
    parts = component("c", 3, movable=False)
    asked = request([node("a")], [topology("t", parts)], {"t/c/0": "a", "t/c/1": "gone", "t/c/2": "a:9"})
    assert Problem.of(asked).current.tolist() == [0, -1, -1]
    assert Problem.of(asked).fixed.tolist() == [0, -1, -1]


def test_sums_of_demands_do_not_depend_on_their_order():
    asked = request([node("a")], [topology("t", *(component(f"c{each}", 1, cpu=0.1 * each) for each in range(40)))])
    column = Problem.of(asked).demand[:, 0]
    shuffled = np.random.default_rng(1).permutation(column)
    assert sum(column.tolist()) == sum(shuffled.tolist()) == sum(column.tolist()[::-1])


def test_a_request_without_anything_is_a_problem_without_anything():
    problem = Problem.of(request([], []))
    assert (problem.n, problem.m, problem.traffic.total) == (0, 0, 0)
    assert problem.plan([]).status == "ok"


@pytest.mark.parametrize("answer", [[0], [0] * 6, [-2] * 5, [2] * 5])
def test_a_decision_of_the_wrong_shape_is_a_mistake_of_the_scheduler(answer):
    with pytest.raises(ValueError, match="node_of"):
        Problem.of(word_count()).plan(answer)

from __future__ import annotations

from small_requests import component, topology


def test_tasks_are_ordered_by_component_id_and_index():
    made = topology("t", component("b", 2), component("a", 1))
    assert [task.id for task in made.tasks()] == ["t/a/0", "t/b/0", "t/b/1"]


def test_a_component_without_parallelism_has_no_task():
    assert topology("t", component("a", 0)).tasks() == ()


def test_heap_is_the_memory_demand_unless_it_is_stated():
    assert component("a", heap=7.0).task_heap == 7.0
    assert component("a").task_heap == 0.0

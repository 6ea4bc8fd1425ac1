from hypothesis import given

from baseline_cases import part, topology
from headworks.testing.instances.strategies import topologies
from headworks_baselines.order import breadth_first_order, connection_order


def names(order, given_):
    """Component of each task, in order; tasks are numbered by component."""
    tasks, start = {}, 0
    for component in given_.components:
        tasks[component.id] = list(range(start, start + component.parallelism))
        start += component.parallelism
    owner = {task: name for name, numbers in tasks.items() for task in numbers}
    return "".join(owner[task] for task in order(given_, tasks))


def test_connections_first_then_neighbours_with_fewest_tasks():
    # connections: b 2 * (3 + 1) = 8, a 3 * 2 = 6, c 1 * 2 = 2
    given_ = topology("t", [part("a", 3), part("b", 2), part("c", 1)], [("a", "b"), ("b", "c")])
    assert names(connection_order, given_) == "bca" + "ba" + "a"


def test_components_without_streams_come_last_in_connection_order():
    given_ = topology("t", [part("a", 2), part("b", 1), part("c", 1)], [("b", "c")])
    assert names(connection_order, given_) == "bcaa"


def test_breadth_first_takes_one_task_of_each_component_in_turn():
    parts = [part("spout", 2), part("b", 3), part("a", 1), part("z", 1)]
    given_ = topology("t", parts, [("spout", "z"), ("z", "a"), ("spout", "b")])
    order = breadth_first_order(given_, {"spout": [5, 6], "b": [1, 2, 3], "a": [0], "z": [7]})
    assert order == [5, 1, 7, 0, 6, 2, 3]


def test_breadth_first_goes_against_streams_too_and_ends_with_what_no_spout_reaches():
    parts = [part("spout1"), part("spout2"), part("b"), part("alone")]
    given_ = topology("t", parts, [("spout1", "b"), ("spout2", "b")])
    order = breadth_first_order(given_, {"alone": [0], "b": [1], "spout1": [2], "spout2": [3]})
    assert order == [2, 1, 3, 0]


@given(topologies())
def test_each_task_comes_once_and_a_component_in_order(given_):
    tasks, start = {}, 0
    for component in sorted(given_.components, key=lambda each: each.id):
        tasks[component.id] = list(range(start, start + component.parallelism))
        start += component.parallelism
    for order in (connection_order, breadth_first_order):
        found = order(given_, tasks)
        assert sorted(found) == list(range(start))
        for numbers in tasks.values():
            assert [task for task in found if task in numbers] == numbers

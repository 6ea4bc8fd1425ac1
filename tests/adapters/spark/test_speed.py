"""Speed of nodes, from times of tasks that were made up for nodes of a known speed."""

from __future__ import annotations

import random

import pytest

from headworks.model import NodeSample, Observation
from headworks.model.request import Metrics
from headworks_spark.driver.usage import _measured
from headworks_spark.events.event import TaskEnd
from headworks_spark.events.speed import node_speeds

FAST = {"a": 1.0, "b": 1.0, "c": 1.0}
SLOW = {**FAST, "c": 0.5}


def task(host: str, speed: float, cpu: float, *, run: float | None = None, waited: float = 0.0) -> TaskEnd:
    """A task that used `cpu` seconds, and was on the executor for as long as the node's speed lets it."""
    return TaskEnd(
        stage=0,
        attempt=0,
        task=0,
        partition=0,
        executor="0",
        host=host,
        started=0.0,
        ended=1.0,
        locality="ANY",
        failed=False,
        run=(cpu / speed if run is None else run) + waited,
        cpu=cpu,
        waited=waited,
    )


def batches(speed: dict[str, float], count: int, *parts: str, noise: float = 0.0) -> list[list[list[TaskEnd]]]:
    """Batches of components, each with two tasks of unequal work on each of the nodes that its letters name."""
    chance = random.Random(1)
    return [
        [
            [
                task(host, speed[host] * chance.uniform(1 - noise, 1 + noise), chance.uniform(0.2, 2.0))
                for host in part
                for _ in range(2)
            ]
            for part in parts
        ]
        for _ in range(count)
    ]


def test_a_node_whose_tasks_take_twice_as_long_for_their_cpu_has_half_the_speed() -> None:
    assert node_speeds(batches(SLOW, 3, "abc"), SLOW) == {"a": 1.0, "b": 1.0, "c": 0.5}


@pytest.mark.parametrize("parts", [("ac", "bc"), ("ab", "bc"), ("cd", "cd", "cd", "cd", "ac", "ab"), ("abcd", "cd")])
def test_each_component_is_compared_with_itself_alone(parts: tuple[str, ...]) -> None:
    """Components run on different nodes, some on slow ones alone, and one waits for other things on every node."""
    speed = {**SLOW, "d": 0.5}
    seen = batches(speed, 10, *parts)
    waits = [[task(host, speed[host] * 0.3, 1.0) for host in part] for part in parts]
    found = node_speeds([[*batch, waits[0]] for batch in seen], speed)
    assert found == {node: speed[node] for node in sorted(set().union(*parts))}


def test_a_tenth_is_noise_and_one_slow_batch_is_none() -> None:
    noisy = batches({**FAST, "c": 0.92}, 10, "abc", "abc", noise=0.1)
    assert node_speeds([*noisy[:9], *batches({**FAST, "a": 0.2}, 1, "abc", "abc")], FAST) == FAST


def test_it_takes_three_batches_and_two_nodes_that_ran_the_same() -> None:
    assert node_speeds(batches(SLOW, 2, "abc"), SLOW) == {}
    assert node_speeds(batches(SLOW, 9, "a", "b", "c"), SLOW) == {}
    assert node_speeds([*batches(SLOW, 1, "abc"), *batches(SLOW, 3, "ab")], SLOW) == {"a": 1.0, "b": 1.0}
    assert node_speeds([], SLOW) == {}


def test_nodes_that_nothing_ties_to_the_most_others_are_left_out() -> None:
    speed = {**SLOW, "d": 1.0, "e": 1.0}
    assert node_speeds(batches(speed, 5, "abc", "de"), speed) == {"a": 1.0, "b": 1.0, "c": 0.5}


def test_short_tasks_and_waits_for_shuffles_say_nothing() -> None:
    short = [[[task("a", 1.0, 0.01), task("b", 1.0, 0.01, run=0.09)]] for _ in range(5)]
    fetching = [[[task("a", 1.0, 1.0), task("b", 1.0, 1.0, waited=3.0)]] for _ in range(5)]
    assert node_speeds(short, FAST) == {}
    assert node_speeds(fetching, FAST) == {"a": 1.0, "b": 1.0}


def test_the_last_ten_batches_count() -> None:
    assert node_speeds([*batches(SLOW, 40, "abc"), *batches(FAST, 10, "abc")], FAST) == FAST
    assert node_speeds([*batches(FAST, 40, "abc"), *batches(SLOW, 10, "abc")], FAST)["c"] == 0.5


def test_a_node_without_tasks_keeps_what_is_known_of_it() -> None:
    """Also where all those that have some are slow: it is compared with what they were then."""
    assert node_speeds([*batches(SLOW, 10, "abc"), *batches(SLOW, 200, "ab")], SLOW) == SLOW
    speed = {"a": 1.0, "b": 0.5, "c": 0.5}
    assert node_speeds([*batches(speed, 10, "abc"), *batches(speed, 20, "bc")], speed) == speed


def test_a_node_that_is_gone_is_not_the_fastest() -> None:
    assert node_speeds(batches({"a": 0.5, "b": 0.5, "c": 1.0}, 9, "abc"), {"a", "b"}) == {"a": 1.0, "b": 1.0}


def test_a_node_that_stands_still_has_the_least_speed_that_a_request_states() -> None:
    assert node_speeds(batches({**FAST, "c": 1e-6}, 3, "abc"), FAST)["c"] == 0.01


def test_processes_measured_instead_of_tasks_leave_the_speed() -> None:
    seen = Observation(metrics=Metrics(nodes=(NodeSample(node="a", cpu=1.0, speed=0.5),)))
    used = (NodeSample(node="a", cpu=9.0, source="processes"), NodeSample(node="b", cpu=2.0))
    assert [(each.cpu, each.speed) for each in _measured(seen, used).metrics.nodes] == [(9.0, 0.5), (2.0, None)]
    assert _measured(seen, ()) is seen

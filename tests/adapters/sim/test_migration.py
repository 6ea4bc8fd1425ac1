from __future__ import annotations

import itertools
import random

import attrs
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from headworks.model import FrozenMap, Kind, Slot
from headworks_lab.simulated.stalls import merged, seconds, slow_spans, stalls
from headworks_sim.fluid.migration import migrations
from headworks_sim.fluid.timing import Timing
from headworks_sim.fluid.world import World
from small_requests import component, node, request, topology

SPANS = st.lists(st.tuples(st.integers(0, 30), st.integers(0, 30)).map(sorted).map(tuple), max_size=12)


@given(SPANS, st.integers(1, 4))
def test_a_stall_is_when_enough_absences_overlap(absences, tasks):
    found = stalls(absences, tasks)
    for moment in np.arange(0.5, 30.0):
        overlap = sum(off <= moment < on for off, on in absences)
        assert any(begin <= moment < end for begin, end in found) == (overlap >= tasks)
    assert all(one[1] < other[0] for one, other in itertools.pairwise(found))


@given(SPANS)
def test_the_union_of_spans_covers_what_they_cover(spans):
    whole = merged(spans)
    covered = sum(any(begin <= moment < end for begin, end in spans) for moment in np.arange(0.5, 30.0))
    assert seconds(whole) == covered


def test_a_task_that_starts_elsewhere_before_it_is_killed_is_never_absent():
    timing = Timing(supervisor_cycle=0.0, worker_cycle=0.0, start=1.0, kill_delay=2.0)
    (change,) = migrations(5.0, {"t/c/0": Slot("a", 1)}, {"t/c/0": Slot("b", 1)}, timing, random.Random(0))
    assert (change.off, change.on, change.absent) == (7.0, 6.0, 0.0)


def test_workers_of_one_node_learn_within_a_worker_cycle_of_each_other():
    before = {f"t/c/{n}": Slot("a", n) for n in range(8)}
    after = {f"t/c/{n}": Slot("b", n) for n in range(8)}
    made = migrations(0.0, before, after, Timing(kill_delay=0.0), random.Random(3))
    off, on = [each.off for each in made], [each.on for each in made]
    assert max(off) - min(off) <= 3.0
    assert max(on) - min(on) <= 3.0
    assert 0 <= min(off) <= max(off) <= 13.0


def test_a_worker_that_changes_restarts_whole():
    before = {"t/c/0": Slot("a", 1), "t/c/1": Slot("a", 1), "t/c/2": Slot("b", 1), "t/c/3": Slot("c", 1)}
    after = before | {"t/c/0": Slot("b", 1)}
    made = {each.task: each for each in migrations(0.0, before, after, Timing(style="worker"), random.Random(0))}
    assert made.keys() == {"t/c/0", "t/c/1", "t/c/2"}
    assert made["t/c/1"].absent == made["t/c/2"].absent == 14.0


def test_a_task_that_moves_to_a_seat_is_absent_for_the_measured_pause_and_nothing_else_is():
    before = {"t/c/0": Slot("a", 1), "t/c/1": Slot("a", 1), "t/c/2": Slot("b", 1)}
    timing = Timing(style="seats")
    (made,) = migrations(5.0, before, before | {"t/c/0": Slot("b", 1)}, timing, random.Random(0))
    assert (made.task, made.off, made.on) == ("t/c/0", 5.0, 5.0 + timing.seat)
    assert slow_spans([], [made.on], timing) == ()


def test_a_task_that_runs_nowhere_starts_as_any_where_others_move_to_seats():
    (made,) = migrations(0.0, {}, {"t/c/0": Slot("b", 1)}, Timing(style="seats"), random.Random(0))
    assert made.on >= Timing().start


def many():
    """36 executors on 8 workers of 2 nodes, as in the experiment of N-Storm, without a load that matters."""
    made = request(
        [node("a", 10_000.0, slots=4), node("b", 10_000.0, slots=4)],
        [topology("t", component("c", 36, 1.0, rate=36.0, kind=Kind.SPOUT))],
    )
    slots = [Slot(name, 6700 + port) for port in range(4) for name in "ab"]
    running = FrozenMap({f"t/c/{number}": slots[number % 8] for number in range(36)})
    return attrs.evolve(made, assignment=running), slots


@pytest.mark.parametrize("name", ["c", "b/c"])
def test_a_rebalance_stops_all_tasks_of_the_topologies_that_change_whatever_their_names(name):
    before = {f"{topology}/{part}/0": Slot("a", 6700) for topology in "tu" for part in (name, "d")}
    after = {**before, f"t/{name}/0": Slot("b", 6700)}
    found = migrations(0.0, before, after, Timing(style="rebalance"), random.Random(0))
    assert {each.task for each in found} == {f"t/{name}/0", "t/d/0"}


@settings(max_examples=20)
@given(st.integers(0, 50), st.sampled_from([0.0, 2.0]))
def test_the_world_stalls_when_the_migration_model_says_so(seed, delay):
    made, slots = many()
    timing = Timing(kill_delay=delay)
    asked = {**made.assignment, **{f"t/c/{n}": slots[(n + 3) % 8] for n in range(16)}}
    world = World(made, timing=timing, seed=seed)
    dice = random.Random(f"headworks-sim {seed}")
    expected = migrations(0.0, dict(made.assignment), asked, timing, dice)
    still = stalls([(each.off, each.on) for each in expected], timing.stall_tasks)
    slow = slow_spans(still, [max(each.on for each in expected)], timing)
    world.assign(asked)
    world.advance(60.0)
    assert sum(span.length for span in world.spans if span.throughput[0] == 0) == pytest.approx(seconds(still))
    low = [span for span in world.spans if span.throughput[0] < 0.4 * 36]
    assert sum(span.length for span in low) == pytest.approx(seconds(merged([*still, *slow])))

"""The packing rule, and that everybody follows it: what a room takes, a plan takes."""

from __future__ import annotations

import attrs
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from headworks.model import Limits, Status
from headworks.plugins.host import PluginHost
from headworks.problem import Problem
from headworks.problem.arrays import workers as module
from headworks.problem.arrays.workers import Workers, pack
from headworks.problem.plan.check import check_plan
from small_requests import component, node, request, topology
from tiers import THOROUGH
from tight_heaps import six_heaps, tight_heaps

HEAPS = st.lists(st.integers(0, 12).map(float), max_size=7)


def fewest(heaps, limit, held):
    """Workers of the best packing, by trying every worker for every heap; one of its own for each above the limit."""
    if not heaps:
        return len(held)
    heap, rest = heaps[0], heaps[1:]
    ways = [fewest(rest, limit, [*held, heap])]
    for at, used in enumerate(held):
        if used + heap <= limit:
            ways.append(fewest(rest, limit, [*held[:at], used + heap, *held[at + 1 :]]))
    return min(ways)


@settings(max_examples=300)
@given(HEAPS, st.sampled_from([10.0, 10.5, 7.0, float("inf")]), st.lists(st.integers(0, 12).map(float), max_size=2))
def test_no_packing_has_fewer_workers(heaps, limit, held):
    heaps = sorted(heaps, reverse=True)
    found = pack(heaps, limit, held)
    assert found.proven
    assert len(found.used) == fewest(heaps, limit, held)
    used = [*held, *[0.0] * (len(found.used) - len(held))]
    for heap, worker in zip(heaps, found.worker_of, strict=True):
        assert used[worker] + heap <= limit or (used[worker] == 0.0 and heap > limit)
        used[worker] += heap
    assert tuple(used) == found.used


def test_first_fit_decreasing_is_not_the_last_word():
    assert len(pack([4.0, 4.0, 3.0, 3.0, 3.0, 3.0], 10.0).used) == 2


def test_a_search_that_is_cut_short_says_so(monkeypatch):
    heaps = [4.0, 4.0, 3.0, 3.0, 3.0, 3.0]
    monkeypatch.setattr(module, "EFFORT", -len(heaps))
    short = pack(heaps, 10.0)
    assert (len(short.used), short.proven) == (3, False)


def filled(problem, data, *, removals):
    """A room into which tasks came, and which some left again, wherever it said yes."""
    room = problem.room()
    free = np.flatnonzero(problem.fixed < 0).tolist()
    for task in data.draw(st.permutations(free)):
        fits = room.fits(task)
        assert fits.tolist() == [room.fits_on(task, node) for node in range(problem.m)]
        if fits.any():
            room.place(task, data.draw(st.sampled_from(np.flatnonzero(fits).tolist())))
            assert (room.free_slots >= 0).all()
        placed = [each for each in free if room.node_of[each] >= 0]
        if removals and placed and data.draw(st.booleans()):
            room.remove(data.draw(st.sampled_from(placed)))
    return room


@pytest.mark.parametrize("effort", [None, -1000], ids=["searched", "not searched"])
def test_what_a_room_took_a_plan_takes(effort, monkeypatch):
    """Whatever came first, whatever left again, fixed tasks, running ones, and where nothing may move."""
    if effort is not None:
        monkeypatch.setattr(module, "EFFORT", effort)
    met = {"running": 0, "fixed": 0, "still": 0, "two workers": 0}

    @settings(max_examples=400, deadline=None)
    @given(st.integers(0, 10**6), st.data())
    def check(seed, data):
        problem = Problem.of(tight_heaps(seed))
        room = filled(problem, data, removals=effort is None)
        plan = problem.plan(room.node_of)
        assert check_plan(problem, plan) == ()
        # equal tasks keep their places: of each component as many are on a node as there were in the room
        taken = (problem.node_of(plan.assignment), room.node_of)
        found, placed = (sorted(zip(problem.component.tolist(), each.tolist(), strict=True)) for each in taken)
        assert found == placed
        assert (plan.status is Status.OK) == bool((room.node_of >= 0).all())
        used = {(problem.topology[problem.task_index[task]], slot) for task, slot in plan.assignment.items()}
        met["running"] += bool((problem.current >= 0).any())
        met["fixed"] += bool((problem.fixed >= 0).any())
        met["still"] += problem.request.limits.max_moves == 0
        met["two workers"] += len(used) > len({(topology, slot.node) for topology, slot in used})

    check()
    assert min(met.values()) > 40


@given(st.integers(0, 10**6), st.data())
@settings(deadline=None)
def test_workers_are_counted_for_who_is_there_not_for_how_they_came(seed, data):
    problem = Problem.of(tight_heaps(seed))
    room = filled(problem, data, removals=True)
    fresh = problem.room()
    for task in np.flatnonzero((room.node_of >= 0) & (problem.fixed < 0)).tolist():
        fresh.place(task, int(room.node_of[task]))
    assert room.free_slots.tolist() == fresh.free_slots.tolist()
    for at in range(problem.m):
        need, proven = Workers(problem).needed(np.flatnonzero(room.node_of == at).tolist())
        assert (need, proven) == (problem.slots[at] - room.free_slots[at], True)


@pytest.mark.parametrize("name", PluginHost.load().schedulers)
def test_every_scheduler_finds_the_two_workers_that_six_heaps_need(name):
    asked = attrs.evolve(six_heaps(), limits=Limits(deadline=120.0))  # whatever else the machine does
    plan = PluginHost.load([name]).schedule(name, asked)
    assert plan.status is Status.OK
    assert {reason.code for reason in plan.reasons} <= {"no-profiles"}
    assert len(set(plan.assignment.values())) == 2


@pytest.mark.parametrize("name", PluginHost.load().schedulers)
def test_no_scheduler_plans_more_workers_on_a_node_than_it_has_slots(name):
    host = PluginHost.load([name])
    for seed in range(200 if THOROUGH else 20 if name in {"optimal", "dstorm-plus"} else 60):
        reasons = host.schedule(name, tight_heaps(seed, tasks=20, nodes=2)).reasons
        assert not [each.message for each in reasons if "the workers planned on it" in each.message], seed


def test_two_fixed_tasks_hold_two_workers():
    """Each of the ports is held, though one worker had room for both: nothing else has a slot."""
    running = {"t/f/0": "n:6700", "t/f/1": "n:6701"}
    made = [topology("t", component("f", 2, 1.0, movable=False)), topology("u", component("c", 1, 1.0))]
    room = Problem.of(request([node("n", slots=2)], made, running)).room()
    assert room.free_slots.tolist() == [0]
    assert not room.fits(2).any()


def test_a_node_that_is_refused_without_a_search_to_the_end_is_refused_in_these_words(monkeypatch):
    problem = Problem.of(six_heaps())
    monkeypatch.setattr(module, "EFFORT", -1000)
    (reason,) = problem.plan([0] * 6).reasons
    assert (reason.code, reason.need, reason.have) == ("slots", 3, 2)
    assert "as far as was searched" in reason.message


@pytest.mark.parametrize(("heaps", "held", "least"), [
    ([], [], 0),
    ([0.0], [], 1),  # a task without heap has a worker too
    ([4.0, 3.0, 3.0], [], 1),
    ([4.0, 3.0, 3.0, 0.5], [], 2),
    ([2.0], [8.0], 1),
    ([5.0, 5.0], [8.0, 12.0], 3),  # 2 of 10 MB fit beside what is held; the fullest has no room to give
    ([9.0, 9.0, 9.0], [1.0], 3),
])  # fmt: skip
def test_below_the_sum_of_the_heaps_no_number_of_workers_is_tried(heaps, held, least):
    assert module._least([(heap, 1) for heap in heaps], 10.0, held) == least


def test_a_limit_between_two_steps_of_an_amount_is_kept_to_the_bit():
    parts = component("c", 3, 1.0, heap=0.1)
    room = Problem.of(request([node("n", slots=1)], [topology("t", parts, worker_heap=0.1 + 0.1)])).room()
    taken = [bool(room.fits(task)[0]) and not room.place(task, 0) for task in range(3)]
    assert taken == [True, True, False]


@pytest.mark.parametrize(
    ("heaps", "limit", "count"),
    [
        ([1024.0] * 20 + [512.0] * 82, 8000.0, 9),  # 15 times 512 a worker: what is left of 8000 holds nothing
        ([300.0] * 10, 1000.0, 4),  # three a worker, though 3,000 MB would be 3 workers
    ],
)
def test_a_lower_bound_proves_what_no_search_would_end_on(heaps, limit, count):
    packing = pack(heaps, limit)
    assert (len(packing.used), packing.proven) == (count, True)

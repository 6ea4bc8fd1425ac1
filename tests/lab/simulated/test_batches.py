from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from headworks_lab.simulated.batches import Allocation, work_off
from headworks_lab.simulated.usecase import UseCaseSetting, catch_up, event_rounds, starved_latency, tuple_time


def test_a_round_that_finds_its_topology_starved_waits_for_nodes():
    rounds = work_off([0, 10, 20], [Allocation(begin=15, nodes=2)], lambda nodes, waited: nodes + 2.0 * waited)
    assert [(each.arrived, each.begun, each.done) for each in rounds] == [(0, 15, 19), (10, 19, 23), (20, 23, 27)]
    assert all(each.waited for each in rounds)


def test_nodes_that_go_away_let_the_round_in_hand_finish():
    allocations = [Allocation(begin=0, nodes=1), Allocation(begin=5, nodes=0), Allocation(begin=50, nodes=1)]
    rounds = work_off([0, 1], allocations, lambda nodes, _: 10.0)
    assert [each.done for each in rounds] == [10.0, 60.0]


def test_without_nodes_nothing_is_done():
    assert work_off([0, 1], [], lambda nodes, _: 1.0) == ()


@given(st.lists(st.floats(0, 100), max_size=20).map(sorted), st.floats(0.5, 20))
def test_with_nodes_all_along_it_is_a_queue_with_fixed_service(arrivals, service):
    """Lindley's recursion: done_i = max(arrival_i, done_(i-1)) + service."""
    rounds = work_off(arrivals, [Allocation(begin=0, nodes=1)], lambda *_: service)
    done, closed = 0.0, []
    for arrival in arrivals:
        done = max(arrival, done) + service
        closed.append(done)
    assert [each.done for each in rounds] == pytest.approx(closed)


@pytest.mark.parametrize("events", [0.2, 0.5, 0.8])
def test_starved_rounds_take_what_the_closed_form_says(events):
    setting = UseCaseSetting(service=0.1, events=events)
    n, b = setting.triggered, catch_up() * 0.1
    assert starved_latency(setting) == pytest.approx((n + 1) / 2 * (setting.gap + b) / setting.length)


def test_five_and_six_nodes_are_the_same_to_eight_workers():
    assert tuple_time(0.2, 5) == tuple_time(0.2, 6) > tuple_time(0.2, 8)
    rounds = event_rounds("DPS", UseCaseSetting(events=0.2))
    assert [each.latency for each in rounds[:16]] == pytest.approx([80 * tuple_time(0.2, 8)] * 16)
    assert rounds[16].latency > rounds[15].latency

"""Nodes that change hands by triggers, and faults in the middle: what went into Kafka came out, each tuple once."""

from __future__ import annotations

import random
import time

import pytest

from headworks_manager.database.connection import opened
from headworks_manager.database.store import Store
from storm_changes import Changes

pytestmark = [
    pytest.mark.storm,
    pytest.mark.slow,
    pytest.mark.network,
    pytest.mark.matrix,  # test_rescheduling.py counts what spouts sent; the benchmark makes series
    pytest.mark.timeout(3600),
]


def histories_are_whole(site):
    """Each row of the history begins where the one before it ended."""
    with opened(str(site.keeper.database)) as engine:
        state = {}
        for each in Store(engine).history(limit=10**6)[::-1]:
            assert each.before == state.get(each.topology, {}), each
            state[each.topology] = each.after


@pytest.mark.parametrize("seats", [False, True])
def test_what_goes_into_kafka_comes_out_once_while_nodes_change_hands(java, tmp_path, seats):
    with Changes(tmp_path, seats=seats) as site:
        found = [site.change() for _ in range(2)]
        histories_are_whole(site)
    assert all(each.whole for each in found), found
    if seats:
        assert {(each.steps, each.restarted) for each in found} == {((), 0)}


def test_a_manager_or_a_broker_that_is_killed_in_a_change_loses_nothing_and_leaves_nothing_paused(java, tmp_path):
    chance = random.Random(2018)

    def kill():
        time.sleep(chance.uniform(0, 20))
        site.kill()
        site.serve()

    def broker():
        time.sleep(chance.uniform(0, 20))
        site.broker.kill()
        time.sleep(3)
        site.broker.restart()

    with Changes(tmp_path, seats=False) as site:
        found = [site.change(fault) for fault in (kill, broker, kill)]
        histories_are_whole(site)
    assert all(each.whole for each in found), found

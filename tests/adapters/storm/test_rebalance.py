"""A topology that Nimbus is asked to change, and to end; after the tests of a topology that stays as it is."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

import pytest

from headworks.errors import EngineError
from headworks_storm.commands.carry_out import cut_by_nimbus
from storm_words import alive, eventually

if TYPE_CHECKING:
    from headworks_storm.local.cluster import LocalStorm

pytestmark = [pytest.mark.storm, pytest.mark.slow, pytest.mark.network, pytest.mark.xdist_group("storm")]


def test_rebalance_changes_workers_and_executors_and_a_killed_topology_leaves(cluster: LocalStorm, words: str) -> None:
    tasks = sum(
        each.end - each.start + 1 for each in cluster.gateway.topology(words).executors if each.component == "count"
    )
    assert cut_by_nimbus(cluster.gateway, words, {"count": tasks}, None) == []
    assert cut_by_nimbus(cluster.gateway, words, {"count": 50}, None) == [
        f"count has {tasks} tasks, and so {tasks} executors, not 50"
    ]
    with pytest.raises(EngineError, match="has no component 'counts'"):
        cut_by_nimbus(cluster.gateway, words, {"counts": 2}, None)
    cluster.gateway.rebalance(words, wait=0, workers=2, executors={"count": 2})

    def done() -> bool:
        slots = cluster.gateway.assignment(words).slots
        return len(set(slots.values())) == 2 and cluster.gateway.topology(words).status == "ACTIVE"

    eventually(done)
    assert Counter(each.component for each in alive(cluster, words).executors)["count"] == 2
    cluster.gateway.kill(words, wait=0)
    eventually(lambda: not cluster.gateway.cluster().topologies)
    eventually(lambda: not cluster.workers())

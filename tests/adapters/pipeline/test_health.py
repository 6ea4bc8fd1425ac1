"""Health of nodes: each state for its reason, with the numbers."""

from __future__ import annotations

import numpy as np
import pytest

from headworks_pipeline.learning.health import NodeRecord, health

NAN = float("nan")


def judged(minutes=range(60), cpu=100.0, **more):
    there = np.array(list(minutes), dtype=np.int64)
    return health(NodeRecord(node="a", minutes=there, cpu=np.full(len(there), cpu), **more), 0, 59)


def test_a_node_that_does_its_work_is_healthy():
    found = judged(capacity=400.0, used=100.0, predicted=100.0, samples=50)
    assert (found.state, found.reasons, found.seen, found.cpu, found.slowness) == ("healthy", (), 1.0, 100.0, 1.0)


@pytest.mark.parametrize(
    ("more", "state", "reason"),
    [
        ({"minutes": range(50)}, "silent", "no report in the last 10 minutes"),
        ({"cpu": 399.0, "capacity": 400.0}, "overloaded", "399 of 400 CPU points"),
        ({"used": 150.0, "predicted": 100.0, "samples": 10}, "slow", "1.50 times the CPU"),
        ({"minutes": range(0, 60, 2)}, "gaps", "seen in 50% of the minutes"),
    ],
)
def test_each_state_has_its_reason(more, state, reason):
    found = judged(**more)
    assert (found.state, len(found.reasons)) == (state, 1)
    assert reason in found.reasons[0]


def test_few_windows_call_no_node_slow():
    assert judged(used=900.0, predicted=100.0, samples=9).slowness is None


def test_a_node_without_figures_is_only_seen():
    found = judged(cpu=NAN, capacity=400.0)
    assert (found.cpu, found.cpu_p95, found.state) == (None, None, "healthy")

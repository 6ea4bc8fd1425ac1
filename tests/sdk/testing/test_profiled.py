from __future__ import annotations

import random

import pytest

from headworks.model import Kind
from headworks.model.validate import check_request
from headworks.testing.instances.build import SeededDice
from headworks.testing.instances.profiled import MACHINES, PARTS, build_profiled


def drawn(seed):
    return build_profiled(SeededDice(random.Random(seed)))


REQUESTS = [drawn(seed) for seed in range(200)]


def test_every_request_is_valid_and_within_its_bounds():
    for request in REQUESTS:
        check_request(request)
        parts = {(each.topology, each.component) for each in request.profiles}
        assert MACHINES[0] <= len(request.cluster.nodes) <= MACHINES[1]
        assert PARTS[0] <= len(parts) <= PARTS[1]
        types = {node.machine_type for node in request.cluster.nodes}
        profiled = {(each.topology, each.component, each.machine_type) for each in request.profiles}
        assert all((*part, name) in profiled for part in parts for name in types)
        assert all(0 <= each.met <= 37 for each in request.profiles)
        assert all(each.e > 0 for each in request.profiles)


def test_a_seed_says_all():
    assert drawn(7) == drawn(7)
    assert drawn(7) != drawn(8)


@pytest.mark.parametrize(
    "odd",
    [
        lambda r: len(r.topologies) == 2,
        lambda r: any(node.capacity.memory for node in r.cluster.nodes),
        lambda r: all(len(node.slots) == 1 for node in r.cluster.nodes),
        lambda r: any(each.met > 30 for each in r.profiles),
        lambda r: all(each.met == 0 for each in r.profiles),
        lambda r: (
            not {(t.id, c.id) for t in r.topologies for c in t.components if c.kind is Kind.SPOUT}
            <= {(p.topology, p.component) for p in r.profiles}
        ),
        lambda r: any(each.fanout == "split" for t in r.topologies for each in t.streams),
    ],
)
def test_what_makes_throughput_hard_is_among_them(odd):
    assert sum(map(odd, REQUESTS)) >= 10

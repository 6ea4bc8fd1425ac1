"""Workers of a topology on its nodes: one by default, as many as it asks for where a scheduler says so."""

from __future__ import annotations

from collections import Counter

import attrs
import pytest

from headworks.model import Limits
from headworks.plugins.host import PluginHost
from small_requests import component, node, request, topology

HOST = PluginHost.load()
ALL_OF_THEM = {
    "sps": {}, "dps": {}, "sps-v2": {},
    "even": {"workers": "topology"}, "isolation": {"workers": "topology"}, "otd": {"workers": "slots"},
}  # fmt: skip
BRIEF = {"optimal": {"effort": 0.05}}
BY_DEFAULT = sorted({*HOST.schedulers} - {"sps", "dps", "sps-v2"})


def asked():
    """A topology of 8 workers and 32 executors on 6 nodes with 4 slots each."""
    parts = [component(name, 8) for name in ("bolt1", "bolt2", "bolt3", "spout")]
    nodes = [node(f"n{number}", cpu=6400.0, slots=4) for number in range(6)]
    return request(nodes, [topology("t", *parts, workers=8, desired_nodes=6)])


@pytest.mark.parametrize("name", ALL_OF_THEM)
def test_eight_workers_on_six_nodes_are_two_two_one_one_one_one_of_four_executors_each(name):
    slots = Counter(HOST.schedule(name, asked(), ALL_OF_THEM[name]).assignment.values())
    assert sorted(Counter(slot.node for slot in slots).values()) == [1, 1, 1, 1, 2, 2]
    assert set(slots.values()) == {4}


@pytest.mark.parametrize("name", BY_DEFAULT)
def test_by_default_a_topology_has_one_worker_on_each_of_its_nodes(name):
    patient = attrs.evolve(asked(), limits=Limits(deadline=60.0))  # with less, a busy machine may hold the plan
    plan = HOST.schedule(name, patient, BRIEF.get(name))
    slots = set(plan.assignment.values())
    assert len(plan.assignment) == 32
    assert len({slot.node for slot in slots}) == len(slots)

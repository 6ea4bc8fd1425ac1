"""Schedulers that offer a plan and never answer: a real Nimbus stores what was offered."""

from __future__ import annotations

from functools import partial

import attrs
import pytest

from headworks_storm.nimbus.bridge import Endpoint
from plugin_folder import install
from shell import running
from storm_cluster import SMALL, running_cluster, wait_for, word_count

pytestmark = [pytest.mark.storm, pytest.mark.slow, pytest.mark.network, pytest.mark.matrix]

OFFERS = """
import time
from headworks.hooks import Description, hookimpl
from headworks.toolbox.cancel import offer

class Plugin:
    @hookimpl
    def headworks_describe(self):
        return Description(summary="offers all on one node, and searches for ever")

    @hookimpl
    def headworks_schedule(self, problem):
        new = [task for task, at in enumerate(problem.fixed) if at < 0]
        for node in reversed(range(problem.m)):
            room = problem.room()
            if all(room.place_if_fits(task, node) for task in new):
                break
        plan = problem.plan(room.node_of)
        while True:
            offer(plan)
            {pause}

plugin = Plugin()
"""
SMALL_TASKS = {"topology.component.resources.onheap.memory.mb": 32.0}
LARGE = tuple(attrs.evolve(each, cpu=900.0, slots=5) for each in SMALL)
"""All tasks of a topology fit on one, and into one worker."""


@pytest.fixture(scope="module")
def cluster(java, tmp_path_factory):
    """Its Nimbus asks every six seconds: by then there is a process in the place of one that did not answer."""
    conf = {"nimbus.monitor.freq.secs": 6, "headworks.timeout.ms": 5000}
    with running_cluster(tmp_path_factory.mktemp("offers"), conf=conf, supervisors=LARGE) as made:
        yield made


@pytest.mark.parametrize(("name", "pause"), [("once", "time.sleep(3600)"), ("always", "pass")])
def test_nimbus_stores_what_was_offered_round_after_round(cluster, tmp_path, name, pause):
    """On one node: Storm's own scheduler would take all three."""
    install(tmp_path, "offering", {name: OFFERS.format(pause=pause)})
    before, old = cluster.settled(), Endpoint.read(cluster.endpoint)
    gateway = cluster.storm.gateway
    with running("serve", "storm", "-s", name, "--endpoint", cluster.endpoint, folder=tmp_path, PYTHONPATH=tmp_path):
        wait_for("an endpoint of its own", lambda: Endpoint.read(cluster.endpoint) not in (old, None))
        for topology in (f"{name}-1", f"{name}-2"):
            word_count(cluster.storm, name=topology, conf=SMALL_TASKS)
            slots = wait_for("what was offered", partial(stored, gateway, topology))
            assert len({node for node, _ in slots.values()}) == 1
            assert len(slots) == len(gateway.topology(topology).executors) == len(before.slots)
    assert cluster.stored() == before.slots


def stored(gateway, topology):
    return gateway.assignment(topology).slots

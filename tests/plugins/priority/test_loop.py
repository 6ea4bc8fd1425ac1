"""DPS under the control loop: a trigger comes on and goes off while everything runs."""

from __future__ import annotations

import attrs

from headworks.control.guards import Guards
from headworks.control.loop import Control, Loop
from headworks.model import Observation
from headworks.plugins.host import PluginHost
from headworks_priority.plugin import dps
from headworks_priority.workloads import USE_CASE_1, use_case
from memory_engine import Engine, Machine

OFF, ON = use_case(USE_CASE_1, 16, ()), use_case(USE_CASE_1, 16, ("EventTP1", "EventTP2"))


def nodes(machine):
    found = {name: set() for name in USE_CASE_1}
    for task, slot in machine.seen.assignment.items():
        found[task.partition("/")[0]].add(slot.node)
    return [len(found[name]) for name in USE_CASE_1]


def test_the_loop_starves_and_restores_by_priority_and_rests_in_between():
    machine = Machine(Observation(cluster=OFF.cluster, topologies=OFF.topologies))
    host = PluginHost().with_plugin("memory", Engine()).with_plugin("dps", dps)
    loop = Loop(host, Control(scheduler="dps", engine="memory", guards=Guards(cooldown=0.0)), machine)
    outcomes, allocated = [], []
    for topologies in (OFF.topologies, OFF.topologies, ON.topologies, ON.topologies, OFF.topologies):
        machine.seen = attrs.evolve(machine.seen, topologies=topologies)
        outcomes.append(loop.round().outcome)
        allocated.append(nodes(machine))
    assert outcomes == ["executed", "unchanged", "executed", "unchanged", "executed"]
    assert allocated == [[5, 5, 3, 3], [5, 5, 3, 3], [8, 8, 0, 0], [8, 8, 0, 0], [5, 5, 3, 3]]

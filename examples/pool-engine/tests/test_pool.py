"""The engine keeps the contract, and the state of a task moves with it."""

from __future__ import annotations

import subprocess
import sys
import time

import psutil
import pytest
from headworks_pool.processes import Processes

from headworks import PluginHost
from headworks.model import Slot
from headworks.testing import EngineContract, EngineTrial


class TestPool(EngineContract):
    """Every rule of the contract."""

    @pytest.fixture
    def engine_trial(self) -> EngineTrial:
        """The name of the entry point, and what runs."""
        return EngineTrial(engine="pool", application=("3",), window=0.5)


def test_the_state_of_a_task_moves_with_it() -> None:
    engine = Processes(2)
    try:
        assert engine.move("sums/total/0", Slot("n0", 0)) == ""
        for number in range(10):
            engine.hear({"from": "sums/double/0", "to": "sums/total/0", "number": number})
        assert engine.move("sums/total/0", Slot("n1", 0)) == ""
        assert engine.state["sums/total/0"] == 45
        assert "no node" in engine.move("sums/total/0", Slot("n7", 0))
    finally:
        engine.end()


def test_each_node_is_a_process() -> None:
    host = PluginHost.load()
    with host.open("pool", ("2",), None) as target:
        seen = host.observe("pool", target, 0.1)
        assert len(seen.cluster.nodes) == 2
        assert len({worker.pid for worker in target.workers.values()}) == 2


PROGRAM = """
import time
from headworks_pool.processes import Processes

print(*(worker.pid for worker in Processes(2).workers.values()), flush=True)
time.sleep(600)
"""


def test_workers_end_with_a_parent_that_is_killed() -> None:
    with subprocess.Popen([sys.executable, "-c", PROGRAM], stdout=subprocess.PIPE, text=True) as parent:
        assert parent.stdout is not None
        workers = [psutil.Process(int(pid)) for pid in parent.stdout.readline().split()]
        parent.kill()
    assert len(workers) == 2
    end = time.monotonic() + 60
    while any(each.is_running() and each.status() != psutil.STATUS_ZOMBIE for each in workers):
        assert time.monotonic() < end
        time.sleep(0.1)

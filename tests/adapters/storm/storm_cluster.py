"""A real Storm cluster with a topology at work, for tests: what runs where, and what became of it."""

from __future__ import annotations

import contextlib
import operator
import os
import time
from pathlib import Path

import attrs

from headworks.errors import EngineError
from headworks.plugins.host import PluginHost
from headworks_storm.install.submit import submit_description
from headworks_storm.local.cluster import SupervisorSpec
from headworks_storm.release.artefacts import STORM
from headworks_storm.release.jar import own_jars
from headworks_storm.service import SCHEDULER, ServiceSettings, serve
from headworks_storm.workload.catalogue import ROLES, workloads
from headworks_storm.workload.describe import Load, describe
from patience import PATIENCE
from storm_breakable import BreakableStorm

SMALL = tuple(SupervisorSpec(host=f"127.0.0.{last}", cpu=300.0, memory_mb=2048.0, slots=3) for last in (21, 22, 23))
RELEASE = os.environ.get("HEADWORKS_TEST_STORM") or STORM
"""The release of Storm to test with."""
NIMBUSES = ("nimbus", "standby")


def wait_for(what, condition, seconds=PATIENCE):
    """What `condition` returns once that is true; fails with `what` after so many seconds."""
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline:
        with contextlib.suppress(LookupError):
            if found := condition():
                return found
        time.sleep(0.2)
    raise AssertionError(f"{what}: not within {seconds:.0f} s")


@attrs.frozen(kw_only=True)
class State:
    """What must not change without cause: the Nimbus processes, the stored assignment, the worker processes."""

    nimbus: frozenset
    slots: dict
    workers: frozenset


class Cluster:
    """A cluster whose Nimbus asks Headworks at `endpoint`, and the topology `name` on it."""

    def __init__(self, storm, endpoint, name):
        self.storm, self.endpoint, self.name = storm, endpoint, name

    def ask_headworks(self):
        """Start a Nimbus anew that a test left with another scheduler."""
        if self.storm.conf_of("nimbus").pop("storm.scheduler", None):
            self.storm.kill_nimbus()
            self.storm.start_nimbus()
            self.settled()

    def stored(self):
        return self.storm.gateway.assignment(self.name).slots

    def state(self):
        workers = frozenset((each.pid, each.port) for each in self.storm.workers() if self._serves(each))
        nimbus = frozenset(each.pid for each in self.storm.daemons if each.name in NIMBUSES and each.alive)
        return State(nimbus=nimbus, slots=self.stored(), workers=workers)

    def _serves(self, worker):
        return worker.pid and worker.topology.startswith(f"{self.name}-")

    def status(self):
        """What the scheduler says of the topology, as Nimbus shows it."""
        return self.storm.gateway.topology(self.name).scheduling

    def log(self):
        """All that the first Nimbus logged."""
        return (self.storm.home.parent / "nimbus.log").read_text(errors="replace")

    def story(self):
        """What Nimbus did about assignments, for a test that failed."""
        lines = self.log().splitlines()
        words = ("Headworks", "ssign", "alive", "STATUS")
        return "\n".join(line[:400] for line in lines if any(word in line for word in words))[-6000:]

    def settled(self):
        """The state once every executor is stored, and reported again by its worker while nothing changed.

        What an executor reported last outlives its worker, so one report says nothing. And while a worker starts it
        must not be disturbed: if it dies, Nimbus does not miss it before `nimbus.task.launch.secs` are over. And a
        supervisor that halts itself is started again, as on a real cluster: nobody else tells Nimbus of its workers.
        """
        earlier = None

        def look():
            nonlocal earlier
            with contextlib.suppress(EngineError):  # it may halt once more while it starts
                self.storm.restart_halted()
            state = self.state()
            uptimes = [each.uptime for each in self.storm.gateway.topology(self.name).executors]
            ports = {port for _, port in state.slots.values()}
            whole = 0 < len(uptimes) == len(state.slots) and ports <= {port for _, port in state.workers}
            if whole and earlier and state == earlier[0] and all(map(operator.gt, uptimes, earlier[1])):
                return state
            again = not earlier or state != earlier[0] or any(map(operator.lt, uptimes, earlier[1]))
            earlier = ((state, uptimes) if again else earlier) if whole else None
            return None

        return wait_for("executors placed, and reported by their workers", look)

    def serve(self, scheduler="resource-aware", **more):
        return serve(PluginHost.load(), scheduler, {}, ServiceSettings(endpoint=self.endpoint), **more)


def word_count(storm, *, name="word-count", rate=0.05, conf=None):
    """Submit a small word count: few tuples, little CPU."""
    topology = next(each for each in workloads() if each.name == "word-count").build().topologies[0]
    text = Path(__file__).parents[3].joinpath("LICENSE").read_text()
    described = describe(topology, roles=ROLES["word-count"], load=Load(cpu=0.1, rate=rate), text=text, conf=conf)
    submit_description({**described, "name": name}, storm.client_conf, version=storm.version)


@contextlib.contextmanager
def running_cluster(folder, *, conf=None, topology_conf=None, supervisors=SMALL, version=RELEASE):
    """A cluster with a word count that `even` spread over its nodes; nobody answers Nimbus any more."""
    endpoint = Path(folder, "endpoint.json")
    asked = {
        **SCHEDULER,
        "headworks.endpoint": str(endpoint),
        "headworks.timeout.ms": 2000,
        "executor.metrics.frequency.secs": 1,
        # As long as Storm has them: on a busy machine a worker is silent for a while, and starts slowly.
        "nimbus.task.timeout.secs": 30,
        "nimbus.task.launch.secs": 180,
        **(conf or {}),
    }
    with BreakableStorm(
        supervisors, conf=asked, extlib=(own_jars().bridge,), version=version, timeout=PATIENCE
    ) as storm:
        cluster = Cluster(storm, endpoint, "word-count")
        with cluster.serve("even"):
            word_count(storm, conf=topology_conf)
            cluster.settled()
        yield cluster

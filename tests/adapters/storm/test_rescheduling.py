"""Nodes that change hands by triggers on a real cluster: what spouts emitted is what sinks wrote, each tuple once."""

from __future__ import annotations

import contextlib
import json
import os
import random
import signal
import time
from collections import Counter

import pytest

from headworks_local.private_files import read_or_make_secret
from headworks_storm.local.cluster import SupervisorSpec
from headworks_storm.release.jar import own_jars
from headworks_storm.service import HOOKS, SCHEDULER
from patience import PATIENCE
from shell import HEADWORKS, headworks, running
from storm_breakable import BreakableStorm
from storm_cluster import RELEASE, wait_for
from storm_tally import Tally

pytestmark = [pytest.mark.storm, pytest.mark.slow, pytest.mark.network, pytest.mark.xdist_group("storm-manager")]

THREE = tuple(SupervisorSpec(host=f"127.0.0.{last}", cpu=400.0, memory_mb=2048.0, slots=3) for last in (41, 42, 43))
NAMES = ("event", "archive")
CONF = {"event": {}, "archive": {"topology.acker.executors": 0, "durable.held.seconds": 15}}
"""Tuples of the first are acknowledged; of the second nobody knows but sinks: one tells what it holds, one counts quiet
ticks. They hold it for so long that the topology seems empty before."""
RATE = 20.0
"""Tuples per second of each of two spouts: sinks hold 120 of them at a time."""
KILLS = int(os.environ.get("HEADWORKS_TEST_KILLS", "3"))
"""Managers that are killed at random moments."""

TO_FILES = ("sh", "-c", 'exec "$@" >>stdout 2>>stderr', "sh")
"""Runs a program whose words can be read after its end, also by a test that reads nothing meanwhile."""


class Site:
    """A cluster, the manager's database, and the process that serves both."""

    def __init__(self, storm, folder, port):
        self.storm, self.folder, self.port = storm, folder, port
        self.database = folder / "manager.sqlite"
        self.tally = Tally(storm, folder)
        self.stack, self.process = contextlib.ExitStack(), None

    def serve(self, *options):
        words = ("--endpoint", self.folder / "endpoint.json", "--token", self.folder / "token")
        words += ("--collector", f"127.0.0.1:{self.port}", "--home", self.storm.home)
        words += ("--journal", self.folder / "journal", "--priorities", f"manager:{self.database}")
        pace = ("--window", "1", "--interval", "0", "--cooldown", "0")
        words = ("serve", "storm", "-s", "dps", *words, *pace, *options)
        serving = running(*map(str, words), folder=self.folder, program=(*TO_FILES, HEADWORKS))
        self.process, _ = self.stack.enter_context(serving)

    def kill(self):
        """Kill the process that serves, as an operator's machine may."""
        os.kill(self.process.pid, signal.SIGKILL)
        self.process.wait(PATIENCE)

    def priority(self, *words):
        done = headworks("priority", *words, "--database", self.database, "--json")
        assert done.returncode in (0, 1), done.stderr
        return json.loads(done.stdout)

    def note(self, *figures):
        """Write figures down for people, beside the database."""
        with (self.folder / "figures").open("a") as file:
            file.write(f"{figures}\n")

    def steps(self, name):
        """Outcomes of the steps of all reschedulings of a topology, the oldest first."""
        return [each["verdict"] for each in self.history(name)]

    def history(self, name):
        found = self.priority("history", name, "--last", "10000")
        return [each for each in found[::-1] if each["action"] == "reschedule"]

    def nodes(self, name):
        return {node for node, _ in self.storm.gateway.assignment(name).slots.values()}

    def holds(self, event, archive):
        return (len(self.nodes("event")), len(self.nodes("archive"))) == (event, archive)

    def until(self, what, condition):
        """Wait for a condition; what fails tells the last rounds, steps and words of the process that serves."""
        try:
            return wait_for(what, condition)
        except AssertionError as error:
            self.stack.close()
            rounds = [json.loads(line) for line in (self.folder / "journal").read_text().splitlines()[-20:]]
            told = [f"{each['number']} {each['outcome']}: {each['message']} {each['notes']}" for each in rounds]
            steps = [f"{each['at']} {each['verdict']}: {each['why']}" for each in self.history("event")[-20:]]
            said = [(self.folder / name).read_text()[-2000:] for name in ("stdout", "stderr")]
            raise AssertionError("\n".join([str(error), f"exit {self.process.poll()}", *told, *steps, *said])) from None

    def active(self):
        return {each.name: each.status for each in self.storm.gateway.cluster().topologies}

    def check(self):
        """Let everything come to its end: what went in has come out, each tuple once."""
        for name in NAMES:
            self.storm.gateway.deactivate(name)
        for name in NAMES:
            wait_for(f"the tuples of {name}", lambda name=name: self.came(name))
            assert Counter(self.tally.lines(name, "written")) == Counter(self.tally.lines(name, "sent"))
            self.storm.gateway.activate(name)

    def came(self, name):
        sent = self.tally.lines(name, "sent")
        time.sleep(1.0)  # whatever came twice, or is still being sent, shows in the meantime
        return len(self.tally.lines(name, "written")) >= len(sent) == len(self.tally.lines(name, "sent"))


@pytest.fixture(scope="module")
def site(java, ports, tmp_path_factory):
    folder = tmp_path_factory.mktemp("manager")
    (port,) = ports.take()
    read_or_make_secret(folder / "token")
    conf = {
        **SCHEDULER,
        **HOOKS,
        "headworks.endpoint": str(folder / "endpoint.json"),
        "headworks.timeout.ms": 5000,
        "headworks.collector": f"127.0.0.1:{port}",
        "headworks.collector.token.file": str(folder / "token"),
        "headworks.monitor.seconds": 1,
        "task.refresh.poll.secs": 10,  # as Storm has it: so long a worker that stays may send to former places
        "nimbus.task.launch.secs": 180,
        "storm.messaging.netty.max_wait_ms": 200,
    }
    with BreakableStorm(THREE, conf=conf, extlib=(own_jars().bridge,), version=RELEASE, timeout=PATIENCE) as storm:
        made = Site(storm, folder, port)
        for name, level in zip(NAMES, ("5", "3"), strict=True):
            made.priority("set", name, "--priority", level, "--desired", "2", "--minimum", "1", "--hold", "0")
        with made.stack:
            made.serve("--drain", "120")
            for name in NAMES:
                made.tally.submit_held(name, rate=RATE, **CONF[name])
            for name in NAMES:
                wait_for(f"tuples of {name}", lambda name=name: made.tally.lines(name, "written"))
            wait_for("nodes by priority", lambda: made.holds(1, 2))
            yield made


def change(site, state, event, archive):
    """Send a trigger; seconds until nodes are as it wants them and spouts emit again."""
    begin, before = time.time(), site.steps("event").count("activated")
    site.priority("trigger", state, "event")
    site.until(f"nodes after trigger {state}", lambda: site.holds(event, archive))
    site.until("spouts that emit", lambda: set(site.active().values()) == {"ACTIVE"})
    site.until("the end in the history", lambda: site.steps("event").count("activated") > before)
    return time.time() - begin


@pytest.mark.timeout(1800)
def test_triggers_move_nodes_and_every_tuple_that_went_in_comes_out_once(site):
    seconds = [change(site, "on", 2, 1), change(site, "off", 1, 2)]
    site.check()
    assert site.steps("event")[-5:] == ["deactivated", "empty", "changed", "verified", "activated"]
    site.note("seconds", seconds, "tuples", [len(site.tally.lines(name, "sent")) for name in NAMES])


@pytest.mark.matrix  # tests/adapters/manager has it killed before and after each effect, on an engine that is a file
@pytest.mark.timeout(3600)
def test_a_manager_that_is_killed_at_any_moment_leaves_no_topology_paused_and_loses_no_tuple(site):
    chance, stages, state = random.Random(KILLS), [], "off"
    for _ in range(KILLS):
        state = "off" if state == "on" else "on"
        ended = len(site.steps("event"))
        site.priority("trigger", state, "event")
        site.until("a pause", lambda: "INACTIVE" in site.active().values())
        time.sleep(chance.uniform(0, 20))
        site.kill()
        stages.append(site.steps("event")[ended:])
        site.serve("--drain", "120")
        site.until("nodes by priority", lambda state=state: site.holds(*((2, 1) if state == "on" else (1, 2))))
        site.until("spouts that emit", lambda: set(site.active().values()) == {"ACTIVE"})
        site.until("the end in the history", lambda: site.steps("event")[-1] == "activated")
    site.check()
    site.note("steps before each kill", stages)


@pytest.mark.matrix  # test_reschedule.py has an engine that does not answer while topologies drain, and afterwards
@pytest.mark.timeout(3600)
def test_nimbus_that_restarts_in_the_middle_leaves_no_topology_paused_and_loses_no_tuple(site):
    """Killed once while topologies drain, and once at a random moment of the change after it."""
    chance, stages = random.Random(KILLS), []
    site.priority("trigger", "off", "event")
    site.until("the trigger's end", lambda: site.holds(1, 2) and set(site.active().values()) == {"ACTIVE"})
    for state, nodes, longest in (("on", (2, 1), 0), ("off", (1, 2), 20)):
        ended = len(site.steps("event"))
        site.priority("trigger", state, "event")
        site.until("a pause", lambda: "INACTIVE" in site.active().values())
        time.sleep(chance.uniform(0, longest))
        stages.append(site.steps("event")[ended:])
        site.storm.kill_nimbus()
        site.storm.start_nimbus()
        site.until("nodes by priority", lambda nodes=nodes: site.holds(*nodes))
        site.until("spouts that emit", lambda: set(site.active().values()) == {"ACTIVE"})
        site.until("the end in the history", lambda: site.steps("event")[-1] == "activated")
    site.check()
    site.note("steps before each restart of Nimbus", stages)


@pytest.mark.matrix  # tests/adapters/manager has it on the simulated engine, whose topologies have no node then
@pytest.mark.timeout(3600)
def test_a_topology_below_its_minimum_has_its_turn_though_storm_keeps_its_workers(site):
    site.priority("trigger", "off", "event")
    site.until("nodes by priority", lambda: site.holds(1, 2))
    site.priority("set", "event", "--minimum", "2", "--aging", "10")
    least = []

    def has_its_turn():
        least.append(len(site.nodes("event")))
        return site.holds(2, 1)

    site.until("its turn", has_its_turn)
    site.until("the end of its turn", lambda: site.holds(1, 2))
    site.priority("set", "event", "--minimum", "1", "--aging", "none")
    site.until("spouts that emit", lambda: set(site.active().values()) == {"ACTIVE"})
    words = [
        each["verdict"] for each in site.priority("history", "event", "--last", "10000") if each["action"] == "round"
    ]
    assert {"starves", "preferred", "runs", "equal"} <= {*words}
    assert min(least) == 1
    site.check()

"""Triggers that move nodes between topologies which copy from Kafka to Kafka on a real cluster, for tests."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import time
from datetime import datetime
from http.client import OK, HTTPConnection

import attrs

from headworks.errors import EngineError
from headworks_lab.priority.site.keeper import Keeper
from headworks_lab.priority.site.topologies import spout_jars
from headworks_lab.priority.steps import FIG_6
from headworks_local.kafka.broker import LocalKafka
from headworks_local.ports import Ports
from headworks_local.private_files import read_or_make_secret
from headworks_storm.local.cluster import LocalStorm, SupervisorSpec
from headworks_storm.release.jar import own_jars
from headworks_storm.seats.ledger import open_ledger
from headworks_storm.service import HOOKS, SCHEDULER
from patience import PATIENCE
from shell import HEADWORKS, running
from storm_cluster import RELEASE, wait_for
from storm_copies import Copies

NODES = tuple(SupervisorSpec(host=f"127.0.0.{last}", cpu=400.0, memory_mb=2048.0, slots=3) for last in (61, 62, 63))
NAMES = ("event", "archive")
RATE = 10.0
"""Tuples a second into each topology."""
HOLDS = {True: {"event": 2, "archive": 1}, False: {"event": 1, "archive": 2}}
"""Nodes of each topology while the trigger of the first is on, and while it is off."""
TASKS = 4
"""Tasks that move from seat to seat, of each topology."""
TO_FILES = ("sh", "-c", 'exec "$@" >>stdout 2>>stderr', "sh")
"""Runs a program whose words can be read after its end, also by a test that reads nothing meanwhile."""


@attrs.frozen(kw_only=True)
class Changed:
    """A change of nodes after a trigger.

    Attributes:
        seconds: From the trigger to the new allocation active.
        steps: What the history says of it, in order; of two topologies, each step once.
        tuples: Tuples that had gone in by then; `lost` and `twice`: those that had not come out, and came out again.
        inactive: Topologies that were left deactivated.
        restarted: Worker processes that ended.
    """

    seconds: float
    steps: tuple[str, ...]
    tuples: int
    lost: int
    twice: int
    inactive: int
    restarted: int

    @property
    def whole(self):
        """All that went in came out once, every step of Figure 6 is there, and nothing is left deactivated."""
        last = self.steps[-len(FIG_6) :]
        return (self.lost, self.twice, self.inactive, last) == (0, 0, 0, FIG_6 if self.steps else ())


class Changes:
    """A cluster, a broker, the manager for triggers, and the process that serves Nimbus and changes nodes."""

    def __init__(self, folder, *, seats):
        self.folder, self.seats, self.on = folder, seats, False
        self.stack, self.process = contextlib.ExitStack(), None
        self.keeper = self.broker = self.storm = self.copies = None
        self.ledgers = {}

    def __enter__(self):
        with contextlib.ExitStack() as stack:
            self.keeper = stack.enter_context(Keeper(self.folder))
            self.broker = stack.enter_context(LocalKafka(timeout=PATIENCE))
            self.copies = stack.enter_context(Copies(self.broker, NAMES, RATE))
            ports = Ports()
            (port,) = ports.take()
            ports.release()
            self.collector = f"127.0.0.1:{port}"
            own = own_jars()
            jars = (own.bridge, own.seats, *spout_jars())
            self.storm = stack.enter_context(
                LocalStorm(NODES, conf=self._conf(), extlib=jars, version=RELEASE, timeout=PATIENCE)
            )
            stack.enter_context(self.stack)
            self._submit()
            if self.seats:
                for name in NAMES:
                    ledger = open_ledger(self.storm.gateway, name)
                    self.ledgers[name] = stack.enter_context(ledger)
            wait_for("nodes by priority", self.settled)
            self.all = stack.pop_all()
        return self

    def __exit__(self, *error):
        return self.all.__exit__(*error)

    def _conf(self):
        read_or_make_secret(self.folder / "token")
        return {
            **SCHEDULER,
            **HOOKS,
            **({"nimbus.topology.validator": "headworks.storm.seats.Validator"} if self.seats else {}),
            "headworks.endpoint": str(self.folder / "endpoint.json"),
            "headworks.timeout.ms": 5000,
            "headworks.collector": self.collector,
            "headworks.collector.token.file": str(self.folder / "token"),
            "headworks.monitor.seconds": 1,
            "nimbus.monitor.freq.secs": 1,
            "nimbus.task.launch.secs": 600,
            "supervisor.worker.start.timeout.secs": 600,
            "storm.messaging.netty.max_wait_ms": 200,
        }

    def _submit(self):
        for name, level in zip(NAMES, (5, 3), strict=True):
            fields = {"priority": level, "desired_nodes": 2, "minimum_nodes": 1, "hold": 0}
            self.keeper.set(name, trigger_priority=0, **fields)
        self.serve()
        conf = {"topology.workers": 1, "topology.max.spout.pending": 20}
        if self.seats:
            # A worker has heap for all tasks: on one node they are all in one.
            seats = {"headworks.seats.movable": "pass=stateless", "headworks.seats.fit": len(NODES)}
            conf |= {"topology.workers": len(NODES), **seats}
        for name in NAMES:
            passing = TASKS if self.seats else 2
            self.copies.submit(self.storm, self.folder, name, passing=passing, conf=conf)
        self.copies.flowing.set()
        wait_for("tuples", lambda: all(self.copies.look()[f"{name}.out"] for name in NAMES))

    def serve(self):
        """Start the process that serves Nimbus."""
        words = ("--endpoint", self.folder / "endpoint.json", "--token", self.folder / "token")
        words += ("--collector", self.collector, "--home", self.storm.home, "--drain", "120")
        words += ("--priorities", f"manager:{self.keeper.database}", "--isolation", "thread")
        words += ("--journal", self.folder / "rounds.jsonl")
        words += ("--window", "0.1", "--interval", "0.1", "--cooldown", "0", "--give-up", "1000")
        words = ("serve", "storm", "-s", "dps", *words)
        serving = running(*map(str, words), folder=self.folder, program=(*TO_FILES, HEADWORKS))
        self.process, _ = self.stack.enter_context(serving)

    def kill(self):
        """Kill the process that serves, as an operator's machine may."""
        os.kill(self.process.pid, signal.SIGKILL)
        self.process.wait(PATIENCE)

    def trigger(self):
        """Send the trigger that is not in effect; its moment."""
        self.on = not self.on
        document = {"topology": NAMES[0], "on": self.on, "source": "changes", "sequence": time.time_ns() // 1000}
        head = {"Authorization": f"Bearer {self.keeper.token.read_text().strip()}"}
        address = self.keeper.url.removeprefix("http://")
        with contextlib.closing(HTTPConnection(address, timeout=PATIENCE)) as connection:
            moment = time.time()
            connection.request("POST", "/v1/triggers", json.dumps(document), head)
            assert connection.getresponse().status == OK
        return moment

    def steps(self, since=0.0):
        """Steps of reschedulings since a moment, with their moments; of several topologies one is one step."""
        rows = {row["number"]: row for name in NAMES for row in self.keeper.history(name)}
        own = (rows[number] for number in sorted(rows) if rows[number]["action"] == "reschedule")
        found = [(datetime.fromisoformat(each["at"]).timestamp(), each["verdict"]) for each in own]
        return [each for each in dict.fromkeys(found) if each[0] >= since]

    def nodes(self):
        """Nodes on which each topology has tasks that can move, by name; those with seats have a worker everywhere."""
        if self.seats:
            return {name: len(places) for name, places in self.lives().items()}
        return {name: len({node for node, _ in self.storm.gateway.assignment(name).slots.values()}) for name in NAMES}

    def lives(self):
        """Hosts in which tasks with seats live, by topology; empty while one of them moves."""
        found = {}
        for name, ledger in self.ledgers.items():
            seats = ledger.seats()
            owners = [each.host for each in seats if each.owner]
            still = len(owners) == TASKS and all(each.settled for each in seats)
            found[name] = set(owners) if still else set()
        return found

    def inactive(self):
        """Topologies that are deactivated."""
        return [each.name for each in self.storm.gateway.cluster().topologies if each.status != "ACTIVE"]

    def settled(self):
        """Whether nodes are as priorities want them, and every topology is active."""
        with contextlib.suppress(EngineError):  # a worker that starts tells of no seats
            return self.nodes() == HOLDS[self.on] and not self.inactive()
        return False

    def change(self, meanwhile=lambda: None):
        """Send a trigger, do something else, and wait for the new allocation; what became of it."""
        self.copies.flowing.set()
        time.sleep(1.0)
        workers = self._workers()
        begin = self.trigger()
        meanwhile()
        end = self._end(begin)
        if not self.seats:
            time.sleep(1.5)  # spouts look once a second whether they may emit
        tuples, lost, twice = self.copies.balance()
        return Changed(
            seconds=end - begin,
            steps=tuple(word for _, word in self.steps(begin)),
            tuples=tuples,
            lost=lost,
            twice=twice,
            inactive=len(self.inactive()),
            restarted=len(workers - self._workers()),
        )

    def _end(self, begin):
        deadline = time.monotonic() + PATIENCE
        while time.monotonic() < deadline:
            if self.seats:
                if self.settled():
                    return time.time()
                time.sleep(0.02)
                continue
            found = self.steps(begin)
            if found and found[-1][1] == "activated" and self.settled():
                return found[-1][0]
            time.sleep(0.5)
        raise AssertionError(f"no new allocation: {self.steps(begin)} {self.nodes()} {self.inactive()}\n{self.said()}")

    def _workers(self):
        return {each.pid for each in self.storm.workers()}

    def said(self):
        """The last words of the process that serves."""
        return "\n".join((self.folder / name).read_text()[-3000:] for name in ("stdout", "stderr"))

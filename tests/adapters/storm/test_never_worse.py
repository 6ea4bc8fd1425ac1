"""Deaths at random moments, under Headworks and under Storm alone: no worker restarts that Storm alone lets run.

The witnesses are process ids and what Nimbus stored. Two topologies run: one reports, the other has no hooks and
Storm's own placement constraints.
"""

from __future__ import annotations

import contextlib
import operator
import os
import random
import signal
import socket
import subprocess
import sys
import time
from collections import Counter, defaultdict

import attrs
import pytest

from headworks.control.journal import read_journal
from headworks_local.private_files import read_or_make_secret
from headworks_local.process import command_line
from headworks_storm.nimbus.bridge import Endpoint
from headworks_storm.service import HOOKS, SCHEDULER
from shell import HEADWORKS
from storm_cluster import running_cluster, wait_for, word_count

pytestmark = [pytest.mark.storm, pytest.mark.slow, pytest.mark.network, pytest.mark.soak, pytest.mark.timeout(7200)]

DEATHS = {"python": 100, "nimbus": 10, "supervisor": 10}
SHARE = float(os.environ.get("HEADWORKS_DEATHS", "1"))
"""Part of these deaths that a run has."""
SEED = int(os.environ.get("HEADWORKS_DEATHS_SEED", "16"))
"""Of the moments and hosts: runs that are parts of one series have others."""
RAS = "org.apache.storm.scheduler.resource.ResourceAwareScheduler"
GUARDED, SPREAD = "guarded", "lines"
CONSTRAINED = {
    "topology.scheduler.strategy": f"{RAS.rpartition('.')[0]}.strategies.scheduling.ConstraintSolverStrategy",
    "topology.ras.constraints": {SPREAD: {"maxNodeCoLocationCnt": 1, "incompatibleComponents": []}},
}
"""At most one spout a node, as Storm's own scheduler is asked for it."""
ROUNDS = 3
"""Seconds, some rounds of Nimbus, in which a late restart would show."""


SILENT = ("HB is too old", "failed to launch in")
"""What Storm's supervisor logs when it ends a worker that has been silent for too long."""


@attrs.frozen
class Seen:
    """Processes and places: Nimbus, the slots of each topology, the worker processes by pid, host, port and topology.

    `forgotten` are those that were ended on the way here, because their supervisor had forgotten them.
    """

    nimbus: frozenset
    slots: dict
    workers: frozenset
    forgotten: frozenset = frozenset()


def look(cluster):
    running = [each for each in cluster.storm.workers() if each.pid]
    workers = frozenset((each.pid, each.host, each.port, each.topology) for each in running)
    nimbus = frozenset(each.pid for each in cluster.storm.daemons if each.name == "nimbus" and each.alive)
    slots = {name: cluster.storm.gateway.assignment(name).slots for name in (cluster.name, GUARDED)}
    return Seen(nimbus, slots, workers)


def settled(cluster):
    """What is seen once a worker process on every slot reports, and nothing has changed for a while."""
    earlier, lost, ended = None, frozenset(), frozenset()

    def found():
        nonlocal earlier, lost, ended
        cluster.storm.restart_halted()
        known, lost = lost, forgotten(cluster)
        ended |= end_all(known & lost)
        seen, before, uptimes = look(cluster), earlier, heard(cluster)
        there = Counter((host, port) for _, host, port, _ in seen.workers)
        used = (slot for slots in seen.slots.values() for slot in set(slots.values()))
        same = before and before[0] == seen
        earlier = (seen, *(before[1:] if same else (time.monotonic(), uptimes)))
        whole = all(seen.slots.values()) and there == Counter((host_of(cluster, node), port) for node, port in used)
        # Not above: that of a worker that died, which Nimbus remembers for a while, may have been long.
        alive = len(uptimes) == len(earlier[2]) and all(map(operator.ne, uptimes, earlier[2]))
        if whole and alive and time.monotonic() - earlier[1] > ROUNDS:
            return attrs.evolve(seen, forgotten=ended)
        return None

    try:
        return wait_for("every executor placed, and a process on every slot", found)
    except AssertionError as error:
        raise AssertionError(f"{error}; last seen {earlier}; {cluster.story()}") from None


def forgotten(cluster):
    """Pids and ids of workers that run, and that their supervisor has forgotten.

    Storm's supervisor looks for the pids that a worker wrote down when it is to end it. One that is still starting has
    written none: it counts as dead, what the supervisor knows of it is removed, and it runs on in a slot that is free.
    """
    found = set()
    for each in cluster.storm.workers():
        known = cluster.storm.home.parent / f"supervisor-{each.host}" / "state" / "workers-users"
        if (command := command_line(each.pid)) and not (known / command[-1]).exists():
            found.add((each.pid, command[-1]))
    return frozenset(found)


def end_all(workers):
    """End workers, as an operator has to end those that their supervisor has forgotten."""
    for pid, _ in workers:
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)
    return workers


def heard(cluster):
    """Uptime of every executor as its worker reported it last: a process that has not reported is given up later."""
    return [each.uptime for name in (cluster.name, GUARDED) for each in cluster.storm.gateway.topology(name).executors]


def host_of(cluster, node):
    return next((each.host for each in cluster.storm.gateway.cluster().supervisors if each.id == node), node)


def broken(cluster, seen):
    """Nodes on which Nimbus stored more spouts of the guarded topology than it allows."""
    spouts = {
        (each.start, each.end) for each in cluster.storm.gateway.topology(GUARDED).executors if each.component == SPREAD
    }
    assert len(spouts) == 2
    on = Counter(slot[0] for executor, slot in seen.slots[GUARDED].items() if executor in spouts)
    return [node for node, count in on.items() if count > 1]


class Served:
    """`headworks serve storm` as a process of its own."""

    def __init__(self, cluster, collector, folder):
        self.endpoint, self.journal = cluster.endpoint, folder / "rounds.jsonl"
        self.command = [
            HEADWORKS,
            "serve",
            "storm",
            "--endpoint",
            str(cluster.endpoint),
            "--journal",
            str(self.journal),
        ]
        self.command += ["--collector", collector, "--token", str(folder / "token"), "--interval", "5"]
        self.process, self.log = None, folder / "serve.log"

    def start(self):
        """Start it, and wait until it listens: a process that serves nobody has no death that matters."""
        before = Endpoint.read(self.endpoint)
        with self.log.open("a") as log:
            self.process = subprocess.Popen(self.command, stdout=log, stderr=log)
        wait_for("an endpoint of its own", lambda: Endpoint.read(self.endpoint) not in (before, None))

    def kill(self):
        assert self.process.poll() is None, self.said()
        self.process.send_signal(signal.SIGKILL)
        self.process.wait()

    def said(self):
        """The end of what it printed."""
        return self.log.read_text()[-2000:]

    def answered(self):
        """Rounds in which it placed executors."""
        return [each for each in read_journal(self.journal) if each["outcome"] == "answered"]

    def changed(self):
        """Running workers whose executors these rounds changed: each would restart, whoever else restarts some."""
        found = 0
        for each in self.answered():
            before, after = (tenants(each[part]["assignment"]) for part in ("request", "plan"))
            found += sum(after[slot] != tasks for slot, tasks in before.items())
        return found


def tenants(assignment):
    """Tasks by slot."""
    found = defaultdict(set)
    for task, slot in assignment.items():
        found[str(slot)].add(task)
    return found


def free_address():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return "{}:{}".format(*probe.getsockname())


@contextlib.contextmanager
def cluster_under(scheduler, folder):
    """Two topologies; the process beside Nimbus if Headworks schedules, None else."""
    collector, token = free_address(), folder / "token"
    read_or_make_secret(token)
    conf = {"nimbus.monitor.freq.secs": 1, **(SCHEDULER if scheduler == "headworks" else {"storm.scheduler": RAS})}
    hooked = {**HOOKS, "headworks.collector": collector, "headworks.collector.token.file": str(token)}
    with running_cluster(folder, conf=conf, topology_conf=hooked) as cluster:
        served = Served(cluster, collector, folder) if scheduler == "headworks" else None
        try:
            if served:
                served.start()
            word_count(cluster.storm, name=GUARDED, conf=CONSTRAINED, rate=0.01)
            settled(cluster)
            assert not served or any(each["plan"]["assignment"] for each in served.answered()), served.said()
            yield cluster, served
        finally:  # after a failure too: it would serve for ever
            if served and served.process:
                served.kill()


def deaths(cluster, served, kind, seeded):
    """Let one of a kind die and come back; the hosts whose workers died with it."""
    if kind == "python":
        served.kill()
        served.start()
        time.sleep(seeded.uniform(0.0, 5.0))
        return frozenset()
    if kind == "nimbus":
        cluster.storm.kill_nimbus()
        cluster.storm.start_nimbus()
        return frozenset()
    host = seeded.choice([spec.host for spec in cluster.storm.supervisors])
    cluster.storm.kill_supervisor(host, workers=True)
    time.sleep(seeded.uniform(0.0, 5.0))
    cluster.storm.start_supervisor(host)
    return frozenset([host])


def logged(cluster):
    """What Nimbus and each supervisor logged, by the name of the daemon."""
    return {file.stem: file.read_text(errors="replace") for file in cluster.storm.home.parent.glob("*.log")}


def silent(cluster, worker, slots, marks):
    """Whether Storm itself gave a worker up for its silence, as its supervisor or Nimbus logged; whoever schedules.

    Args:
        cluster: The cluster.
        worker: Of `Seen.workers`.
        slots: Slots of each topology as they were.
        marks: Length of each log from which on it counts.
    """
    _, host, port, topology = worker
    said = {name: text[marks.get(name, 0) :] for name, text in logged(cluster).items()}
    own = [line for line in said[f"supervisor-{host}"].splitlines() if f"SLOT {port}: " in line]
    here = {(host_of(cluster, node), at): (node, at) for each in slots.values() for node, at in each.values()}
    tasks = [task for each in slots.values() for task, slot in each.items() if slot == here.get((host, port))]
    given_up = [f"{topology}:[{start}, {end}] not alive" in said["nimbus"] for start, end in tasks]
    return any(words in line for words in SILENT for line in own) or any(given_up)


def tell(cluster, kind, number, before, after):
    """Say which executors have no slot after a death, or have one again, for whoever looks into a failure."""
    for name, slots in after.slots.items():
        changes = sorted(before.slots[name].keys() - slots.keys()), sorted(slots.keys() - before.slots[name].keys())
        if any(changes):
            said = cluster.storm.gateway.topology(name).scheduling
            sys.stdout.write(f"{kind} {number}: {name} lost {changes[0]}, has again {changes[1]}: {said}\n")


@pytest.mark.parametrize("scheduler", ["storm", "headworks"])
def test_deaths_restart_no_worker_elsewhere_and_lose_nothing(java, tmp_path, record_property, scheduler):
    seeded, found = random.Random(SEED), Counter()
    with cluster_under(scheduler, tmp_path) as (cluster, served):
        before = settled(cluster)
        assert not broken(cluster, before)
        marks = [{name: len(text) for name, text in logged(cluster).items()}] * 2
        for kind, count in DEATHS.items():
            for _ in range(round(count * SHARE) if served or kind != "python" else 0):
                hosts = deaths(cluster, served, kind, seeded)
                after = look(cluster) if kind == "python" else settled(cluster)
                found[f"deaths of {kind}"] += 1
                found["Nimbus exits"] += kind != "nimbus" and after.nimbus != before.nimbus
                found["assignments lost"] += sum(after.slots[n].keys() != before.slots[n].keys() for n in after.slots)
                lost = {each for each in before.workers - after.workers if each[1] not in hosts}
                quiet = {each for each in lost if silent(cluster, each, before.slots, marks[-2])}
                found["deaths of workers that Storm gave up for their silence"] += len(quiet)
                found[f"restarts elsewhere at deaths of {kind}"] += len(lost - quiet)
                marks.append({name: len(text) for name, text in logged(cluster).items()})
                found["constraints broken"] += len(broken(cluster, after))
                found["deaths of workers that supervisors had forgotten"] += len(after.forgotten)
                tell(cluster, kind, found[f"deaths of {kind}"], before, after)
                before = after
        found["running workers changed by answers"] = served.changed() if served else 0
        sys.stdout.write(f"{scheduler}: {dict(found)}\n")
        for name, number in found.items():
            record_property(f"{scheduler}: {name}", number)
        wrong = {name: number for name, number in found.items() if number and not name.startswith("deaths")}
        assert scheduler == "storm" or not wrong, (wrong, cluster.story())

"""Whatever the Python process does, Nimbus lives, running executors keep their slots, and no assignment is lost."""

from __future__ import annotations

import json
import os
import random
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest

from headgate.host import PluginHost
from headgate_storm.bridge import Bridge
from headgate_storm.rounds import Rounds
from storm_cluster import running_cluster, wait_for, word_count

pytestmark = [pytest.mark.storm, pytest.mark.slow]

ROUNDS = 3
"""Rounds of Nimbus that a fault has to last."""


@pytest.fixture(scope="module")
def cluster(tmp_path_factory):
    with running_cluster(tmp_path_factory.mktemp("faults"), conf={"nimbus.monitor.freq.secs": 1}) as made:
        yield made


@pytest.fixture
def before(cluster):
    """The state before a fault; the same state has to be there after it."""
    state = cluster.settled()
    yield state
    assert cluster.settled() == state, cluster.story()


class Answers:
    """Answers of our own making; knows how many rounds there were."""

    def __init__(self, make):
        self.make, self.rounds = make, []

    def __call__(self, text):
        asked = json.loads(text)
        self.rounds.append(asked)
        return self.make(asked)


def everything(asked):
    """An answer that repeats what runs: topology id to its workers."""
    layouts = {}
    for topology in asked["topologies"]:
        flat = [pair for each in topology["components"] for pair in zip(*[iter(each["executors"])] * 2, strict=True)]
        workers = {}
        for pair, at in zip(flat, topology["assignment"], strict=True):
            workers.setdefault(tuple(topology["slots"][at]), []).extend(pair)
        layouts[topology["id"]] = [[*slot, executors] for slot, executors in workers.items()]
    return layouts


def answer(asked, **changes):
    base = {"v": 1, "nimbus": asked["nimbus"], "round": asked["round"], "mode": "assign", "reason": "", "status": {}}
    return json.dumps({**base, "topologies": everything(asked), **changes})


def moved(asked, change):
    layouts = everything(asked)
    for workers in layouts.values():
        change(workers)
    return answer(asked, topologies=layouts)


def to_an_unknown_supervisor(workers):
    workers[0][0] = "nowhere"


def to_an_unknown_port(workers):
    workers[0][1] = 1


def twice(workers):
    workers[-1][2] = [*workers[-1][2], *workers[0][2][:2]]


def leave_one_out(workers):
    workers[0][2] = workers[0][2][2:]


def of_nobody(workers):
    workers[0][2] = [*workers[0][2], 998, 999]


EVIL = {
    "garbage": lambda asked: "\x00 garbage }{",
    "nothing": lambda asked: "",
    "not text": lambda asked: None,
    "a plan for another round": lambda asked: answer(asked, round=asked["round"] - 1),
    "a plan for another Nimbus": lambda asked: answer(asked, nimbus="another"),
    "an unknown mode": lambda asked: answer(asked, mode="improvise"),
    "an unknown topology": lambda asked: answer(asked, topologies={"nothing-1-1": []}),
    "an unknown supervisor": lambda asked: moved(asked, to_an_unknown_supervisor),
    "an unknown port": lambda asked: moved(asked, to_an_unknown_port),
    "an executor twice": lambda asked: moved(asked, twice),
    "a running executor left out": lambda asked: moved(asked, leave_one_out),
    "an executor that is none": lambda asked: moved(asked, of_nobody),
    "an error": lambda asked: 1 / 0,
    "megabytes": lambda asked: "[" * 3_000_000,
}


@pytest.mark.parametrize("what", EVIL)
def test_an_answer_that_is_wrong_changes_nothing(cluster, before, what):
    answers = Answers(EVIL[what])
    with Bridge(answers, cluster.endpoint):
        wait_for(f"{ROUNDS} rounds", lambda: len(answers.rounds) >= ROUNDS)
        wait_for("a status that says so", lambda: "Headgate" in cluster.status())


def test_an_answer_that_repeats_what_runs_touches_nothing(cluster, before):
    answers = Answers(answer)
    with Bridge(answers, cluster.endpoint):
        wait_for(f"{ROUNDS} rounds", lambda: len(answers.rounds) >= ROUNDS)


def test_an_answer_that_comes_late_is_dropped(cluster, before):
    release = threading.Event()

    def late(asked):
        release.wait(4)
        return answer(asked, topologies={})

    answers = Answers(late)
    with Bridge(answers, cluster.endpoint):
        wait_for("two rounds", lambda: len(answers.rounds) >= 2)
        release.set()
        wait_for("a round in time", lambda: len(answers.rounds) >= 4)


def test_a_wrong_token_is_refused(cluster, before):
    answers = Answers(answer)
    with Bridge(answers, cluster.endpoint) as bridge:
        forged = json.dumps({"port": bridge.endpoint.port, "token": "0" * 64})
        cluster.endpoint.write_text(forged)
        wait_for("the refusal", lambda: "not" in cluster.status() and "Headgate" in cluster.status())
        count = len(answers.rounds)
        time.sleep(3)
        assert len(answers.rounds) == count
        bridge.endpoint.write(cluster.endpoint)


def process(cluster):
    command = [Path(sys.executable).with_name("headgate"), "serve", "storm", "--endpoint", cluster.endpoint]
    return subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, start_new_session=True)


def test_a_process_that_hangs_is_not_waited_for_and_works_on_when_it_wakes(cluster, before):
    python = process(cluster)
    try:
        wait_for("the endpoint", cluster.endpoint.exists)
        python.send_signal(signal.SIGSTOP)
        wait_for("its silence", lambda: "within" in cluster.status())
        python.send_signal(signal.SIGCONT)
        wait_for("its answers", lambda: "within" not in cluster.status())
    finally:
        os.killpg(python.pid, signal.SIGKILL)
        python.wait()


def test_a_worker_that_is_killed_comes_back_where_it_was(cluster):
    before = cluster.settled()
    with cluster.serve():
        killed = cluster.storm.kill_worker(next(iter(before.workers))[1])
        gone = (killed.pid, killed.port)
        wait_for("a new worker", lambda: gone not in cluster.state().workers)
        assert cluster.settled().slots == before.slots


def test_a_supervisor_that_dies_with_its_workers_and_comes_back(cluster):
    before = cluster.settled()
    node = sorted(slot[0] for slot in before.slots.values())[0]
    host = next(each.host for each in cluster.storm.gateway.cluster().supervisors if each.id == node)
    with cluster.serve():
        cluster.storm.kill_supervisor(host, workers=True)
        wait_for("its executors elsewhere", lambda: node not in {slot[0] for slot in cluster.stored().values()})
        cluster.storm.start_supervisor(host)
        after = cluster.settled()
    assert after.slots.keys() == before.slots.keys()
    assert after.nimbus == before.nimbus
    stayed = {executor for executor, slot in before.slots.items() if slot[0] != node}
    assert {executor: after.slots[executor] for executor in stayed} == {each: before.slots[each] for each in stayed}


def test_a_topology_that_is_killed_between_snapshot_and_answer(cluster, before):
    host = PluginHost.load()
    rounds = Rounds(lambda request: host.schedule("even", request, {}))

    def kill(asked):
        if any(each["name"] == "passing" and -1 in each["assignment"] for each in asked["topologies"]):
            cluster.storm.gateway.kill("passing", wait=0)
        return rounds.answer(json.dumps(asked))

    answers = Answers(kill)
    with Bridge(answers, cluster.endpoint):
        word_count(cluster.storm, name="passing", rate=0.01)
        wait_for(
            "its end", lambda: [each.name for each in cluster.storm.gateway.cluster().topologies] == [cluster.name]
        )
        assert any(each["name"] == "passing" for asked in answers.rounds for each in asked["topologies"])


def test_nimbus_restarts_and_asks_again(cluster):
    before = cluster.settled()
    with cluster.serve() as service:
        cluster.storm.kill_nimbus()
        cluster.storm.start_nimbus()
        wait_for("a round", lambda: service.target.rounds.until(lambda _: True, 5))
        after = cluster.settled()
    assert (after.slots, after.workers) == (before.slots, before.workers)


def test_a_standby_nimbus_takes_over(cluster):
    before = cluster.settled()
    cluster.storm.start_standby_nimbus()
    with cluster.serve() as service:
        seen = wait_for("a round", lambda: service.target.rounds.newest).nimbus
        cluster.storm.kill_nimbus()
        wait_for("another Nimbus", lambda: service.target.rounds.until(lambda each: each.nimbus != seen, 5))
        cluster.storm.start_nimbus()
        after = cluster.settled()
    assert (after.slots, after.workers) == (before.slots, before.workers)


def test_a_hundred_kills_at_random_moments(cluster):
    before, seeded, kills = cluster.settled(), random.Random(0), 100
    for _ in range(kills):
        python = process(cluster)
        time.sleep(seeded.uniform(0.1, 2.0))
        os.killpg(python.pid, signal.SIGKILL)
        python.wait()
        assert cluster.nimbus.alive
    assert cluster.settled() == before
    with cluster.serve() as service:
        wait_for("the next round", lambda: service.target.rounds.newest)

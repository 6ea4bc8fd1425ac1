"""Whatever the Python process does, Nimbus lives, running executors keep their slots, and no assignment is lost."""

from __future__ import annotations

import contextlib
import json
import multiprocessing
import os
import random
import signal
import threading
import time

import pytest

from headworks.errors import EngineError
from headworks.plugins.host import PluginHost
from headworks_storm.nimbus.bridge import Bridge, Endpoint
from headworks_storm.nimbus.rounds import Rounds
from storm_answers import PLANNING, die_when_asked, keep_answering
from storm_cluster import PATIENCE, wait_for, word_count

pytestmark = [pytest.mark.storm, pytest.mark.slow, pytest.mark.network, pytest.mark.xdist_group("storm-asking")]

ROUNDS = 2
"""Rounds of Nimbus that a fault has to last."""
HALTING = 5.0
"""Seconds within which a supervisor that halts itself is gone."""
NOT_ALIVE = "] not alive"
"""How Nimbus ends the line in which it gives up an executor."""
TOO_LONG = 2.0
"""Seconds, more than a round of this cluster waits for its answer."""


@pytest.fixture(scope="module")
def cluster(asking):
    asking.ask_headworks()
    return asking


@pytest.fixture
def before(cluster):
    """The state before a fault; the same state has to be there after it."""
    state = cluster.state()
    yield state
    assert cluster.state() == state, cluster.story()


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


def to_a_free_slot(asked):
    """A right answer that moves a worker."""
    (workers,) = everything(asked).values()
    used = {(node, port) for node, port, _ in workers}
    slots = [(each["id"], port) for each in asked["supervisors"] for port in each["ports"]]
    workers[0][:2] = next(slot for slot in slots if slot not in used)
    return answer(asked, topologies={asked["topologies"][0]["id"]: workers})


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
    "garbage": (lambda asked: "\x00 garbage }{", "it is no JSON document"),
    "nothing": (lambda asked: "", "it is no JSON object"),
    "not text": (lambda asked: None, "it answered with no text"),
    "megabytes": (lambda asked: "[" * 3_000_000, "it is no JSON document"),
    "an error": (lambda asked: 1 / 0, "it raised ZeroDivisionError"),
    "a plan for another round": (lambda asked: answer(asked, round=asked["round"] - 1), "it is for another round"),
    "a plan for another Nimbus": (lambda asked: answer(asked, nimbus="another"), "it is for another Nimbus"),
    "an unknown mode": (lambda asked: answer(asked, mode="improvise"), "its mode is none of"),
    "an unknown topology": (lambda asked: answer(asked, topologies={"no-1-1": []}), "there is no topology no-1-1"),
    "an unknown supervisor": (lambda asked: moved(asked, to_an_unknown_supervisor), "there is no supervisor nowhere"),
    "an unknown port": (lambda asked: moved(asked, to_an_unknown_port), ":1 is no slot that can be used"),
    "an executor twice": (lambda asked: moved(asked, twice), "is placed twice"),
    "an executor left out": (lambda asked: moved(asked, leave_one_out), "it leaves out the running executor"),
    "an executor that is none": (lambda asked: moved(asked, of_nobody), "has no executor [998, 999]"),
}


@pytest.mark.parametrize("what", EVIL)
def test_an_answer_that_is_wrong_changes_nothing(cluster, before, what):
    make, words = EVIL[what]
    answers = Answers(make)
    with Bridge(answers, cluster.endpoint):
        wait_for(f"a status with {words!r}", lambda: words in cluster.status())
        wait_for(f"{ROUNDS} rounds", lambda: len(answers.rounds) > ROUNDS)


def test_an_answer_that_repeats_what_runs_touches_nothing(cluster, before):
    answers = Answers(answer)
    with Bridge(answers, cluster.endpoint):
        wait_for(f"{ROUNDS} rounds", lambda: len(answers.rounds) > ROUNDS)
        wait_for("a plan", lambda: cluster.status().startswith("Headworks: "))


@pytest.mark.matrix
def test_an_answer_that_comes_late_is_dropped(cluster, before):
    in_time = threading.Event()

    def late(asked):
        if in_time.is_set():
            return answer(asked)
        time.sleep(TOO_LONG)
        return to_a_free_slot(asked)

    answers = Answers(late)
    with Bridge(answers, cluster.endpoint):
        wait_for("a status that says so", lambda: "nothing within" in cluster.status())
        wait_for("two rounds", lambda: len(answers.rounds) >= 2)
        in_time.set()
        time.sleep(TOO_LONG)  # until the last late answer is there
        wait_for("a round in time", lambda: cluster.status().startswith("Headworks: "))


def test_a_wrong_token_is_refused(cluster, before):
    answers = Answers(to_a_free_slot)
    with Bridge(answers, cluster.endpoint) as bridge:
        Endpoint(port=bridge.endpoint.port, token="0" * 64).write(cluster.endpoint)
        count = len(answers.rounds)
        wait_for("the refusal", lambda: "who listens there does not know the token" in cluster.status())
        assert len(answers.rounds) == count
        cluster.endpoint.unlink()


@pytest.fixture
def python(cluster, tmp_path):
    """Start a Python process that answers Nimbus, and wait until it listens."""
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload(
        ["headworks.plugins.host", "headworks_storm.nimbus.rounds", "headworks_storm.nimbus.bridge", "py4j.protocol"]
    )
    started = []

    def start(target):
        cluster.endpoint.unlink(missing_ok=True)
        process = context.Process(target=target, args=(cluster.endpoint, tmp_path / "asked"), daemon=True)
        process.start()
        started.append(process)
        wait_for("its endpoint", cluster.endpoint.exists)
        return process

    yield start
    for process in started:
        process.kill()
        process.join()


def test_a_process_that_dies_in_the_middle_of_a_round(cluster, before, python, tmp_path):
    broke = "Headworks does not answer (the connection broke)"
    for _ in range(ROUNDS):
        count = cluster.log().count(broke)
        python(die_when_asked).join(PATIENCE)
        assert (tmp_path / "asked").exists()
        wait_for("what Nimbus says of it", lambda count=count: cluster.log().count(broke) > count)
        wait_for("the next round", lambda: "(connection refused)" in cluster.status())


def test_a_process_that_is_started_again_answers_the_next_round(cluster, before, python):
    for _ in range(ROUNDS):
        process = python(keep_answering)
        wait_for("its answers", lambda: cluster.status().startswith("Headworks: "))
        process.kill()
        process.join()
        wait_for("its end", lambda: "(connection refused)" in cluster.status())


@pytest.mark.matrix
def test_a_process_that_hangs_is_not_waited_for_and_works_on_when_it_wakes(cluster, before, python):
    process = python(keep_answering)
    wait_for("its answers", lambda: cluster.status().startswith("Headworks: "))
    os.kill(process.pid, signal.SIGSTOP)
    wait_for("its silence", lambda: "nothing within" in cluster.status())
    os.kill(process.pid, signal.SIGCONT)
    wait_for("its answers", lambda: cluster.status().startswith("Headworks: "))


@pytest.mark.parametrize("many", [30, pytest.param(100, marks=pytest.mark.matrix)])
def test_kills_at_random_moments(cluster, before, python, tmp_path, record_property, many):
    seeded, in_a_round = random.Random(many), 0
    for kills in range(1, many + 1):
        process = python(keep_answering)
        time.sleep(seeded.uniform(0.0, 1.0 + PLANNING))
        process.kill()
        process.join()
        in_a_round += (tmp_path / "asked").exists()
        (tmp_path / "asked").unlink(missing_ok=True)
        assert cluster.state() == before, f"after {kills} kills: {cluster.story()}"
    record_property("kills in the middle of a round", in_a_round)
    assert in_a_round > 0
    python(keep_answering)
    wait_for("its answers", lambda: cluster.status().startswith("Headworks: "))


@pytest.mark.matrix
def test_a_topology_that_comes_while_nobody_answers_is_placed_by_storm(cluster, before):
    cluster.endpoint.unlink(missing_ok=True)
    word_count(cluster.storm, name="alone", rate=0.01)
    wait_for("its slots", lambda: cluster.storm.gateway.assignment("alone").slots)
    status = cluster.storm.gateway.topology("alone").scheduling
    assert "Storm's EvenScheduler placed" in status
    gone(cluster, "alone")


@pytest.mark.matrix
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
        wait_for("its end", lambda: list(topologies(cluster)) == [cluster.name])
        assert any(each["name"] == "passing" for asked in answers.rounds for each in asked["topologies"])
        count = len(answers.rounds)
        wait_for(f"{ROUNDS} rounds", lambda: len(answers.rounds) > count + ROUNDS)
    look_after_supervisors(cluster)


def topologies(cluster):
    return [each.name for each in cluster.storm.gateway.cluster().topologies]


def gone(cluster, name):
    cluster.storm.gateway.kill(name, wait=0)
    wait_for(f"the end of {name}", lambda: name not in topologies(cluster))
    look_after_supervisors(cluster)


def look_after_supervisors(cluster):
    """A supervisor may halt itself when a topology is killed while it starts: real ones are started again."""
    over = time.monotonic() + HALTING
    while time.monotonic() < over:
        with contextlib.suppress(EngineError):  # it may halt once more while it starts
            cluster.storm.restart_halted()
        time.sleep(0.2)


def test_a_worker_that_is_killed_comes_back_where_it_was(cluster):
    """Where its supervisor misses it before Nimbus does; that takes long after the supervisor itself was restarted."""
    before = cluster.settled()
    missed = cluster.log().count(NOT_ALIVE)
    with cluster.serve():
        pid, port = min(before.workers)
        cluster.storm.kill_worker(port)
        wait_for("a new worker", lambda: (pid, port) not in cluster.state().workers)
        after = cluster.settled()
    stayed = {executor: slot for executor, slot in before.slots.items() if slot[1] != port}
    assert after.nimbus == before.nimbus
    assert after.slots.keys() == before.slots.keys()
    assert stayed.items() <= after.slots.items(), cluster.story()
    assert after.workers >= before.workers - {(pid, port)}
    if cluster.log().count(NOT_ALIVE) == missed:
        assert after.slots == before.slots, cluster.story()


@pytest.mark.matrix
def test_a_supervisor_that_dies_with_its_workers_and_comes_back(cluster):
    before = cluster.settled()
    node = min(slot[0] for slot in before.slots.values())
    host = next(each.host for each in cluster.storm.gateway.cluster().supervisors if each.id == node)
    with cluster.serve("resource-aware"):
        cluster.storm.kill_supervisor(host, workers=True)
        wait_for("its executors elsewhere", lambda: node not in {slot[0] for slot in cluster.stored().values()})
        cluster.storm.start_supervisor(host)
        after = cluster.settled()
    assert after.nimbus == before.nimbus
    assert after.slots.keys() == before.slots.keys()
    stayed = {executor for executor, slot in before.slots.items() if slot[0] != node}
    assert {executor: after.slots[executor] for executor in stayed} == {each: before.slots[each] for each in stayed}
    # slots may be the same and their processes not: what takes the lost executors in restarts
    ports = {before.slots[each][1] for each in stayed}
    living = {(pid, port) for pid, port in before.workers if port in ports}
    assert len(living) == len(ports)
    assert living <= after.workers, cluster.story()


def test_nimbus_restarts_and_asks_again(cluster):
    before = cluster.settled()
    with cluster.serve() as service:
        seen = wait_for("a round", lambda: service.target.rounds.newest).nimbus
        cluster.storm.kill_nimbus()
        cluster.storm.start_nimbus()
        assert service.target.rounds.until(lambda each: each.nimbus != seen, PATIENCE), cluster.story()
        wait_for("its status", lambda: cluster.status().startswith("Headworks: "))
        after = cluster.settled()
    assert after.slots == before.slots, cluster.story()
    # One that ran for nobody, as a supervisor had halted, may have ended meanwhile.
    assert after.workers <= before.workers, cluster.story()

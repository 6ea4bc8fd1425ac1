"""One line connects a session; its running queries are placed, judged and left alone as the loop decides."""

from __future__ import annotations

import re
import sys
import threading
import time

import pytest
from pyarrow.dataset import dataset

import headworks_spark
from adapters.spark.spark_jobs import HOSTS, PARTITIONS, batch_hosts, counting_query, joining_query, patience, rotation
from bad_plugins import bad
from headworks import why
from headworks.control.guards import Guards
from headworks.control.journal import read_journal
from headworks.control.loop import Control, Loop
from headworks.control.moves_per import MovesPer
from headworks.errors import DocumentError
from headworks.hooks import Description, hookimpl
from headworks.model import Limits
from headworks.plugins.host import PluginHost
from headworks.problem import Problem
from headworks.samples.store import read_states
from headworks_spark.plugin import Spark
from patience import PATIENCE
from shadowed import acted, check_in_shadow

pytestmark = [pytest.mark.spark, pytest.mark.slow]


class Told:
    """Put every task where a test says, or do what a test says instead."""

    def __init__(self):
        self.act = None
        self.nodes = HOSTS

    @hookimpl
    def headworks_describe(self):
        return Description(summary=self.__doc__)

    @hookimpl
    def headworks_schedule(self, request):
        if self.act is not None:
            self.act()
        problem = Problem.of(request)
        return problem.plan([problem.node_index[self.nodes[task.index % len(self.nodes)]] for task in problem.tasks])


@pytest.fixture(scope="module")
def connection(spark):
    with headworks_spark.connect(spark) as connection:
        assert (connection.level, connection.warnings) == ("hard", ())
        yield connection


@pytest.fixture(scope="module")
def query(spark, connection, tmp_path_factory):
    query = counting_query(spark, str(tmp_path_factory.mktemp("counting")))
    yield query
    query.stop()


@pytest.fixture
def target(connection, query):
    target = connection.target(query)
    yield target
    target.ask({})


def loop(target, told, **more):
    more = {
        "limits": Limits(deadline=60.0, slowdown=None),
        **more,
    }  # as many tasks on one core as on four make batches longer
    host = PluginHost.load(["spark", "sim"]).with_plugin("told", told)
    return Loop(
        host, Control(scheduler="told", engine="spark", window=0.5, **{"guards": Guards(cooldown=0.0), **more}), target
    )


def batches(query):
    return query.lastProgress["batchId"]


def wait_for_batch(query):
    before, deadline = batches(query), time.monotonic() + PATIENCE
    while batches(query) == before:
        assert query.isActive, query.exception()
        assert time.monotonic() < deadline
        time.sleep(0.1)


def test_a_round_tells_hits_and_misses_of_each_batch(target):
    done = loop(target, Told()).round()
    assert (done.outcome, done.check.hits, done.check.asked) == ("executed", 2 * PARTITIONS, 2 * PARTITIONS)
    assert done.receipt.level == "hard"
    told = done.notes[-1].removeprefix("afterwards: ")  # a batch may have ended since the plan was carried out
    assert re.match(rf"batch \d+: {2 * PARTITIONS} hits, 0 misses, ", told), done.notes


def test_a_scheduler_that_raises_hangs_or_is_slow_never_stops_a_query(target, query):
    told = Told()
    quick, usual = (loop(target, told, limits=Limits(deadline=each, slowdown=None)) for each in (0.3, 60.0))

    def hang():
        until = time.monotonic() + 10  # of its own: the round before it may take longer
        while time.monotonic() < until:
            pass

    for act, made, code in [
        (lambda: 1 / 0, usual, "raised"),
        (hang, quick, "deadline"),
        (lambda: time.sleep(30), quick, "deadline"),
    ]:
        told.act = act
        done = made.round()
        assert (done.outcome, [each.code for each in done.plan.reasons]) == ("held", [code])
        wait_for_batch(query)
    told.act = None
    calm = Loop(
        PluginHost.load(["spark"]).with_plugin("calm", Told()),
        Control(scheduler="calm", engine="spark", window=0.5, limits=Limits(deadline=60.0, slowdown=None)),
        target,
    )
    rounds = []
    for _ in patience():  # the one that hangs keeps this process busy: a batch may not be heard of in time
        rounds.append(calm.round())
        if rounds[-1].outcome in ("executed", "unchanged"):
            break
    assert [each.outcome for each in rounds[:-1]] == ["missed"] * (len(rounds) - 1), rounds


def test_what_made_traffic_worse_is_undone_on_the_running_query(target, query):
    told = Told()
    told.nodes = HOSTS[:1]
    assert loop(target, told).round().check.hits == 2 * PARTITIONS
    told.nodes = HOSTS
    made = loop(target, told, guards=Guards(goal="traffic", worse=0.2, cooldown=3600, settle=1))
    assert made.round().outcome == "executed"
    done = made.round()
    assert (done.outcome, done.receipt.done) == ("undone", True)
    assert done.message.startswith("traffic went from 0 to 0.")
    assert {slot.node for slot in target.asked().values()} == {HOSTS[0]}
    assert batch_hosts(target.recorder, query, 2) == dict.fromkeys(rotation(0, 2), HOSTS[0])
    done = made.round()
    assert (done.outcome, done.receipt) == ("waiting", None)
    assert "made things worse before" in done.message


def test_each_observation_of_rounds_that_act_gives_the_same_plan_in_shadow(target, tmp_path):
    packed, spread = Told(), Told()
    packed.nodes = HOSTS[:1]
    host = PluginHost.load(["spark", "dstorm"]).with_plugin("packed", packed).with_plugin("spread", spread)
    guards, limits = Guards(cooldown=0.0, gain=0.0), Limits(deadline=60.0, slowdown=None)
    control = Control(scheduler="packed", engine="spark", window=0.5, guards=guards, limits=limits)
    rounds = acted(host, control, target, tmp_path, ("packed", "spread", "dstorm", "packed"))
    assert sum(done.outcome in ("executed", "missed") for done, _ in rounds) >= 2, rounds
    for done, seen in rounds:
        check_in_shadow(host, control, done, seen)


def test_bounds_on_moves_hold_for_a_running_query(target, query):
    told = Told()
    told.nodes = HOSTS[:1]
    assert loop(target, told).round().check.hits == 2 * PARTITIONS
    told.nodes = HOSTS[1:2]
    made = loop(target, told, moves_per=MovesPer(topology=2, day=3))
    first, second, third = made.round(), made.round(), made.round()
    assert [(each.outcome, each.moved) for each in (first, second, third)] == [
        ("executed", 2),
        ("executed", 1),
        ("waiting", 0),
    ], (first, second, third)
    assert len(first.dropped) == 2 * PARTITIONS - 2
    assert (first.forecast.why, first.forecast.figures.keys()) == ("", second.forecast.figures.keys())
    assert {each.figure for each in second.checked} >= {"share", "fullest_node", "completed"}
    assert {each.round for each in second.checked} == {1}
    assert {each.round for each in third.checked} == {2}
    (share,) = (each for each in third.checked if each.figure == "share")
    assert share.error < 0.2, third.checked  # rows that a busy machine reads late are of another batch
    assert third.message.startswith("not moved: ")
    assert "at most 3 running tasks move in 24 hours" in third.message
    placed = batch_hosts(target.recorder, query, 2)
    assert sorted(placed.values()) == [HOSTS[0]] * (2 * PARTITIONS - 3) + [HOSTS[1]] * 3


def test_tasks_whose_places_were_lost_are_asked_again(target):
    told = Told()
    made = loop(target, told)
    made.round()
    target.ask({})
    done = made.round()
    assert (done.outcome, done.check.missed) == ("asserted", ())


def test_latency_and_throughput_of_a_query_are_heard(connection, query):
    wait_for_batch(query)
    reported = query.recentProgress[-2]
    for _ in patience():
        heard = {each.batch: each for each in connection.recorder.progress(str(query.id))}
        if reported["batchId"] in heard:
            break
    found = heard[reported["batchId"]]
    assert found.rows == reported["numInputRows"] > 0
    assert found.seconds == reported["durationMs"]["triggerExecution"] / 1e3
    assert found.done == pytest.approx(
        reported["processedRowsPerSecond"], rel=1e-3
    )  # the JSON of a progress is rounded


@pytest.mark.matrix  # test_joins.py has a streaming join where asked, test_placement.py a query that moves three times
def test_a_stream_stream_join_is_moved_three_times(spark, connection, tmp_path):
    query = joining_query(spark, str(tmp_path))
    try:
        target = connection.target(query)
        assert len(target.stages) == 3
        run = query.runId
        for shift in range(4):
            target.placement.push(target.scope, rotation(shift, 3))
            assert batch_hosts(connection.recorder, query, 3) == rotation(shift, 3)
        assert (query.runId, query.exception()) == (run, None)
    finally:
        query.stop()
    done = loop(target, Told()).round()
    assert (done.outcome, done.message) == ("ended", f"the query {target.topology.id!r} has ended")


def test_a_query_is_followed_in_the_background_until_it_ends(spark, connection, tmp_path):
    samples, journal = tmp_path / "samples", tmp_path / "journal.jsonl"
    query = counting_query(spark, str(tmp_path / "checkpoint"))
    rounds = []
    limits = Limits(deadline=60.0, slowdown=None)
    control = Control(scheduler="even", options={"rebalance": True}, engine="spark", window=0.5, limits=limits)
    follower = connection.follow(query, control, interval=0.1, on_round=rounds.append, samples=samples, journal=journal)
    deadline = time.monotonic() + PATIENCE
    while len(rounds) < 2:
        assert time.monotonic() < deadline
        time.sleep(0.1)
    query.stop()
    follower._thread.join(PATIENCE)
    assert not follower.alive
    assert repr(follower) == f"<Follower ended, {len(rounds)} rounds, the last {rounds[-1]!r}>"
    assert f"<td>{rounds[-1].outcome}</td>" in follower._repr_html_()
    seen = follower.last.request  # the last round saw nothing, and the one before it did
    assert why(seen, seen.topologies[0].tasks()[0].id).running is not None
    assert re.fullmatch(r"<Connection at level hard, \d+ jobs heard>", repr(connection))
    assert connection._repr_html_().endswith("<ul></ul>")
    assert rounds[0].outcome in ("executed", "unchanged")
    assert rounds[-1].outcome == "ended"
    assert [each["outcome"] for each in read_journal(journal)] == [each.outcome for each in rounds]
    kept = dataset(samples, format="parquet", partitioning="hive", exclude_invalid_files=True).to_table()
    assert {"task", "node", "topology"} <= set(kept["kind"].to_pylist())
    assert {topology.id for _, state in read_states(samples) for topology in state.topologies} == {
        rounds[0].request.topologies[0].id
    }


def test_a_journal_that_cannot_be_written_is_told_who_follows(spark, connection, tmp_path):
    query = counting_query(spark, str(tmp_path / "checkpoint"))
    try:
        with pytest.raises(DocumentError, match="cannot be written"):
            connection.follow(query, Control(scheduler="even", engine="spark"), journal=tmp_path)
    finally:
        query.stop()


class Unruly(Spark):
    """Misbehave at first, in each hook in every way, and then watch and steer as it should."""

    def __init__(self):
        self.gate = threading.Event()
        ways = (lambda: 1 / 0, sys.exit, self.interrupt, lambda: 3, self.gate.wait)
        self.ways = {hook: iter(ways) for hook in ("observe", "preflight", "execute")}

    def interrupt(self):
        raise KeyboardInterrupt

    @hookimpl
    def headworks_describe(self):
        return Description(summary="Misbehave.", deadlines={f"headworks_{hook}": 20.0 for hook in self.ways})

    @hookimpl
    def headworks_observe(self, target, window):
        wrong = next(self.ways["observe"], None)
        return wrong() if wrong else super().headworks_observe(target, window)

    @hookimpl
    def headworks_preflight(self, target, plan):
        wrong = next(self.ways["preflight"], None)
        return wrong() if wrong else super().headworks_preflight(target, plan)

    @hookimpl
    def headworks_execute(self, target, plan):
        wrong = next(self.ways["execute"], None)
        return wrong() if wrong else super().headworks_execute(target, plan)


@pytest.mark.matrix
def test_a_followed_query_outlives_every_way_in_which_its_adapter_and_strangers_misbehave(
    spark, connection, tmp_path, monkeypatch
):
    unruly = Unruly()
    host = PluginHost.load(["even"]).with_plugin("spark", unruly)
    for number, act in enumerate((lambda: 1 / 0, sys.exit, unruly.interrupt, lambda: 3)):
        host = host.with_plugin(f"listener-{number}", bad("headworks_on_round", act))
    monkeypatch.setattr(PluginHost, "load", classmethod(lambda cls: host))
    query, rounds = counting_query(spark, str(tmp_path / "checkpoint")), []
    guards = Guards(cooldown=0.0, give_up=100)
    limits = Limits(deadline=60.0, slowdown=None)
    options = {"rebalance": True}
    control = Control(scheduler="even", options=options, engine="spark", window=0.5, limits=limits, guards=guards)
    follower = connection.follow(query, control, interval=0.1, on_round=rounds.append)
    deadline = time.monotonic() + 3 * PATIENCE
    try:
        while not rounds or rounds[-1].outcome not in ("executed", "unchanged"):
            assert follower.alive, rounds
            assert time.monotonic() < deadline, rounds
            if any("abandoned" in each.message for each in rounds[-1:]):
                unruly.gate.set()  # what hangs may end now
            time.sleep(0.1)
        wait_for_batch(query)
        told = "; ".join(each.message + "; ".join(each.warnings) for each in rounds)
        for hook in ("observe", "preflight", "execute"):
            assert f"headworks_{hook} raised ZeroDivisionError" in told
            assert f"headworks_{hook} raised SystemExit" in told
            assert f"headworks_{hook} answered an int" in told
        assert "has no answer after" in told
    finally:
        unruly.gate.set()
        follower.stop()
        query.stop()

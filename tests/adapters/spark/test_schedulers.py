"""Every installed scheduler can be named for a live query; what it decides is carried out, or it says why not."""

from __future__ import annotations

import attrs
import pytest

import headworks_spark
from adapters.spark.spark_jobs import HOSTS
from headworks.control.loop import Control, Loop
from headworks.model import FrozenMap, Limits, MoveKind, Request, Slot, Status
from headworks.plugins.host import PluginHost
from headworks.problem import Problem
from headworks_spark.demo.flights import FlightsQuery
from headworks_spark.monitor import next_batches, observe, totals
from patience import PATIENCE

pytestmark = [pytest.mark.spark, pytest.mark.slow]

HOST = PluginHost.load()


def spread(target):
    """Tasks in turn on all nodes."""
    return FrozenMap({task.id: Slot(HOSTS[number % 3], 0) for number, task in enumerate(target.topology.tasks())})


@pytest.fixture(scope="module")
def target(spark, tmp_path_factory):
    flights = FlightsQuery(folder=tmp_path_factory.mktemp("schedulers"), name="schedulers")
    with headworks_spark.connect(spark) as connection:
        target = flights.target(spark, connection.recorder)
        query = flights.start(spark)
        connection.recorder.wait(target.scope, 1, since=0, timeout=PATIENCE)
        yield target
        assert query.isActive, query.exception()
        assert flights.check(query, spark) == ()
        assert flights.streamed(spark)[0] > 0
        query.stop()
        target.placement.clear(flights.name)


@pytest.fixture(scope="module")
def seen(target):
    """The live query under the spread placement."""
    target.ask(spread(target))
    next_batches(target, 1, timeout=PATIENCE)  # a look without a batch in it shows the one before
    seen = observe(target, 1.0)
    assert seen.assignment == spread(target)
    return seen


def decide(target, scheduler, **options):
    # What a scheduler does by itself: on fewer nodes, or with a task more on one of them, batches may be longer.
    limits = Limits(deadline=60.0, slowdown=None)
    control = Control(scheduler=scheduler, engine="spark", window=0.5, options=options, limits=limits)
    return Loop(HOST, control, target).round(replan=True)


@pytest.mark.parametrize("scheduler", HOST.schedulers)
def test_a_scheduler_s_plan_is_carried_out_or_it_says_why_there_is_none(target, seen, scheduler):
    request = attrs.evolve(Request.of(seen), limits=Limits(deadline=20.0))
    plan = HOST.schedule(scheduler, request, {})
    if plan.status is not Status.OK:
        assert plan.reasons
        assert not any(reason.code in ("raised", "type", "deadline") for reason in plan.reasons), plan.reasons
        return
    assert set(plan.assignment) == set(seen.assignment)
    target.ask(spread(target))
    assert HOST.execute("spark", target, plan).done
    done = totals(target, next_batches(target, 1, timeout=PATIENCE), plan.assignment)
    assert done.hits == done.asked == len(plan.assignment)


def test_dstorm_packs_a_running_query_on_fewer_nodes_with_less_traffic(target):
    target.ask(spread(target))
    done = decide(target, "dstorm")
    assert done.outcome == "executed", done.message
    assert len(done.plan.moves) > 1
    assert done.plan.scores.nodes_used < len(HOSTS)
    after = observe(target, 0.0)
    assert len({slot.node for slot in after.assignment.values()}) == done.plan.scores.nodes_used
    before = Problem.of(done.request)
    now = Problem.of(Request.of(after))
    assert now.plan(now.current).scores.share < before.plan(before.current).scores.share


def test_otd_moves_one_task_of_a_running_query_a_round(target):
    """Task feeds-0 stands alone; OTD brings tasks together one by one. No node of a busy machine counts as full."""
    target.ask(spread(target))
    rounds = [decide(target, "otd", high_load=1e6, low_load=1e6, high_queue=1e9) for _ in range(2)]
    for done in rounds:
        assert done.outcome == "executed", done.message
        assert [move.kind for move in done.plan.moves] == [MoveKind.MIGRATE]
        assert done.check.hits == done.check.asked
    first, second = (done.plan.assignment for done in rounds)
    assert sum(first[task] != slot for task, slot in spread(target).items()) == 1
    assert sum(second[task] != slot for task, slot in first.items()) == 1

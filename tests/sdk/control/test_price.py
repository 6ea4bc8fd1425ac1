"""The price of moves: seconds of stop, by what was measured, against the gain over the life of a plan."""

from __future__ import annotations

import contextlib
import random
from types import SimpleNamespace

import attrs
import pytest

from headworks.control.forecast import CheckedFigure, TaskStop
from headworks.control.guards import Guards, is_repair
from headworks.control.journal import FileJournal
from headworks.control.loop import Control, Loop
from headworks.control.moves_per import MovesPer, within
from headworks.control.past import DAY, HOUR, Past
from headworks.control.price import (
    LIFE,
    LIVE,
    MEGABYTE,
    RESTART,
    expected_life,
    foresee,
    measured_stops,
    net_gain,
    price_reason,
    rounded,
    stop_of,
)
from headworks.control.simulated import LoadFigures
from headworks.documents import read
from headworks.hooks import hookimpl
from headworks.model import (
    Constraint,
    ConstraintKind,
    Flow,
    FrozenMap,
    Limits,
    Metrics,
    Observation,
    Receipt,
    Request,
    Scores,
    Step,
    TaskSample,
    TopologySample,
)
from headworks.plugins.host import PluginHost
from headworks.problem import Problem
from memory_engine import AwareJudge, Engine, Machine
from small_requests import at, component, node, request, topology


def asked(live=False, flows=(), states=(), **more):
    """Four tasks, of which two pairs share a worker each."""
    running = {f"t/c/{index}": place for index, place in enumerate(("a", "a", "b", "b"))}
    samples = tuple(TaskSample(task=f"t/c/{index}", state=state) for index, state in enumerate(states))
    return request(
        [node("a", 400.0), node("b", 400.0)],
        [topology("t", component("c", 4, 10.0), live=live, **more)],
        running,
        metrics=Metrics(flows=tuple(flows), tasks=samples),
    )


def plan_of(made, node_of=(0, 0, 0, 1)):
    return Problem.of(made).plan(list(node_of))


def stop(seconds, kind="live", state=None, engine="memory"):
    return TaskStop(engine=engine, kind=kind, seconds=seconds, state=state)


def test_a_restart_stops_all_tasks_of_the_workers_that_it_touches():
    made = asked()
    assert stop_of(made, plan_of(made), (), "memory") == pytest.approx(RESTART)
    alone = asked()
    elsewhere = attrs.evolve(alone, assignment=FrozenMap({**alone.assignment, "t/c/3": at("b:6701")}))
    assert stop_of(elsewhere, plan_of(elsewhere), (), "memory") == pytest.approx(3 / 4 * RESTART)


def test_a_live_move_stops_one_task_for_as_long_as_its_state_takes():
    made = asked(live=True)
    assert stop_of(made, plan_of(made), (), "memory") == pytest.approx(LIVE / 4)
    heavy = asked(live=True, states=(0.0, 0.0, 60.0, 0.0))
    assert stop_of(heavy, plan_of(heavy), (), "memory") == pytest.approx((LIVE + 60 * MEGABYTE) / 4)


def test_stops_are_learnt_by_engine_kind_and_size_of_state():
    made = asked(live=True, states=(0.0, 0.0, 60.0, 0.0))
    known = [stop(0.5), stop(0.7), stop(0.9), stop(100.0, "restart"), stop(50.0, engine="other")]
    assert stop_of(made, plan_of(made), known, "memory") == pytest.approx(0.7 / 4)
    assert stop_of(made, plan_of(made), [*known, stop(2.0, state=64.0)], "memory") == pytest.approx(2.0 / 4)
    assert stop_of(made, plan_of(made), [stop(50.0, engine="other")], "memory") == pytest.approx(
        (LIVE + 60 * MEGABYTE) / 4
    )
    still = asked()
    assert stop_of(still, plan_of(still), known, "memory") == pytest.approx(100.0)


@pytest.mark.parametrize(("size", "power"), [(None, None), (0.0, 1.0), (1.3, 1.0), (60.0, 64.0), (100.0, 128.0)])
def test_sizes_of_state_are_powers_of_two(size, power):
    assert rounded(size) == power


def test_a_batch_is_longer_by_the_time_that_its_state_takes():
    made = asked(sequential=True)
    plan = plan_of(made)
    plan = attrs.evolve(plan, scores=attrs.evolve(plan.scores, state_seconds=3.0))
    shared = attrs.evolve(made, cluster=attrs.evolve(made.cluster, shared_slots=True))
    assert stop_of(shared, plan, (), "spark") == pytest.approx(3.0)


def test_stops_of_a_round_are_those_that_the_engine_measured():
    made = asked(live=True, states=(1.0, 1.0, 60.0, 60.0))
    steps = [Step(action="seat", subject=f"t/c/{index}", stopped=0.1 * index) for index in (1, 2, 3)]
    receipt = Receipt(steps=(*steps, Step(action="seat", subject="t/c/0")))
    assert measured_stops("storm", made, plan_of(made), receipt, 9.0) == (
        stop(0.1, state=1.0, engine="storm"),
        stop(pytest.approx(0.25), state=64.0, engine="storm"),
    )


def test_a_restart_takes_until_its_tasks_were_seen():
    made, done = asked(), Receipt()
    assert measured_stops("storm", made, plan_of(made), done, 9.0) == (stop(9.0, "restart", engine="storm"),)
    assert measured_stops("storm", made, plan_of(made), done, 0.0) == ()
    assert measured_stops("storm", made, plan_of(made), Receipt(done=False), 9.0) == ()
    assert measured_stops("storm", made, plan_of(made, (0, 0, 1, 1)), done, 9.0) == ()
    assert measured_stops("storm", asked(sequential=True), plan_of(made), done, 9.0) == ()


def test_tasks_are_expected_to_stay_as_long_as_others_did():
    assert expected_life(Past(), 50.0) == LIFE
    assert expected_life(Past(life=90.0, lives=(5.0, 6.0)), 50.0) == 90.0
    assert expected_life(Past(life=90.0, lives=(5.0, 7.0, 6.0)), 50.0) == 6.0
    assert expected_life(Past(lives=(0.0, 0.0, 0.0)), 50.0) == 1.0


def test_tasks_are_expected_to_stay_as_long_as_they_have_by_now():
    assert expected_life(Past(still=20.0), 50.0) == LIFE
    assert expected_life(Past(still=20.0), 2020.0) == 2000.0
    assert expected_life(Past(lives=(5.0, 7.0, 6.0), still=20.0), 50.0) == 30.0


FLOWS = (
    Flow(source="t/c/0", target="t/c/2", tuples=30.0),
    Flow(source="t/c/1", target="t/c/3", tuples=70.0),
)
"""Of all traffic, three tenths are between the tasks that the plan brings together."""


NONE = Past()


def forecast(made, plan=None, loads=(None, None), past=NONE, **guards):
    guards = Guards(**guards)
    return foresee(made, plan or plan_of(made), loads, past, guards, engine="memory", scheduler="judge", now=0.0)


def priced(made, plan=None, loads=(None, None), past=NONE, aware=True, **guards):
    plan = plan or plan_of(made)
    found = forecast(made, plan, loads, past, **guards)
    return price_reason(made, plan, Guards(**guards), found, traffic_aware=aware)


def test_a_plan_has_to_pay_for_its_stop():
    made = asked(flows=FLOWS)
    found = forecast(made)
    assert (found.gain, found.life, found.stop) == (pytest.approx(0.3), LIFE, pytest.approx(RESTART))
    assert priced(made) == ""
    short = Past(lives=(40.0,) * 3)
    assert priced(made, past=short) == (
        "a gain of 30.0% over 40 s does not pay for 14.0 s that tasks would stop in the mean; 1 moves wait"
    )
    assert priced(made, past=attrs.evolve(short, stops=(stop(12.1, "restart"),)))
    assert priced(made, past=attrs.evolve(short, stops=(stop(11.9, "restart"),))) == ""
    assert priced(asked(live=True, flows=FLOWS), past=short) == ""


def test_no_price_is_asked_where_no_gain_is():
    made, short = asked(flows=FLOWS), Past(lives=(1.0,) * 3)
    assert priced(made, past=short)
    assert priced(made, past=short, gain=0.0) == ""
    assert priced(made, past=short, aware=False) == ""
    assert priced(made, past=short, aware=False, gain=0.1)


def test_repairs_have_no_price():
    short = Past(lives=(1.0,) * 3)
    made = asked(flows=FLOWS)
    new = attrs.evolve(
        made, assignment=FrozenMap({task: slot for task, slot in made.assignment.items() if task != "t/c/3"})
    )
    assert priced(new, plan_of(new), past=short) == ""
    small = attrs.evolve(made.cluster, nodes=(node("a", 400.0), node("b", 15.0)))
    full = attrs.evolve(made, cluster=small)
    assert priced(full, plan_of(full), past=short) == ""


LOADS = tuple(LoadFigures(offered=100.0, completed=done) for done in (100.0, 89.0))


def test_a_plan_that_would_be_undone_is_not_carried_out():
    made = asked(live=True, flows=FLOWS)
    said = (
        "89.0% of the load would be completed, and 100.0% are now, as the engine is simulated; 1 moves wait, "
        "for 3600 s at most: then such a plan is tried, and undone if it does harm"
    )
    assert priced(made, loads=LOADS) == said
    assert priced(made, loads=LOADS, aware=False) == said
    assert priced(made, loads=LOADS, worse=0.2) == ""
    assert priced(made, loads=LOADS, goal="traffic") == ""
    assert priced(made, loads=LOADS, goal=None) == ""
    assert priced(made, loads=LOADS, gain=0.0) == ""


def test_a_simulated_loss_holds_plans_for_an_hour_at_most():
    made = asked(live=True, flows=FLOWS)
    for held, left in (
        (None, HOUR),
        ((-100.0, 0.0), HOUR - 100.0),
        ((-HOUR, -60.0), 0.0),
        ((-3 * DAY, -2 * DAY), HOUR),
    ):
        past = Past(held=held)
        assert forecast(made, loads=LOADS, past=past).hold == left
        assert bool(priced(made, loads=LOADS, past=past)) == (left > 0)


def test_a_simulation_that_foretold_losses_in_vain_holds_no_plan():
    made = asked(live=True, flows=FLOWS)

    def past(measured):
        figures = {"figure": "completed", "simulated": 0.8, "predicted": 0.8, "measured": measured}
        return Past(checked=((0.0, CheckedFigure(round=1, engine="memory", scheduler="judge", **figures)),) * 3)

    assert priced(made, loads=LOADS, past=past(1.0)) == ""
    assert "as the engine is simulated" in priced(made, loads=LOADS, past=past(0.8))
    # That everything completes less than it is simulated to says nothing against a plan.
    assert forecast(made, loads=LOADS[:1] * 2, past=past(0.4)).hold == 0.0


def scores(**figures):
    return Scores(**{"share": 0.3, "fullest_node": 0.5, "factor": 2.0, "nodes_used": 2, **figures})


def test_a_plan_and_its_way_back_never_both_gain():
    dice = random.Random(11)
    signs = set()
    for _ in range(500):
        one, other = (
            scores(share=dice.random(), fullest_node=1 / factor, factor=factor, nodes_used=dice.randint(1, 3))
            for factor in (dice.uniform(0.9, 3.0), dice.uniform(0.9, 3.0))
        )
        noise = {"share": dice.choice([0.0, 0.2]), "fullest_node": dice.choice([0.0, 0.1])}
        there, back = net_gain(one, other, 0.0, noise, 0.8), net_gain(other, one, 0.0, noise, 0.8)
        assert min(there, back) <= 0
        signs.add((there > 0) - (back > 0))
    assert signs == {-1, 1}


def test_the_load_that_is_borne_counts_before_traffic():
    full = scores(share=0.0, fullest_node=0.92, factor=1 / 0.92)
    assert net_gain(full, scores(), 0.0, {}, 0.8) == pytest.approx(max(1 - 0.8 / 0.92, 1 - 0.5 / 0.92))
    assert net_gain(scores(), full, 0.0, {}, 0.8) == pytest.approx(0.8 / 0.92 - 1)
    # Within the headroom a fuller node is no loss, and an emptier one is worth no traffic.
    packed = scores(share=0.1, fullest_node=0.75, factor=1 / 0.75)
    assert net_gain(scores(), packed, 0.0, {}, 0.8) == pytest.approx(0.2)
    assert net_gain(packed, scores(), 0.0, {}, 0.8) == pytest.approx(-0.2)
    assert net_gain(packed, scores(), 0.05, {}, 0.8) == pytest.approx(1 / 3)
    assert net_gain(scores(), packed, 0.0, {"share": 0.25}, 0.8) == 0.0
    assert net_gain(packed, scores(), 0.0, {"share": 0.25}, 0.8) == pytest.approx(1 / 3)


def test_what_the_figure_that_counts_most_loses_is_told():
    made = asked(live=True, flows=FLOWS)
    joined = attrs.evolve(made, assignment=plan_of(made, (0, 0, 0, 1)).assignment)
    said = priced(joined, plan_of(joined, (0, 0, 1, 1)))
    assert said == "a loss of 30.0% in a figure that counts more than those that gain is expected; 1 moves wait"


def test_a_gain_within_the_errors_of_forecasts_does_not_pay():
    def past(error):
        figures = {"figure": "share", "simulated": 0.5, "predicted": 0.5, "measured": 0.5 + error}
        wrong = CheckedFigure(round=1, engine="memory", scheduler="judge", **figures)
        right = attrs.evolve(wrong, measured=0.5 - error)
        return Past(checked=((0.0, wrong), (0.0, right)) * 2)

    made = asked(live=True, flows=FLOWS)
    assert priced(made, past=past(0.29)) == ""
    assert priced(made, past=past(0.31)) == "no gain beyond the errors of forecasts is expected; 1 moves wait"
    assert priced(made, past=past(0.31), gain=0.0) == ""
    # A part of a larger plan has to exceed as large a part of the noise.
    known = {"engine": "memory", "scheduler": "judge", "now": 0.0, "part": 0.5}
    assert foresee(made, plan_of(made), (None, None), past(0.31), Guards(), **known).gain == pytest.approx(0.3)


def test_more_throughput_pays_too():
    made = asked(flows=FLOWS)
    back = plan_of(made, (0, 1, 1, 1))
    more = (LOADS[1], LOADS[0])
    assert forecast(made, back, more).gain == pytest.approx(max(100 / 89 - 1, 0.7))
    assert forecast(asked(), loads=more).gain == pytest.approx(100 / 89 - 1)


def test_the_share_of_a_forecast_is_corrected_before_it_counts_as_a_gain():
    off = CheckedFigure(
        round=1, engine="memory", scheduler="judge", figure="share", simulated=0.4, predicted=0.4, measured=0.5
    )
    found = forecast(asked(flows=FLOWS), past=Past(checked=((0.0, off),) * 3))
    assert found.simulated["share"] == pytest.approx(0.7)
    assert found.figures["share"] == pytest.approx(0.875)
    assert found.gain == pytest.approx(0.125)


class Clock:
    def __init__(self):
        self.now = 0.0

    def __call__(self):
        return self.now


def test_a_loop_moves_tasks_back_and_forth_until_that_pays_no_more():
    made = asked(flows=FLOWS)
    target = Machine(
        Observation(cluster=made.cluster, topologies=made.topologies, assignment=made.assignment, metrics=made.metrics)
    )
    clock, judge = Clock(), AwareJudge([0, 0, 0, 1])
    host = PluginHost().with_plugin("memory", Engine()).with_plugin("judge", judge)
    control = Control(scheduler="judge", engine="memory", limits=Limits(), guards=Guards(cooldown=0.0, goal=None))
    loop = Loop(host, control, target, clock=clock)
    rounds = []
    for number in range(8):
        clock.now += 30.0
        here = number % 2 == 0
        # The pairs that talk are others each time.
        flow = Flow(source="t/c/0" if here else "t/c/3", target="t/c/2", tuples=30.0)
        target.seen = attrs.evolve(target.seen, metrics=Metrics(flows=(flow, FLOWS[1])))
        judge.node_of = [0, 0, 0, 1] if here else [0, 0, 1, 1]
        rounds.append(loop.round())
    assert [each.outcome for each in rounds] == ["executed"] * 4 + ["waiting", "unchanged"] * 2
    assert rounds[4].message == "no gain beyond the errors of forecasts is expected; 1 moves wait"
    assert rounds[4].forecast.stop == pytest.approx(RESTART)
    # Since then nothing has moved for so long that the same gain pays, and errors of forecasts are forgotten.
    clock.now += HOUR
    target.seen = attrs.evolve(target.seen, metrics=Metrics(flows=FLOWS))
    judge.node_of = [0, 0, 0, 1]
    done = loop.round()
    assert (done.outcome, done.forecast.life) == ("executed", HOUR + 120.0)


class Pessimist(Engine):
    """A simulated engine that is wrong: it completes less wherever tasks are not in pairs on two nodes."""

    @hookimpl
    def headworks_open(self, application, address):
        seen = read(application[0], Request)
        return contextlib.nullcontext(SimpleNamespace(seen=seen, wait=lambda seconds: None, call=lambda name: None))

    @hookimpl
    def headworks_observe(self, target, window):
        whole = sorted(slot.node for slot in target.seen.assignment.values()) == ["a", "a", "b", "b"]
        sample = TopologySample(topology="t", offered=100.0, throughput=100.0 if whole else 80.0)
        kept = {name: getattr(target.seen, name) for name in ("cluster", "topologies", "assignment")}
        return Observation(**kept, metrics=Metrics(topologies=(sample,)))


@pytest.mark.parametrize("shadow", [False, True])
def test_a_plan_that_a_simulation_speaks_against_is_tried_after_an_hour(tmp_path, shadow):
    made = asked(live=True, flows=FLOWS)
    target = Machine(
        Observation(cluster=made.cluster, topologies=made.topologies, assignment=made.assignment, metrics=made.metrics)
    )
    clock, host = Clock(), PluginHost().with_plugin("memory", Engine()).with_plugin("sim", Pessimist())
    host = host.with_plugin("judge", AwareJudge([0, 0, 0, 1]))
    control = Control(scheduler="judge", engine="memory", limits=Limits(), shadow=shadow)

    def started():
        return Loop(host, control, target, FileJournal(tmp_path / "rounds.jsonl"), clock=clock)

    loop = started()
    first = loop.round()
    assert first.outcome == ("unchanged" if shadow else "waiting")
    assert "80.0% of the load would be completed, and 100.0% are now" in first.message
    assert "1 moves wait, for 3600 s at most: then such a plan is tried" in first.message
    clock.now = 600.0
    assert loop.round().forecast.hold == HOUR - 600.0
    loop = started()  # which knows the hold by the journal
    clock.now = 1200.0
    assert loop.round().forecast.hold == pytest.approx(HOUR - 1200.0, abs=300.0)
    clock.now = HOUR + 1.0
    done = loop.round()
    assert (done.outcome, done.forecast.hold, "wait" in done.message) == (
        "unchanged" if shadow else "executed",
        0.0,
        False,
    )


def test_a_small_gain_pays_once_tasks_have_stayed_for_long():
    slight = (Flow(source="t/c/0", target="t/c/2", tuples=2.0), Flow(source="t/c/1", target="t/c/3", tuples=98.0))
    made = asked(flows=slight)
    target = Machine(
        Observation(cluster=made.cluster, topologies=made.topologies, assignment=made.assignment, metrics=made.metrics)
    )
    clock = Clock()
    host = PluginHost().with_plugin("memory", Engine()).with_plugin("judge", AwareJudge([0, 0, 0, 1]))
    loop = Loop(host, Control(scheduler="judge", engine="memory", limits=Limits()), target, clock=clock)
    first = loop.round()
    clock.now = RESTART / 0.02 + 1.0
    assert (first.outcome, loop.round().outcome) == ("waiting", "executed")


def test_a_broken_constraint_is_mended_at_any_price():
    made = asked(flows=FLOWS, constraints=(Constraint(kind=ConstraintKind.AT_MOST, limit=2),))
    crowded = attrs.evolve(made, assignment=FrozenMap({task: at("a") for task in made.assignment}))
    plan = plan_of(crowded, (0, 0, 1, 1))
    assert plan.scores.share > 0
    assert is_repair(crowded, plan)
    assert not is_repair(made, plan_of(made, (0, 1, 0, 1)))
    assert priced(crowded, plan, past=Past(lives=(1.0,) * 3)) == ""
    left = within(crowded, plan, MovesPer(day=0), today=0)
    assert (left.plan, left.dropped) == (plan, {})

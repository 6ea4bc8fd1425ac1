"""Forecasts beside what was measured: errors, corrections, and the loop that predicts, acts and checks."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import attrs
import pytest

from headworks.control.forecast import (
    CheckedFigure,
    Forecast,
    TaskStop,
    check,
    corrected,
    corrections,
    known_figures,
    noise,
    sentences,
)
from headworks.control.guards import Guards
from headworks.control.journal import TIME, FileJournal, Round, read_journal
from headworks.control.loop import Control, Loop
from headworks.control.past import HOUR, KEPT, Past, later, past_of
from headworks.control.simulated import FLOWS, LARGEST, LoadFigures, simulated
from headworks.documents import restore
from headworks.errors import DocumentError
from headworks.model import Flow, FrozenMap, Limits, Metrics, Observation
from headworks.plugins.host import PluginHost
from headworks.problem import Problem
from memory_engine import Engine, Judge, Machine
from small_requests import component, node, request, topology, word_count


def seen(predicted=0.4, measured=0.5, simulated=None, figure="share", engine="memory", scheduler="judge"):
    return CheckedFigure(
        round=1,
        engine=engine,
        scheduler=scheduler,
        figure=figure,
        simulated=predicted if simulated is None else simulated,
        predicted=predicted,
        measured=measured,
    )


@pytest.mark.parametrize(
    ("predicted", "measured", "error"), [(0.4, 0.5, 0.2), (0.5, 0.4, 0.25), (0.0, 0.0, 0.0), (0.1, 0.0, 1.0)]
)
def test_an_error_is_a_part_of_what_was_measured(predicted, measured, error):
    assert seen(predicted, measured).error == pytest.approx(error)


def test_forecasts_are_corrected_by_the_median_of_their_newest_errors():
    few = [seen(0.4, 0.5), seen(0.4, 0.6)]
    assert corrections(few, "memory", "judge") == {}
    assert corrections([*few, seen(0.4, 0.44)], "memory", "judge") == {"share": pytest.approx(1.25)}
    old = [seen(0.4, 0.1)] * 20
    assert corrections([*old, *[seen(0.4, 0.5)] * 8], "memory", "judge") == {"share": pytest.approx(1.25)}


def test_errors_are_kept_by_engine_scheduler_and_figure():
    every = [*[seen()] * 3, *[seen(0.4, 0.2, figure="latency")] * 3, *[seen(0.4, 0.4, engine="other")] * 3]
    assert corrections(every, "memory", "judge") == {"share": pytest.approx(1.25), "latency": pytest.approx(0.5)}
    assert corrections(every, "other", "judge") == {"share": 1.0}
    assert corrections(every, "memory", "other") == {}


def test_a_correction_is_of_the_model_and_not_of_itself():
    """Forecasts that are right because they were corrected do not lose their correction."""
    assert corrections([seen(0.5, 0.5, simulated=0.4)] * 5, "memory", "judge") == {"share": pytest.approx(1.25)}


def test_corrections_have_bounds_and_so_have_parts():
    assert corrections([seen(0.1, 0.9)] * 3, "memory", "judge") == {"share": 2.0}
    assert corrections([seen(0.9, 0.1)] * 3, "memory", "judge") == {"share": 0.5}
    assert corrections([seen(0.0, 0.9)] * 3, "memory", "judge") == {}
    figures = {"share": 0.8, "completed": 1.0, "latency": 4.0}
    assert corrected(figures, {"share": 2.0, "latency": 2.0}) == {"share": 1.0, "completed": 1.0, "latency": 8.0}


def test_figures_are_those_that_are_known():
    assert known_figures(None) == {}
    assert known_figures(LoadFigures(offered=0.0, completed=5.0)) == {}
    whole = LoadFigures(share=0.2, fullest_node=0.7, offered=50.0, completed=40.0, latency=3.0)
    assert known_figures(whole) == {"share": 0.2, "fullest_node": 0.7, "completed": 0.8, "latency": 3.0}


def test_what_was_not_measured_is_not_checked():
    forecast = Forecast(
        figures=FrozenMap(share=0.3, latency=9.0), simulated=FrozenMap(share=0.25, latency=9.0, completed=1.0)
    )
    (found,) = check(forecast, {"share": 0.3, "completed": 1.0}, number=7, engine="e", scheduler="s")
    assert (found.round, found.figure, found.simulated, found.error) == (7, "share", 0.25, 0.0)


def test_a_forecast_and_its_check_are_told():
    forecast = Forecast(figures=FrozenMap(share=0.3), gain=0.05, life=600.0, stop=0.25)
    assert sentences(forecast, [seen()]) == [
        "measured beside the forecast: share 0.4 predicted in round 1, 0.5 measured",
        "forecast: share 0.3; a gain of 5.0% over 600 s for 0.25 s of stop",
    ]
    assert sentences(None, ()) == sentences(Forecast(why="there is no sim"), ()) == []


def test_the_past_is_that_of_the_journal(tmp_path):
    journal = FileJournal(tmp_path / "rounds.jsonl")
    assert past_of(journal, now=0.0) == Past()
    stop = TaskStop(engine="memory", kind="live", seconds=0.01, state=4.0)
    for number in (1, 2):
        done = {"number": number, "at": "2999-01-01T00:00:00Z", "moved": number, "stops": [attrs.asdict(stop)]}
        forecast = {"life": 60.0 * number}
        journal.append({**done, "checked": [attrs.asdict(seen(0.1 * number))], "forecast": forecast})
    found = past_of(journal, now=0.0)
    assert [each for _, each in found.checked] == [seen(0.1), seen(0.2)]
    assert (found.stops, found.life, [count for _, count in found.moves]) == ((stop, stop), 120.0, [1, 2])


ASKED = request([node("a"), node("b")], [topology("t", component("c", 2))], {"t/c/0": "a", "t/c/1": "a"})
MOVES = Problem.of(ASKED).plan([0, 1])


def test_the_past_knows_how_long_tasks_stayed_and_forgets():
    moved = Round(number=1, outcome="executed", request=ASKED, plan=MOVES, moved=1, checked=(seen(),) * KEPT)
    past = later(later(Past(), moved, now=10.0), Round(number=2, outcome="quiet"), now=20.0)
    assert (past.placed, past.lives) == ({"t/c/1": 10.0}, ())
    past = later(past, moved, now=40.0)
    assert (past.placed, past.lives, len(past.checked)) == ({"t/c/1": 40.0}, (30.0,), KEPT)
    assert later(past, Round(number=3, outcome="quiet"), now=40.0 + HOUR).checked == ()


def test_a_request_of_many_tasks_is_not_simulated():
    asked = request([node("a", 1e9)], [topology("t", component("c", LARGEST + 1, 1.0))])
    with pytest.raises(DocumentError, match="2001 tasks are too many to be simulated"):
        simulated(PluginHost.load(["sim"]), asked, Problem.of(asked).plan([0] * (LARGEST + 1)))


def test_a_request_of_many_flows_is_not_simulated():
    flow = Flow(source="t/c/0", target="t/c/1", tuples=1.0)
    asked = attrs.evolve(ASKED, metrics=Metrics(flows=(flow,) * (FLOWS + 1)))
    with pytest.raises(DocumentError, match="100001 flows are too many to be simulated"):
        simulated(PluginHost.load(["sim"]), asked, MOVES)


def test_old_errors_correct_nothing_however_late_the_next_round_is():
    past = later(Past(), Round(number=1, outcome="quiet", checked=(seen(),) * 3), now=10.0)
    assert past.errors(10.0) == (seen(),) * 3
    assert past.errors(10.0 + HOUR) == ()


def test_tasks_that_have_ended_are_forgotten():
    moved = Round(number=1, outcome="executed", request=ASKED, plan=MOVES, moved=1)
    gone = attrs.evolve(Past(), placed=FrozenMap({"old/c/0": 1.0, "t/c/0": 2.0}))
    assert later(gone, moved, now=10.0).placed == {"t/c/0": 2.0, "t/c/1": 10.0}


def test_tasks_have_stayed_since_the_last_moves_or_since_the_first_record(tmp_path):
    def record(ago, moved=0):
        at = (datetime.now(UTC) - timedelta(seconds=ago)).strftime(TIME)
        return {"number": 1, "at": at, **({"moved": moved} if moved else {})}

    quiet, busy = FileJournal(tmp_path / "quiet"), FileJournal(tmp_path / "busy")
    assert past_of(quiet, now=0.0).still is None
    for ago in (9000, 6000, 3000):
        quiet.append(record(ago))
        busy.append(record(ago, moved=2 * (ago == 6000)))
    assert past_of(quiet, now=0.0).still == pytest.approx(-9000, abs=60)
    assert past_of(busy, now=0.0).still == pytest.approx(-6000, abs=60)


class Measured(Engine):
    """An engine in memory that measures the traffic of its streams, and completes all that is offered."""


def words(flow=1.0):
    """Words that are split on node b and counted on node a, with so many tuples of each stream as are stated."""
    asked = attrs.evolve(
        word_count(), cluster=attrs.evolve(word_count().cluster, nodes=(node("a", 300.0), node("b", 300.0)))
    )
    running = Problem.of(asked).plan([0, 0, 1, 1, 0]).assignment
    flows = [Flow(source="words/spout/0", target=f"words/split/{index}", tuples=50.0) for index in (0, 1)]
    flows += [
        Flow(source=f"words/split/{index}", target=f"words/count/{other}", tuples=125.0 * flow)
        for index in (0, 1)
        for other in (0, 1)
    ]
    return Observation(
        cluster=asked.cluster, topologies=asked.topologies, assignment=running, metrics=Metrics(flows=tuple(flows))
    )


def loop(target, judge, journal=None, names=("sim",), **control):
    host = PluginHost.load(list(names)).with_plugin("memory", Measured()).with_plugin("judge", judge)
    guards = Guards(cooldown=0.0, goal=None)
    return Loop(
        host, Control(scheduler="judge", engine="memory", limits=Limits(), guards=guards, **control), target, journal
    )


def test_a_round_predicts_acts_and_the_next_one_checks(tmp_path):
    journal, target, judge = FileJournal(tmp_path / "rounds.jsonl"), Machine(words()), Judge([1, 1, 1, 1, 0])
    made = loop(target, judge, journal)
    first, second, third = made.round(), made.round(), made.round()
    assert (first.outcome, first.checked) == ("executed", ())
    assert first.forecast.why == ""
    assert first.forecast.present["share"] == pytest.approx(1.0)
    assert first.forecast.figures["share"] == pytest.approx(1 / 6)
    assert first.forecast.figures["completed"] == pytest.approx(1.0)
    assert first.forecast.gain == pytest.approx(5 / 6)
    (share,) = (each for each in second.checked if each.figure == "share")
    assert (share.round, share.engine, share.scheduler) == (1, "memory", "judge")
    assert share.measured == pytest.approx(1 / 6)
    assert share.error < 0.01
    assert third.checked == ()
    assert [restore(each, Round) for each in read_journal(journal.path)] == [first, second, third]
    assert tuple(each for _, each in past_of(FileJournal(journal.path), now=0.0).checked) == second.checked


def test_shadow_has_the_forecast_of_a_loop_that_acts():
    acts, shadows = (loop(Machine(words()), Judge([1, 1, 1, 1, 0]), shadow=shadow) for shadow in (False, True))
    done, said = acts.round(), shadows.round()
    assert done.forecast.figures.keys() >= {"share", "completed"}
    assert (said.forecast, said.outcome) == (done.forecast, "unchanged")
    assert said.message.startswith(f"shadow: {len(said.plan.moves)} moves are not carried out")
    assert "wait" not in said.message
    assert shadows.round().checked == ()


def test_shadow_says_what_acting_would_wait_for():
    made, target = loop(Machine(words()), Judge([1, 1, 1, 1, 0]), shadow=True), Machine(words())
    guards = Guards(gain=0.9, goal=None)
    made._control = attrs.evolve(made._control, guards=guards)
    acts = loop(target, Judge([1, 1, 1, 1, 0]))
    acts._control = attrs.evolve(acts._control, guards=guards)
    said, done = made.round(), acts.round()
    assert (said.outcome, done.outcome) == ("unchanged", "waiting")
    assert said.message.startswith(f"shadow: {len(said.plan.moves)} moves are not carried out")
    assert said.message.endswith(f"; the loop would wait: {done.message}")


def test_the_noise_of_a_figure_is_the_median_of_its_newest_errors():
    assert noise([seen(), seen()], "memory", "judge") == {}
    every = [*[seen(0.4, 0.9)] * 9, *[seen(0.4, 0.5), seen(0.4, 0.3)] * 4, *[seen(figure="latency")] * 2]
    assert noise(every, "memory", "judge") == {"share": pytest.approx(0.1)}
    assert noise(every, "other", "judge") == noise(every, "memory", "other") == {}


def test_a_hold_by_a_forecast_is_remembered_until_a_plan_is_carried_out():
    held = Round(number=1, outcome="waiting", request=ASKED, plan=MOVES, forecast=Forecast(hold=HOUR))
    past = later(Past(), held, now=10.0)
    assert (past.held, past.hold(110.0)) == ((10.0, 10.0), HOUR - 100.0)
    past = later(past, Round(number=2, outcome="quiet"), now=110.0)
    again = attrs.evolve(held, forecast=Forecast(hold=past.hold(210.0)))
    past = later(past, again, now=210.0)
    assert past.held == (10.0, 210.0)
    assert later(past, attrs.evolve(held, forecast=Forecast()), now=300.0).held is None
    assert later(past, attrs.evolve(again, outcome="executed", moved=1), now=300.0).held is None


def test_the_errors_of_rounds_correct_the_forecasts_of_later_ones():
    target, judge = Machine(words()), Judge([])
    made = loop(target, judge)
    there, back = [1, 1, 1, 1, 0], [0, 0, 1, 1, 0]
    ratios = []
    for number in range(6):
        judge.node_of = there if number % 2 == 0 else back
        # Whatever is measured when a plan is made, afterwards fewer words are counted.
        target.seen = attrs.evolve(words(1.0), assignment=target.seen.assignment)
        done = made.round()
        assert done.outcome == "executed", done
        target.seen = attrs.evolve(words(0.1), assignment=target.seen.assignment)
        judge.replan = False
        ratios += [each.measured / each.simulated for each in made.round().checked if each.figure == "share"]
        judge.replan = True
    assert len(ratios) == 6
    after = [each for _, each in made.past.checked if each.figure == "share"]
    assert [each.predicted for each in after[:3]] == pytest.approx([each.simulated for each in after[:3]])
    factor = corrections(after[:-1], "memory", "judge")["share"]
    assert factor > 1
    assert after[-1].predicted == pytest.approx(min(after[-1].simulated * factor, 1.0))


@pytest.mark.parametrize(("names", "control", "why"), [((), {}, "there is no "), (("sim",), {"predict": False}, "")])
def test_without_a_simulation_the_scores_of_the_plan_are_the_forecast(names, control, why):
    made = loop(Machine(words()), Judge([1, 1, 1, 1, 0]), names=names, **control)
    first, second = made.round(), made.round()
    assert first.forecast.why.startswith(why) if why else first.forecast.why == ""
    assert first.forecast.figures == {"share": pytest.approx(1 / 6)}
    assert [each.figure for each in second.checked] == ["share"]


def test_a_plan_that_was_taken_back_or_missed_is_not_checked():
    target = Machine(words(), deaf=True)
    made = loop(target, Judge([1, 1, 1, 1, 0]))
    assert made.round().outcome == "missed"
    assert made.round().checked == ()


def test_a_first_placement_has_no_forecast():
    target = Machine(attrs.evolve(words(), assignment=FrozenMap()))
    done = loop(target, Judge([1, 1, 1, 1, 0])).round()
    assert (done.outcome, done.forecast, done.moved) == ("executed", None, 0)


def test_the_simulated_engine_does_what_it_predicted():
    host = PluginHost.load(["sim", "dstorm"])
    with host.open("sim", ["dstorm:linear"], None) as target:
        control = Control(scheduler="dstorm", engine="sim", window=10.0, guards=Guards(cooldown=0.0, goal=None))
        made = Loop(host, control, target, clock=target.clock)
        made.round(replan=True)
        target.wait(60.0)
        made._control = attrs.evolve(made._control, scheduler="judge")
        made._host = host.with_plugin("judge", Judge([index % 3 for index in range(16)]))
        done = made.round(replan=True)
        assert done.outcome == "executed", done
        target.wait(60.0)
        checked = made.round().checked
    assert {each.figure for each in checked} >= {"share", "fullest_node", "completed"}
    assert all(each.error < 0.05 for each in checked if each.figure in ("share", "completed")), checked

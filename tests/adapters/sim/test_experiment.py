from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import attrs
import pytest

from headworks.documents import dumps
from headworks.errors import OptionError, PluginError
from headworks.problem import Problem
from headworks.testing import FirstFit
from headworks_sim.experiments.experiment import run
from headworks_sim.fluid.timing import Timing
from headworks_sim.fluid.trace import Event, Trace
from small_requests import component, node, request, topology, word_count

STORY = Trace(
    events=(
        Event(time=100.0, kind="node-flap", subject="a", value=45.0),
        Event(time=250.0, kind="load", subject="words", value=1.2),
        Event(time=300.0, kind="node-up", subject="a"),
    )
)


def first_fit(request):
    return FirstFit().headworks_schedule(Problem.of(request))


def test_a_function_is_a_scheduler_too():
    summary = run(word_count(), first_fit, duration=300.0, warm_up=0.0)
    assert (summary.scheduler, summary.moves, summary.placed) == ("first_fit", 0, 5)
    assert summary.rounds["executed"] == 1
    done, came = (rate * summary.duration for rate in (summary.throughput, summary.offered))
    assert done + summary.backlog == pytest.approx(came), "nothing is lost"
    assert 0 < summary.stopped < 40
    assert summary.nodes < 2
    assert sum(each.throughput for each in summary.topologies) == pytest.approx(summary.throughput)
    assert summary.curve[-1].time == summary.duration


def test_the_start_of_a_cluster_is_a_warm_up_of_which_nothing_counts():
    cold, warm = (run(word_count(), first_fit, duration=60.0, warm_up=seconds) for seconds in (0.0, None))
    assert (cold.warm_up, warm.warm_up) == (0.0, 60.0)
    assert cold.start == pytest.approx(warm.start)
    assert 10.0 < warm.start < 30.0, "a look of 10 s, in which nothing runs, and at most 18.3 s until a task does"
    assert (warm.stopped, warm.degraded, warm.backlog, warm.completed) == (0.0, 0.0, 0.0, 1.0)
    assert warm.latency < 1000.0 < cold.latency, "what came before anything ran waits for nobody"
    assert cold.completed == pytest.approx(cold.throughput / cold.offered)
    assert cold.stopped > 10.0
    assert warm.curve[0].throughput == warm.curve[0].offered


def test_moves_of_the_warm_up_do_not_count_and_a_request_that_runs_has_none():
    roomy = request([node("a", 400.0), node("b", 400.0)], word_count().topologies)

    def restless(asked):
        """Leave the place of the first plan."""
        return Problem.of(asked).plan([1, 0, 0, 0, 0] if asked.assignment else [0, 0, 0, 0, 0])

    assert [run(roomy, restless, duration=90.0, warm_up=each).moves for each in (0.0, 120.0)] == [1, 0]
    running = attrs.evolve(roomy, assignment=restless(roomy).assignment)
    summary = run(running, restless, duration=90.0)
    assert (summary.warm_up, summary.start, summary.moves) == (0.0, 0.0, 1)


def test_events_of_a_trace_and_samples_have_their_times_after_the_warm_up():
    down = Trace(events=(Event(time=5.0, kind="node-down", subject="a"),))
    kept = []
    summary = run(word_count(), first_fit, duration=60.0, trace=down, keep=lambda _, now: kept.append(now))
    assert summary.stopped == pytest.approx(summary.duration - 5.0)
    assert kept[0] == 10.0


def test_the_same_seed_is_the_same_summary_and_another_one_is_not():
    one, same, other = (dumps(run(word_count(), first_fit, seed, 400.0, trace=STORY)) for seed in (1, 1, 2))
    assert one == same
    assert one != other


SCRIPT = """
from test_experiment import STORY, first_fit
from headworks.documents import dumps
from headworks_sim.experiments.experiment import run
from small_requests import word_count
print(dumps(run(word_count(), first_fit, 3, 400.0, trace=STORY)), end="")
"""


def test_another_process_with_another_hash_seed_finds_the_same():
    here = Path(__file__).parent
    path = os.pathsep.join([str(here), str(here.parents[1]), *sys.path])
    env = {**os.environ, "PYTHONHASHSEED": "1234", "PYTHONPATH": path}
    done = subprocess.run([sys.executable, "-c", SCRIPT], env=env, capture_output=True, text=True, check=True)
    assert done.stdout == dumps(run(word_count(), first_fit, 3, 400.0, trace=STORY))


def test_a_request_that_does_not_fit_is_a_value():
    summary = run(request([node("a", 10.0)], [topology("t", component("c", 2))]), first_fit, duration=60.0)
    assert set(summary.rounds) == {"held"}
    assert (summary.throughput, summary.placed, summary.start) == (0.0, 0, None)


def test_a_move_of_single_tasks_costs_less_than_one_of_workers_or_topologies():
    made = request([node("a", 400.0), node("b", 400.0)], word_count().topologies)
    stopped = {}
    for style in ("seats", "executor", "worker", "rebalance"):
        turns = iter(range(1000))

        def restless(asked, turns=turns):
            """Move one counter to and fro."""
            return Problem.of(asked).plan([next(turns) % 2, 0, 0, 1, 1])

        stopped[style] = run(made, restless, duration=300.0, interval=40.0, timing=Timing(style=style)).stopped
    assert stopped["seats"] <= stopped["executor"] < stopped["worker"] < stopped["rebalance"]


@pytest.mark.parametrize("wrong", [{"duration": 0.0}, {"window": 0.0}, {"interval": -1.0}, {"warm_up": -1.0}])
def test_times_that_make_no_sense_are_refused(wrong):
    with pytest.raises(OptionError):
        run(word_count(), first_fit, **wrong)


def test_an_unknown_scheduler_is_named():
    with pytest.raises(PluginError, match="there is no scheduler 'nobody'"):
        run(word_count(), "nobody")

"""What holds of any simulated world, whatever happens in it."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from headworks.model import Plan, Slot
from headworks.problem import Problem
from headworks.testing import FirstFit
from headworks.testing.instances.strategies import requests
from headworks_sim.executor import preflight
from headworks_sim.experiments.experiment import run
from headworks_sim.fluid.layout import Layout
from headworks_sim.fluid.timing import Timing
from headworks_sim.fluid.trace import Event, Trace
from headworks_sim.fluid.world import World
from headworks_sim.target import SimTarget
from small_requests import word_count


@st.composite
def stories(draw):
    """A request, a trace of anything that can happen to it, and a style of moving."""
    made = draw(requests(fresh=True))
    entering = [each.id for each in Layout.of(made).topologies if each.throughput]
    nodes = [each.id for each in made.cluster.nodes]
    slots = [f"{each.id}:{port}" for each in made.cluster.nodes for port in each.slots]
    kinds = {"node-down": nodes, "node-up": nodes, "node-flap": nodes, "worker-down": slots}
    if entering:
        kinds |= {"load": entering, "batch": entering}
    events = []
    for _ in range(draw(st.integers(0, 6))):
        kind = draw(st.sampled_from(sorted(kinds)))
        subject, value = draw(st.sampled_from(kinds[kind])), draw(st.sampled_from([0.5, 7.0, 40.0]))
        events.append(Event(time=draw(st.integers(0, 200)) * 1.0, kind=kind, subject=subject, value=value))
    style = draw(st.sampled_from(["executor", "worker", "rebalance", "seats"]))
    return made, Trace(events=tuple(events)), Timing(style=style)


@settings(max_examples=25, deadline=None)
@given(stories(), st.integers(0, 3))
def test_nothing_is_lost_nothing_is_overloaded_and_time_has_no_holes(story, seed):
    made, trace, timing = story
    world = World(made, trace=trace, timing=timing, seed=seed)
    target = SimTarget(world=world)
    plan = FirstFit().headworks_schedule(Problem.of(made))
    world.assign(plan.assignment)
    target.wait(100.0)
    world.assign({})
    target.wait(40.0)
    world.assign(plan.assignment)
    target.wait(160.0)
    spans = world.spans
    assert [span.begin for span in spans[1:]] == [span.end for span in spans[:-1]]
    assert (spans[0].begin, spans[-1].end) == (0.0, 300.0)
    batches = dict.fromkeys((each.id for each in world.layout.topologies), 0.0)
    for event in trace.events:
        if event.kind == "batch":
            batches[event.subject] += event.value
    came = sum(span.length * span.offered for span in spans) + np.array(list(batches.values()))
    done = sum(span.length * span.throughput for span in spans)
    assert done + spans[-1].backlog == pytest.approx(came, rel=1e-6, abs=1e-3)
    capacity = world.layout.capacity
    for span in spans:
        fixed = np.zeros(len(capacity))
        there = span.steady.there
        every = np.concatenate([share.fixed for share in span.steady.shares])
        np.add.at(fixed, span.steady.node_of[there], every[there])
        assert (span.steady.node_cpu <= np.maximum(capacity, fixed) * (1 + 1e-9) + 1e-6).all()


def test_what_is_not_carried_out_is_said_before():
    target = SimTarget(world=World(word_count()))
    plan = Plan(parallelism={"words/split": 3, "words/count": 2}, input_rate=5.0)
    assert len(preflight(target, plan)) == 1  # with these numbers of tasks it would be submitted
    target.world.assign({target.world.layout.problem.task_ids[0]: Slot("a", 0)})
    said = preflight(target, plan)
    assert len(said) == 2
    assert said[0].startswith("words/split: the number of tasks stays")
    assert "input rate of 5 is not set" in said[1]


def test_the_loop_survives_a_scheduler_that_raises():
    def broken(_request):
        raise RuntimeError("no")

    summary = run(word_count(), broken, duration=60.0)
    assert set(summary.rounds) == {"held"}

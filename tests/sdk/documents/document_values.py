"""A value of each document's class, as Hypothesis draws it."""

from __future__ import annotations

import attrs
from hypothesis import strategies as st

from headworks.api import Compared, Comparison
from headworks.control.journal import Check, Round
from headworks.documents import digest
from headworks.hooks import Verdict
from headworks.model import (
    FrozenMap,
    NodeSample,
    Observation,
    Plan,
    Profile,
    Provenance,
    Receipt,
    Request,
    Step,
    StreamSample,
    TopologySample,
)
from headworks.model.knowledge import ComponentTraffic, Demand, Drift, Knowledge, NodeHealth, ProfileFit
from headworks.problem import Problem
from headworks.testing.instances.strategies import requests


def settled(asked):
    """The request as a document may state it: without tasks on dead nodes."""
    live = {(each.id, port) for each in asked.cluster.nodes for port in each.slots}
    running = {task: slot for task, slot in asked.assignment.items() if (slot.node, slot.port) in live}
    return attrs.evolve(asked, assignment=FrozenMap(running))


def known():
    """Something of each kind that samples tell."""
    of = {"topology": "t", "component": "c", "machine_type": "large"}
    return Knowledge(
        since="2026-01-01T00",
        until="2026-01-01T05",
        samples=7,
        rejected=FrozenMap({"negative": 1}),
        profiles=(ProfileFit(profile=Profile(**of, e=0.1, met=2.5), samples=6, e_error=0.01),),
        demands=(Demand(**of, resource="cpu", samples=6, p50=1.0, p90=2.0, p95=3.0, p99=4.0, peak=5.5),),
        traffic=(ComponentTraffic(topology="t", source="c", target="d", tuples=0.1),),
        drifts=(Drift(**of, hour="2026-01-01T03", ratio=1.5),),
        nodes=(NodeHealth(node="n", state="slow", slowness=1.3, reasons=("30 % more CPU",)),),
    )


@st.composite
def values(draw, kind):
    """A value of one of the documents' classes."""
    asked = settled(draw(requests()))
    problem = Problem.of(asked)
    options = FrozenMap({"order": "ras", "ratio": 0.5, "deep": True, "none": None})
    plan = problem.plan(draw(st.lists(st.integers(-1, problem.m - 1), min_size=problem.n, max_size=problem.n)))
    plan = attrs.evolve(plan, provenance=Provenance(scheduler="s", version="1", options=options, request=digest(asked)))
    receipt = Receipt(done=draw(st.booleans()), steps=(Step(action="move", subject="t"),), undo=plan.assignment)
    samples = {"nodes": (NodeSample(node=asked.cluster.nodes[0].id, memory=0.1, speed=0.5),)}
    one = asked.topologies[0]
    ends = {"source": one.components[0].id, "target": one.components[-1].id}
    samples["streams"] = (StreamSample(topology=one.id, **ends, bytes=1.5),)
    samples["topologies"] = (TopologySample(topology=asked.topologies[0].id, latency=1e-3),)
    made = {
        Request: asked,
        Plan: plan,
        Receipt: receipt,
        Comparison: Comparison(request=digest(asked), plans=(Compared(scheduler="s", plan=plan, seconds=0.25),)),
        Observation: Observation(
            cluster=asked.cluster,
            topologies=asked.topologies,
            assignment=asked.assignment,
            metrics=attrs.evolve(asked.metrics, **samples),
        ),
        Round: Round(
            number=3,
            outcome="missed",
            verdict=Verdict(replan=True, state="overloaded", reasons=("CPU",)),
            request=asked,
            plan=plan,
            warnings=("w",),
            receipt=receipt,
            check=Check(asked=2, hits=1, missed=("t",)),
        ),
        Knowledge: known(),
    }
    return made[kind]

"""The scheduler that a cluster of experiments is served with: it asks the one whose turn it is."""

from __future__ import annotations

from typing import TYPE_CHECKING

import attrs

from headworks.errors import EngineError
from headworks.hooks import Description, hookimpl
from headworks.model import (
    FILL,
    FILL_DEADLINES,
    Cluster,
    Kind,
    NodeSample,
    Observation,
    Request,
    Resources,
    Status,
    Stream,
)
from headworks.model.rates import stream_rates
from headworks.model.scaling import at_offered_load, declared_from_measured
from headworks.plugins.headroom import beside_planned
from headworks.plugins.host import PluginHost
from headworks.problem import Problem
from headworks_lab.measure.figures import agreement

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from headworks.model import Component, Plan, Topology

NAME = "experiment"
ACKER = "__acker"
"""Storm's own component that hears of every tuple; Nimbus does not say who sends to it."""
ACK = 40.0
"""Bytes of what is sent to an acker, or from it: ids of a tuple's root and of itself, and a head."""


@attrs.define
class Deputy:
    """Ask another scheduler, which is told the rates that the workload declares: Nimbus knows none of them.

    Attributes:
        host: Has the scheduler.
        scheduler: Its name; "" before the first turn.
        declared: The workload.
        seed: Seed of its plans.
        bandwidths: Bytes/s of each node, by its host, where that is known.
        pilot: What was measured of the workload in an earlier run, None to plan with what it declares.
        planned: Node of each task by the last whole plan that has it.
        asked: What the last whole plan was asked for.
    """

    host: PluginHost = attrs.field(factory=PluginHost)
    scheduler: str = ""
    declared: Request = attrs.field(factory=Request)
    seed: int = 0
    bandwidths: dict[str, float | None] = attrs.field(factory=dict)
    pilot: Observation | None = None
    planned: dict[str, str] = attrs.field(factory=dict)
    asked: Request = attrs.field(factory=Request)

    @hookimpl
    def headworks_describe(self) -> Description:
        """Describe the scheduler."""
        return Description(summary="The scheduler whose turn it is in a series of experiments.")

    @hookimpl
    def headworks_schedule(self, request: Request) -> Plan:
        """Let the other one plan; before the first turn there is nothing to plan."""
        if not self.scheduler:
            problem = Problem.of(request)
            return problem.plan([-1] * problem.n)
        nodes = tuple(
            attrs.evolve(each, bandwidth=self.bandwidths.get(each.hostname)) for each in request.cluster.nodes
        )
        # Nimbus waits for all plans that headroom takes, and no longer.
        deadline = request.limits.deadline / FILL_DEADLINES
        limits = attrs.evolve(request.limits, fill=self.declared.limits.fill or FILL, deadline=deadline)
        told = known(request, self.declared)
        told = told if self.pilot is None else piloted(told, self.pilot)
        asked = attrs.evolve(told, cluster=Cluster(nodes=nodes), limits=limits, seed=self.seed)
        plan = self.host.schedule(self.scheduler, asked, stretch=1.0)
        if plan.status is Status.OK:  # else a topology has no room, and Storm's own scheduler starts it, as in life
            self.planned |= {task: slot.node for task, slot in plan.assignment.items()}
            self.asked = asked
        return plan

    def require_obeyed(self, seen: Observation) -> None:
        """Check that tasks run where the last plans have them.

        Args:
            seen: What runs.

        Raises:
            EngineError: Some run elsewhere: Storm's own scheduler placed them, as the answer was late.
        """
        strayed = sum(self.planned.get(task, slot.node) != slot.node for task, slot in seen.assignment.items())
        if strayed:
            raise EngineError(
                f"{strayed} of {len(seen.assignment)} tasks run where Storm's own scheduler put them, as "
                f"{self.scheduler} answered too late; run the experiment again on a machine that does nothing else"
            )


def burned(asked: Request, seen: Observation) -> dict[str, float]:
    """CPU that tasks used at the load that was offered over what the plan counted with, by the name of the figure.

    Args:
        asked: What the plan was asked for.
        seen: What was measured of it.
    """
    measured = declared_from_measured(at_offered_load(Request.of(seen)))
    planned, used = (
        {
            (topology.id, part.id): part.demand.cpu * part.parallelism
            for topology in each.topologies
            for part in topology.components
        }
        for each in (asked, measured)
    )
    both = planned.keys() & used.keys()
    return agreement(sum(planned[each] for each in both), sum(used[each] for each in both))


def known(request: Request, declared: Request) -> Request:
    """The request of a round, with what the workload declares of its topologies: rates, selectivities, bytes, profiles.

    Args:
        request: As Nimbus knows it; its topologies have names, and ids of their own.
        declared: The workload, whose topologies' ids are these names.
    """
    by_name = {each.id: each for each in declared.topologies}
    ids = {each.name: each.id for each in request.topologies if each.name in by_name}
    topologies = tuple(_told(each, by_name[each.name]) if each.name in by_name else each for each in request.topologies)
    profiles = (attrs.evolve(each, topology=ids[each.topology]) for each in declared.profiles if each.topology in ids)
    return attrs.evolve(request, topologies=topologies, profiles=(*request.profiles, *profiles))


def piloted(request: Request, pilot: Observation) -> Request:
    """The request with the CPU that tasks, and processes beside them, used in a pilot at the rate that was offered.

    Args:
        request: As Nimbus knows it; its topologies have the names of those of the pilot.
        pilot: The measurement of another run.
    """
    seen = at_offered_load(Request.of(pilot))
    used = {
        (each.name, part.id): part.demand.cpu
        for each in declared_from_measured(seen).topologies
        for part in each.components
    }
    beside = beside_planned(seen)
    topologies = tuple(
        attrs.evolve(each, components=tuple(_using(part, used.get((each.name, part.id))) for part in each.components))
        for each in request.topologies
    )
    nodes = tuple(NodeSample(node=each.id, cpu=beside) for each in request.cluster.nodes)
    metrics = attrs.evolve(request.metrics, tasks=(), nodes=nodes)
    return attrs.evolve(request, topologies=topologies, metrics=metrics)


def _using(part: Component, cpu: float | None) -> Component:
    return part if cpu is None else attrs.evolve(part, demand=Resources({**part.demand, "cpu": cpu}))


def _told(topology: Topology, declared: Topology) -> Topology:
    rates = dict(zip(((each.source, each.target) for each in declared.streams), stream_rates(declared), strict=True))
    parts = {each.id: each for each in declared.components}
    sizes = {(each.source, each.target): each.tuple_bytes for each in declared.streams}

    def stream(each: Stream) -> Stream:
        pair = (each.source, each.target)
        return attrs.evolve(each, rate=rates[pair], tuple_bytes=sizes[pair]) if pair in rates else each

    acked = _acks(parts.values(), rates, bytes_known=None not in sizes.values())
    ackers = any(each.id == ACKER for each in topology.components)
    return attrs.evolve(
        topology,
        components=tuple(_part(each, parts.get(each.id)) for each in topology.components),
        streams=(*map(stream, topology.streams), *(acked if ackers else ())),
    )


def _acks(parts: Iterable[Component], rates: Mapping[tuple[str, str], float], *, bytes_known: bool) -> Iterator[Stream]:
    """Messages to ackers and from them: one for each tuple that a spout emits or a bolt receives."""
    size = ACK if bytes_known else None
    for part in parts:
        spout = part.kind is Kind.SPOUT
        taken = part.rate or 0.0 if spout else sum(rate for (_, target), rate in rates.items() if target == part.id)
        yield Stream(source=part.id, target=ACKER, name=ACKER, grouping="fields", rate=taken, tuple_bytes=size)
        if spout:
            yield Stream(source=ACKER, target=part.id, name=ACKER, grouping="direct", rate=taken, tuple_bytes=size)


def _part(component: Component, declared: Component | None) -> Component:
    if declared is None:
        return component
    return attrs.evolve(component, rate=declared.rate, selectivity=declared.selectivity)

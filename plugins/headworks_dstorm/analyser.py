"""System Analyser of section 5.4: the two abnormal states of a system."""

from __future__ import annotations

from typing import TYPE_CHECKING

from headworks.hooks import Verdict

if TYPE_CHECKING:
    from headworks.model import Node, NodeSample, Observation, TopologySample
    from headworks_dstorm.options import Options

TWICE = 2_000.0
"""Milliseconds for each second between two batches that one of them may take."""


def analyse(observation: Observation, options: Options) -> Verdict:
    """Judge a window of measurement.

    The states, in order of precedence: `unassigned` (some task has no live slot: not in the paper, where Storm
    itself notices), `unsatisfactory` (throughput below the offered load, or latency over the constraint),
    `consolidation` (most nodes in use are little used while throughput matches the load), `normal`. High
    utilisation alone is normal. What was not measured supports no state. A task without a slot waits for no
    scheduling interval.

    Args:
        observation: A window of measurement.
        options: Latency constraint, consolidation threshold, tolerance and scheduling interval.
    """
    if missing := _unassigned(observation):
        return Verdict(replan=True, state="unassigned", reasons=(f"{missing} tasks have no live slot",))
    samples = observation.metrics.topologies
    if reasons := tuple(reason for sample in samples for reason in _dissatisfaction(sample, options)):
        return Verdict(replan=True, state="unsatisfactory", reasons=reasons, interval=options.scheduling_interval)
    measured = any(sample.offered is not None and sample.throughput is not None for sample in samples)
    if measured and (reason := _consolidation(observation, options)):
        return Verdict(replan=True, state="consolidation", reasons=(reason,), interval=options.scheduling_interval)
    return Verdict(replan=False)


def _unassigned(observation: Observation) -> int:
    live = {(node.id, port) for node in observation.cluster.nodes for port in node.slots}
    slots = (observation.assignment.get(task.id) for topology in observation.topologies for task in topology.tasks())
    return sum(slot is None or (slot.node, slot.port) not in live for slot in slots)


def _dissatisfaction(sample: TopologySample, options: Options) -> list[str]:
    reasons = []
    offered, throughput, latency = sample.offered, sample.throughput, sample.latency
    if offered is not None and throughput is not None and throughput < offered * (1 - options.throughput_tolerance):
        reasons.append(f"{sample.topology} completes {throughput:g} of {offered:g} tuples/s offered")
    limit = max(options.latency_constraint, TWICE * (sample.interval or 0.0))
    if latency is not None and latency > limit:
        reasons.append(f"{sample.topology} takes {latency:g} ms to complete a tuple, at most {limit:g} are allowed")
    return reasons


def _consolidation(observation: Observation, options: Options) -> str:
    """Reason to pack tasks on fewer nodes, "" if there is none.

    Only nodes that host tasks are judged: an idle node cannot be emptied, and after a consolidation most are idle.
    """
    hosts = {slot.node for slot in observation.assignment.values()}
    nodes = {node.id: node for node in observation.cluster.nodes if node.id in hosts}
    samples = [sample for sample in observation.metrics.nodes if sample.node in nodes]
    used = [_utilisation(sample, nodes[sample.node]) for sample in samples]
    low = sum(each is not None and each < options.consolidation_threshold for each in used)
    if len(hosts) < 2 or low * 2 <= len(hosts):
        return ""
    return f"{low} of {len(hosts)} nodes in use are below {options.consolidation_threshold:.0%} utilisation"


def _utilisation(sample: NodeSample, node: Node) -> float | None:
    """Share of the critical resource in use, None where nothing was measured."""
    pairs = ((sample.cpu, node.capacity.cpu), (sample.memory, node.capacity.memory))
    shares = [amount / whole for amount, whole in pairs if amount is not None and whole > 0]
    return max(shares, default=None)

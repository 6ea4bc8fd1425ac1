"""Offered load, and the part of it that is completed."""

from __future__ import annotations

from collections import defaultdict
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping

    from headworks.model import Observation

ROUNDS = 1_000
"""Times that tuples may go round: with fewer, rates of topologies with cycles are not found; with more, a cycle that
makes ever more tuples is noticed later."""
SETTLED = 1e-9
"""Relative change below which rates have settled. With 0, rounding may keep them from it."""


def completed_part(
    offered: Mapping[str, float], processed: Mapping[str, float], flows: Mapping[tuple[str, str], float]
) -> float | None:
    """The part of an offered load that reaches the ends of its paths: 1 if nothing lags, more while a backlog shrinks.

    An end is a component that sends nothing on in the window: a sink, a filter that drops all, one that stands still.
    None if nothing is offered, or a cycle makes ever more tuples.

    Args:
        offered: Tuples/s that arrive for each spout.
        processed: Tuples/s that each component processes: what a spout emits, what a bolt receives.
        flows: Tuples/s that one component sends to another.
    """
    sending = {source for (source, _), rate in flows.items() if rate > 0 and processed.get(source, 0.0) > 0}
    # Gain of a stream: tuples sent down it for each tuple processed, whatever the load.
    gains = {pair: rate / processed[pair[0]] for pair, rate in flows.items() if pair[0] in sending}
    expected = _expected(offered, gains)
    ends = [] if expected is None else [name for name, rate in expected.items() if rate > 0 and name not in sending]
    whole = sum(expected[name] for name in ends) if expected is not None else 0.0
    return sum(processed.get(name, 0.0) for name in ends) / whole if whole > 0 else None


def _expected(offered: Mapping[str, float], gains: Mapping[tuple[str, str], float]) -> dict[str, float] | None:
    """Tuples/s that each component would process if none lagged: x = offered + sum of gain * x over its inputs."""
    rates = dict(offered)
    for _ in range(ROUNDS):
        after: dict[str, float] = defaultdict(float, offered)
        for (source, target), gain in gains.items():
            after[target] += gain * rates.get(source, 0.0)
        if all(abs(after[name] - rates.get(name, 0.0)) <= SETTLED * after[name] for name in after):
            return dict(after)
        rates = dict(after)
    return None


def service(seen: Observation) -> dict[str, float]:
    """Tuples/s offered and completed, and their mean latency in ms, by the name of the figure."""
    samples = seen.metrics.topologies
    done = sum(each.throughput or 0.0 for each in samples)
    late = sum(each.latency * (each.throughput or 0.0) for each in samples if each.latency is not None)
    found = {"offered": sum(each.offered or 0.0 for each in samples), "throughput": done}
    return {**found, "latency": late / done} if done else found

"""Figures of what runs, as they were measured, and as the simulated engine predicts them."""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

import attrs

from headworks.control.guards import measure
from headworks.documents import write
from headworks.errors import DocumentError
from headworks.model import Request, Scores
from headworks.model.scaling import rescaled
from headworks.problem import Problem
from headworks.problem.plan.standing import as_it_runs

if TYPE_CHECKING:
    from collections.abc import Iterable

    from headworks.model import Plan
    from headworks.plugins.host import PluginHost

SIMULATOR = "sim"
"""Plugin that predicts: it is opened with a request, and observed as any engine is."""
LARGEST = 2000
"""Tasks of a request that is simulated in a round."""
FLOWS = 100_000
"""Measured flows of such a request: these take some three seconds, and 200 MB."""
SETTLING = 60.0
"""Simulated seconds before what is predicted. With fewer, a backlog of the beginning may be in it."""
WINDOW = 10.0
"""Simulated seconds of which it is the mean."""
TUPLES = Scores().unit
"""Unit of traffic where bytes are not known; a plan that counts tuples is compared with tuples."""


@attrs.frozen(kw_only=True)
class LoadFigures:
    """Figures of all topologies together, None where one of them is not known.

    Attributes:
        share: Share of the traffic that goes between nodes.
        fullest_node: Largest used share of a node's CPU.
        offered: Tuples/s that come in. `completed`: tuples/s that are done.
        latency: Milliseconds, the largest of any topology; none where one works in batches.
    """

    share: float | None = None
    fullest_node: float | None = None
    offered: float | None = None
    completed: float | None = None
    latency: float | None = None


def simulated(host: PluginHost, request: Request, plan: Plan) -> tuple[LoadFigures, LoadFigures]:
    """Figures of what runs, and of a plan for it, in the simulated engine.

    Raises:
        PluginError: The simulated engine is not installed, or failed.
        DocumentError: It cannot simulate the request, or that would take too long.
    """
    tasks = len(plan.assignment)
    if tasks > LARGEST:
        raise DocumentError("", f"{tasks} tasks are too many to be simulated in a round, which has {LARGEST} at most")
    if (flows := len(request.metrics.flows)) > FLOWS:
        raise DocumentError("", f"{flows} flows are too many to be simulated in a round, which has {FLOWS} at most")
    runs = attrs.evolve(request, assignment=as_it_runs(request).assignment)
    after = attrs.evolve(rescaled(request, plan), assignment=plan.assignment)
    return predicted(host, runs), predicted(host, after)


def predicted(host: PluginHost, request: Request) -> LoadFigures:
    """Figures of a running assignment in the steady state of the simulated engine.

    Raises:
        PluginError: The simulated engine is not installed, or failed.
        DocumentError: It cannot simulate the request.
    """
    with tempfile.TemporaryDirectory(prefix="headworks-") as folder:
        file = Path(folder) / "request.json"
        write(file, request)
        with host.open(SIMULATOR, [str(file)], None) as target:
            target.wait(SETTLING)
            return _in_unit(Request.of(host.observe(SIMULATOR, target, WINDOW)), Problem.of(request).traffic.unit)


def _in_unit(seen: Request, unit: str) -> LoadFigures:
    """Figures of what was simulated; the share is of tuples where that of the plan is, and left out if they differ."""
    if unit == TUPLES:
        flows = tuple(attrs.evolve(each, bytes=None) for each in seen.metrics.flows)
        seen = attrs.evolve(seen, metrics=attrs.evolve(seen.metrics, flows=flows))
    found = figures(seen)
    return found if Problem.of(seen).traffic.unit == unit else attrs.evolve(found, share=None)


def figures(request: Request) -> LoadFigures:
    """Figures that were measured of what a request says to run."""
    samples, points = request.metrics.topologies, {node.id: node.capacity.cpu for node in request.cluster.nodes}
    shares = [
        each.cpu / points[each.node] for each in request.metrics.nodes if each.cpu is not None and points[each.node]
    ]
    latencies = [each.latency for each in samples]
    return LoadFigures(
        share=measure(request, "traffic"),
        fullest_node=max(shares, default=None),
        offered=_sum(each.offered for each in samples),
        completed=_sum(each.throughput for each in samples),
        latency=None if any(each.sequential for each in request.topologies) else _largest(latencies),
    )


def _sum(values: Iterable[float | None]) -> float | None:
    known = list(values)
    return sum(each or 0.0 for each in known) if known and None not in known else None


def _largest(values: list[float | None]) -> float | None:
    known = [each for each in values if each is not None]
    return max(known) if known and len(known) == len(values) else None

"""The measurements: what Storm's own placement, the papers' and the best one bear of each shape, and the CPU used."""

from __future__ import annotations

from typing import TYPE_CHECKING

import attrs
import numpy as np

from headworks.api import workload
from headworks.errors import EngineError
from headworks.model import Status
from headworks.model.scaling import rescaled
from headworks.plugins.host import PluginHost
from headworks.problem import Problem
from headworks.problem.arrays.profiles import load_at
from headworks_lab.measure.sizing import fed
from headworks_lab.storm.bench import CONF, OWN, StormBench
from headworks_lab.storm.heterogeneity.machines import unequal
from headworks_lab.storm.heterogeneity.planned import NAME, Planned

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from headworks.model import Plan, Request

SHAPES = ("linear", "diamond", "star")
BORNE = (OWN, "hetero", "optimal")
"""Whose placement: Storm's own, with as many tasks as `hetero` asks for; `hetero`'s; and the best of any number."""
REPETITIONS = 3
SECONDS = 15.0
"""Length of a window."""
OFFERED = 1.3
"""Tuples that are offered, as a multiple of what the best placement should bear: what is not borne waits in spouts."""
PARTS = (0.4, 0.8)
"""Parts of what `hetero`'s placement should bear, at which the CPU that is used is compared with the predicted one."""
EVEN = {**CONF, "topology.disable.loadaware.messaging": True}
"""Shuffled tuples go to all tasks alike, as in the Storm of the papers; by default Storm 2 sends slow tasks fewer."""


@attrs.frozen(kw_only=True)
class Borne:
    """One window.

    Attributes:
        shape: Of the topology.
        placement: One of `BORNE`.
        rate: Tuples/s of all spouts that were completed.
        predicted: Percent of each node's CPU that the papers' Eq. 5 has for this rate; empty of Storm's own placement.
        used: Percent of each node's CPU that its worker used, by the operating system.
        full: Whether more was offered than any placement bears.
    """

    shape: str
    placement: str
    rate: float
    predicted: tuple[float, ...] = ()
    used: tuple[float, ...] = ()
    full: bool = True


def run(say: Callable[[str], None], repetitions: int = REPETITIONS) -> tuple[Borne, ...]:
    """Run everything, one window after the other on one cluster.

    Args:
        say: Takes progress messages.
        repetitions: Windows of each placement.

    Raises:
        EngineError: A scheduler has no plan, the cluster does not start, or nodes cannot be apart.
    """
    host = PluginHost.load(["hetero", "optimal"])
    with StormBench.of_times(EVEN) as bench:
        return tuple(found for shape in SHAPES for found in _shape(bench, host, shape, repetitions, say))


def _shape(
    bench: StormBench, host: PluginHost, shape: str, repetitions: int, say: Callable[[str], None]
) -> Iterator[Borne]:
    asked = unequal(workload(f"hetero:{shape}-three-met5"))
    plans = {name: planned(host, name, asked) for name in ("hetero", "optimal")}
    offered = OFFERED * max(each.input_rate or 0.0 for each in plans.values())
    for number in range(repetitions):
        for placement in BORNE:
            found = _window(bench, asked, plans, placement, offered)
            say(f"{shape}, {placement}, {number + 1} of {repetitions}: {found.rate:.0f} tuples/s")
            yield attrs.evolve(found, shape=shape)
    for part in PARTS:
        found = _window(bench, asked, plans, "hetero", part * (plans["hetero"].input_rate or 0.0))
        said = ", ".join(
            f"{used:.0f} % of {will:.0f} %" for used, will in zip(found.used, found.predicted, strict=True)
        )
        say(f"{shape} at {part:.0%} of its rate: CPU used of predicted {said}")
        yield attrs.evolve(found, shape=shape, full=False)


def planned(host: PluginHost, scheduler: str, request: Request) -> Plan:
    """The plan of a scheduler.

    Args:
        host: Has the scheduler.
        scheduler: Its name.
        request: The request.

    Raises:
        EngineError: There is none.
    """
    plan = host.schedule(scheduler, request)
    if plan.status is not Status.OK:
        why = "; ".join(each.message for each in plan.reasons[:3])
        raise EngineError(f"{scheduler}: the plan is {plan.status}: {why}")
    return plan


def _window(bench: StormBench, asked: Request, plans: Mapping[str, Plan], placement: str, offered: float) -> Borne:
    plan = plans["hetero" if placement == OWN else placement]
    request = fed(rescaled(asked, plan), offered)
    if placement == OWN:
        found = bench.placed(PluginHost(), OWN, request, SECONDS)
    else:
        found = bench.placed(PluginHost().with_plugin(NAME, Planned(request, plan)), NAME, request, SECONDS)
    rate = found.figures["throughput"]
    used = tuple(100 * points / whole for points, whole in zip(found.points, found.capacity, strict=True))
    predicted = () if placement == OWN else prediction(request, plan, rate)
    return Borne(shape="", placement=placement, rate=rate, predicted=predicted, used=used)


def prediction(request: Request, plan: Plan, rate: float) -> tuple[float, ...]:
    """Percent of each node's CPU that a plan takes at a rate of all spouts, by Eq. 5.

    Args:
        request: With as many tasks as the plan has.
        plan: The plan.
        rate: Tuples/s.
    """
    problem = Problem.of(request)
    node_of = np.array([problem.node_index[plan.assignment[task].node] for task in problem.task_ids], dtype=np.int64)
    return tuple(float(each) for each in load_at(problem, node_of, rate))

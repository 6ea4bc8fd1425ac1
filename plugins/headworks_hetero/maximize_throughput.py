"""Algorithm 2, MaximizeThroughput: raise the input rate, and take a new task where that overloads a machine."""

from __future__ import annotations

from typing import TYPE_CHECKING

import attrs
import numpy as np

from headworks_hetero.graph import LIMIT, Graph

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from headworks_hetero.options import Options

    Load = NDArray[np.float64]
    """Percent of each machine in use, float64 (m,)."""

STEADY = 1e15
"""Tuples/s at which a rate that overloads nothing is no longer raised; larger ones overflow in the end."""


@attrs.frozen(eq=False, kw_only=True)
class Found:
    """Result of Algorithm 2: the last stable graph (None if there was none), its rate, and Scale.

    `accepted` are the input rates of all stable states, in order.
    """

    graph: Graph | None
    rate: float
    scale: float
    accepted: tuple[float, ...]


def maximize_throughput(graph: Graph, options: Options) -> Found:
    """Run Algorithm 2 from a first assignment; lines are those of the journal paper.

    Args:
        graph: A first assignment; it is changed.
        options: R0, and how what the paper leaves open is read.
    """
    rate, scale = options.initial_rate, 1.0
    final: Graph | None = None
    final_rate = 0.0
    accepted: list[float] = []
    load = graph.load(rate)  # line 1
    while rate < STEADY:
        if graph.is_stable(load, rate):
            final, final_rate = graph.copy(), rate  # line 2
            accepted.append(rate)
            rate += rate / scale  # line 3
            load = graph.load(rate)
            continue
        with_new = _take_new_task(graph, load, rate, options)  # lines 6-9
        if with_new is None:
            if rate <= scale:  # line 11
                break  # line 16
            scale *= 2  # line 12
            if final is not None:  # line 13
                graph = final.copy()
                rate = final_rate * (1 + 1 / scale) if options.restore == "graph-and-rate" else rate
            with_new = graph.load(rate)
        load = with_new
    return Found(graph=final, rate=final_rate, scale=scale, accepted=tuple(accepted))


def _take_new_task(graph: Graph, load: Load, rate: float, options: Options) -> Load | None:
    """Add a task of the hottest task's component to the most suitable machine (lines 6-8).

    Returns:
        The load with it, None if no machine has room, or the component can have no more tasks while it runs.
    """
    if options.counts == "given" or graph.total.sum() >= options.max_tasks:
        return None
    part = hottest(graph, load, rate, options)
    if graph.total[part] >= graph.instances.most[part]:
        return None
    after = graph.total.copy()
    after[part] += 1
    tcu = graph.tcu(part, after, rate)
    others = graph.load_with(after, rate)
    can = (others if options.capacity == "after" else load) + tcu <= LIMIT
    can &= graph.takes(part)
    if not can.any():
        return None
    cost = tcu if options.suitable == "least-tcu" else others
    node = int(np.where(can, cost, np.inf).argmin())
    graph.add(part, node)
    others[node] += tcu[node]
    return others


def hottest(graph: Graph, load: Load, rate: float, options: Options) -> int:
    """The component of the task with the highest TCU on the first over-utilised machine; ties by component.

    Where no machine is over-utilised, the component whose threads are fullest: the paper's machines are as large as a
    thread.

    Args:
        graph: Tasks on machines.
        load: Percent of each machine in use, float64 (m,).
        rate: Topology input rate, tuples/s.
        options: Which of several over-utilised machines comes first.
    """
    if load.max(initial=0.0) <= LIMIT:
        return int(graph.thread_load(rate).argmax())
    node = int(load.argmax() if options.overloaded == "fullest" else (load > LIMIT).argmax())
    here = np.flatnonzero(graph.counts[:, node])
    model = graph.instances.profiled
    share = rate * graph.gain(graph.total)[here] / graph.total[here]
    return int(here[(model.e[here, node] * share + model.met[here, node]).argmax()])

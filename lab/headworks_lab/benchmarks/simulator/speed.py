"""How much the simulator gets through: `python -m headworks_lab.benchmarks.simulator.speed`.

Rates are per second of processor time of this process. A fluid model carries tuples without events, so its events are
changes of state; the queue of batches is event by event.
"""

from __future__ import annotations

import random
import time

import numpy as np

from headworks.plugins.host import PluginHost
from headworks_lab.simulated.batches import Allocation, work_off
from headworks_sim.fluid.layout import Layout
from headworks_sim.fluid.steady import Model
from headworks_sim.fluid.trace import Event, Trace
from headworks_sim.fluid.world import World


def main() -> None:
    """Print one row a measurement."""
    print(f"{'what':58} {'amount':>16} {'CPU s':>8} {'per CPU s':>16}")
    for name, amount, seconds in (queue(), *fluid(), steady()):
        print(f"{name:58} {amount:16,.0f} {seconds:8.3f} {amount / seconds:16,.0f}")


def queue() -> tuple[str, float, float]:
    """Rounds of batches: an arrival and an end each, and nodes that come and go."""
    dice = random.Random(1)
    arrivals = [float(number) for number in range(300_000)]
    allocations = [Allocation(begin=100.0 * number, nodes=dice.randrange(4)) for number in range(3_000)]
    begin = time.process_time()
    rounds = work_off(arrivals, allocations, lambda nodes, _: 0.5 / nodes)
    return "batches: events of a queue", 2.0 * len(rounds) + len(allocations), time.process_time() - begin


def placed():  # noqa: ANN201 - a request and its plan
    """The linear micro-benchmark of D-Storm, placed by it."""
    host = PluginHost.load(["dstorm"])
    request = next(each for each in host.evidence("dstorm").workloads if each.name == "linear").build()
    return request, host.schedule("dstorm", request)


def fluid() -> list[tuple[str, float, float]]:
    """An hour with a change of load every tenth of a second, and a day with one a minute."""
    request, plan = placed()
    rows = []
    for what, gap, count in (("a load change each 0.1 s", 0.1, 36_000), ("one a minute, a day", 60.0, 1_440)):
        dice = random.Random(2)
        events = tuple(
            Event(time=60 + gap * number, kind="load", subject="linear", value=dice.choice((0.5, 0.75, 1.0)))
            for number in range(count)
        )
        world = World(request, trace=Trace(events=events))
        world.assign(plan.assignment)
        begin = time.process_time()
        world.advance(60 + gap * count)
        seconds = time.process_time() - begin
        tuples = sum(span.length * float(span.throughput.sum()) for span in world.spans)
        rows += [
            (f"fluid, {what}: events", float(world.events), seconds),
            (f"fluid, {what}: tuples completed", tuples, seconds),
        ]
    return rows


def steady() -> tuple[str, float, float]:
    """Steady states of a placement that was seen before."""
    request, plan = placed()
    model = Model(Layout.of(request))
    node_of = model.layout.problem.node_of(plan.assignment)
    begin, count = time.process_time(), 5_000
    for number in range(count):
        model.steady(node_of, node_of, np.array([number / count]))
    return "steady states, 16 tasks on 12 nodes", float(count), time.process_time() - begin


if __name__ == "__main__":
    main()

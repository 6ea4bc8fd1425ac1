"""Numbers of tasks and their nodes chosen together with the network, beside the two one after the other, on Storm.

    python -m headworks_lab.benchmarks.storm.joint [--shape diamond] [--rates 0.5,2,20] [--windows 1]

The unequal nodes of `headworks reproduce hetero --live`, apart, with tuples of 1,000 bytes. `alone` is the plan that
`hetero-plus` makes by CPU alone, `halves` its numbers placed with the network; `storm` places the same numbers.
"""

from __future__ import annotations

import argparse
import statistics
from typing import TYPE_CHECKING

import attrs

from headworks.api import workload
from headworks.cli.output import console, say, table
from headworks.model import Limits
from headworks.model.scaling import rescaled
from headworks.plugins.host import PluginHost
from headworks.problem import Problem
from headworks.problem.plan.score import score
from headworks_lab.measure.sizing import fed
from headworks_lab.storm.bench import OWN, StormBench
from headworks_lab.storm.heterogeneity.machines import unequal
from headworks_lab.storm.heterogeneity.planned import NAME, Planned
from headworks_lab.storm.heterogeneity.run import EVEN, OFFERED, SECONDS
from headworks_lab.sweeps.experiments import connected

if TYPE_CHECKING:
    from headworks.model import Plan, Request

BYTES, MBIT = 1_000.0, 1e6
COLUMNS = ("Mbit/s", "placement", "tasks", "nodes", "by the model", "tuples/s")


def main() -> None:
    """Run all windows, and print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--shape", default="diamond")
    parser.add_argument("--rates", default="0.5,2,20")
    parser.add_argument("--windows", type=int, default=1)
    given = parser.parse_args()
    rows = []
    with StormBench.of_times(EVEN) as bench:
        for rate in map(float, given.rates.split(",")):
            asked = request(given.shape, rate)
            made = plans(asked)
            offered = OFFERED * max(each.input_rate or 0.0 for each in made.values())
            for name, plan in made.items():
                found = [window(bench, asked, plan, offered, own=name == OWN) for _ in range(given.windows)]
                row = (f"{rate:g}", name, f"{sum(plan.parallelism.values())}", f"{plan.scores.nodes_used}")
                model = "" if name == OWN else f"{plan.input_rate or 0.0:.0f}"
                rows.append((*row, model, f"{statistics.median(found):.0f}"))
                say(", ".join(rows[-1]))
    console().print(table("Numbers and nodes", COLUMNS, rows, numbers=COLUMNS))


def request(shape: str, rate: float) -> Request:
    """A shape of the heterogeneity papers on three unequal nodes, with networks of so many Mbit/s.

    Args:
        shape: Of the topology.
        rate: Mbit/s of each node.
    """
    asked = unequal(workload(f"hetero:{shape}-three-met5"))
    topologies = tuple(
        attrs.evolve(each, streams=tuple(attrs.evolve(stream, tuple_bytes=BYTES) for stream in each.streams))
        for each in asked.topologies
    )
    patient = Limits(deadline=120.0)  # the budget ends the searches, on a busy machine too
    return connected(attrs.evolve(asked, topologies=topologies, limits=patient), rate * MBIT)


def plans(asked: Request) -> dict[str, Plan]:
    """The plans to compare, by name; that of Storm's own scheduler gives the numbers of tasks alone.

    Args:
        asked: With bounded networks.
    """
    host = PluginHost.load(["hetero-plus"])
    nodes = tuple(attrs.evolve(each, bandwidth=None) for each in asked.cluster.nodes)
    first = host.schedule("hetero-plus", attrs.evolve(asked, cluster=attrs.evolve(asked.cluster, nodes=nodes)))
    again = attrs.evolve(rescaled(asked, first), profiles=asked.profiles)
    halves = host.schedule("hetero-plus", again, {"counts": "given"})
    borne = score(Problem.of(rescaled(asked, first)), first.assignment, first.input_rate).factor or 1.0
    alone = attrs.evolve(first, input_rate=(first.input_rate or 0.0) * min(borne, 1.0))
    return {OWN: first, "alone": alone, "halves": halves, "together": host.schedule("hetero-plus", asked)}


def window(bench: StormBench, asked: Request, plan: Plan, offered: float, *, own: bool) -> float:
    """Tuples/s of all spouts that were completed.

    Args:
        bench: The cluster.
        asked: The request.
        plan: Has the numbers of tasks, and the nodes.
        offered: Tuples/s that spouts emit, more than any placement bears.
        own: Whether Storm's own scheduler places them.
    """
    wanted = fed(rescaled(asked, plan), offered)
    if own:
        return bench.placed(PluginHost(), OWN, wanted, SECONDS).figures["throughput"]
    host = PluginHost().with_plugin(NAME, Planned(wanted, plan))
    return bench.placed(host, NAME, wanted, SECONDS).figures["throughput"]


if __name__ == "__main__":
    main()

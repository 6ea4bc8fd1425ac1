"""The simulator beside a real cluster: the same experiments, and how far each figure is off.

    headworks sweep --engine storm -w storm:rolling-count ... --network 1mbit --seeds 3 -O FOLDER
    python -m headworks_lab.benchmarks.simulator.judged FOLDER

Takes the outcomes of a sweep on Storm or Spark, on nodes that are apart. Each scheduler plans what it planned there, on
Storm ackers included, and the plan is simulated from its first tuple on, with nothing else to place or to move. On
Storm, sizes of tuples are inputs, which were measured on the open network; of the bounded one a single figure was used
(`HEADERS`). On Spark all is as declared, and a row has 100 bytes. The engine's own placement is no plugin and is left
out.
"""

from __future__ import annotations

import argparse
import statistics
from collections import defaultdict
from pathlib import Path
from typing import TYPE_CHECKING

import attrs

from headworks import PluginHost, plan
from headworks.api import find_request
from headworks.cli.output import console, table
from headworks.control.journal import read_journal
from headworks.model import Component, FrozenMap, Kind, Plan, Request, Status, Stream
from headworks_lab.storm.deputy import ACKER, known
from headworks_lab.sweeps.experiments import connected
from headworks_lab.sweeps.sweep import RESULTS
from headworks_sim.experiments.experiment import run

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from headworks.model import Topology

SERIALISED = FrozenMap({"lines": 61.0, "split": 18.0, "views": 23.0})
"""Bytes of a tuple by its source, as Storm's serialiser writes it: measured on the open network."""
ACKS = FrozenMap({Kind.SPOUT: 33.0, Kind.BOLT: 31.0})
"""The same of what spouts and bolts send to ackers."""
ACKED = 23.0
"""The same of what ackers send to spouts."""
ANCHOR = 17.0
"""Bytes of the ids of a tuple's root and of itself in Storm's messages, which the serialised values do not have."""
HEADERS = 4.0
"""Bytes of the headers of packets and of their acknowledgements, a tuple. Fitted: `rolling-count` as Storm itself
places it has 461 bytes on the interfaces for each line at 1 Mbit/s. With more, networks are full at lower rates."""
WORDS = 7.5
"""Words of a line of the text, measured; the workload declares 9."""
DURATION = 60.0
"""Simulated seconds. With more, only what waits at the source grows."""
FIGURES = FrozenMap({"throughput": 0, "inter_node": 2, "nodes": 0, "latency": 0})
"""Figures, and digits after the point."""
PAIRS = ("done/s", "sim /s", "between", "sim", "nodes", "sim nodes", "ms", "sim ms")
COLUMNS = ("workload", "scheduler", "Mbit/s", *PAIRS, "error of /s")
FAR = 0.15
"""Error from which on a throughput does not hold."""
Real = dict[str, list[float]]


def main() -> None:
    """Print a row for each scheduler, workload and network."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path, help="of the sweep")
    host, folder = PluginHost.load(), parser.parse_args().folder
    rows, errors = [], []
    for (engine, workload, scheduler, network), real in sorted(measured(folder / RESULTS).items()):
        if scheduler != engine:
            found = simulated(host, engine, workload, scheduler, network)
            error = found["throughput"] / statistics.median(real["throughput"]) - 1
            name = workload.removeprefix("storm:")
            rows.append((name, scheduler, f"{network / 1e6:g}", *cells(real, found), f"{100 * error:+.0f} %"))
            errors.append(abs(error))
    console().print(table("measured and simulated", COLUMNS, rows, numbers=COLUMNS[2:], whole=COLUMNS[:2]))
    far = sum(each > FAR for each in errors)
    print(f"throughput is off by {statistics.median(errors):.1%} in the median and by {max(errors):.1%} at most;")
    print(f"in {far} of {len(errors)} rows by more than {FAR:.0%}")


def measured(file: Path) -> dict[tuple[str, str, str, float], Real]:
    """Figures of each repetition, by engine, workload, scheduler and network in bits/s."""
    found: dict[tuple[str, str, str, float], Real] = defaultdict(lambda: defaultdict(list))
    for line in read_journal(file):
        workload, _nodes, scheduler, _seed, _seconds, engine, network, _warm_up = line["id"].rsplit(" ", 7)
        for name, value in line["figures"].items():
            found[engine, workload, scheduler, float(network)][name].append(value)
    return found


def simulated(host: PluginHost, engine: str, workload: str, scheduler: str, network: float) -> Mapping[str, float]:
    """Figures of the scheduler's plan."""
    asked = sized = connected(find_request(workload, host), network)
    if engine == "storm":
        asked = known(acked(asked), asked)
        sized = attrs.evolve(asked, topologies=tuple(map(as_measured, asked.topologies)))
    else:
        asked = sized = attrs.evolve(
            asked, topologies=tuple(attrs.evolve(each, workers=1) for each in asked.topologies)
        )
    found = plan(asked, scheduler, host=host)
    assert found.status is Status.OK, found.label
    running = attrs.evolve(sized, assignment=found.assignment)
    summary = run(running, lambda request: Plan(assignment=request.assignment), duration=DURATION)
    return {name: getattr(summary, name) for name in FIGURES}


def acked(request: Request) -> Request:
    """The request as Nimbus has it: an acker for each worker."""

    def with_ackers(topology: Topology) -> Topology:
        acker = Component(id=ACKER, parallelism=topology.workers)
        return attrs.evolve(topology, name=topology.id, components=(*topology.components, acker))

    return attrs.evolve(request, topologies=tuple(map(with_ackers, request.topologies)))


def as_measured(topology: Topology) -> Topology:
    """The topology with the sizes of its tuples on the wire, and the words of a line."""
    kinds = {each.id: each.kind for each in topology.components}

    def stream(each: Stream) -> Stream:
        acks = each.rate is not None and ACKER in (each.source, each.target)
        size = ACKED if each.source == ACKER else ACKS[kinds[each.source]] if acks else SERIALISED[each.source] + ANCHOR
        return attrs.evolve(each, tuple_bytes=size + HEADERS, rate=each.rate if acks else None)

    parts = (attrs.evolve(each, selectivity=WORDS) if each.id == "split" else each for each in topology.components)
    return attrs.evolve(topology, components=tuple(parts), streams=tuple(map(stream, topology.streams)))


def cells(real: Real, found: Mapping[str, float]) -> Iterator[str]:
    """Median of each figure, and the simulated one."""
    for name, digits in FIGURES.items():
        yield f"{statistics.median(real[name]):,.{digits}f}"
        yield f"{found[name]:,.{digits}f}"


if __name__ == "__main__":
    main()

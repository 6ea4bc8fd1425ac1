"""The simulator beside a real cluster: the same experiments, and how far each figure is off.

    headworks sweep --engine storm -w storm:rolling-count ... --network 1mbit --seeds 3 -O FOLDER
    python -m headworks_lab.benchmarks.simulator.judged FOLDER
    python -m headworks_lab.benchmarks.simulator.judged docs/results-experiments.md

Takes the outcomes of a sweep on Storm or Spark, on nodes that are apart, or the two tables of all schedulers of the
documentation. Each scheduler plans what it planned there, on Storm ackers included, on Spark for stages, and the plan
is simulated from its first tuple on, with nothing else to place or to move. The engine's own placement is no plugin and
is left out.

Sizes of tuples are inputs, as is what tasks of Spark take beside their rows. Four numbers were fitted, each to one row
or kind of rows: `HEADERS`, `GOODPUT`, `WAKE` and `PLANNING`. All others are predicted.
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
from headworks.model import FILL, Component, FrozenMap, Kind, Metrics, Plan, Request, Status, Stream, TopologySample
from headworks.model.rates import depths, stream_rates
from headworks_lab.measure.sizing import fitted
from headworks_lab.spark.experiment import INTERVAL
from headworks_lab.storm.deputy import ACKER, known
from headworks_lab.sweeps.experiments import BITS, connected
from headworks_lab.sweeps.sweep import RESULTS
from headworks_local.isolated.netlink import BURST
from headworks_sim.experiments.experiment import run
from headworks_sim.fluid.timing import Timing

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
PENDING = 500
"""Tuples of a spout's task that are under way at most."""
DELAY = 0.1
"""Seconds for which a shaper keeps what does not pass."""
GOODPUT = 0.88
"""Part of a full network's bytes that arrive where more is under way than a shaper keeps: TCP loses segments and waits.
Fitted to `rolling-count` on Storm at 1 Mbit/s, as schedulers place it that use three nodes."""
WAKE = 1.6
"""Milliseconds until a task of Storm takes what comes to its queue. Fitted to `unique-visitors` on one node."""
ROW = 110.0
"""Bytes of a row of Spark on the wire: 100 random ones of its payload, 5 of the serialised row that LZ4 leaves, and 5
of headers of packets."""
TASK = 0.062
"""CPU seconds of a task of Spark beside its rows: those of the executors in a batch of ten tasks, measured."""
PLANNING = 0.045
"""Seconds of a batch that are left of `word-count` on one node."""
CORES = 2.0
"""Of the machine on which experiments ran."""
DURATION = 60.0
"""Simulated seconds. With more, only what waits at the source grows."""
FIGURES = FrozenMap({"throughput": 0, "inter_node": 2, "nodes": 0, "latency": 0})
"""Figures, and digits after the point. A table of the documentation has no shares between nodes."""
TABLES = FrozenMap({"storm": "**All schedulers.**", "spark": "**All schedulers on Spark.**"})
"""Words before the table of each engine in the documentation."""
TABLED = 1e6
"""Bits/s of their networks."""
PAIRS = ("done/s", "sim /s", "between", "sim", "nodes", "sim nodes", "ms", "sim ms")
COLUMNS = ("engine", "workload", "scheduler", "Mbit/s", *PAIRS, "error of /s", "error of ms")
FAR = FrozenMap({"storm": 0.10, "spark": 0.15})
"""Errors from which on a throughput does not hold."""
Real = dict[str, list[float]]
Key = tuple[str, str, str, float]
"""Engine, workload, scheduler and network in bits/s."""


def main() -> None:
    """Print a row for each scheduler, workload and network."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("source", type=Path, help="the folder of a sweep, or the page of its results")
    host, source = PluginHost.load(), parser.parse_args().source
    rows, errors = [], []
    found = measured(source / RESULTS) if source.is_dir() else recorded(source.read_text())
    for key, real in sorted(found.items()):
        engine, workload, scheduler, network = key
        if scheduler != engine:
            made = simulated(host, *key)
            done, late = (error(real, made, name) for name in ("throughput", "latency"))
            name = workload.removeprefix("storm:")
            shown = (*cells(real, made), f"{100 * done:+.0f} %", f"{100 * late:+.0f} %")
            rows.append((engine, name, scheduler, f"{network / 1e6:g}", *shown))
            errors.append((abs(done), abs(done) > FAR[engine]))
    console().print(table("measured and simulated", COLUMNS, rows, numbers=COLUMNS[3:], whole=COLUMNS[:3]))
    off = [each for each, _ in errors]
    print(f"throughput is off by {statistics.median(off):.1%} in the median and by {max(off):.1%} at most;")
    limits = " and ".join(f"{limit:.0%} on {engine}" for engine, limit in FAR.items())
    print(f"in {sum(far for _, far in errors)} of {len(errors)} rows by more than {limits}")


def error(real: Real, found: Mapping[str, float], name: str) -> float:
    """How far a simulated figure is off, as a part of the measured one."""
    return found[name] / statistics.median(real[name]) - 1


def recorded(page: str) -> dict[Key, Real]:
    """Figures of the tables of all schedulers in the documentation: medians of throughput, and means of latency."""
    found: dict[Key, Real] = {}
    for engine, words in TABLES.items():
        lines = page.partition(words)[2].split("\n|", 1)[1].partition("\n\n")[0].splitlines()
        head, _, *rows = ([cell.strip(" `") for cell in line.strip("|").split("|")] for line in lines)
        for scheduler, *row in rows:
            for at in range(0, len(row) - 1, 2):
                done, late, nodes = (
                    float(cell.split()[0].replace(",", "")) for cell in (row[at], row[at + 1], row[-1])
                )
                real = {"throughput": [done], "latency": [late], "nodes": [nodes]}
                found[engine, f"storm:{head[at + 1]}", scheduler, TABLED] = real
    return found


def measured(file: Path) -> dict[Key, Real]:
    """Figures of each repetition, by engine, workload, scheduler and network in bits/s."""
    found: dict[Key, Real] = defaultdict(lambda: defaultdict(list))
    for line in read_journal(file):
        workload, _nodes, scheduler, _seed, _seconds, engine, network, _warm_up = line["id"].rsplit(" ", 7)
        for name, value in line["figures"].items():
            found[engine, workload, scheduler, float(network)][name].append(value)
    return found


def simulated(host: PluginHost, engine: str, workload: str, scheduler: str, network: float) -> Mapping[str, float]:
    """Figures of the scheduler's plan."""
    asked = connected(find_request(workload, host), network)
    on_storm = engine == "storm"
    asked = known(acked(asked), asked) if on_storm else staged(fitted(asked, CORES))
    sized = attrs.evolve(asked, topologies=tuple(map(as_measured, asked.topologies))) if on_storm else asked
    found = plan(asked, scheduler, host=host)
    assert found.status is Status.OK, found.label
    running = attrs.evolve(sized, assignment=found.assignment)
    timing = timing_on_storm(sized, network) if on_storm else timing_on_spark(sized)
    summary = run(running, lambda request: Plan(assignment=request.assignment), duration=DURATION, timing=timing)
    return {name: getattr(summary, name) for name in FIGURES}


def timing_on_storm(request: Request, network: float) -> Timing:
    """Times on Storm; a full network loses bytes if what is under way of a stream can be more than a shaper keeps."""
    (topology,) = request.topologies
    tasks, rate = spouts(topology)
    octets = (
        flow * (each.tuple_bytes or 0.0) for each, flow in zip(topology.streams, stream_rates(topology), strict=True)
    )
    under_way = PENDING * tasks / rate * max(octets)
    goodput = GOODPUT if under_way > network / BITS * DELAY + BURST else 1.0
    return Timing(wake=WAKE, bucket=float(BURST), goodput=goodput, pending=PENDING)


def timing_on_spark(request: Request) -> Timing:
    """Times on Spark; a batch has the rows of one interval, and no others wait."""
    tasks, rate = spouts(request.topologies[0])
    return Timing(goodput=GOODPUT, planning=PLANNING, task=TASK, burst=1.0, pending=INTERVAL * rate / tasks)


def spouts(topology: Topology) -> tuple[int, float]:
    """Tasks of its spouts, and tuples/s that they emit."""
    found = [each for each in topology.components if each.kind is Kind.SPOUT]
    return sum(each.parallelism for each in found), sum(each.rate or 0.0 for each in found)


def staged(request: Request) -> Request:
    """The request as Spark has it: stages, called by their rank, of batches; for an application states no workers."""

    def stages(topology: Topology) -> Topology:
        rank = {part: f"stage-{depth}" for part, depth in depths(topology).items()}
        parts = tuple(attrs.evolve(each, id=rank[each.id]) for each in topology.components)
        streams = tuple(
            attrs.evolve(each, source=rank[each.source], target=rank[each.target], tuple_bytes=ROW)
            for each in topology.streams
        )
        return attrs.evolve(topology, components=parts, streams=streams, workers=1, sequential=True)

    samples = tuple(TopologySample(topology=each.id, interval=INTERVAL) for each in request.topologies)
    return attrs.evolve(
        request,
        topologies=tuple(map(stages, request.topologies)),
        metrics=Metrics(topologies=samples),
        limits=attrs.evolve(request.limits, slowdown=None, fill=FILL),
    )


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
        yield f"{statistics.median(real[name]):,.{digits}f}" if name in real else ""
        yield f"{found[name]:,.{digits}f}"


if __name__ == "__main__":
    main()

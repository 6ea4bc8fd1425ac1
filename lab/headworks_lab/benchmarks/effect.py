"""Throughput and latency by a scheduler beside the engine's own placement, on real nodes that are apart.

    python -m headworks_lab.benchmarks.effect storm|spark [-O FOLDER] [--scheduler NAME] [--pairs 5] [--cells 1,2,...]

A cell is a number of word counts, the share of all nodes' CPU that they need, the nodes, and the rate of their
networks. The cells were chosen before the first run. Each pair has one experiment of either placement, in an order that
is drawn; an experiment takes some 40 s and its window. A run that was ended goes on from its folder.

On Storm plans are made of what a pilot measured, as those of a loop that runs: a run by Storm's own scheduler with
networks without bounds, one for each workload and nodes. On Spark queries run before they are placed, and a batch may
take as long as by Spark itself, as by default in a session.

`times` is the throughput by that of the engine's own placement. `slower` and `p95` are the median and the 95th
percentile of the latency (Spark: of a batch) by those of its. Each is the median of the pairs, with the smallest and
largest.
"""

from __future__ import annotations

import argparse
import contextlib
import statistics
from pathlib import Path
from typing import TYPE_CHECKING, Any

import attrs

from headworks.cli.output import console, say, table
from headworks.control.journal import FileJournal
from headworks.documents import write
from headworks.model import Cluster, Component, Kind, Node, Request, Resources, Stream, Topology
from headworks_lab.spark.bench import SparkBench
from headworks_lab.storm import bench as storm
from headworks_lab.storm.bench import StormBench
from headworks_lab.sweeps.experiments import Experiment, append_outcomes, drawn, read_outcomes, try_out
from headworks_lab.sweeps.sweep import RESULTS

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from headworks_lab.sweeps.experiments import ExperimentOutcome

MBIT = 1e6
EQUAL, UNEQUAL = (200.0, 200.0, 200.0), (400.0, 200.0, 100.0)
"""CPU points of the nodes."""
PARTS = {"lines": (4, 0.10), "split": (8, 0.40), "count": (8, 0.50)}
"""Tasks of each component of a word count, and its share of the CPU, as `storm:word-count` has it."""
RATE, WORDS = 1_000.0, 9.0
"""Lines a second of all word counts together, and words of a line."""
COLUMNS = (
    "cell",
    "topologies",
    "load",
    "nodes",
    "Mbit/s",
    "offered",
    "own/s",
    "done/s",
    "times",
    "slower",
    "p95",
    "pairs",
)


@attrs.frozen(kw_only=True)
class Cell:
    """One question: `topologies` word counts that need `load` of `nodes`, with networks of `rate` Mbit/s."""

    topologies: int = 1
    load: float
    nodes: tuple[float, ...] = EQUAL
    rate: float

    def request(self) -> Request:
        """The topologies and the nodes."""
        nodes = tuple(
            Node(id=f"n{index}", capacity=Resources(cpu=cpu, memory=8192.0), slots=(6700, 6701, 6702, 6703))
            for index, cpu in enumerate(self.nodes)
        )
        need = self.load * sum(self.nodes) / self.topologies
        made = tuple(
            attrs.evolve(_word_count(f"t{index}", need, RATE / self.topologies), workers=len(nodes))
            for index in range(self.topologies)
        )
        return Request(cluster=Cluster(nodes=nodes), topologies=made)


def _word_count(name: str, cpu: float, rate: float) -> Topology:
    parts = tuple(
        Component(
            id=part,
            kind=Kind.SPOUT if part == "lines" else Kind.BOLT,
            parallelism=tasks,
            demand=Resources(cpu=cpu * share / tasks, memory=64.0),
            rate=rate if part == "lines" else None,
            selectivity=WORDS if part == "split" else 1.0,
        )
        for part, (tasks, share) in PARTS.items()
    )
    streams = (Stream(source="lines", target="split"), Stream(source="split", target="count", grouping="fields"))
    return Topology(id=name, components=parts, streams=streams)


ALONE = (
    Cell(load=0.70, rate=0.5),
    Cell(load=0.70, rate=2),
    Cell(load=0.85, rate=2),
    Cell(load=0.85, rate=20),
    Cell(load=0.70, rate=0.5, nodes=UNEQUAL),
    Cell(load=0.85, rate=20, nodes=UNEQUAL),
    Cell(load=0.40, rate=20),
    Cell(load=0.40, rate=2, nodes=UNEQUAL),
)
"""Cells of one topology, or one query."""
SEVERAL = (
    Cell(load=0.40, rate=0.5, topologies=2),
    Cell(load=0.70, rate=2, topologies=2),
    Cell(load=0.85, rate=20, topologies=2, nodes=UNEQUAL),
    Cell(load=0.40, rate=2, topologies=4, nodes=UNEQUAL),
    Cell(load=0.70, rate=0.5, topologies=4),
    Cell(load=0.85, rate=20, topologies=4),
)
"""Cells of several topologies, or queries."""
MANY = tuple(Cell(load=0.40, rate=20, topologies=8, nodes=nodes) for nodes in (EQUAL, UNEQUAL))
"""Cells of more queries than nodes have cores."""
CELLS: Mapping[str, tuple[Cell, ...]] = {"storm": (*ALONE, *SEVERAL), "spark": (*ALONE, *SEVERAL, *MANY)}
"""Cells of each engine, chosen before the first run."""


def main() -> None:
    """Run what the folder does not have, and print the table; exit code 1 if an experiment failed."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("engine", choices=tuple(CELLS))
    parser.add_argument("--output", "-O", type=Path, default=Path("headworks-effect"))
    parser.add_argument("--scheduler", default="dstorm-plus")
    parser.add_argument("--pairs", type=int, default=5)
    parser.add_argument("--seconds", type=float, default=20.0)
    parser.add_argument("--cells", help="Numbers of cells, from 1 on; all by default.")
    given = parser.parse_args()
    numbers = range(1, len(CELLS[given.engine]) + 1)
    chosen = [int(each) for each in given.cells.split(",")] if given.cells else list(numbers)
    asked = {number: _experiments(given, number) for number in chosen}
    every = [each for some in asked.values() for each in some]
    found = _run(given.engine, given.output, every)
    rows = [
        _row(given, number, [found[each.id] for each in some if each.id in found]) for number, some in asked.items()
    ]
    console().print(table(f"{given.engine}'s own placement and {given.scheduler}", COLUMNS, rows, numbers=COLUMNS))
    raise SystemExit(any(each.id not in found for each in every))


def _experiments(given: Any, number: int) -> list[Experiment]:
    cell, file = CELLS[given.engine][number - 1], given.output / f"cell-{number}.json"
    given.output.mkdir(parents=True, exist_ok=True)
    write(file, cell.request())
    return [
        Experiment(
            workload=str(file),
            scheduler=scheduler,
            seed=seed,
            seconds=given.seconds,
            engine=given.engine,
            network=cell.rate * MBIT,
        )
        for seed in range(given.pairs)
        for scheduler in (given.engine, given.scheduler)
    ]


def _run(engine: str, folder: Path, every: Sequence[Experiment]) -> dict[str, ExperimentOutcome]:
    """Outcomes by id, of those that came out."""
    done = read_outcomes(folder / RESULTS, every)
    journal = FileJournal(folder / RESULTS)
    left = [each for each in drawn(every) if each.id not in done]
    with _bench(engine) if left else contextlib.nullcontext() as bench:
        for number, experiment in enumerate(left, 1):
            outcome = try_out(experiment, bench)
            append_outcomes(journal, [outcome])
            said = outcome.error or f"{outcome.figures['throughput']:,.0f}/s"
            say(f"{number} of {len(left)}: {Path(experiment.workload).stem}, {experiment.scheduler}: {said}")
            if not outcome.error:
                done[experiment.id] = outcome
    return done


def _bench(engine: str) -> StormBench | SparkBench:
    return StormBench(pilots=True) if engine == storm.OWN else SparkBench(slowdown=1.0)


def _row(given: Any, number: int, outcomes: Sequence[ExperimentOutcome]) -> tuple[str, ...]:
    cell = CELLS[given.engine][number - 1]
    cores = "/".join(f"{cpu / 100:g}" for cpu in cell.nodes)
    first = (f"{number}", f"{cell.topologies}", f"{cell.load:.0%}", cores, f"{cell.rate:g}")
    by = {(each.experiment.scheduler, each.experiment.seed): each.figures for each in outcomes}
    pairs = [
        (by[given.engine, seed], by[given.scheduler, seed])
        for seed in range(given.pairs)
        if (given.engine, seed) in by and (given.scheduler, seed) in by
    ]
    if not pairs:
        return (*first, *["-"] * 6, "0")
    figures = [
        f"{statistics.median(one[name] for one in some):,.0f}"
        for name, some in (
            ("offered", [own for own, _ in pairs]),
            ("throughput", [own for own, _ in pairs]),
            ("throughput", [ours for _, ours in pairs]),
        )
    ]
    ratios = [_ratio(pairs, name) for name in ("throughput", "latency_p50", "latency_p95")]
    return (*first, *figures, *ratios, f"{len(pairs)}")


def _ratio(pairs: Sequence[tuple[Mapping[str, float], Mapping[str, float]]], name: str) -> str:
    """The figure of the scheduler by that of the engine, of each pair: the median, and the smallest and largest."""
    found = [ours[name] / own[name] for own, ours in pairs if own.get(name) and name in ours]
    return f"{statistics.median(found):.2f} ({min(found):.2f}-{max(found):.2f})" if found else "-"


if __name__ == "__main__":
    main()

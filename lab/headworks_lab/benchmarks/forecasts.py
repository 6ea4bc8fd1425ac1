"""Forecasts of plans beside what was measured after them, and moves beside acting always, on real engines.

    python -m headworks_lab.benchmarks.forecasts storm|spark [-O FOLDER] [--rounds 200] [--block 20]

On one cluster, blocks of rounds by a loop whose plans have to pay (`pays`) alternate with blocks of a loop that carries
every plan out (`always`). Loads change by the clock, as `PARTS` and `SHIFT` say; they were chosen before the first run.
The journals of both loops are in the folder. A run that was ended goes on from them.

Storm: two topologies on two nodes. Their bolts have seats, and their rates change. No node bears a topology at its
whole rate. Spark: one query on three nodes. The rows of each source task go to one task of the second stage, to another
one in each turn; batches may not become longer, so that no node bears all tasks.

`share` and `completed` are the medians of the errors, each as a part of what was measured in the next round: of the
share of the traffic between nodes, and of the part of the offered load that is completed.
"""

from __future__ import annotations

import argparse
import contextlib
import statistics
import tempfile
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

from headworks import PluginHost
from headworks.cli.output import console, say, table
from headworks.control.guards import Guards
from headworks.control.journal import FileJournal, Round, read_journal
from headworks.control.loop import Control, Loop
from headworks.control.simulated import figures
from headworks.documents import restore
from headworks.errors import EngineError
from headworks.model import Component, Kind, Limits, Resources, Stream, Topology
from headworks_storm.demo.experiment import experiment
from headworks_storm.local.cluster import SupervisorSpec
from headworks_storm.workload.describe import describe

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

PARTS = {"left": (1.0, 0.25, 0.6, 0.25), "right": (0.25, 1.0, 0.6, 0.25)}
"""Parts of the rate of each topology, in turn."""
TURN = 60.0
"""Seconds of a turn."""
SHIFT, ROWS = 6, 3000
"""Tasks of each stage of the query, by which rows go to another one in each turn; rows a second."""
NODES = tuple(SupervisorSpec(host=f"127.0.0.{last}", cpu=40.0, memory_mb=2048.0, slots=2) for last in (91, 92))
RATE = 300.0
MOVABLE = {"mid": "fields:credit", "out": "stateless"}
ARMS = {"pays": Guards(cooldown=0.0), "always": Guards(cooldown=0.0, gain=0.0, goal=None)}
"""Guards of each loop."""
WINDOW, INTERVAL = 4.0, 2.0
"""Seconds that a round measures, and those to the next round."""
HEADS = (
    "loop",
    "rounds",
    "that moved",
    "moves",
    "between nodes",
    "completed/s",
    "of offered",
    "share",
    "completed",
    "n",
)


def topology(name: str) -> Topology:
    """A topology of 40 CPU points at its whole rate."""
    parts = (("in", Kind.SPOUT, 1, 4.0), ("mid", Kind.BOLT, 3, 7.0), ("out", Kind.BOLT, 3, 5.0))
    return Topology(
        id=name,
        components=tuple(
            Component(
                id=part,
                kind=kind,
                parallelism=tasks,
                rate=RATE if kind is Kind.SPOUT else None,
                demand=Resources(cpu=cpu, memory=64),
            )
            for part, kind, tasks, cpu in parts
        ),
        streams=(
            Stream(source="in", target="mid", grouping="fields"),
            Stream(source="mid", target="out", grouping="fields"),
        ),
        workers=len(NODES),
    )


@contextlib.contextmanager
def on_storm(host: PluginHost) -> Iterator[Any]:
    """The target of a cluster on which both topologies run."""
    conf = {"nimbus.monitor.freq.secs": 2, "nimbus.topology.validator": "headworks.storm.seats.Validator"}
    with (
        tempfile.TemporaryDirectory() as folder,
        experiment(host, NODES, Path(folder), scheduler="even", conf=conf) as cluster,
    ):
        for name, parts in PARTS.items():
            load = {"headworks.load.parts": list(parts), "headworks.load.seconds": TURN, "topology.acker.executors": 0}
            cluster.run(describe(topology(name), conf=load), shadow=False, seats=MOVABLE)
        cluster.settled_seats()
        yield cluster.service.target


@contextlib.contextmanager
def on_spark(_host: PluginHost) -> Iterator[Any]:
    """The target of a running query of two stages."""
    from headworks_spark import connect, session  # seconds that a run on Storm does not need
    from headworks_spark.local.cluster import LocalSpark, worker_specs

    with tempfile.TemporaryDirectory() as folder, LocalSpark(worker_specs((2, 2, 2))) as cluster:
        spark = session(cluster.master_url, **{"spark.sql.shuffle.partitions": str(SHIFT)})
        rows = spark.readStream.format("rate").options(rowsPerSecond=ROWS, numPartitions=SHIFT).load()
        turn = f"cast(unix_timestamp(timestamp) / {TURN} as long)"
        sent = rows.selectExpr(f"(value + {turn}) % {SHIFT} as key", "value").repartition(SHIFT, "key")
        writer = sent.writeStream.format("noop").outputMode("append").trigger(processingTime="2 seconds")
        query = writer.option("checkpointLocation", folder).start()
        with connect(spark) as connection:
            yield connection.target(query)
        query.stop()
        spark.stop()


ENGINES = {"storm": on_storm, "spark": on_spark}


def main() -> None:
    """Run the rounds that the folder does not have, and print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("engine", choices=tuple(ENGINES))
    parser.add_argument("--output", "-O", type=Path, default=Path("headworks-forecasts"))
    parser.add_argument("--scheduler", default="dstorm-plus")
    parser.add_argument("--rounds", type=int, default=200, help="of each loop")
    parser.add_argument("--block", type=int, default=20, help="rounds of a loop in a row")
    given = parser.parse_args()
    given.output.mkdir(parents=True, exist_ok=True)
    journals = {arm: FileJournal(given.output / f"{given.engine}-{arm}.jsonl") for arm in ARMS}
    host = PluginHost.load()
    if any(len(_rounds(each)) < given.rounds for each in journals.values()):
        with ENGINES[given.engine](host) as target:
            _run(host, target, given, journals)
    rows = [_row(arm, _rounds(journal)) for arm, journal in journals.items()]
    console().print(table(f"{given.scheduler} on {given.engine}", HEADS, rows, numbers=HEADS[1:]))


def _run(host: PluginHost, target: Any, given: Any, journals: dict[str, FileJournal]) -> None:
    """Alternate blocks of both loops until each has its rounds."""
    while left := {arm: n for arm, each in journals.items() if (n := given.rounds - len(_rounds(each))) > 0}:
        for arm, rounds in left.items():
            control = Control(
                scheduler=given.scheduler,
                engine=given.engine,
                window=WINDOW,
                guards=ARMS[arm],
                limits=Limits(fill=0.8),
            )
            loop = Loop(host, control, target, journals[arm])
            for _ in range(min(rounds, given.block)):
                done = loop.round(replan=True)
                say(f"{arm} {done.number}: {done.outcome}: {done.message}")
                if done.outcome == "ended":
                    raise EngineError(done.message)
                time.sleep(INTERVAL)


def _rounds(journal: FileJournal) -> list[Round]:
    """Rounds that saw the engine."""
    every = (restore(each, Round) for each in read_journal(journal.path))
    return [each for each in every if each.request is not None and each.outcome != "failed"]


def _row(arm: str, rounds: Sequence[Round]) -> tuple[str, ...]:
    loads = [figures(each.request) for each in rounds if each.request is not None]
    shares = [each.share for each in loads if each.share is not None]
    completed = [each.completed for each in loads if each.completed is not None]
    parts = [each.completed / each.offered for each in loads if each.completed is not None and each.offered]
    checked = [each for done in rounds for each in done.checked]
    errors = {name: [each.error for each in checked if each.figure == name] for name in ("share", "completed")}
    return (
        arm,
        str(len(rounds)),
        str(sum(each.moved > 0 for each in rounds)),
        str(sum(each.moved for each in rounds)),
        _mean(shares, "{:.1%}"),
        _mean(completed, "{:,.0f}"),
        _mean(parts, "{:.1%}"),
        *(f"{statistics.median(each):.1%}" if each else "-" for each in errors.values()),
        str(len(errors["share"])),
    )


def _mean(values: Sequence[float], form: str) -> str:
    return form.format(statistics.fmean(values)) if values else "-"


if __name__ == "__main__":
    main()

"""A sweep: thousands of experiments over the workers of Spark, or one after the other, as on a real engine."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import attrs
import numpy as np

from headworks.control.journal import FileJournal
from headworks.model import FrozenMap
from headworks_lab.evidence.model import Interval
from headworks_lab.measure.interval import interval
from headworks_lab.sweeps.experiments import (
    ExperimentOutcome,
    append_outcomes,
    drawn,
    dumped,
    read_outcomes,
    slices,
    try_out,
    with_origin,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from pathlib import Path

    from pyspark.sql import SparkSession

    from headworks_lab.sweeps.experiments import Experiment, Sweep

RESULTS = "results.jsonl"
"""File of outcomes in the folder of a sweep, one JSON object a line."""
PARTS = 4
"""Partitions to a core, for experiments differ in length: if larger, a Python task's ten milliseconds are paid more
often; if smaller, cores wait for the longest partition."""
SLICE = 16
"""Experiments to a partition: if larger, a sweep that is killed loses more; if smaller, Spark's job costs are paid more
often."""


def sweep(
    asked: Sweep,
    folder: Path,
    spark: SparkSession | None = None,
    tell: Callable[[int, int], None] = lambda *_: None,
    bench: Any = None,
) -> tuple[ExperimentOutcome, ...]:
    """Run all experiments that the folder has no result of.

    Args:
        asked: The experiments.
        folder: Folder in which `results.jsonl` is and grows; ended at any moment, a sweep goes on from there.
        spark: Session; None runs in this process.
        tell: Called with the number of experiments that are done, and of all.
        bench: What a real engine runs them on, one after the other in an order that is drawn; None for a simulator.

    Returns:
        The outcome of every experiment, in order.

    Raises:
        DocumentError: The file of results cannot be read or written.
    """
    every = asked.experiments()
    done = read_outcomes(folder / RESULTS, every)
    journal = FileJournal(folder / RESULTS)
    left = [each for each in (every if bench is None else drawn(every)) if each.id not in done]
    tell(len(done), len(every))
    size = PARTS * SLICE * spark.sparkContext.defaultParallelism if spark is not None else 1
    for some in slices(left, size):
        run = _spread(spark, some) if spark is not None else [try_out(each, bench) for each in some]
        found = list(map(with_origin, run))
        append_outcomes(journal, found)
        done.update({each.experiment.id: each for each in found})
        tell(len(done), len(every))
    return tuple(done[each.id] for each in every)


def _spread(spark: SparkSession, some: Sequence[Experiment]) -> list[ExperimentOutcome]:
    """Over all cores: a row in is an experiment, a row out its outcome."""
    # pyarrow is optional and costs 0.2 s, which a sweep without Spark does not need.
    from headworks_lab.sweeps.worker import Worker

    parts = min(len(some), PARTS * spark.sparkContext.defaultParallelism)
    numbered = spark.range(len(some), numPartitions=parts)
    work = Worker(tuple(map(dumped, some)))
    # Numbers travel, not experiments: the experiments are in the function, which is sent once to each task.
    rows = numbered.mapInArrow(work, "number bigint, figures string, error string").collect()
    return [
        ExperimentOutcome(
            experiment=some[row["number"]], figures=FrozenMap(json.loads(row["figures"])), error=row["error"]
        )
        for row in sorted(rows, key=lambda row: row["number"])
    ]


@attrs.frozen(kw_only=True)
class Cell:
    """Figures of one scheduler on one workload, cluster and network, over its seeds.

    Attributes:
        workload: As it was named.
        nodes: Number of nodes.
        network: Bits per second to each node, and from it.
        scheduler: Its name.
        engine: Plugin that ran the experiments.
        runs: Experiments with figures.
        failed: Experiments without.
        means: Mean by name of the figure.
        deviations: Standard deviation.
        intervals: Median and its 95 % interval.
    """

    workload: str
    nodes: int
    network: float = 0
    scheduler: str
    engine: str = "sim"
    runs: int
    failed: int = 0
    means: FrozenMap[str, float] = FrozenMap()
    deviations: FrozenMap[str, float] = FrozenMap()
    intervals: FrozenMap[str, Interval] = FrozenMap()


def summary(outcomes: Sequence[ExperimentOutcome]) -> tuple[Cell, ...]:
    """One row a scheduler, workload, cluster and network, in order."""
    groups: dict[tuple[str, int, float, str, str], list[ExperimentOutcome]] = {}
    for each in outcomes:
        asked = each.experiment
        key = (asked.workload, asked.nodes, asked.network, asked.scheduler, asked.engine)
        groups.setdefault(key, []).append(each)
    return tuple(_cell(groups[key]) for key in sorted(groups))


def _cell(outcomes: Sequence[ExperimentOutcome]) -> Cell:
    good = [each for each in outcomes if not each.error]
    names = sorted({name for each in good for name in each.figures})
    columns = {name: np.array([each.figures[name] for each in good if name in each.figures]) for name in names}
    asked = outcomes[0].experiment
    return Cell(
        workload=asked.workload,
        nodes=asked.nodes,
        network=asked.network,
        scheduler=asked.scheduler,
        engine=asked.engine,
        runs=len(good),
        failed=len(outcomes) - len(good),
        means=FrozenMap({name: float(values.mean()) for name, values in columns.items()}),
        deviations=FrozenMap({name: float(values.std()) for name, values in columns.items()}),
        intervals=FrozenMap({name: interval(values.tolist()) for name, values in columns.items()}),
    )

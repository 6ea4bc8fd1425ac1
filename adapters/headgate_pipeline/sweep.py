"""Thousands of simulated experiments over the workers of Spark, or one after the other where there is none."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import attrs

from headgate.control.journal import FileJournal
from headgate.model import FrozenMap
from headgate_pipeline.experiments import Outcome, dumped, keep, kept, slices, try_out

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from pathlib import Path

    from pyspark.sql import SparkSession

    from headgate_pipeline.experiments import Experiment, Sweep

RESULTS = "results.jsonl"
PARTS = 4
"""Partitions to a core: a Python task costs some ten milliseconds, and experiments differ in length."""
SLICE = 16
"""Experiments to a partition: so many partitions are run, kept and told of at a time."""


def sweep(
    asked: Sweep, folder: Path, spark: SparkSession | None = None, tell: Callable[[int, int], None] = lambda *_: None
) -> tuple[Outcome, ...]:
    """Run all experiments that the folder has no result of.

    Args:
        asked: What to run.
        folder: Where `results.jsonl` is and grows; ended at any moment, a sweep goes on from there.
        spark: Session; None runs in this process.
        tell: Hears how many are done, and of how many.

    Returns:
        The outcome of every experiment, in order.

    Raises:
        DocumentError: The file of results cannot be read or written.
    """
    every = asked.experiments()
    done = kept(folder / RESULTS, every)
    journal = FileJournal(folder / RESULTS)
    left = [each for each in every if each.id not in done]
    tell(len(done), len(every))
    size = PARTS * SLICE * spark.sparkContext.defaultParallelism if spark is not None else 1
    for some in slices(left, size):
        found = _spread(spark, some) if spark is not None else [try_out(each) for each in some]
        keep(journal, found)
        done.update({each.experiment.id: each for each in found})
        tell(len(done), len(every))
    return tuple(done[each.id] for each in every)


def _spread(spark: SparkSession, some: Sequence[Experiment]) -> list[Outcome]:
    """Over all cores: a row in is an experiment, a row out its outcome."""
    from headgate_pipeline.worker import Worker

    parts = min(len(some), PARTS * spark.sparkContext.defaultParallelism)
    numbered = spark.range(len(some), numPartitions=parts)
    work = Worker(tuple(map(dumped, some)))
    rows = numbered.mapInArrow(work, "number bigint, figures string, error string").collect()
    return [
        Outcome(experiment=some[row["number"]], figures=FrozenMap(json.loads(row["figures"])), error=row["error"])
        for row in sorted(rows, key=lambda row: row["number"])
    ]


@attrs.frozen(kw_only=True)
class Cell:
    """Figures of one scheduler on one workload and cluster, over its seeds: mean and standard deviation by name."""

    workload: str
    nodes: int
    scheduler: str
    runs: int
    failed: int = 0
    means: FrozenMap[str, float] = FrozenMap()
    deviations: FrozenMap[str, float] = FrozenMap()


def summary(outcomes: Sequence[Outcome]) -> tuple[Cell, ...]:
    """One row a scheduler, workload and cluster, in order."""
    groups: dict[tuple[str, int, str], list[Outcome]] = {}
    for each in outcomes:
        key = (each.experiment.workload, each.experiment.nodes, each.experiment.scheduler)
        groups.setdefault(key, []).append(each)
    return tuple(_cell(key, groups[key]) for key in sorted(groups))


def _cell(key: tuple[str, int, str], outcomes: Sequence[Outcome]) -> Cell:
    import numpy as np

    good = [each for each in outcomes if not each.error]
    names = sorted({name for each in good for name in each.figures})
    columns = {name: np.array([each.figures[name] for each in good if name in each.figures]) for name in names}
    return Cell(
        workload=key[0],
        nodes=key[1],
        scheduler=key[2],
        runs=len(good),
        failed=len(outcomes) - len(good),
        means=FrozenMap({name: float(values.mean()) for name, values in columns.items()}),
        deviations=FrozenMap({name: float(values.std()) for name, values in columns.items()}),
    )

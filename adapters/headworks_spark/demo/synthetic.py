"""A word count whose best placement is known: three groups of tasks that talk among themselves.

A word of a mapper goes to one of the two reducers of the mapper's group with probability 0.85, else to any reducer.
With every group on a node of its own 0.15 * 2/3 = 10 % of the bytes cross nodes; round robin puts two thirds of them
on the wire, as any placement that knows nothing of groups does.
"""

from __future__ import annotations

import functools
import random
import time
from typing import TYPE_CHECKING

import attrs

from headworks.errors import EngineError
from headworks.model import Component, FrozenMap, Kind, Resources, Slot, Stream, Topology
from headworks_spark.monitor import Totals, totals
from headworks_spark.target import PORT, SparkTarget

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from pyspark.sql import SparkSession

    from headworks_spark.events.recorder import EventRecorder

GROUPS = 3
"""Groups, and nodes of the best placement."""
TASKS = 6
"""Tasks of each of the two components, two to a group."""
WITHIN = 0.85
"""Probability that a word is for the mapper's own group."""
VOCABULARY = 5_000
"""Different words of each reducer."""
STAGES: FrozenMap[str, int] = FrozenMap({"map": 0, "reduce": 1})
"""Rank of each component's stage in the job."""
TIMEOUT = 300.0
"""Seconds to wait for a job's events after its end."""


def map_group(index: int) -> int:
    """The group of a mapper: neighbours belong together."""
    return index // (TASKS // GROUPS)


def reduce_group(index: int) -> int:
    """The group of a reducer: every third belongs together, so round robin never meets the mappers' groups."""
    return index % GROUPS


def words(count: int, seed: int, mapper: int) -> Iterator[tuple[int, str]]:
    """The words of one mapper, each with its reducer; the same for the same arguments on any machine.

    Args:
        count: Number of words.
        mapper: Index of the mapper, 0 to 5.
    """
    rng = random.Random(f"{seed}/{mapper}")
    own = [each for each in range(TASKS) if reduce_group(each) == map_group(mapper)]
    for _ in range(count):
        reducer = rng.choice(own) if rng.random() < WITHIN else rng.randrange(TASKS)
        yield reducer, f"word-{reducer}-{rng.randrange(VOCABULARY)}"


def _words(count: int, seed: int, mapper: int, _ticks: Iterable[int]) -> Iterator[tuple[int, str]]:
    return words(count, seed, mapper)


def _count(pairs: Iterable[tuple[int, str]]) -> Iterator[int]:
    yield sum(1 for _ in pairs)


@attrs.frozen(kw_only=True)
class WordCount:
    """The job. `total` words are shared evenly among the mappers; `name` is topology id and scope."""

    name: str = "words"
    total: int = 360_000
    seed: int = 1

    def topology(self) -> Topology:
        """Six mappers and six reducers."""
        demand = Resources(cpu=10.0)
        return Topology(
            id=self.name,
            components=(
                Component(id="map", kind=Kind.SPOUT, parallelism=TASKS, demand=demand),
                Component(id="reduce", parallelism=TASKS, demand=demand),
            ),
            streams=(Stream(source="map", target="reduce", grouping="fields"),),
        )

    def round_robin(self, hosts: Sequence[str]) -> FrozenMap[str, Slot]:
        """Mapper i and reducer i on host i, in turn."""
        tasks = self.topology().tasks()
        return FrozenMap({task.id: Slot(hosts[task.index % len(hosts)], PORT) for task in tasks})

    def co_located(self, hosts: Sequence[str]) -> FrozenMap[str, Slot]:
        """Group g on host g: the best of all placements that use three nodes evenly."""
        group = {"map": map_group, "reduce": reduce_group}
        tasks = self.topology().tasks()
        return FrozenMap({task.id: Slot(hosts[group[task.component](task.index)], PORT) for task in tasks})

    def target(self, spark: SparkSession, recorder: EventRecorder) -> SparkTarget:
        """The handle for monitor and executor.

        Args:
            spark: A session at level hard.
            recorder: A started recorder of it.
        """
        return SparkTarget.placeable(spark, recorder, self.topology(), self.name, STAGES)

    def count(self, spark: SparkSession) -> list[int]:
        """Run the job where its scope is placed; words that each reducer received."""
        context = spark.sparkContext
        # The key of a word is its reducer, and `int` as partitioner sends it there: no hash to foresee.
        ticks = context.parallelize(range(TASKS), TASKS)
        pairs = ticks.mapPartitionsWithIndex(functools.partial(_words, self.total // TASKS, self.seed))
        context.setLocalProperty("headworks.scope", self.name)
        try:
            found: list[int] = pairs.partitionBy(TASKS, int).mapPartitions(_count).collect()
        finally:
            context.setLocalProperty("headworks.scope", None)
        return found

    def run(self, target: SparkTarget, placement: FrozenMap[str, Slot]) -> Totals:
        """Ask for a placement, run the job once, and add up what it measured.

        Args:
            target: The handle of this job.
            placement: Assignment by task id.

        Raises:
            EngineError: Words were lost, or the job's events did not arrive.
        """
        target.ask(placement)
        # The recorder has the jobs of earlier placements as well.
        since = time.time()
        found = sum(self.count(target.spark))
        jobs = target.recorder.wait(self.name, 1, since=since, timeout=TIMEOUT)
        if found != self.total or not jobs:
            raise EngineError(f"{self.name!r} counted {found} of {self.total} words in {len(jobs)} recorded jobs")
        return totals(target, jobs, placement)

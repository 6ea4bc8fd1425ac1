"""The tables on Spark, embedded or on a cluster."""

from __future__ import annotations

import contextlib
from collections import Counter
from typing import TYPE_CHECKING, ClassVar
from urllib.parse import unquote

import attrs
from py4j.protocol import Py4JJavaError
from pyspark.errors import PySparkException
from pyspark.sql import SparkSession
from pyspark.sql import functions as f

from headworks.errors import EngineError
from headworks_pipeline.intake.rows import read_rows
from headworks_pipeline.tables import queries
from headworks_pipeline.tables.cache import in_file, in_memory, named
from headworks_pipeline.tables.clean import (
    compare,
    crowded,
    judge,
    jumps,
    quarantined,
    repeated,
    reports,
    sound,
)

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from pyspark.sql import DataFrame

    from headworks_pipeline.intake.files import SampleFile
    from headworks_pipeline.places import Place
    from headworks_pipeline.tables.job import Counts
    from headworks_pipeline.tables.known import KnownTasks

CHUNK = 20_000_000
"""Rows that are cleaned at a time, as far as hours are not larger."""
FEW = 300_000
"""Rows below which planning costs more than computing."""


@attrs.frozen
class OnSpark:
    """The batch job's engine of a session."""

    name: ClassVar[str] = "spark"
    chunk: ClassVar[int] = CHUNK
    spark: SparkSession

    def write_tables(self, files: Sequence[SampleFile], known: KnownTasks, place: Place) -> Counts:
        """Read raw rows once, and write every table.

        Args:
            files: Whole hours; files that carry a `reason` are left out.
            known: Topologies and tasks of the engine that was watched.
            place: Folder of the tables.

        Returns:
            The rows that were read, by hour, file and reason.

        Raises:
            EngineError: Spark fails, as where a file went while it was read.
        """
        few = sum(each.rows for each in files) < FEW
        _suit(self.spark, few=few)
        with contextlib.ExitStack() as stack, _errors():
            rows, counts = self._cleaned(stack, files, known, place, few=few)
            cleaned = stack.enter_context(named(rows, "cleaned"))
            used = stack.enter_context(named(self.spark.sql(queries.prepared(cleaned)), "used"))
            for name, query in queries.tables(used, queries.SPARK_PAIRS).items():
                _write(self.spark.sql(query), place / name)
            if any(reason for _, _, reason in counts):
                _write(quarantined(rows), place / "quarantine")
        return counts

    def _cleaned(
        self,
        stack: contextlib.ExitStack,
        files: Sequence[SampleFile],
        known: KnownTasks,
        place: Place,
        *,
        few: bool,
    ) -> tuple[DataFrame, Counts]:
        """Rows with all reasons, and their number by hour, file and reason.

        Few rows are kept in memory. Many are read again for each table, in the columns that it needs: where no row has
        a reason, which is the rule, these are few, and to write all columns somewhere costs more than to read them.
        """
        judged = judge(read_rows(self.spark, files), known)
        rows = stack.enter_context(in_memory(judged)) if few else judged
        seen = stack.enter_context(in_memory(self.spark.sql(reports(stack.enter_context(named(rows, "judged"))))))
        counts = _counted(seen, "sum(n)")
        if not few:
            # From here on they are read again: a file that goes meanwhile would be missing from some tables.
            rows = judge(read_rows(self.spark, files, whole=True), known)
        if not few and not any(reason for _, _, reason in counts):
            rows = sound(rows)
        jumped = self.spark.sql(jumps(stack.enter_context(named(seen, "reports"))))
        groups = self.spark.sql(crowded(stack.enter_context(named(rows, "sound"))))
        again = None if groups.isEmpty() else repeated(rows)
        compared = compare(rows, None if jumped.isEmpty() else jumped, again)
        if compared is rows:
            return rows, counts
        # Found something: joined once, and not again for the counts and for each table.
        compared = stack.enter_context(in_memory(compared) if few else in_file(compared, place / "compared"))
        return compared, _counted(compared, "count(1)")


@contextlib.contextmanager
def _errors() -> Iterator[None]:
    try:
        yield
    except (PySparkException, Py4JJavaError) as error:
        why = error.java_exception.getMessage() if isinstance(error, Py4JJavaError) else error
        said = str(why).strip().partition("\n")[0]
        raise EngineError(
            f"Spark cannot make the tables: {said} (run again if samples were removed meanwhile)"
        ) from None


def _counted(rows: DataFrame, number: str) -> Counts:
    """Rows by hour, file and reason."""
    counts: Counts = Counter()
    keys = ("hour", "file", "reason")
    for hour, file, reason, count in rows.groupBy(*keys).agg(f.expr(number)).collect():
        counts[hour, unquote(file), reason or ""] += count
    return counts


def _suit(spark: SparkSession, *, few: bool) -> None:
    """Few rows are summed up faster than the code for many is compiled."""
    spark.conf.set("spark.sql.codegen.wholeStage", str(not few).lower())
    spark.conf.set("spark.sql.codegen.factoryMode", "NO_CODEGEN" if few else "FALLBACK")
    spark.conf.set("spark.sql.adaptive.enabled", str(not few).lower())
    spark.conf.set("spark.sql.shuffle.partitions", "1" if few else str(4 * spark.sparkContext.defaultParallelism))


def _write(table: DataFrame, place: Place) -> None:
    table.repartition("hour").sortWithinPartitions("hour").write.partitionBy("hour").parquet(
        str(place), mode="overwrite"
    )

"""The pipeline as a Structured Streaming job: files that appear are learnt from, and the knowledge stays current.

The stream tells *that* there are files, and its checkpoint which it has told of. What is learnt depends on the files of
an hour alone, and is committed in one rename: a batch that is told twice, after a crash, finds its hours made.
"""

from __future__ import annotations

from contextlib import nullcontext, suppress
from typing import TYPE_CHECKING, Any

from headworks.errors import EngineError, HeadworksError
from headworks_pipeline.run import run
from headworks_pipeline.tables.on_spark import OnSpark

if TYPE_CHECKING:
    from collections.abc import Callable

    from pyspark.sql import DataFrame, SparkSession

    from headworks.model.knowledge import Knowledge
    from headworks_pipeline.places import Place
    from headworks_pipeline.reporting.report import RunReport
    from headworks_pipeline.run import PipelineJob
    from headworks_pipeline.tables.job import Update

CHECKPOINT = "_checkpoint"
"""Folder of the stream's checkpoint, in the folder of results; removed, all files are told once more."""
SCHEMA = "path string, modificationTime timestamp, length bigint, content binary"
"""Columns of Spark's source `binaryFile`; only path and length are read, so that no file's content is loaded."""


def follow(
    spark: SparkSession,
    job: PipelineJob,
    *,
    interval: float | None,
    done: Callable[[Update, Knowledge, RunReport], None] = lambda *_: None,
    tell: Callable[[str], None] = lambda _: None,
) -> None:
    """Run the stream until it ends, which it does by itself only without an interval.

    Args:
        spark: Session.
        job: Input, output and extent.
        interval: Seconds between looks at the folder; None takes what is there and ends.
        done: Called with the result of every batch.
        tell: Called with a sentence after each chunk.

    Raises:
        HeadworksError: What ended it.
    """

    def learn(_files: DataFrame) -> None:
        done(*run(job, lambda _work: nullcontext(OnSpark(spark)), tell))

    # A batch only tells that there are new files; `run` looks at the folder itself, and finds made hours made.
    files = spark.readStream.format("binaryFile").schema(SCHEMA).option("pathGlobFilter", "*.parquet")
    names = files.option("recursiveFileLookup", "true").load(str(job.samples.absolute())).select("path", "length")
    run_stream(names, learn, job.output / CHECKPOINT, interval)


def run_stream(
    rows: DataFrame,
    work: Callable[[DataFrame], None],
    checkpoint: Place,
    interval: float | None,
    *,
    name: str = "the samples",
) -> None:
    """Run a stream until it ends, which it does by itself only without an interval.

    Args:
        rows: What is read.
        work: Called with each batch; a batch during which all stopped comes again.
        checkpoint: Folder of what was read.
        interval: Seconds between looks at the source; None takes what is there and ends.
        name: Name of the source, for errors.

    Raises:
        HeadworksError: What ended it.
    """
    failed: list[HeadworksError] = []

    def each(batch: DataFrame, _number: int) -> None:
        try:
            work(batch)
        except HeadworksError as error:  # Spark tells of it in a page of text
            failed.append(error)
            raise

    trigger: dict[str, Any] = {"availableNow": True} if interval is None else {"processingTime": f"{interval} seconds"}
    query = rows.writeStream.foreachBatch(each).option("checkpointLocation", str(checkpoint)).trigger(**trigger).start()
    try:
        query.awaitTermination()
    except Exception as error:  # noqa: BLE001 - py4j and PySpark raise a dozen kinds
        raise failed[0] if failed else EngineError(f"the stream of {name} ended: {_said(error)}") from None
    finally:
        with suppress(Exception):  # Ctrl-C may have come to the JVM as well
            query.stop()


def _said(error: Exception) -> str:
    """The first line of an error, without the names of queries."""
    return str(error).partition("\n")[0].rpartition("terminated with exception: ")[2].partition(" SQLSTATE: ")[0]

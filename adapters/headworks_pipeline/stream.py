"""The pipeline as a Structured Streaming job: files that appear are learnt from, and the knowledge stays current.

The stream tells *that* there are files, and its checkpoint which it has told of. What is learnt depends on the files of
an hour alone, and is committed in one rename: a batch that is told twice, after a crash, finds its hours made.
"""

from __future__ import annotations

from contextlib import nullcontext
from typing import TYPE_CHECKING, Any

from headworks_pipeline.run import run
from headworks_pipeline.tables.on_spark import OnSpark

if TYPE_CHECKING:
    from collections.abc import Callable

    from pyspark.sql import DataFrame, SparkSession

    from headworks.model.knowledge import Knowledge
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
) -> Any:
    """Start the stream.

    Args:
        spark: Session.
        job: Input, output and extent.
        interval: Seconds between looks at the folder; None takes what is there and ends.
        done: Called with the result of every batch.
        tell: Called with a sentence after each chunk.

    Returns:
        The `StreamingQuery`, which runs until it is stopped.
    """

    def learn(_files: DataFrame, _batch: int) -> None:
        done(*run(job, lambda _work: nullcontext(OnSpark(spark)), tell))

    # A batch only tells that there are new files; `run` looks at the folder itself, and finds made hours made.
    files = spark.readStream.format("binaryFile").schema(SCHEMA).option("pathGlobFilter", "*.parquet")
    names = files.option("recursiveFileLookup", "true").load(str(job.samples.absolute())).select("path", "length")
    writer = names.writeStream.foreachBatch(learn).option("checkpointLocation", str(job.output / CHECKPOINT))
    trigger: dict[str, Any] = {"availableNow": True} if interval is None else {"processingTime": f"{interval} seconds"}
    return writer.trigger(**trigger).start()

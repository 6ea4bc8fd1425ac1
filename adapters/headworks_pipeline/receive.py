"""Samples from a Kafka topic, as a Structured Streaming job: each message is a file, which is written to a folder once.

The checkpoint says which messages were written. A batch that is told twice, after a crash, finds its files there.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import attrs

from headworks.errors import EngineError
from headworks.samples.store import STATES, write_whole
from headworks_pipeline.hadoop import HadoopPath
from headworks_pipeline.intake.files import hour_of
from headworks_pipeline.stream import run_stream

if TYPE_CHECKING:
    from collections.abc import Iterable

    from pyspark.sql import DataFrame, SparkSession

    from headworks.samples.store import TopicAddress
    from headworks_pipeline.places import Place

SAMPLES = re.compile(r"samples-[0-9a-f]{16}(-[0-9]+)?\.parquet")
STATE = re.compile(rf"{STATES}/[0-9]{{8}}T[0-9]{{6}}\.[0-9]{{6}}Z-[0-9a-f]{{16}}\.json")
"""Names of samples, and paths of states: no other file is ever written."""
LARGEST = 1 << 24
"""Bytes of a file that are brought to the driver; a larger one counts as empty, so as unreadable."""
MESSAGES = 128
"""Messages of a batch. With more, the driver needs more memory; with fewer, a backlog takes longer."""
CHECKPOINT = "_checkpoint"
"""Folder in the one of samples with the checkpoint of each topic."""
ASKING = {"default.api.timeout.ms": "10000", "request.timeout.ms": "5000"}
"""How long Kafka's client asks a broker that does not answer."""


@attrs.define
class Received:
    """Counts of what came: files of samples and states that were written, and messages that are none of both."""

    files: int = 0
    states: int = 0
    refused: int = 0


def receive(
    spark: SparkSession, topic: TopicAddress, samples: Place, *, interval: float | None, received: Received
) -> None:
    """Write what is in a topic to a folder of samples, until the stream ends.

    Args:
        spark: Session.
        topic: Topic that monitors send their samples to.
        samples: The folder.
        interval: Seconds between looks at the topic; None takes what is there and ends.
        received: Counts, which go up.

    Raises:
        EngineError: Spark cannot read the topic, or a file cannot be written.
    """

    def write(batch: DataFrame) -> None:
        write_files(samples, ((row.key, bytes(row.value or b"")) for row in batch.collect()), received)

    files = _messages(spark, topic).selectExpr(
        "cast(key as string) as key", f"case when length(value) <= {LARGEST} then value end as value"
    )
    run_stream(files, write, samples / CHECKPOINT / topic.topic, interval, name=str(topic))


def write_files(samples: Place, messages: Iterable[tuple[str | None, bytes]], received: Received) -> None:
    """Write messages to a folder of samples, each that is not there.

    Args:
        samples: The folder.
        messages: Key and value of each.
        received: Counts, which go up.

    Raises:
        EngineError: A file cannot be written.
    """
    for key, content in messages:
        if key is None or not (STATE.fullmatch(key) or (hour_of(key) and SAMPLES.fullmatch(key.rpartition("/")[2]))):
            received.refused += 1
        elif not (file := _below(samples, key)).is_file():
            _write(file, content)
            if key.startswith(STATES):
                received.states += 1
            else:
                received.files += 1


def _write(file: Place, content: bytes) -> None:
    if isinstance(file, HadoopPath):
        file.write_bytes(content)
    else:
        write_whole(file, lambda stream: stream.write(content))


def _below(samples: Place, path: str) -> Place:
    for name in path.split("/"):
        samples = samples / name
    return samples


def _messages(spark: SparkSession, topic: TopicAddress) -> DataFrame:
    # PySpark is optional: a session was made, so it is there.
    from pyspark.errors import AnalysisException

    reader = spark.readStream.format("kafka").option("subscribe", topic.topic)
    settings = {**ASKING, **topic.settings, "bootstrap.servers": topic.bootstrap}
    for name, value in settings.items():
        reader = reader.option(f"kafka.{name}", value)
    try:
        return reader.option("startingOffsets", "earliest").option("maxOffsetsPerTrigger", MESSAGES).load()
    except AnalysisException:
        scala = spark.sparkContext._jvm.scala.util.Properties.versionNumberString()  # noqa: SLF001 - PySpark has none
        jar = f"spark-sql-kafka-0-10_{scala.rpartition('.')[0]}:{spark.version}"
        raise EngineError(f"Spark has no reader of Kafka: give `--packages org.apache.spark:{jar}`") from None

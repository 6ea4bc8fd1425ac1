"""A query of `transformWithState`, the newest of Spark's stateful operators: placed, moved, and its rows counted."""

from __future__ import annotations

import pytest
from pyspark.sql import GroupedData, Row

import headworks_spark
from adapters.spark.spark_jobs import PARTITIONS, batch_hosts, rotation
from headworks_spark.monitor import observe

pytestmark = [
    pytest.mark.spark,
    pytest.mark.slow,
    pytest.mark.skipif(not hasattr(GroupedData, "transformWithState"), reason="needs Spark 4.1"),
]
KEYS, ROWS = 20, 600
PROVIDER = "spark.sql.streaming.stateStore.providerClass"
ROCKSDB = "org.apache.spark.sql.execution.streaming.state.RocksDBStateStoreProvider"


@pytest.fixture
def query(spark):
    """How many rows there were of each key so far."""
    pytest.importorskip("google.protobuf")
    from pyspark.sql.streaming import StatefulProcessor

    class Counting(StatefulProcessor):  # one of a module would not be there on executors
        def init(self, handle):
            self.count = handle.getValueState("count", "count long")

        def handleInputRows(self, key, rows, _timers):  # noqa: N802 - Spark's name
            before = self.count.get()[0] if self.count.exists() else 0
            count = before + sum(1 for _ in rows)
            self.count.update((count,))
            yield Row(key=key[0], count=count)

        def close(self):
            pass

    before = spark.conf.get(PROVIDER)
    spark.conf.set(PROVIDER, ROCKSDB)
    spark.conf.set("spark.sql.shuffle.partitions", PARTITIONS)
    source = spark.readStream.format("rate-micro-batch").options(rowsPerBatch=ROWS, numPartitions=PARTITIONS).load()
    keyed = source.selectExpr(f"value % {KEYS} AS key").groupBy("key")
    counts = keyed.transformWithState(Counting(), "key long, count long", "Update", "None")
    query = counts.writeStream.format("memory").queryName("transformed").outputMode("update").start()
    yield query
    query.stop()
    spark.conf.set(PROVIDER, before)


def test_it_is_placed_and_moved_by_its_operator_and_loses_no_row(spark, query):
    with headworks_spark.connect(spark) as connection:
        target = connection.target(query)
        source, state = (part.id for part in target.topology.components)
        assert state.startswith("stage-1-TransformWithState")
        for shift in range(2):
            target.placement.push(target.scope, rotation(shift, 2), target.signatures)
            assert batch_hosts(connection.recorder, query, 2) == rotation(shift, 2)
        kept = {each.task.split("/")[1]: each.state is not None for each in observe(target, 0.5).metrics.tasks}
        assert (kept, target.left()) == ({source: False, state: True}, {})
    query.stop()
    rows = spark.table("transformed").groupBy("key").max("count").collect()
    assert {row.key for row in rows} == set(range(KEYS))
    batches = query.lastProgress["batchId"] + 1
    # The last one may have ended without a report. Each has as many rows of each key.
    assert {row["max(count)"] for row in rows} in [{each * ROWS // KEYS} for each in (batches, batches + 1)]

"""Two queries on one session, as anyone would write them."""

from pyspark.sql import SparkSession

spark = SparkSession.builder.getOrCreate()
spark.conf.set("spark.sql.shuffle.partitions", 6)
for name in ("events", "archive"):
    rows = spark.readStream.format("rate").options(rowsPerSecond=600, numPartitions=6).load()
    rows.groupBy(rows.value % 100).count().writeStream.format("noop").queryName(name).outputMode("update").start()
spark.streams.awaitAnyTermination()

"""A streaming word count, as anyone would write it: nothing here knows of Headworks.

Run it under a scheduler with: headworks run --engine spark --scheduler dstorm examples/spark/word_count.py
"""

from pyspark.sql import SparkSession
from pyspark.sql import functions as fn

WORDS = "the quick brown fox jumps over the lazy dog while a headworks decides how much water each channel gets"

spark = SparkSession.builder.getOrCreate()
spark.conf.set("spark.sql.shuffle.partitions", 6)

lines = spark.readStream.format("rate").option("rowsPerSecond", 2000).option("numPartitions", 6).load()
number = fn.col("value") % len(WORDS.split())
words = lines.select(fn.element_at(fn.lit(WORDS.split()), (number + 1).cast("int")).alias("word"))
counts = words.groupBy("word").count()

query = (
    counts.writeStream.queryName("word_count")
    .format("memory")
    .outputMode("complete")
    .trigger(processingTime="1 second")
    .start()
)
query.awaitTermination()

"""A year of departures from New York, replayed as a stream into statistics per airport. Needs `headworks[demo]`.

Placed, profiled and planned again from its own profile by three commands, the first of which runs until Ctrl-C:

    headworks run --engine spark -s even -o rebalance=yes --slowdown 9 --samples samples flights.py
    headworks pipeline run samples -O learnt
    headworks plan learnt/request.json -s dstorm --slowdown 9
"""

import tempfile
from pathlib import Path

from pyspark.sql import SparkSession

from headworks_spark.demo.feeds import prepare
from headworks_spark.demo.flights import FlightsQuery

with tempfile.TemporaryDirectory() as folder:
    prepare(Path(folder) / "feeds")
    statistics = FlightsQuery(folder=Path(folder)).frame(SparkSession.builder.getOrCreate())
    query = (
        statistics.writeStream.queryName("flights")
        .format("memory")
        .outputMode("complete")
        .option("checkpointLocation", f"{folder}/checkpoint")
        .start()
    )
    query.awaitTermination()

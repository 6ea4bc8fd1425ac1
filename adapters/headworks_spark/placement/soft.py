"""Preferred locations, without a jar, of what a program hands to Spark: sources, RDDs, DataFrames and micro-batches.

Preferred locations are a wish: Spark waits for the place as long as `spark.locality.wait` says, then runs the task
anywhere. An RDD's locations hold for every narrow operation after it, up to the next shuffle.
"""

from __future__ import annotations

import logging
from itertools import count
from typing import TYPE_CHECKING, Any

import attrs
from pyspark import CPickleSerializer

from headworks.errors import EngineError
from headworks_spark.driver.gateway import java_rdd, running_gateway, scala_context, to_dataframe, to_rdd
from headworks_spark.driver.session import located

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from pyspark import RDD
    from pyspark.sql import DataFrame, SparkSession

LOG = logging.getLogger("headworks.spark")
"""The adapter's logger; what fails beside a user's query goes here and nowhere else."""
REASONS = 100
"""Reasons that are logged for a query."""


def locations(spark: SparkSession, hosts: Iterable[str | None]) -> list[str | None]:
    """Spark's name of a live executor on each host, the executors of one host in turn.

    None stays None, and a host without an executor becomes None: a wish for the dead holds up all others.

    Args:
        hosts: Host of each partition; None leaves it to Spark.
    """
    alive: dict[str, list[str]] = {}
    for executor, (node, host) in sorted(located(spark).items()):
        # TaskLocation's form for one executor: a host alone is a weaker wish, met by any executor there.
        alive.setdefault(node, []).append(f"executor_{host}_{executor}")
    turns = {host: count() for host in alive}
    return [alive[host][next(turns[host]) % len(alive[host])] if host in alive else None for host in hosts]


def place_source(spark: SparkSession, items: Sequence[Any], hosts: Sequence[str | None]) -> RDD[Any]:
    """An RDD with one element a partition, element i computed on host i.

    Args:
        items: The elements; they are pickled.
        hosts: Host of each element; None leaves it to Spark.

    Raises:
        EngineError: There are not as many hosts as items.
    """
    _same_length(len(items), hosts)
    jvm, serializer = running_gateway().jvm, CPickleSerializer()
    pairs = [
        jvm.scala.Tuple2(bytearray(serializer.dumps(item)), _seq([place] if place else []))
        for item, place in zip(items, locations(spark, hosts), strict=True)
    ]
    # The one method of SparkContext that takes preferred locations; PySpark's `parallelize` does not hand them on.
    made = scala_context(spark.sparkContext).makeRDD(_seq(pairs), _any_class())
    return to_rdd(spark, made, serializer)


@attrs.frozen(kw_only=True, eq=False)
class Pinned:
    """An RDD or DataFrame whose partitions ask for hosts; each `ask` holds from the next stage on.

    Attributes:
        rdd: The RDD to go on with, None of a DataFrame.
        frame: The DataFrame to go on with, None of an RDD.
        partitions: Number of its partitions, and so of the hosts that `ask` takes.
    """

    partitions: int
    rdd: Any = None
    frame: Any = None
    _spark: Any
    _parent: Any
    _coalesced: Any

    def ask(self, hosts: Sequence[str | None]) -> None:
        """Ask for host i for partition i, None leaves it to Spark.

        Raises:
            EngineError: There are not as many hosts as partitions.
        """
        _same_length(self.partitions, hosts)
        gateway = running_gateway()
        jvm = gateway.jvm
        array = gateway.new_array(jvm.org.apache.spark.Partition, self.partitions)
        for index, place in enumerate(locations(self._spark, hosts)):
            group = gateway.new_array(jvm.int, 1)
            group[0] = index
            wish = jvm.scala.Option.apply(place)
            array[index] = jvm.org.apache.spark.rdd.CoalescedRDDPartition(index, self._parent, group, wish)
        # RDD.partitions_ caches the partitions: replaced, the next stage asks for other places. It is private, and
        # Spark has no method that does this; a coalesced RDD with one group a partition is the same data.
        field = jvm.java.lang.Class.forName("org.apache.spark.rdd.RDD").getDeclaredField("partitions_")
        field.setAccessible(True)
        field.set(self._coalesced, array)


def pin(spark: SparkSession, rdd: RDD[Any], hosts: Sequence[str | None]) -> Pinned:
    """Pin an existing RDD, also after a shuffle: partition i runs on host i.

    Args:
        spark: The session of the RDD.
        hosts: Host of each partition; None leaves it to Spark.

    Raises:
        EngineError: There are not as many hosts as partitions.
    """
    parent = java_rdd(rdd)
    coalesced = _coalesced(parent)
    pinned = Pinned(
        rdd=to_rdd(spark, coalesced, rdd), partitions=len(hosts), spark=spark, parent=parent, coalesced=coalesced
    )
    _same_length(parent.getNumPartitions(), hosts)
    pinned.ask(hosts)
    return pinned


def pin_frame(frame: DataFrame, hosts: Sequence[str | None]) -> Pinned:
    """Pin a DataFrame as it is now: partition i of its plan runs on host i.

    With adaptive execution this runs the shuffles before it, and the number of partitions is Spark's choice then.

    Args:
        frame: A DataFrame of a classic session, not a streaming one.
        hosts: Host of each partition; None leaves it to Spark.

    Raises:
        EngineError: There are not as many hosts as partitions.
    """
    spark = frame.sparkSession
    parent, wrap = to_dataframe(frame)
    coalesced = _coalesced(parent)
    pinned = Pinned(frame=wrap(coalesced), partitions=len(hosts), spark=spark, parent=parent, coalesced=coalesced)
    _same_length(parent.getNumPartitions(), hosts)
    pinned.ask(hosts)
    return pinned


def placed_batches(
    work: Callable[[DataFrame, int], None], hosts: Callable[[int], Sequence[str | None]]
) -> Callable[[DataFrame, int], None]:
    """A function for `foreachBatch` that gives `work` each batch pinned.

    Args:
        work: The query's own function of a batch: its frame, and its number.
        hosts: The host of each of n partitions; it is asked anew for each batch. What it raises leaves the batch to
            Spark: a placement never stops a query. The logger `headworks.spark` says why, once for each reason.
    """
    said: set[str] = set()

    def place(frame: DataFrame, batch: int) -> None:
        parent, wrap = to_dataframe(frame)
        coalesced = _coalesced(parent)
        number = parent.getNumPartitions()
        try:
            pinned = Pinned(
                frame=wrap(coalesced), partitions=number, spark=frame.sparkSession, parent=parent, coalesced=coalesced
            )
            pinned.ask(hosts(number))
            placed = pinned.frame
        except Exception as error:  # noqa: BLE001 - whatever a scheduler does, the batch is processed
            # Once for each reason: a query has many batches.
            if (reason := f"{type(error).__name__}: {error}") not in said and len(said) < REASONS:
                said.add(reason)
                LOG.warning("batch %d and those that fail alike are left to Spark: %s", batch, reason)
            placed = frame
        work(placed, batch)

    return place


def _same_length(partitions: int, hosts: Sequence[str | None]) -> None:
    if partitions != len(hosts):
        raise EngineError(f"{len(hosts)} hosts for {partitions} partitions: name one for each, None leaves it to Spark")


def _coalesced(parent: Any) -> Any:
    jvm = running_gateway().jvm
    return jvm.org.apache.spark.rdd.CoalescedRDD(
        parent, parent.getNumPartitions(), jvm.scala.Option.empty(), _any_class()
    )


def _any_class() -> Any:
    jvm = running_gateway().jvm
    # scala.reflect.ClassTag$.MODULE$: `$` is no letter of a Python name.
    tags = getattr(getattr(jvm.scala.reflect, "ClassTag$"), "MODULE$")
    return tags.apply(jvm.java.lang.Class.forName("java.lang.Object"))


def _seq(items: Sequence[Any]) -> Any:
    jvm = running_gateway().jvm
    found = jvm.java.util.ArrayList()
    for item in items:
        found.add(item)
    return jvm.PythonUtils.toSeq(found)

"""A client of a Spark Connect server, as a program of its own: a query that the control loop places and moves."""

from __future__ import annotations

import json
import os
import sys
import time
from typing import Any

from pyspark.sql import SparkSession

import headworks_spark
from headworks.control.guards import Guards
from headworks.control.loop import Control, Loop
from headworks.errors import EngineError
from headworks.hooks import Description, hookimpl
from headworks.model import Limits
from headworks.plugins.host import PluginHost
from headworks.problem import Problem
from headworks_spark.applications.run import run_application
from headworks_spark.driver.connect import Connect
from headworks_spark.driver.session import executors

HOSTS = ("127.0.0.2", "127.0.0.3", "127.0.0.4")
PARTITIONS = 6
KEYS = 100


class Told:
    """Put task n of each stage on the n-th of some nodes."""

    nodes: tuple[str, ...] = ()

    @hookimpl
    def headworks_describe(self) -> Description:
        return Description(summary=self.__doc__ or "")

    @hookimpl
    def headworks_schedule(self, request: Any) -> Any:
        problem = Problem.of(request)
        nodes = [problem.node_index[self.nodes[task.index % len(self.nodes)]] for task in problem.tasks]
        return problem.plan(nodes)


def say(**words: Any) -> None:
    sys.stdout.write(json.dumps(words) + "\n")
    sys.stdout.flush()


def start(spark: Any, name: str) -> Any:
    spark.conf.set("spark.sql.shuffle.partitions", PARTITIONS)
    source = spark.readStream.format("rate").options(rowsPerSecond=300, numPartitions=PARTITIONS).load()
    counts = source.groupBy((source.value % KEYS).alias("key")).count()
    return counts.writeStream.format("memory").queryName(name).outputMode("complete").start()


def place(connection: Any, query: Any, shifts: list[tuple[str, ...]]) -> Any:
    """Rounds of the loop, each with other nodes; says what was asked, and the last batch before."""
    told, limits = Told(), Limits(deadline=120.0, slowdown=None, fill=None)
    host = PluginHost.load(["spark"]).with_plugin("told", told)
    control = Control(scheduler="told", engine="spark", window=0.5, guards=Guards(cooldown=0.0), limits=limits)
    target = connection.target(query)
    for nodes in shifts:
        told.nodes = nodes
        done = Loop(host, control, target).round()
        asked = sorted((*target.place(task), target.asked()[task.id].node) for task in target.topology.tasks())
        hits = [done.check.hits, done.check.asked] if done.check else []
        last = query.lastProgress["batchId"]
        flows = len(done.request.metrics.flows) + len(done.request.metrics.streams) if done.request else 0
        say(outcome=done.outcome, hits=hits, asked=asked, last=last, flows=flows, notes=done.notes, id=str(query.id))
        await_batch(query, last + 3)
    return target


def await_batch(query: Any, number: int) -> None:
    while query.lastProgress["batchId"] < number:
        assert query.isActive, query.exception()
        time.sleep(0.1)


def lost(spark: Any, name: str) -> int:
    """Rows that the counts of a query lack, or have twice: its source numbers them."""
    counts = {row["key"]: row["count"] for row in spark.sql(f"SELECT * FROM {name}").collect()}
    total = sum(counts.values())
    return sum(abs(counts.get(key, 0) - (total + KEYS - 1 - key) // KEYS) for key in range(KEYS))


def moved(spark: Any) -> None:
    """One query, moved three times."""
    with headworks_spark.connect(spark) as connection:
        spark.interruptAll()  # the wait for events among it
        query = start(spark, "moved")
        say(level=connection.level, warnings=connection.warnings, executors=sorted(executors(spark).values()))
        place(connection, query, [HOSTS[shift:] + HOSTS[:shift] for shift in (1, 2, 0)])
        heard = {job.start.query for job in connection.recorder.jobs()}
        say(heard=sorted(map(str, heard)), failures=connection.recorder.failures, dropped=connection.recorder.dropped)
    query.stop()
    say(lost=lost(spark, "moved"))
    spark.stop()


def follow(follow: Any, *query: Any) -> Any:
    """A follower with a scheduler of Headworks's own, which has done a round."""
    control = Control(scheduler="even", engine="spark", window=0.5, limits=Limits(slowdown=None))
    follower = follow(*query, control, interval=0.5)
    while follower.last is None or follower.last.outcome not in ("executed", "unchanged"):
        assert follower.alive
        time.sleep(0.1)
    say(outcome=follower.last.outcome)
    return follower


def followed(spark: Any) -> None:
    """One query that is followed, and then the death of this process."""
    query = start(spark, "followed")
    connection = headworks_spark.connect(spark)
    follow(connection.follow, query).stop()
    place(connection, query, [HOSTS[:1]])
    sys.stdin.readline()
    os._exit(9)


def bereft(spark: Any) -> None:
    """A client whose server dies while its queries are followed: its connection is closed then."""
    query = start(spark, "bereft")
    with headworks_spark.connect(spark) as connection:
        followers = [follow(connection.follow, query), follow(connection.follow_all)]
        sys.stdin.readline()
    say(alive=[each.alive for each in followers])
    os._exit(0)  # PySpark itself tries to reach the server for ten minutes at the end of a process


def returned(spark: Any) -> None:
    """A client whose server dies, and another one comes in its place, where it begins anew."""
    # Tests read this module where Connect is not installed.
    from pyspark.sql.connect.client.retries import DefaultPolicy

    # PySpark's own calls, too, are to find the other one soon.
    spark.client.set_retry_policies([DefaultPolicy(max_retries=1000, max_backoff=1000)])
    with headworks_spark.connect(spark) as connection:
        follower = follow(connection.follow, start(spark, "returned"))
        while follower.alive or not connection.recorder.failures:
            time.sleep(0.1)
        say(outcome=follower.last.outcome, message=follower.last.message, failures=connection.recorder.failures)
    try:
        headworks_spark.connect(spark)
    except EngineError as error:
        say(refused=str(error))
    spark.stop()
    spark = SparkSession.builder.remote(sys.argv[1]).getOrCreate()
    query = start(spark, "again")
    with headworks_spark.connect(spark) as connection:
        while len(hosts := tuple(sorted(set(executors(spark).values())))) < 2:
            time.sleep(0.1)
        place(connection, query, [hosts, hosts[::-1]])
    query.stop()
    say(lost=lost(spark, "again"))
    spark.stop()


def strange(spark: Any) -> None:
    """A client that wants to move the query of another."""
    query = start(spark, "strange")
    with headworks_spark.connect(spark) as connection:
        target = place(connection, query, [HOSTS[1:2]])
        try:
            target.placement.push(sys.argv[3], {(0, 0): HOSTS[2]})
        except EngineError as error:
            say(refused=str(error), active=len(spark.streams.active))
    query.stop()
    spark.stop()


def curious(spark: Any) -> None:
    """A client that listens while another one's query runs, and asks for more than its business."""
    driver = Connect(spark)
    events = driver.listen(2**31 - 1)
    query = start(SparkSession.builder.remote(sys.argv[1]).create(), "private")
    while not query.lastProgress or query.lastProgress["batchId"] < 2:
        time.sleep(0.1)
    query.stop()
    heard = [json.loads(each)["Event"] for each in events.take() + events.take()]
    say(heard=sorted({each for each in heard if "Executor" not in each}))
    say(heard=heard_again(spark, driver.listen(1000)))
    say(settings=[driver.setting(name, "") for name in ("spark.connect.authenticate.token", "spark.master")])
    spark.stop()
    try:
        headworks_spark.connect(spark)
    except EngineError as error:
        say(refused=str(error))


def heard_again(spark: Any, events: Any) -> list[str]:
    """Kinds of events that are heard once the server has forgotten the queue, as if nobody took from it for minutes."""
    forgotten = False
    events._driver.call("ConnectSession.deafen", events._id)
    while not forgotten:
        takes = events._takes
        events.take()
        forgotten = events._takes <= takes
    query, heard = start(spark, "again"), set[str]()
    while "SparkListenerJobEnd" not in heard:
        heard |= {json.loads(each)["Event"] for each in events.take()}
    query.stop()
    events.close()
    return sorted(each for each in heard if each.startswith("SparkListenerJob"))


def pipeline(server: str) -> None:
    """A project of a pipeline, whose flows are moved three times; then the rows of its tables."""

    def rounds(target: Any, ended: Any) -> None:
        told, limits = Told(), Limits(deadline=120.0, slowdown=None, fill=None)
        host = PluginHost.load(["spark"]).with_plugin("told", told)
        control = Control(scheduler="told", engine="spark", window=0.5, guards=Guards(cooldown=0.0), limits=limits)
        for shift in (1, 2, 0):
            told.nodes = HOSTS[shift:] + HOSTS[:shift]
            done = Loop(host, control, target).round()
            flows = dict(map(asked, target.members))
            say(outcome=done.outcome, message=done.message, notes=done.notes, flows=flows)
            for each in target.members:
                await_batch(each.query, flows[each.scope][1] + 3)

    def asked(target: Any) -> tuple[str, Any]:
        places = sorted((*target.place(task), target.asked()[task.id].node) for task in target.topology.tasks())
        return target.scope, [target.topology.id, target.query.lastProgress["batchId"], places]

    code = run_application(sys.argv[3:4], server, (), rounds)
    spark = SparkSession.builder.remote(server).getOrCreate()
    say(code=code, rows=[spark.table(name).count() for name in sys.argv[4:]])
    spark.stop()


if __name__ == "__main__":
    if sys.argv[2] == "pipeline":
        pipeline(sys.argv[1])
    else:
        session = SparkSession.builder.remote(sys.argv[1]).getOrCreate()
        programs = (moved, followed, bereft, returned, strange, curious)
        next(each for each in programs if each.__name__ == sys.argv[2])(session)

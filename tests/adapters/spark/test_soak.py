"""A placed query while executors and Workers die at random: no row lost, nothing left behind, memory flat.

It lasts three minutes; HEADGATE_SOAK_SECONDS says otherwise, and the matrix, which alone has it, makes it thirty.
"""

from __future__ import annotations

import contextlib
import os
import random
import signal
import sys
import threading
import time
from collections import Counter

import psutil
import pytest

import headgate_spark
from adapters.spark.spark_jobs import HOSTS, executor_pids
from headgate.control.guards import Guards
from headgate.control.loop import Control, Loop
from headgate.engines.process import command_line
from headgate.engines.reaper import marked
from headgate.plugins.host import PluginHost
from headgate_spark.demo.flights import FlightsQuery
from headgate_spark.driver.gateway import running_gateway
from headgate_spark.driver.session import executors

SECONDS = float(os.environ.get("HEADGATE_SOAK_SECONDS", "180"))
PATIENCE = 240.0
DEATHS = 4
"""It goes on until so many have died, and a plan was carried out whole, however slow the machine."""
MEGABYTE = 1024.0 * 1024.0
GROWTH = 48.0
"""MB that the driver's heap after collection, and this process, may grow after the first third."""

pytestmark = [pytest.mark.spark, pytest.mark.slow, pytest.mark.soak, pytest.mark.timeout(SECONDS + 1200)]


class Reaper:
    """Kills executors and Workers, never those of the first host, and brings Workers back."""

    def __init__(self, spark, cluster):
        self.deaths = Counter()
        self._spark = spark
        self._cluster = cluster
        self._random = random.Random(7)

    def aim(self):
        """A timer that kills something in the next seconds; None while nothing can be killed."""
        victims = sorted(set(HOSTS[1:]) & self._workers() & set(executors(self._spark).values()))
        if not victims:
            return None
        host, kill = self._random.choice(victims), self._random.choice([self._kill_executor, self._kill_worker])
        timer = threading.Timer(self._random.uniform(0.0, 4.0), kill, [host])
        timer.start()
        return timer

    def revive(self):
        for host in sorted(set(HOSTS) - self._workers()):
            self._cluster.start_worker(host)

    def _workers(self):
        """Hosts of the Workers that run; the Master may not have noticed yet that another died."""
        return {daemon.name.removeprefix("worker-") for daemon in self._cluster.daemons}

    def _kill_executor(self, host):
        for pid in executor_pids(self._spark, host):  # none where it is just dying of an earlier shot
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
                self.deaths["executors"] += 1

    def _kill_worker(self, host):
        self._cluster.kill_worker(host)
        self.deaths["Workers"] += 1


def test_a_placed_query_survives_random_deaths(spark, cluster, tmp_path, capsys):
    flights = FlightsQuery(folder=tmp_path, name="soak")
    reaper, outcomes, memory = Reaper(spark, cluster), Counter(), []
    with headgate_spark.connect(spark) as connection:
        target = flights.target(spark, connection.recorder)
        query = flights.start(spark)
        connection.recorder.wait(target.scope, 1, since=0, timeout=PATIENCE)
        loop = Loop(PluginHost.load(["spark", "even"]), control(), target)
        began = time.monotonic()
        while (
            (passed := time.monotonic() - began) < SECONDS or reaper.deaths.total() < DEATHS or not outcomes["executed"]
        ):
            timer = reaper.aim()
            done = loop.round(replan=True)
            assert done.outcome not in ("failed", "held", "ended"), done.message
            outcomes[done.outcome] += 1
            if timer is not None:
                timer.join()
            reaper.revive()
            if not memory and passed > SECONDS / 3:
                memory.append((heap(), resident()))
        memory.append((heap(), resident()))
        connection.recorder.wait(target.scope, 1, since=time.time(), timeout=PATIENCE)
        assert query.isActive, query.exception()
        assert flights.check(query, spark) == ()
        days = flights.streamed(spark)[0]
        assert days > 0
        assert connection.recorder.dropped == 0
        query.stop()
        target.placement.clear(flights.name)
    with capsys.disabled():
        died = ", ".join(f"{number} {name} died" for name, number in sorted(reaper.deaths.items()))
        sys.stdout.write(
            f"soak: {passed:.0f} s, {died}, rounds {dict(outcomes)}, {days} days, heap and RSS {memory} MB\n"
        )
    (heap_early, resident_early), (heap_late, resident_late) = memory
    assert heap_late - heap_early < GROWTH
    assert resident_late - resident_early < GROWTH
    until(lambda: sorted(executors(spark).values()) == sorted(HOSTS))
    until(lambda: strays(cluster) == [])
    until(lambda: sum("--executor-id" in words for words in family(cluster).values()) == len(HOSTS))


def control():
    return Control(scheduler="even", options={"rebalance": True}, engine="spark", window=1.0, guards=Guards(cooldown=5))


def heap():
    """MB in use in the driver after a collection."""
    jvm = running_gateway().jvm
    for _ in range(3):
        jvm.java.lang.System.gc()
    runtime = jvm.java.lang.Runtime.getRuntime()
    return round((runtime.totalMemory() - runtime.freeMemory()) / MEGABYTE)


def resident():
    """MB of this process."""
    return round(psutil.Process().memory_info().rss / MEGABYTE)


def family(cluster):
    """The command line of every process that inherited the cluster's environment, by pid."""
    return {process.pid: command_line(process.pid) for process, _ in marked(cluster.group)}


def strays(cluster):
    """Processes of the cluster that are no daemon, and whose parent is gone."""
    bred, daemons = family(cluster), {daemon.pid for daemon in cluster.daemons}
    return [words for pid, words in bred.items() if pid not in daemons and parent(pid) not in {None, *bred}]


def parent(pid):
    """None if the process has ended meanwhile."""
    with contextlib.suppress(psutil.NoSuchProcess):
        return psutil.Process(pid).ppid()
    return None


def until(holds):
    deadline = time.monotonic() + PATIENCE
    while not holds():
        assert time.monotonic() < deadline
        time.sleep(0.5)

"""A topology of Storm's own test classes, which needs no compiler and no jar of ours, and waiting for it to run."""

from __future__ import annotations

import time
import zipfile
from typing import TYPE_CHECKING, Any

from patience import PATIENCE

if TYPE_CHECKING:
    from collections.abc import Callable

    from headworks_storm.client.summary import TopologyInfo
    from headworks_storm.local.cluster import LocalStorm


def eventually(true: Callable[[], bool], seconds: float = PATIENCE) -> None:
    """Wait until something is true."""
    deadline = time.monotonic() + seconds
    while not true():
        assert time.monotonic() < deadline, f"not true after {seconds:.0f} s"
        time.sleep(0.2)


def alive(cluster: LocalStorm, name: str) -> TopologyInfo:
    """Wait until every executor of a topology has been placed and reports that it runs."""
    eventually(lambda: all_run(cluster, name))
    return cluster.gateway.topology(name)


def submit_words(cluster: LocalStorm, name: str, *, workers: int = 3, counters: int = 4, **conf: Any) -> None:
    """Submit two spouts of random words, bolts that count them, and an acker for each worker."""
    # Storm's submitter uploads the jar that this property names, and wants one even if it holds no class.
    jar = cluster.home / "words.jar"
    with zipfile.ZipFile(jar, "w") as archive:
        archive.writestr("words.txt", "a topology that has no class of its own")
    jvm = cluster.gateway.jvm
    jvm.System.setProperty("storm.jar", str(jar))
    jvm.System.setProperty("storm.conf.file", str(cluster.home / "conf" / "storm.yaml"))
    storm = jvm.org.apache.storm
    builder = storm.topology.TopologyBuilder()
    builder.setSpout("words", storm.testing.TestWordSpout(), 2)
    count = builder.setBolt("count", storm.testing.TestWordCounter(), counters)
    count.fieldsGrouping("words", storm.tuple.Fields(["word"]))
    storm.StormSubmitter.submitTopology(name, {"topology.workers": workers} | conf, builder.createTopology())


def all_run(cluster: LocalStorm, name: str) -> bool:
    """Check that every executor of a topology is placed and has reported that it runs."""
    executors = cluster.gateway.topology(name).executors
    return bool(executors) and all(each.uptime for each in executors)

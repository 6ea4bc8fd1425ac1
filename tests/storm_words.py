"""A topology of Storm's own test classes, submitted through the gateway: no compiler and no jar of ours is needed."""

from __future__ import annotations

import time
import zipfile
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable

    from headgate_storm.local import LocalStorm
    from headgate_storm.summary import TopologyInfo


def submit_words(cluster: LocalStorm, name: str, *, workers: int = 3, counters: int = 4, **conf: Any) -> None:
    """Submit two spouts of random words, bolts that count them, and an acker for each worker."""
    jar = cluster.home / "words.jar"
    with zipfile.ZipFile(jar, "w") as archive:
        archive.writestr("words.txt", "a topology that has no class of its own")
    jvm = cluster.gateway._gateway.jvm
    jvm.System.setProperty("storm.jar", str(jar))
    jvm.System.setProperty("storm.conf.file", str(cluster.home / "conf" / "storm.yaml"))
    storm = jvm.org.apache.storm
    builder = storm.topology.TopologyBuilder()
    builder.setSpout("words", storm.testing.TestWordSpout(), 2)
    word = cluster.gateway._gateway.new_array(jvm.String, 1)
    word[0] = "word"
    count = builder.setBolt("count", storm.testing.TestWordCounter(), counters)
    count.fieldsGrouping("words", storm.tuple.Fields(word))
    storm.StormSubmitter.submitTopology(name, {"topology.workers": workers} | conf, builder.createTopology())


def eventually(true: Callable[[], bool], seconds: float = 90.0) -> None:
    """Wait until something is true."""
    deadline = time.monotonic() + seconds
    while not true():
        assert time.monotonic() < deadline, f"not true after {seconds:.0f} s"
        time.sleep(0.2)


def alive(cluster: LocalStorm, name: str) -> TopologyInfo:
    """Wait until every executor of a topology has been placed and reports that it runs."""

    def all_report() -> bool:
        executors = cluster.gateway.topology(name).executors
        return bool(executors) and all(each.uptime for each in executors)

    eventually(all_report)
    return cluster.gateway.topology(name)

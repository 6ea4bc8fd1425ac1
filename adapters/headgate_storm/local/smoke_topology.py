"""A topology of Storm's own test classes, submitted through the gateway: no compiler and no jar of ours is needed."""

from __future__ import annotations

import zipfile
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from headgate_storm.local.cluster import LocalStorm


def submit_words(cluster: LocalStorm, name: str, *, workers: int = 3, counters: int = 4, **conf: Any) -> None:
    """Submit two spouts of random words, bolts that count them, and an acker for each worker."""
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
    """Whether every executor of a topology has been placed and reports that it runs."""
    executors = cluster.gateway.topology(name).executors
    return bool(executors) and all(each.uptime for each in executors)

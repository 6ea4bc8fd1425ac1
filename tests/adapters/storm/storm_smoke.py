"""A topology of Storm's own test classes, submitted through the gateway: no compiler and no jar of ours is needed."""

from __future__ import annotations

import zipfile
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from headworks_storm.local.cluster import LocalStorm


def submit_words(cluster: LocalStorm, name: str, *, workers: int = 3, counters: int = 4, **conf: Any) -> None:
    """Submit two spouts of random words, bolts that count them, and an acker for each worker.

    Args:
        cluster: A cluster that is up.
        name: Name of the topology.
        workers: Workers to ask for.
        counters: Tasks of the bolt that counts.
        **conf: Storm's settings of the topology.
    """
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
    """Check that every executor of a topology is placed and has reported that it runs.

    Args:
        cluster: A cluster that is up.
        name: Name of the topology.
    """
    executors = cluster.gateway.topology(name).executors
    return bool(executors) and all(each.uptime for each in executors)

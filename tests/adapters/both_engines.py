"""Two scheduler objects in one process, through Storm and through Spark: `python both_engines.py FILE`.

They are `dstorm`, and as `backwards` the object `plugin` of that Python file. Prints one line of JSON: for each engine,
what one round by each did, on the same cluster.
"""

from __future__ import annotations

import importlib.util
import json
import sys
import tempfile
from pathlib import Path

from headworks.control.loop import Control, Loop
from headworks.model import Component, Kind, Limits, Resources, Stream, Topology
from headworks.plugins.host import PluginHost
from headworks_storm.demo.experiment import by_host, experiment
from headworks_storm.local.cluster import SupervisorSpec
from headworks_storm.workload.describe import describe

QUERY = Path(__file__).parents[2] / "examples" / "spark" / "word_count.py"
SCHEDULERS = ("dstorm", "backwards")
NODES = tuple(SupervisorSpec(host=f"127.0.0.{last}", cpu=200.0, memory_mb=2048.0, slots=2) for last in (41, 42, 43))
TASK = Resources(cpu=20, memory=64)
TOPOLOGY = Topology(
    id="pair",
    components=(
        Component(id="source", kind=Kind.SPOUT, parallelism=3, rate=300, demand=TASK),
        Component(id="sink", parallelism=3, demand=TASK),
    ),
    streams=(Stream(source="source", target="sink", grouping="fields"),),
    workers=3,
)


def load(file):
    """The host, with the plugin of the file."""
    spec = importlib.util.spec_from_file_location("stranger", file)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return PluginHost.load().with_plugin("backwards", module.plugin)


def told(done, nodes):
    """What a round did, and on which nodes, by host, its plan has how many tasks."""
    placed = by_host(done.request, done.plan.assignment)[1] if done.plan else {}
    count = {}
    for slot in placed.values():
        count[slot.node] = count.get(slot.node, 0) + 1
    return {
        "outcome": done.outcome,
        "message": done.message,
        "asked": done.check.asked,
        "hits": done.check.hits,
        "by": done.plan.provenance.scheduler if done.plan else "",
        "planned": count,
        "nodes": nodes(),
    }


def on_storm(host):
    """`backwards` answers Nimbus first; rounds of the loop place tasks anew; Nimbus tells where executors are."""
    with (
        tempfile.TemporaryDirectory() as folder,
        experiment(host, NODES, Path(folder), scheduler="backwards") as cluster,
    ):
        cluster.run(describe(TOPOLOGY))
        cluster.service.target.rounds.shadow = False

        def nodes():
            count = {}
            for each in cluster.storm.gateway.topology("pair").executors:
                count[each.host] = count.get(each.host, 0) + 1
            return count

        return rounds(host, "storm", cluster.service.target, nodes)


def on_spark(host):
    """The same with a streaming query that knows nothing of Headworks; Spark's own events tell."""
    with host.open("spark", [str(QUERY)], None) as target:

        def nodes():
            count, seen = {}, {}
            while not seen:  # a window in which no batch ended shows nothing
                seen = host.observe("spark", target, 2.0).assignment
            for slot in seen.values():
                count[slot.node] = count.get(slot.node, 0) + 1
            return count

        return rounds(host, "spark", target, nodes)


def rounds(host, engine, target, nodes):
    """A round by each scheduler, one after the other."""
    found = {}
    for name in SCHEDULERS:
        # On fewer nodes batches of Spark may be longer.
        control = Control(scheduler=name, engine=engine, window=5.0, limits=Limits(deadline=60.0, slowdown=None))
        done = Loop(host, control, target).round(replan=True)
        found[name] = told(done, nodes)
    return found


def main():
    """Both engines, one after the other, with one host."""
    host = load(sys.argv[1])
    sys.stdout.write(json.dumps({"storm": on_storm(host), "spark": on_spark(host)}) + "\n")


if __name__ == "__main__":
    main()

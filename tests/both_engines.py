"""One scheduler object in one process, through Storm and through Spark: `python both_engines.py NAME [FILE]`.

NAME is an installed scheduler, or with FILE the object `plugin` of that Python file. Prints one line of JSON.
"""

from __future__ import annotations

import importlib.util
import json
import sys
import tempfile
from pathlib import Path

from headgate.host import PluginHost
from headgate.loop import Control, Loop
from headgate.model import Component, Kind, Resources, Stream, Topology
from headgate_storm.demo.experiment import by_host, experiment
from headgate_storm.local import SupervisorSpec
from headgate_storm.workload import describe

QUERY = Path(__file__).parents[1] / "examples" / "spark" / "word_count.py"
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


def load(name, file):
    """The host, with the plugin of the file under the name if there is a file."""
    if file is None:
        return PluginHost.load()
    spec = importlib.util.spec_from_file_location("stranger", file)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return PluginHost.load().with_plugin(name, module.plugin)


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


def on_storm(host, name):
    """Storm places the topology; one round of the loop places it anew; Nimbus tells where its executors are."""
    with tempfile.TemporaryDirectory() as folder, experiment(host, NODES, Path(folder), fill=name) as cluster:
        cluster.run(describe(TOPOLOGY))
        cluster.service.target.rounds.shadow = False
        loop = Loop(host, Control(scheduler=name, engine="storm", window=5.0), cluster.service.target)
        done = loop.round(replan=True)

        def nodes():
            count = {}
            for each in cluster.storm.gateway.topology("pair").executors:
                count[each.host] = count.get(each.host, 0) + 1
            return count

        return told(done, nodes)


def on_spark(host, name):
    """The same with a streaming query that knows nothing of Headgate; Spark's own events tell."""
    with host.open("spark", [str(QUERY)], None) as target:
        done = Loop(host, Control(scheduler=name, engine="spark", window=5.0), target).round(replan=True)

        def nodes():
            count, seen = {}, {}
            while not seen:  # a window in which no batch ended shows nothing
                seen = host.observe("spark", target, 2.0).assignment
            for slot in seen.values():
                count[slot.node] = count.get(slot.node, 0) + 1
            return count

        return told(done, nodes)


def main():
    """Both engines, one after the other, with one host."""
    name, file = sys.argv[1], sys.argv[2] if len(sys.argv) > 2 else None
    host = load(name, file)
    found = {"storm": on_storm(host, name), "spark": on_spark(host, name)}
    sys.stdout.write(json.dumps(found) + "\n")


if __name__ == "__main__":
    main()

"""What reading a document costs: a request of 10,000 tasks on 1,000 nodes, with what was measured, in one run.

Times are CPU seconds of this process, the best of some runs. A validator of JSON Schema takes and refuses the same
documents; reading does without.
"""

from __future__ import annotations

import json
import time
from typing import TYPE_CHECKING

import jsonschema

from headworks.cli.output import console, table
from headworks.documents import dumps, loads
from headworks.documents.schema import schema_of
from headworks.documents.strict_json import parse
from headworks.model import (
    Cluster,
    Component,
    Flow,
    FrozenMap,
    Metrics,
    Node,
    Request,
    Resources,
    Slot,
    Stream,
    TaskSample,
    Topology,
)

if TYPE_CHECKING:
    from collections.abc import Callable

NODES, TOPOLOGIES, PARTS, TASKS = 1_000, 20, 10, 50
"""TASKS of each of PARTS components of each topology."""
RUNS = 5


def request() -> Request:
    """Each task is measured, runs, and sends to one task of the next component."""
    nodes = tuple(
        Node(id=f"n{number:04}", capacity=Resources(cpu=400.0, memory=8192.0), slots=(6700, 6701, 6702, 6703))
        for number in range(NODES)
    )
    parts = tuple(
        Component(id=f"c{number}", parallelism=TASKS, demand=Resources(cpu=10.5, memory=64.0))
        for number in range(PARTS)
    )
    streams = tuple(Stream(source=f"c{number}", target=f"c{number + 1}", rate=99.5) for number in range(PARTS - 1))
    topologies = tuple(Topology(id=f"t{number:02}", components=parts, streams=streams) for number in range(TOPOLOGIES))
    tasks = [task for each in topologies for task in each.tasks()]
    samples = (
        TaskSample(task=task.id, cpu=10.123, memory=64.5, received=99.21, emitted=99.19, queue=0.5, source="jvm")
        for task in tasks
    )
    flows = (
        Flow(source=task.id, target=target.id, tuples=1.985, bytes=198.5)
        for task, target in zip(tasks, tasks[TASKS:], strict=False)
        if task.topology == target.topology
    )
    return Request(
        cluster=Cluster(nodes=nodes),
        topologies=topologies,
        assignment=FrozenMap({task.id: Slot(f"n{number % NODES:04}", 6700) for number, task in enumerate(tasks)}),
        metrics=Metrics(window=10.0, tasks=tuple(samples), flows=tuple(flows)),
    )


def best(work: Callable[[], object]) -> float:
    """The CPU seconds of the cheapest of some runs."""
    seconds = []
    for _ in range(RUNS):
        begin = time.process_time()
        work()
        seconds.append(time.process_time() - begin)
    return min(seconds)


def main() -> None:
    """Print the table."""
    text = dumps(request()).encode()
    data = parse(text)
    del data["$schema"]
    validator = jsonschema.Draft7Validator(schema_of(Request))
    steps = {
        "JSON to plain data (json.loads)": lambda: json.loads(text),
        "the same, strictly (headworks.documents.strict_json)": lambda: parse(text),
        "reading, checks included (headworks.documents.loads)": lambda: loads(text, Request),
        "jsonschema alone, on the same data": lambda: validator.validate(data),
    }
    rows = [(name, f"{best(step):.2f}") for name, step in steps.items()]
    title = f"a request of {TOPOLOGIES * PARTS * TASKS:,} tasks on {NODES:,} nodes, {len(text) / 1e6:.1f} MB"
    console().print(table(title, ("step", "CPU s"), rows, numbers=("CPU s",)))


if __name__ == "__main__":
    main()

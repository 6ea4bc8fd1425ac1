"""What documents from strangers cost: mutated ones, read, and made into arrays where they can be read.

Documents of every kind are spoilt in one to six places, or as text, and read in processes of their own, a hundred each.
Anything but a value or a `DocumentError` is a fault, and so is a document of over 2 s of CPU or 200 MB; the memory of a
process is its peak over what it had before, so that a hundred documents are blamed for the largest of them.

    python -m headworks_lab.benchmarks.storm.strangers --count 100000 --seed 1
"""

from __future__ import annotations

import argparse
import copy
import json
import multiprocessing
import random
import resource
import sys
import time
from typing import TYPE_CHECKING, Any

import attrs

from headworks.api import plan, workload
from headworks.documents import dumps, loads, restore
from headworks.documents.convert import converter
from headworks.errors import DocumentError
from headworks.model import Metrics, NodeSample, Observation, Plan, Request, TaskSample
from headworks.problem import Problem

if TYPE_CHECKING:
    from collections.abc import Iterator

BATCH = 100
SECONDS, MEGABYTES = 2.0, 200.0
WORKLOADS = ("dstorm:linear", "hetero:linear-three", "sps:table-8", "dstorm:star-cs40")
BASE = (
    *(None, True, False, 0, -1, 0.5, -0.0, 1e30, 1e31, 1e308, 10**12, 10**30, 2**63 - 1, 2**63),
    *("", "x", "cpu", "\u202e", "a:1", "a/b", "../../etc", "<script>alert(1)</script>", "\x1b]0;x\x07"),
    *([], {}, [[]], [None], {"x": 1}, {"": {}}),
)
INSERTED = (b"NaN", b"Infinity", b"-1e999", b"\\ud800", b"[" * 50_000, b'{"a":' * 20_000)


def seeds() -> list[tuple[type, Any]]:
    """Whole documents, their defaults included, of which others are made."""
    found: list[tuple[type, Any]] = []
    for name in WORKLOADS:
        try:
            asked = workload(name)
        except DocumentError:
            continue
        made = plan(asked, "even")
        tasks = tuple(TaskSample(task=task, cpu=1.0) for task in made.assignment)
        nodes = tuple(NodeSample(node=node.id, cpu=1.0) for node in asked.cluster.nodes)
        seen = attrs.evolve(asked, assignment=made.assignment, metrics=Metrics(window=1.0, tasks=tasks, nodes=nodes))
        look = Observation(cluster=seen.cluster, topologies=seen.topologies, assignment=seen.assignment)
        found += [(Request, asked), (Request, seen), (Plan, made), (Observation, look)]
    whole = converter().copy(omit_if_default=False)
    return [(kind, whole.unstructure(value)) for kind, value in found]


def value(draw: random.Random) -> Any:
    """A value that does not belong there, now and then a large one."""
    if draw.random() < 0.97:
        return copy.deepcopy(draw.choice(BASE))
    size = draw.choice((1_000, 10_000, 100_000))
    large: list[Any] = [
        "x" * size,
        [0] * size,
        {f"r{number}": 1 for number in range(size)},
        [{"id": f"n{number}", "capacity": {f"r{number}": 1}} for number in range(min(size, 20_000))],
        [{"id": f"n{number}"} for number in range(size)],
        [[]] * size,
    ]
    return draw.choice(large)


def spoilt(draw: random.Random, whole: Any) -> Any:
    """The document with one to six places replaced, removed or added."""
    data = copy.deepcopy(whole)
    for _ in range(draw.randint(1, 6)):
        part = data
        while isinstance(part, dict | list) and part:
            key = draw.choice(list(part) if isinstance(part, dict) else range(len(part)))
            inner = part[key]
            if not (isinstance(inner, dict | list) and inner) or draw.random() < 0.25:
                change = draw.random()
                if change < 0.6:
                    part[key] = value(draw)
                elif change < 0.8:
                    del part[key]
                elif isinstance(part, dict):
                    part[draw.choice(("unknown", "id", "cpu", "", "a/b~c", "\x1b[2J"))] = value(draw)
                else:
                    part.append(copy.deepcopy(draw.choice((inner, value(draw)))))
                break
            part = inner
    return data


def text_of(draw: random.Random, whole: Any) -> bytes:
    """A spoilt document as text; one in five is spoilt as text too."""
    text = json.dumps(spoilt(draw, whole)).encode()
    if draw.random() < 0.8:
        return text
    at = draw.randrange(len(text))
    return draw.choice((
        text[:at],
        text[:at] + bytes([draw.randrange(256)]) + text[at + 1 :],
        text[:at] + draw.choice(INSERTED) + text[at:],
        text.decode().encode("utf-16"),
        text[: at // 2] + text,
    ))  # fmt: skip


def read(kind: type, text: bytes) -> str:
    """How one document ends: read, refused, or a fault in words."""
    try:
        found = loads(text, kind) if kind is not Observation else restore(json.loads(text), kind)
        if isinstance(found, Request):
            Problem.of(found)
        if dumps(loads(dumps(found), kind)) != dumps(found):
            return f"fault: a {kind.__name__} is read back as another"
    except DocumentError as error:
        return "fault: a control character in a message" if "\x1b" in str(error) else "refused"
    except (ValueError, RecursionError) as error:
        return "refused" if kind is Observation else f"fault: {type(error).__name__}: {error}"
    except Exception as error:  # noqa: BLE001 - that is what is looked for
        return f"fault: {type(error).__name__}: {str(error)[:200]}"
    return "read"


def peak() -> float:
    """Most memory that this process had, in MB."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / (1 if sys.platform == "linux" else 1024) / 1024


def batch(seed: int) -> tuple[int, dict[str, int], float, int, float]:
    """Read a hundred documents; the count of each end, the longest time and its size, the memory."""
    draw, whole = random.Random(seed), SEEDS
    ends: dict[str, int] = {}
    slowest, size = 0.0, 0
    before = peak()
    for number in range(BATCH):
        kind, data = draw.choice(whole)
        text = text_of(draw, data)
        begin = time.process_time()
        end = read(kind, text)
        took = time.process_time() - begin
        if took > slowest:
            slowest, size = took, len(text)
        if end.startswith("fault") or took > SECONDS:
            print(f"seed {seed}, document {number}, {len(text):,} bytes, {took:.1f} s: {end}", flush=True)
        ends[end.partition(":")[0]] = ends.get(end.partition(":")[0], 0) + 1
    return seed, ends, slowest, size, peak() - before


def batches(count: int, seed: int, processes: int) -> Iterator[tuple[int, dict[str, int], float, int, float]]:
    """The batches, each in a new process that has the documents already."""
    context = multiprocessing.get_context("fork")
    with context.Pool(processes, maxtasksperchild=1) as pool:
        yield from pool.imap_unordered(batch, range(seed * 1_000_000, seed * 1_000_000 + -(-count // BATCH)))


SEEDS: list[tuple[type, Any]] = []


def main() -> None:
    """Read as many as were asked for, and say what became of them."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--count", type=int, default=100_000)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--processes", type=int, default=1)
    asked = parser.parse_args()
    SEEDS.extend(seeds())
    total: dict[str, int] = {}
    slowest = (0.0, 0)
    largest = (0.0, 0)
    for seed, ends, seconds, size, memory in batches(asked.count, asked.seed, asked.processes):
        for end, count in ends.items():
            total[end] = total.get(end, 0) + count
        slowest, largest = max(slowest, (seconds, size)), max(largest, (memory, seed))
        if memory > MEGABYTES:
            print(f"seed {seed}: {memory:.0f} MB over what the process had", flush=True)
        if sum(total.values()) % 5_000 == 0:
            print(f"{sum(total.values()):,}: {total}, {slowest[0]:.2f} s, {largest[0]:.0f} MB", flush=True)
    print(f"{sum(total.values()):,} documents of seed {asked.seed}: {total}")
    print(f"slowest: {slowest[0]:.2f} s of CPU for {slowest[1]:,} bytes")
    print(f"most memory: {largest[0]:.0f} MB (seed {largest[1]})")
    sys.exit(1 if total.get("fault") or slowest[0] > SECONDS or largest[0] > MEGABYTES else 0)


if __name__ == "__main__":
    main()

"""Samples of a made-up application whose profiles are known: for tests, benchmarks and a first look."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING

import attrs
import numpy as np
import pyarrow as pa
from pyarrow import parquet

from headworks.model import Cluster, Component, FrozenMap, Kind, Node, Observation, Resources, Slot, Stream, Topology
from headworks.samples.rows import VERSION
from headworks.samples.store import arrow_schema, write_state

if TYPE_CHECKING:
    from pathlib import Path

    from numpy.typing import NDArray

START = datetime(2026, 1, 5, tzinfo=UTC)
"""First hour of the samples, unless another is asked for."""
TYPES = (("big", 400.0, 1.0), ("small", 200.0, 1.5))
"""Machine types: CPU points of a node, and what work costs there relative to the first."""
COSTS = {"read": (0.002, 1.0, 1.0), "parse": (0.010, 5.0, 2.0), "count": (0.004, 3.0, 0.0)}
"""Of each component: `e` in points per tuple/s and `met` in points on the first type, and `alpha`."""


@attrs.frozen(kw_only=True)
class Plant:
    """Chains read, parse, count on nodes of two types.

    Attributes:
        tasks: Of each component.
        nodes: Task i runs on node i modulo their number; even ones are of the first type.
        period: Seconds of a window.
        noise: Standard deviation of CPU, relative.
        topologies: Chains, the first of them named `plant`, the others `plant-1`, `plant-2`, ...
    """

    tasks: int = 4
    nodes: int = 4
    period: float = 10.0
    noise: float = 0.03
    topologies: int = 1

    @property
    def rows(self) -> int:
        """Rows of one window: tasks, flows between them, nodes, topologies."""
        return self.topologies * (3 * self.tasks + 2 * self.tasks * self.tasks + 1) + self.nodes

    @property
    def names(self) -> tuple[str, ...]:
        """Ids of the topologies."""
        return ("plant", *(f"plant-{number}" for number in range(1, self.topologies)))

    def state(self) -> Observation:
        """Cluster, topologies and assignment."""
        nodes = tuple(
            Node(
                id=f"node-{index}",
                capacity=Resources(cpu=TYPES[index % 2][1], memory=8192.0),
                slots=(6700,),
                machine_type=TYPES[index % 2][0],
            )
            for index in range(self.nodes)
        )
        parts = tuple(
            Component(
                id=name,
                kind=Kind.SPOUT if name == "read" else Kind.BOLT,
                parallelism=self.tasks,
                selectivity=alpha,
                rate=1000.0 * self.tasks if name == "read" else None,
            )
            for name, (_, _, alpha) in COSTS.items()
        )
        streams = (Stream(source="read", target="parse"), Stream(source="parse", target="count", grouping="fields"))
        chains = tuple(Topology(id=name, components=parts, streams=streams) for name in self.names)
        tasks = (task for chain in chains for task in chain.tasks())
        placed = {task.id: Slot(f"node-{task.index % self.nodes}", 6700) for task in tasks}
        return Observation(cluster=Cluster(nodes=nodes), topologies=chains, assignment=FrozenMap(placed))

    def write(self, folder: Path, *, windows: int, seed: int = 0, start: datetime = START, scale: float = 1.0) -> int:
        """Write samples, a file an hour, and the state of the engine.

        Args:
            folder: Folder of samples.
            windows: Number of windows.
            seed: Seed of load and noise, and part of the files' names.
            start: Time of the first window, a whole hour.
            scale: Factor on the cost of `parse`: another version of the application.

        Returns:
            The number of rows.
        """
        write_state(folder, self.state(), start.timestamp())
        rng = np.random.default_rng(seed)
        per_hour = int(3600 // self.period)
        for first in range(0, windows, per_hour):
            hour = start + timedelta(seconds=first * self.period)
            count = min(per_hour, windows - first)
            place = folder / f"{hour:day=%Y-%m-%d/hour=%H}"
            place.mkdir(parents=True, exist_ok=True)
            columns = [part for name in self.names for part in self._columns(name, hour, first, count, rng, scale)]
            table = _table([*columns, self._nodes(_ends(hour, count, self.period), first)], self.rows * count)
            parquet.write_table(table, place / f"samples-{seed}-{first:08d}.parquet")
        return windows * self.rows

    def _columns(
        self, topology: str, hour: datetime, first: int, count: int, rng: np.random.Generator, scale: float
    ) -> list[dict[str, object]]:
        """Columns of each kind of rows of a topology, window by window."""
        n, own = self.tasks, np.arange(self.tasks)
        ends = _ends(hour, count, self.period)
        # Rates from 200 to 2,000 tuples/s, one for all tasks of a window: wide enough to tell `e` from `met`.
        load = 200.0 + 1800.0 * rng.random((count, 1)) * np.ones((1, n))
        rates = {"read": load, "parse": load, "count": 2.0 * load}
        kinds = TYPES
        parts = []
        for name, (e, met, alpha) in COSTS.items():
            slow = np.array([kinds[i % self.nodes % 2][2] for i in own]) * (scale if name == "parse" else 1.0)
            cpu = (e * rates[name] + met) * slow * (1 + self.noise * rng.standard_normal((count, n)))
            tasks = np.array([f"{topology}/{name}/{i}" for i in own])
            common = self._common(ends, first, count, n, own)
            spout = name == "read"
            figures = {
                "cpu": cpu,
                "received": np.zeros_like(load) if spout else rates[name],
                "emitted": load if spout else alpha * rates[name],
                "memory": 100.0 + 10.0 * rng.random((count, n)),
            }
            names = {"topology": topology, "component": name, "role": "spout" if spout else "bolt", "source": "thread"}
            rows = {key: value.ravel() for key, value in figures.items()}
            parts.append({**common, "kind": "task", **names, "task": np.tile(tasks, count), **rows})
        for sender, receiver in (("read", "parse"), ("parse", "count")):
            source, target = np.repeat(own, n), np.tile(own, n)
            amount = np.repeat(rates[receiver] / n, n, axis=1).reshape(count, n * n)
            common = self._common(ends, first, count, n * n, source)
            ends_of: dict[str, object] = {
                "task": np.tile(np.array([f"{topology}/{sender}/{i}" for i in source]), count),
                "target": np.tile(np.array([f"{topology}/{receiver}/{i}" for i in target]), count),
                "role": "spout" if sender == "read" else "bolt",
            }
            plain = {"kind": "flow", "topology": topology, "component": sender, "target_component": receiver}
            parts.append({**common, **plain, **ends_of, "tuples": amount.ravel(), "bytes": 50.0 * amount.ravel()})
        whole = self._common(ends, first, count, 1, np.zeros(1, dtype=np.int64))
        amounts = {"offered": load.sum(axis=1), "throughput": load.sum(axis=1), "latency": np.full(count, 12.0)}
        told = {**whole, "kind": "topology", "topology": topology, **amounts, "source": "acked"}
        return [*parts, {**told, "node": None, "port": None, "machine_type": None}]

    def _nodes(self, ends: NDArray[np.datetime64], first: int) -> dict[str, object]:
        common = self._common(ends, first, len(ends), self.nodes, np.arange(self.nodes))
        return {**common, "kind": "node", "cpu": np.full(len(ends) * self.nodes, 50.0), "source": "procfs"}

    def _common(
        self, ends: NDArray[np.datetime64], first: int, count: int, width: int, at: NDArray[np.int64]
    ) -> dict[str, object]:
        node = at % self.nodes
        return {
            "version": VERSION,
            "engine": "sim",
            "origin": "plant",
            "number": np.repeat(first + np.arange(count), width),
            "start": np.repeat(ends - np.timedelta64(int(self.period * 1e6), "us"), width),
            "end": np.repeat(ends, width),
            "node": np.tile(np.array([f"node-{i}" for i in node]), count),
            "port": 6700,
            "machine_type": np.tile(np.array([TYPES[i % 2][0] for i in node]), count),
        }


def _ends(hour: datetime, count: int, period: float) -> NDArray[np.datetime64]:
    """Ends of the first windows of an hour."""
    moments = ((np.arange(count) + 0.5) * period * 1e6).astype("m8[us]")
    return np.asarray(np.datetime64(hour.replace(tzinfo=None), "us") + moments)


def _table(parts: list[dict[str, object]], rows: int) -> object:
    schema, tables = arrow_schema(), []
    for part in parts:
        count = len(part["number"])  # type: ignore[arg-type]
        columns = []
        for field in schema:
            value = part.get(field.name)
            if isinstance(value, np.ndarray):
                columns.append(pa.array(value).cast(field.type))
            else:
                columns.append(pa.repeat(pa.scalar(value, field.type), count))
        tables.append(pa.Table.from_arrays(columns, schema=schema))
    whole = pa.concat_tables(tables)
    assert whole.num_rows == rows
    return whole

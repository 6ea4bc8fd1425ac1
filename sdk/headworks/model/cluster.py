"""Cluster: nodes and the slots on them."""

from __future__ import annotations

import attrs

from headworks.model.values import FrozenMap, Resources


@attrs.frozen(order=True, cache_hash=True)
class Slot:
    """The place of one worker process: a node and a port (or any number that is unique on that node)."""

    node: str
    port: int

    def __str__(self) -> str:
        return f"{self.node}:{self.port}"

    @classmethod
    def parse(cls, text: str) -> Slot:
        """Read what `str` wrote; a node id may itself contain colons.

        Raises:
            ValueError: The text does not end in a colon and a whole number.
        """
        node, colon, port = text.rpartition(":")
        if not colon or not node:
            raise ValueError(f"{text!r} is not a slot: expected NODE:PORT")
        return cls(node, int(port))


@attrs.frozen(kw_only=True)
class Node:
    """A Storm supervisor or a Spark worker host.

    `capacity` is its offer to tasks, `slots` are the ports of its worker processes, and `price` is per hour. `zone` is
    a domain of failures above the rack. Constraints may ask for `labels`. `bandwidth` is in bytes per second each way.
    """

    id: str
    capacity: Resources
    slots: tuple[int, ...] = (0,)
    host: str | None = None
    rack: str | None = None
    zone: str | None = None
    labels: FrozenMap[str, str] = FrozenMap()
    machine_type: str | None = None
    price: float | None = None
    bandwidth: float | None = None

    @property
    def hostname(self) -> str:
        """Its machine, the unit of isolation; two supervisors may share one."""
        return self.host or self.id


@attrs.frozen(kw_only=True)
class Cluster:
    """The living nodes, in any order, with unique ids.

    `shared_slots` is true if a slot runs tasks of any topology, as an executor of Spark does. A worker process of Storm
    serves one topology.
    """

    nodes: tuple[Node, ...] = ()
    shared_slots: bool = False

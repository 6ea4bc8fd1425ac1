"""Interface of a node selection rule, and the racks and hosts that such rules look at."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Protocol

import attrs
import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    from headworks.problem import Problem


class NodeSelection(Protocol):
    """Node selection for the tasks of one topology, one after the other."""

    def choose(self, task: int) -> int:
        """Index of the node for the task, -1 where none has room; it is placed there before the next call."""


@attrs.frozen(eq=False)
class Racks:
    """Network topology: m nodes on h hosts in k racks, each numbered in order of its name.

    Attributes:
        rack: int64 (m,), rack of each node; nodes that name none share one, as in Storm.
        host: int64 (m,), host of each node.
        rack_of_host: int64 (h,), rack of each host.
    """

    rack: NDArray[np.int64]
    host: NDArray[np.int64]
    rack_of_host: NDArray[np.int64]

    @classmethod
    def of(cls, problem: Problem) -> Racks:
        """Read them from the nodes of a problem."""
        nodes = sorted(problem.request.cluster.nodes, key=lambda node: node.id)
        hosts = [(node.rack or "", node.hostname) for node in nodes]
        racks = _positions({rack for rack, _ in hosts})
        places = _positions(set(hosts))
        return cls(
            rack=np.array([racks[rack] for rack, _ in hosts], dtype=np.int64),
            host=np.array([places[host] for host in hosts], dtype=np.int64),
            rack_of_host=np.array([racks[rack] for rack, _ in places], dtype=np.int64),
        )

    @property
    def count(self) -> int:
        """Number of racks."""
        return int(self.rack.max(initial=-1)) + 1


def _positions(names: set[Any]) -> dict[Any, int]:
    return {name: index for index, name in enumerate(sorted(names))}

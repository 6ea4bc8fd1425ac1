"""The scheduler of a profiling run: it places every task where the run wants it."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

import attrs
import numpy as np
from numpy.typing import NDArray

from headworks.hooks import Description, hookimpl
from headworks.problem import Problem

if TYPE_CHECKING:
    from headworks.model import Plan

NAME = "profiling"


def together(problem: Problem) -> NDArray[np.int64]:
    """Every task on the first node."""
    return np.zeros(problem.n, dtype=np.int64)


def alternating(problem: Problem) -> NDArray[np.int64]:
    """Components on two nodes in turn, by their distance from the spouts: streams of a chain cross all."""
    depths: dict[tuple[str, str], int] = {}
    for topology in problem.request.topologies:
        depth = {each.id: 0 for each in topology.components}
        for _ in topology.components:
            for stream in topology.streams:
                depth[stream.target] = max(depth[stream.target], min(depth[stream.source] + 1, len(depth)))
        depths |= {(topology.id, name): found for name, found in depth.items()}
    return np.array([depths[problem.components[part]] % 2 for part in problem.component.tolist()], dtype=np.int64)


def on_machine(machine_type: str) -> Callable[[Problem], NDArray[np.int64]]:
    """Every task on the first node of a machine type, nowhere if there is none."""

    def place(problem: Problem) -> NDArray[np.int64]:
        nodes = sorted(problem.request.cluster.nodes, key=lambda each: each.id)
        own = [number for number, each in enumerate(nodes) if each.machine_type == machine_type]
        return np.full(problem.n, own[0] if own else -1, dtype=np.int64)

    return place


@attrs.define
class Placer:
    """Place every task as the run says; those that run stay.

    Attributes:
        place: The node of each task, int64 (n,); changed between two topologies.
    """

    place: Callable[[Problem], NDArray[np.int64]] = together

    @hookimpl
    def headworks_describe(self) -> Description:
        """Describe the scheduler."""
        return Description(summary="Place every task where a profiling run wants it.")

    @hookimpl
    def headworks_schedule(self, problem: Problem) -> Plan:
        """Place the tasks."""
        return problem.plan(np.where(problem.current >= 0, problem.current, self.place(problem)))

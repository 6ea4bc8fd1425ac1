"""A scheduler that divides tasks by METIS (`pip install pymetis`): `metis` is the object of its entry point."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from pymetis import CSRAdjacency, part_graph

from headworks import Description, Plan, Problem, hookimpl
from headworks.toolbox.graph import graph, segments
from headworks.toolbox.repair import repair

if TYPE_CHECKING:
    from numpy.typing import NDArray


class Metis:
    """Divide tasks into as many parts as nodes, and place those of a part that have no room where there is some."""

    @hookimpl
    def headworks_describe(self) -> Description:
        return Description(summary=self.__doc__)

    @hookimpl
    def headworks_schedule(self, problem: Problem) -> Plan:
        vertices, room = graph(problem, segments(problem, 16)), problem.room()
        # METIS prints what it thinks of parts of few vertices
        nodes = np.argsort(-problem.capacity[:, 0], kind="stable")[: len(vertices) // 8]
        if len(nodes):
            share = 1 + problem.capacity[nodes, 0]
            csr = CSRAdjacency(vertices.edges.indptr, vertices.edges.indices)
            weights = {"vweights": whole(vertices.weights[:, 0]), "eweights": whole(vertices.edges.rate)}
            _, part = part_graph(len(nodes), csr, tpwgts=(share / share.sum()).tolist(), **weights)
            for task in np.flatnonzero(problem.fixed < 0):
                room.place_if_fits(task, nodes[part[vertices.vertex[task]]])
        return problem.plan(repair(problem, room.node_of, range(problem.m)))


def whole(amounts: NDArray[np.float64]) -> NDArray[np.int64]:
    """Amounts as whole numbers, which METIS takes; their sum has 32 bits."""
    return 1 + np.rint(5e8 * amounts / max(amounts.sum(), 1e-9)).astype(np.int64)


metis = Metis()

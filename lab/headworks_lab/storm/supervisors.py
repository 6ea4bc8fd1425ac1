"""The supervisors that an experiment is run on."""

from __future__ import annotations

from typing import TYPE_CHECKING

from headworks_storm.local.cluster import SupervisorSpec

if TYPE_CHECKING:
    from headworks.model import Node, Request

FIRST = 11
"""Last number of the first supervisor's loopback address, where nodes are not apart."""


def supervisors(request: Request) -> tuple[SupervisorSpec, ...]:
    """A supervisor for each node.

    Args:
        request: From `headworks_lab.measure.sizing.fitted`.
    """
    return tuple(
        SupervisorSpec(
            host=f"127.0.0.{index}",
            cpu=node.capacity.cpu,
            memory_mb=node.capacity.memory,
            slots=len(node.slots),
            conf={"supervisor.scheduler.meta": _meta(node)},
        )
        for index, node in enumerate(request.cluster.nodes, start=FIRST)
    )


def _meta(node: Node) -> dict[str, str]:
    return {} if node.machine_type is None else {"headworks.machine.type": node.machine_type}

"""The scheduler of a profiling run: every task on one machine type."""

from __future__ import annotations

from typing import TYPE_CHECKING

import attrs
import numpy as np

from headworks.hooks import Description, hookimpl

if TYPE_CHECKING:
    from headworks.model import Plan
    from headworks.problem import Problem

NAME = "profiling"


@attrs.define
class Placer:
    """Place every task on the first node of a machine type; those that run stay.

    Attributes:
        machine_type: The type; changed between two topologies.
    """

    machine_type: str = ""

    @hookimpl
    def headworks_describe(self) -> Description:
        """Describe the scheduler."""
        return Description(summary="Place every task on the first node of a machine type.")

    @hookimpl
    def headworks_schedule(self, problem: Problem) -> Plan:
        """Place the tasks."""
        nodes = sorted(problem.request.cluster.nodes, key=lambda each: each.id)
        own = [number for number, each in enumerate(nodes) if each.machine_type == self.machine_type]
        new = own[0] if own else -1
        return problem.plan(np.where(problem.current >= 0, problem.current, new))

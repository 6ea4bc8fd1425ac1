"""Acme's scheduler keeps the contract, and does what its name says."""

from __future__ import annotations

import pytest

import headworks
from headworks.model import Cluster, Component, Kind, Node, Request, Resources, Topology
from headworks.testing import SchedulerContract


class TestAcme(SchedulerContract):
    """Every rule of the contract."""

    @pytest.fixture
    def scheduler_name(self) -> str:
        """The name of the entry point."""
        return "acme"


def request_of(tasks: int, *cpu: float) -> Request:
    nodes = tuple(Node(id=f"n{number}", capacity=Resources(cpu=each)) for number, each in enumerate(cpu))
    spout = Component(id="spout", kind=Kind.SPOUT, parallelism=tasks, demand=Resources(cpu=10.0))
    return Request(cluster=Cluster(nodes=nodes), topologies=(Topology(id="t", components=(spout,)),))


@pytest.mark.parametrize(("spread", "nodes"), [("true", ["n1", "n0", "n1"]), ("false", ["n0", "n0", "n1"])])
def test_it_spreads_or_packs(spread: str, nodes: list[str]) -> None:
    plan = headworks.plan(request_of(3, 20.0, 25.0), "acme", options={"spread": spread})
    assert [slot.node for slot in plan.assignment.values()] == nodes

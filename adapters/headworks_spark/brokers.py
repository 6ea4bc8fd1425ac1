"""Brokers beside a query that reads Kafka: a fixed task on each node, which sends what the brokers of its rack send.

So every scheduler that looks at traffic between tasks runs a task that reads Kafka in the rack of its leader.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import attrs

from headworks.model import Component, Flow, Kind, Task
from headworks_spark.driver.leaders import Leader
from headworks_spark.driver.operators import scans

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from headworks.model import Node, Observation, Topology
    from headworks_spark.driver.driver import Driver
    from headworks_spark.driver.operators import PlanNode

SETTING = "spark.headworks.kafka.racks"
"""Setting of a session whose queries have this component: it is on every node, so that none is empty."""
BROKERS = "kafka"
"""Id of the component whose tasks stand for the brokers near each node."""


@attrs.define(kw_only=True, eq=False)
class Brokers:
    """What is known of the brokers of one query, from one round to the next.

    Attributes:
        nodes: Nodes of the tasks that stand for brokers, by index; none where the query reads no Kafka.
        leaders: Of what each task of a component reads, by component.
        notes: Reason why leaders are not known, or not known anew.
    """

    nodes: tuple[str, ...] = ()
    leaders: dict[str, tuple[Leader | None, ...]] = attrs.field(factory=dict)
    notes: tuple[str, ...] = ()

    def look(
        self, driver: Driver, query: object, topology: Topology, stages: Mapping[str, int], nodes: Sequence[Node]
    ) -> None:
        """Ask for the leaders of the partitions that the last batch of a query read.

        Args:
            query: The query, None of a job group, which reads none.
            stages: Stage ordinal of each component.
            nodes: Those that are alive.
        """
        self.notes = ()
        if query is None or driver.setting(SETTING, "false").lower() != "true":
            return
        try:
            plan = driver.plan(query)
            self.leaders.update(_leaders(driver, plan, topology, stages) if plan is not None else ())
        except driver.failures as error:
            self.notes = (f"Kafka did not tell leaders of partitions: {_reason(error)}",)
        self.nodes = tuple(each.id for each in nodes) if self.leaders else ()

    def beside(self, seen: Observation) -> Observation:
        """An observation of the query with the component of the brokers, and what it sends.

        Args:
            seen: Of the query alone.
        """
        if not self.nodes:
            return seen
        (topology,) = seen.topologies
        # No demand, no streams: it costs nothing, and no batch waits for it.
        part = Component(id=BROKERS, kind=Kind.SPOUT, parallelism=len(self.nodes), movable=False)
        metrics = attrs.evolve(seen.metrics, flows=(*seen.metrics.flows, *self._flows(topology, seen)))
        joined = attrs.evolve(topology, components=(*topology.components, part))
        return attrs.evolve(seen, topologies=(joined,), metrics=metrics)

    def places(self, topology: Topology) -> dict[str, str]:
        """The node of each task of the component, by task id."""
        return {Task(topology.id, BROKERS, index).id: node for index, node in enumerate(self.nodes)}

    def _flows(self, topology: Topology, seen: Observation) -> Iterator[Flow]:
        """Each task reads from all nodes of its leader's rack: on any of them the same is saved."""
        near = {each.id: each for each in seen.cluster.nodes}
        known = {task: near[node] for task, node in self.places(topology).items() if node in near}
        rates = {each.task: each.received or 0.0 for each in seen.metrics.tasks}
        for component, found in self.leaders.items():
            for index, leader in enumerate(found):
                reader = Task(topology.id, component, index).id
                size = 0.0 if leader is None else rates.get(reader, 0.0) * leader.row
                for task in _near(leader, known) if leader is not None and size else ():
                    # Its rows are the reader's own already: bytes alone cross the network.
                    yield Flow(source=task, target=reader, tuples=0.0, bytes=size)


def _leaders(
    driver: Driver, plan: PlanNode, topology: Topology, stages: Mapping[str, int]
) -> Iterator[tuple[str, tuple[Leader | None, ...]]]:
    """Leaders by component; a stage with two sources, or with other numbers of tasks, is left out."""
    found = scans(plan)
    for part in topology.components:
        own = found[stages[part.id]] if stages.get(part.id, len(found)) < len(found) else ()
        known = driver.leaders(own[0]) if len(own) == 1 else ()
        if known and len(known) == part.parallelism:
            yield part.id, known


def _near(leader: Leader, nodes: Mapping[str, Node]) -> tuple[str, ...]:
    """Tasks on nodes in the rack of a leader; if it says none, or no node is there, those on its machine."""
    rack = [task for task, node in nodes.items() if leader.rack is not None and node.rack == leader.rack]
    return tuple(rack or (task for task, node in nodes.items() if leader.host in (node.id, node.hostname)))


def _reason(error: Exception) -> str:
    """The first line of the cause in Java's words, else of the error."""
    lines = str(error).splitlines()
    return next(
        (each.strip(": ") for each in lines if "Exception: " in each), lines[0] if lines else type(error).__name__
    )

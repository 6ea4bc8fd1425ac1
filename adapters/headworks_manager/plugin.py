"""The plugin `manager`: priorities, desired and minimum nodes from the manager's database, for every round."""

from __future__ import annotations

from typing import TYPE_CHECKING

import attrs

from headworks.errors import how_to_install
from headworks.hooks import Description, Finding, hookimpl
from headworks_manager.opening import Stores
from headworks_manager.rules.indication import Trigger
from headworks_manager.rules.starving import Claim, levels

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from headworks.model import Change, Drain, Observation, Receipt, Steering, Topology
    from headworks_manager.database.reschedulings import Reschedulings
    from headworks_manager.database.store import Store
    from headworks_manager.rules.indication import Indication


class Manager:
    """Say how important topologies are while they run: priorities and triggers from an SQL database."""

    def __init__(self) -> None:
        """Open nothing yet."""
        self._stores = Stores()

    @hookimpl
    def headworks_describe(self) -> Description:
        """Describe the manager."""
        return Description(
            summary=(self.__doc__ or "").partition("\n")[0],
            paper="Chakraborty: thesis on priority-based scheduling for Storm, sections 3.2 and 3.3",
        )

    @hookimpl
    def headworks_needs(self) -> Sequence[Finding]:
        """Look for SQLAlchemy and Alembic."""
        fix = f"keeps priorities: {how_to_install('manager')}"
        return [Finding.of_package(name, fix) for name in ("SQLAlchemy", "alembic")]

    @hookimpl
    def headworks_documents(self) -> Mapping[str, type]:
        """The document that programs send."""
        return {"trigger": Trigger}

    @hookimpl
    def headworks_prioritise(self, observation: Observation, address: str | None) -> Observation:
        """Override what topologies declare by their indications, and keep who starves.

        Args:
            observation: What was seen.
            address: The database; None is the default one.
        """
        with self._stores.use(address) as store:
            return _prioritised(observation, store)

    @hookimpl
    def headworks_reschedule(self, change: Change, steering: Steering, drain: Drain, address: str | None) -> Receipt:
        """Carry out a change while its topologies are empty, with each step in the database.

        Args:
            change: The change.
            steering: The engine.
            drain: How long to wait until they are empty.
            address: The database; None is the default one.
        """
        # Brings SQLAlchemy, 0.3 s that commands of other plugins do not need.
        from headworks_manager.reschedule import Rescheduler

        return Rescheduler(self._reschedulings(address), steering).carry_out(change, drain)

    @hookimpl
    def headworks_recover(self, steering: Steering, address: str | None) -> Sequence[str]:
        """Finish or undo the changes that began and did not end.

        Args:
            steering: The engine.
            address: The database; None is the default one.
        """
        # Brings SQLAlchemy, 0.3 s that commands of other plugins do not need.
        from headworks_manager.reschedule import Rescheduler

        return Rescheduler(self._reschedulings(address), steering).recover()

    def _reschedulings(self, address: str | None) -> Reschedulings:
        # Brings SQLAlchemy, 0.3 s that commands of other plugins do not need.
        from headworks_manager.database.reschedulings import Reschedulings

        store = self._stores.get(address)
        return Reschedulings(store.engine, cluster=store.cluster)


def _prioritised(observation: Observation, store: Store) -> Observation:
    found = store.indications()
    own = {each.id: _indication(each, found) for each in observation.topologies}
    name = {key: each.name if each is not None else key for key, each in own.items()}
    declared = [declared_by(each, own[each.id]) for each in observation.topologies]
    claims = [attrs.evolve(each, name=name[each.name]) for each in _claims(declared, observation)]
    aging = {each.name: each.aging for each in own.values() if each is not None}
    seen = store.look(claims, aging, len(observation.cluster.nodes))
    level = levels(claims, seen)
    topologies = tuple(attrs.evolve(each, priority=level.get(name[each.id], each.priority)) for each in declared)
    notes = tuple(f"{each.name} starves; it would take {each.remedy}" for each in seen.values() if each.remedy)
    return attrs.evolve(observation, topologies=topologies, notes=(*observation.notes, *notes))


def _indication(topology: Topology, found: Mapping[str, Indication]) -> Indication | None:
    """The indication under a topology's id, else under its name, which stays when it is submitted again."""
    return found.get(topology.id) or found.get(topology.name or "")


def declared_by(topology: Topology, own: Indication | None) -> Topology:
    """A topology with what its indication says; what that leaves open is as the topology declares it.

    Args:
        topology: As an engine describes it.
        own: Its indication, None if it has none.
    """
    if own is None:
        return topology
    return attrs.evolve(
        topology,
        priority=topology.priority if own.level is None else own.level,
        desired_nodes=topology.desired_nodes if own.desired_nodes is None else own.desired_nodes,
        minimum_nodes=topology.minimum_nodes if own.minimum_nodes is None else own.minimum_nodes,
    )


def _claims(topologies: Sequence[Topology], observation: Observation) -> list[Claim]:
    """Claims of the topologies that have tasks, with the nodes on which they run."""
    nodes: dict[str, set[str]] = {}
    for task, slot in observation.assignment.items():
        nodes.setdefault(task.partition("/")[0], set()).add(slot.node)
    return [
        Claim(
            name=each.id,
            level=each.priority,
            desired=each.workers if each.desired_nodes is None else each.desired_nodes,
            minimum=1 if each.minimum_nodes is None else each.minimum_nodes,
            nodes=len(nodes.get(each.id, ())),
        )
        for each in topologies
        if any(component.parallelism for component in each.components)
    ]


manager = Manager()

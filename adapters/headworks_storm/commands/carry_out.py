"""What a command asks of Nimbus and of the ledger of seats: words in, plain data out."""

from __future__ import annotations

import contextlib
from collections import Counter
from typing import TYPE_CHECKING, Any

import attrs

from headworks.errors import EngineError, EngineUseError, known_names
from headworks_storm.nimbus.seating import KEY as SEATS
from headworks_storm.seats.ledger import open_ledger

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from headworks_storm.client.gateway import NimbusGateway


def carry_out(nimbus: NimbusGateway, command: str, words: Mapping[str, Any]) -> Any:
    """Carry out a command.

    Args:
        nimbus: Reaches Nimbus, and by its JVM ZooKeeper.
        command: One of `COMMANDS`.
        words: Its arguments by name.

    Returns:
        Data of which JSON can be made.

    Raises:
        EngineError: Nimbus or ZooKeeper cannot be reached, or refuses.
    """
    return COMMANDS[command](nimbus, **words)


def cluster(nimbus: NimbusGateway) -> dict[str, Any]:
    """Address of the Nimbus that leads, supervisors, topologies."""
    found = nimbus.cluster()
    return {
        "nimbus": f"{found.leader.host}:{found.leader.port}" if found.leader else "",
        "supervisors": [attrs.asdict(each) for each in found.supervisors],
        "topologies": [attrs.asdict(each) for each in found.topologies],
    }


def topology(nimbus: NimbusGateway, *, name: str) -> dict[str, Any]:
    """`TopologyInfo` of a topology, and `seats` if it has any and ZooKeeper shows them."""
    found = attrs.asdict(nimbus.topology(name))
    with contextlib.suppress(EngineError):  # settings, or ZooKeeper, may not be for this user
        if nimbus.topology_conf(name).get(SEATS):
            found |= {"seats": seats(nimbus, name=name)["seats"]}
    return found


def rebalance(
    nimbus: NimbusGateway, *, name: str, wait: int | None, workers: int | None, executors: dict[str, int]
) -> list[str]:
    """Have Nimbus schedule a topology anew; sentences on what Nimbus cuts of that."""
    cut = cut_by_nimbus(nimbus, name, executors, workers)
    nimbus.rebalance(name, wait=wait, workers=workers, executors=executors)
    return cut


def cut_by_nimbus(nimbus: NimbusGateway, name: str, counts: Mapping[str, int], workers: int | None) -> list[str]:
    """Sentences on what Nimbus cuts of an order: a component has as many executors as tasks at most.

    Raises:
        EngineUseError: A component is not there, or the topology has seats, and its tasks could not move afterwards.
    """
    tasks: Counter[str] = Counter()
    for each in nimbus.topology(name).executors:
        tasks[each.component] += each.end - each.start + 1
    if unknown := sorted(counts.keys() - tasks.keys()) if tasks else []:
        raise EngineUseError(f"{name} has no component {unknown[0]!r}{known_names(unknown[0], sorted(tasks))}")
    seats = nimbus.topology_conf(name).get(SEATS) if counts or workers else None
    if seats and _pins(seats, counts, workers or 0):
        raise EngineUseError(
            f"{name} has seats, of which each worker has one for each task: `headworks storm scale {name}` changes how "
            "many tasks work, and for more workers it is submitted anew"
        )
    over = [each for each, count in counts.items() if tasks and count > tasks[each]]
    return [f"{each} has {tasks[each]} tasks, and so {tasks[each]} executors, not {counts[each]}" for each in over]


def _pins(seats: Mapping[str, Any], counts: Mapping[str, int], workers: int) -> bool:
    """True if a component would have fewer executors than seats, or there were workers without seats."""
    most = {name: each["tasks"] * seats["workers"] for name, each in seats["components"].items()}
    return workers > seats["workers"] or any(counts.get(name, most[name]) < most[name] for name in most)


def activate(nimbus: NimbusGateway, *, name: str) -> None:
    """Let the spouts of a topology emit."""
    nimbus.activate(name)


def deactivate(nimbus: NimbusGateway, *, name: str) -> None:
    """Let them pause."""
    nimbus.deactivate(name)


def kill(nimbus: NimbusGateway, *, name: str, wait: int | None) -> None:
    """Kill a topology."""
    nimbus.kill(name, wait=wait)


def seats(nimbus: NimbusGateway, *, name: str) -> dict[str, Any]:
    """The seats of a topology (`Seat`), and how many tasks of each component work."""
    with open_ledger(nimbus, name) as ledger:
        return {"seats": [attrs.asdict(each) for each in ledger.seats()], "working": dict(ledger.state().working)}


def move(nimbus: NimbusGateway, *, name: str, component: str, index: int, place: str, wait: float) -> dict[str, Any]:
    """Move a task, and wait until that is over: `SeatMove`."""
    with open_ledger(nimbus, name) as ledger:
        return attrs.asdict(ledger.move(component, index, place, seconds=wait))


def cancel(nimbus: NimbusGateway, *, name: str, component: str, index: int) -> None:
    """Take an order to move a task back."""
    with open_ledger(nimbus, name) as ledger:
        ledger.cancel(component, index)


def scale(nimbus: NimbusGateway, *, name: str, component: str, count: int) -> int:
    """Have so many tasks of a component work; how many did."""
    with open_ledger(nimbus, name) as ledger:
        return ledger.scale(component, count)


COMMANDS: dict[str, Callable[..., Any]] = {
    each.__name__: each
    for each in (cluster, topology, rebalance, activate, deactivate, kill, seats, move, cancel, scale)
}
"""By name, as it stands in a line to a running process."""

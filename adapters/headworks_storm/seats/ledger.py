"""Seats of a running topology: the ledger of who owns which task, and the order to move one, through ZooKeeper."""

from __future__ import annotations

import contextlib
import json
import time
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Self

import attrs

from headworks.errors import EngineError, EngineUseError
from headworks_storm.client.zookeeper import ZooKeeper
from headworks_storm.seats.seat import SeatMove, SeatOrder, SeatState, SeatView, no_seats, scale_refusal, seat_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from headworks_storm.client.gateway import NimbusGateway
    from headworks_storm.seats.seat import Seat

LEDGER = "headworks/seats"
"""The node, under that of Storm, under which workers keep the ledger (`headworks.storm.seats.Ledger`)."""
POLL = 0.02
"""Seconds between two looks at the ledger."""


@attrs.frozen(kw_only=True)
class Seated:
    """A topology whose tasks have seats, as it was submitted.

    Attributes:
        id: Storm's id of it. `name`: its name.
        components: Entries of those with seats in its configuration, by name.
        servers: HOST:PORT of each server of its ZooKeeper, with commas between.
        root: The node there under which its Storm has all that it keeps.
    """

    id: str
    name: str
    components: Mapping[str, Any]
    servers: str
    root: str

    @classmethod
    def of(cls, gateway: NimbusGateway, topology: str) -> Self:
        """Ask Nimbus.

        Args:
            gateway: Reaches it.
            topology: Storm's id of the topology.

        Raises:
            EngineError: There is no such topology, or its tasks have no seats.
        """
        conf = gateway.stored_conf(topology)
        name, said = conf.get("topology.name", topology), conf.get("headworks.seats")
        if not said:
            raise EngineUseError(f"tasks of {name} have no seats: submit it with --seats")
        servers = ",".join(f"{each}:{conf['storm.zookeeper.port']}" for each in conf["storm.zookeeper.servers"])
        root = conf.get("storm.zookeeper.root", "/storm")
        return cls(id=topology, name=name, components=said["components"], servers=servers, root=root)


@contextlib.contextmanager
def open_ledger(gateway: NimbusGateway, name: str) -> Iterator[SeatLedger]:
    """The ledger of a topology, with a connection of its own to ZooKeeper.

    Args:
        gateway: Reaches Nimbus; its JVM speaks to ZooKeeper too.
        name: Name of the topology.

    Raises:
        EngineError: There is no such topology, or its tasks have no seats.
    """
    seated = Seated.of(gateway, gateway.topology(name).id)
    with ZooKeeper(gateway, seated.servers) as zookeeper:
        yield SeatLedger(seated, zookeeper)


class SeatLedger:
    """The ledger of one topology."""

    def __init__(self, seated: Seated, zookeeper: ZooKeeper) -> None:
        """Take where it lies."""
        self._name, self._components, self._root = seated.name, seated.components, f"{seated.root}/{LEDGER}/{seated.id}"
        self._zookeeper = zookeeper

    @property
    def name(self) -> str:
        """Name of the topology."""
        return self._name

    def seats(self) -> list[Seat]:
        """All seats that workers tell of, by component, index and place.

        Raises:
            EngineError: No worker tells of any.
        """
        found = self.told()
        if not found:
            raise EngineError(
                f"no worker of {self._name} tells of its seats: does it run, with Headworks's jar in extlib?"
            )
        return found

    def told(self) -> list[Seat]:
        """All seats that workers tell of, in that order; none while all of them start."""
        return self.view().seats

    def view(self) -> SeatView:
        """Read the ledger and the words of the workers."""
        pages = {each: self._page(each) for each in self._components}
        losses = {each: page.get("lost", {}) for each, page in pages.items()}
        found: list[Seat] = []
        for worker in self._zookeeper.children(f"{self._root}/workers"):
            host, _, port = worker.rpartition(":")
            with contextlib.suppress(LookupError):  # the worker has just ended
                rows = json.loads(self._zookeeper.read(f"{self._root}/workers/{worker}")[0])["seats"]
                found += [seat_of(int(task), row, host, int(port), losses) for task, row in rows.items()]
        order = sorted(found, key=lambda each: (each.component, each.index, each.host, each.port))
        return SeatView(pages=pages, seats=order)

    def state(self) -> SeatState:
        """Seats in which tasks live, and how many of each component work."""
        pages = {each: self._page(each) for each in self._components}
        owners = {each: [int(row[0]) for row in page.get("owners", [])] for each, page in pages.items()}
        working = {each: (page.get("working") or [self._components[each]["tasks"]])[0] for each, page in pages.items()}
        return SeatState(owners={each: rows for each, rows in owners.items() if rows}, working=working)

    def move(self, component: str, index: int, place: str, *, seconds: float) -> SeatMove:
        """Move a task to the seat that it has in another worker, and wait until nothing of that is under way.

        Args:
            index: Number of the task in its component, from 0.
            place: HOST:PORT of the worker.
            seconds: Longest time to wait; what was ordered and not yet entered by then is withdrawn.

        Raises:
            EngineError: There is no such task, it has no seat there, it has not settled, or the move fails.
        """
        order = self.order(component, index, place)
        while (done := self.look(order, self.view())) is None:
            if time.monotonic() > order.began + seconds:
                raise self.give_up(order, seconds)
            time.sleep(POLL)
        return done

    def order(self, component: str, index: int, place: str, view: SeatView | None = None) -> SeatOrder:
        """Order a move, and wait for nothing.

        Args:
            index: Number of the task in its component, from 0.
            place: HOST:PORT of the worker.
            view: What was just read; None reads it.

        Raises:
            EngineError: There is no such task, it has no seat there, or it has not settled.
        """
        began = time.monotonic()
        source, target = self._ends(component, index, place, self.seats() if view is None else view.seats)
        self._order(component, index, target.task, source.epoch + 1)
        return SeatOrder(source=source, target=target, epoch=source.epoch + 1, began=began)

    def look(self, order: SeatOrder, view: SeatView) -> SeatMove | None:
        """Outcome of a move; None while something of it is under way.

        Args:
            view: What was read since.

        Raises:
            EngineError: It fails.
        """
        if not view.entered(order.source.component, order.source.index, order.epoch):
            return None
        pause = view.settled(order.source, order.target, order.epoch)
        if pause is None:
            return None
        return SeatMove(
            task=order.task,
            source=order.source.place,
            target=order.target.place,
            epoch=order.epoch,
            pause=pause[0],
            seconds=time.monotonic() - order.began,
        )

    def cancel(self, component: str, index: int) -> None:
        """Take an order to move a task back that no worker has carried out.

        Args:
            index: Number of the task in its component, from 0.

        Raises:
            EngineError: There is no such task, or no such order.
        """
        self._known(component, index)
        if self._withdraw(component, index) is None:
            raise EngineError(f"nothing is ordered of {component}/{index} that is not carried out already")

    def give_up(self, order: SeatOrder, seconds: float) -> EngineError:
        """Withdraw a move that was not entered in time; the error that says what is left of it.

        Args:
            seconds: The time that it had.
        """
        if not self.view().entered(order.source.component, order.source.index, order.epoch):
            self._withdraw(order.source.component, order.source.index)
            return EngineError(f"the worker at {order.target.place} has not taken {order.task} in {seconds:.0f} s")
        return EngineError(
            f"{order.task} belongs to {order.target.place}, but has not settled in {seconds:.0f} s: it goes on alone"
        )

    def scale(self, component: str, count: int) -> int:
        """Have so many tasks of a component work, the first ones; returns how many did. What others have, they finish.

        Args:
            component: A stateless one, whose inputs are all dealt evenly.
            count: Tasks that are to work, at most as many as it has.

        Raises:
            EngineError: It is not such a component, or has not so many tasks.
        """
        movable = self._movable(component)
        before = most = int(movable["tasks"])
        if why := scale_refusal(component, most, count, elastic=bool(movable.get("elastic"))):
            raise EngineError(why)

        ours: list[int] | None = None

        def change(page: dict[str, Any]) -> None:
            nonlocal before, ours
            there, order = page.get("working") or (most, 0)
            # Where the connection ends, this may have been written without an answer: then it is there already.
            before = before if ours == [there, order] else there
            ours = page["working"] = [count, order + 1]

        self._change(component, change)
        return before

    def _movable(self, component: str) -> Mapping[str, Any]:
        """The entry of a component with seats in the configuration of the topology."""
        if component not in self._components:
            raise EngineUseError(no_seats(component, self._name, self._components))
        return dict(self._components[component])

    def _known(self, component: str, index: int) -> str:
        """Name of a task that is there."""
        movable, task = self._movable(component), f"{component}/{index}"
        if not 0 <= index < movable["tasks"]:
            raise EngineUseError(f"{component} has {movable['tasks']} tasks: there is no {task}")
        return task

    def _ends(self, component: str, index: int, place: str, told: Sequence[Seat]) -> tuple[Seat, Seat]:
        """The seat that owns a task now, and the one it is to move to."""
        task = self._known(component, index)
        seats = [each for each in told if (each.component, each.index) == (component, index)]
        owners = [each for each in seats if each.owner]
        if len(owners) != 1:
            raise EngineError(f"{task} is under way, or its worker starts: wait, and look with `headworks storm seats`")
        there = [each for each in seats if each.place == place]
        if not there:
            raise EngineUseError(
                f"{task} has no seat at {place}: it has some at {', '.join(each.place for each in seats)}"
            )
        if any(each.owner for each in there):  # a worker may have several of its seats
            raise EngineUseError(f"{task} lives at {place} already")
        busy = [each.place for each in seats if not each.settled]
        if busy:
            raise EngineError(f"the last move of {task} has not settled at {', '.join(busy)}: wait a moment")
        return owners[0], there[0]

    def _order(self, component: str, index: int, seat: int, epoch: int) -> None:
        tried = False

        def order(page: dict[str, Any]) -> None:
            nonlocal tried
            # As above: it may be there already, or have been carried out.
            if tried and [seat, epoch] in (page["wanted"].get(str(index)), page["owners"][index][:2]):
                return
            tried = True
            if page["owners"][index][1] >= epoch:
                number = page["owners"][index][1]
                raise EngineError(f"conflict: ownership {number} of {component}/{index} is newer; look and try again")
            wanted = page["wanted"].get(str(index))
            if wanted is not None and wanted[1] == epoch:
                raise EngineError(
                    f"conflict: {component}/{index} was ordered to seat {wanted[0]}, and no worker has done it: wait, "
                    f"or take that back with `headworks storm move {self._name} {component}/{index} --cancel`"
                )
            page["wanted"][str(index)] = [seat, epoch]

        self._change(component, order)

    def _withdraw(self, component: str, index: int) -> list[int] | None:
        """Take an order back; its seat and ownership, None if there is none."""
        found: list[int] | None = None

        def withdraw(page: dict[str, Any]) -> None:
            nonlocal found
            found = page.get("wanted", {}).pop(str(index), found)

        self._change(component, withdraw)
        return found

    def _change(self, component: str, change: Callable[[dict[str, Any]], object]) -> None:
        """Change a page by compare-and-set, again on what another has written meanwhile."""
        path = f"{self._root}/components/{component}"
        while True:
            try:
                text, version = self._zookeeper.read(path)
            except LookupError:
                raise EngineError(
                    f"the ledger of {self._name} has no page of {component}: its workers write it again, wait a moment"
                ) from None
            page = json.loads(text)
            change(page)
            if self._zookeeper.write(path, json.dumps(page), version):
                return

    def _page(self, component: str) -> dict[str, Any]:
        """The page of a component; an empty one before the first worker has made it."""
        try:
            return dict(json.loads(self._zookeeper.read(f"{self._root}/components/{component}")[0]))
        except LookupError:
            return {}

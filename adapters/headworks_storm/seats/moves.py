"""Tasks with seats: where they live, and moves of several of them at once, by the ledger of their topology."""

from __future__ import annotations

import time
from collections import deque
from typing import TYPE_CHECKING

import attrs

from headworks.errors import EngineError, EngineUseError
from headworks_storm.client.connection import NimbusConnection
from headworks_storm.client.gateway import NimbusGateway
from headworks_storm.client.zookeeper import ZooKeeper
from headworks_storm.seats.ledger import POLL, Seated, SeatLedger

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Mapping, Sequence

    from headworks_storm.seats.seat import SeatMove, SeatOrder, SeatState, SeatView
    from headworks_storm.seats.view import SeatWish

AT_ONCE = 4
"""Moves of one topology at a time."""
SECONDS = 60.0
"""Seconds that a move may take. With fewer, one fails where a spout that is idle has not sent its marker; with more, a
move that hangs is noticed later."""


REMEMBERED = 1000
"""Topologies whose seats are known without asking Nimbus again."""


@attrs.define(eq=False)
class SeatMoves:
    """The seats of all topologies of a cluster.

    Attributes:
        nimbus: Reaches Nimbus, and by its JVM ZooKeeper.
        at_once: Moves of one topology at a time.
        seconds: Time that each may take.
    """

    nimbus: NimbusConnection
    at_once: int = AT_ONCE
    seconds: float = SECONDS
    _gateway: NimbusGateway | None = attrs.field(init=False, default=None)
    _zookeeper: ZooKeeper | None = attrs.field(init=False, default=None)
    _seated: dict[str, Seated] = attrs.field(init=False, factory=dict)

    def state(self, topology: str) -> SeatState:
        """Seats in which the tasks of a topology live, and how many of them work.

        Args:
            topology: Storm's id of the topology.

        Raises:
            EngineError: The ledger cannot be read, or no worker has begun it.
        """
        with self.nimbus.use() as gateway:
            ledger = self._ledger(gateway, topology)
            found = ledger.state()
        if not found.owners:
            raise EngineError(
                f"no worker of {ledger.name} has begun the ledger of its seats: does it start, or is ZooKeeper secured?"
            )
        return found

    def move(self, wishes: Mapping[str, Sequence[SeatWish]]) -> dict[str, list[SeatMove | EngineError]]:
        """Move tasks, those of each topology in order, several at once; after one that failed no other is begun.

        Args:
            wishes: Tasks, and the seat that each is to live in, by Storm's id of their topology.

        Returns:
            What became of each: the move, or why there was none.
        """
        try:
            with self.nimbus.use() as gateway:
                _check_alive(gateway, wishes)
                batches = {
                    each: _Batch(self._ledger(gateway, each), own, self.at_once, self.seconds)
                    for each, own in wishes.items()
                }
                _run(batches.values())
        except EngineError as error:  # Nimbus is gone, or a topology: nothing was begun
            return {each: [error] * len(own) for each, own in wishes.items()}
        return {each: batch.done() for each, batch in batches.items()}

    def scale(self, topology: str, component: str, count: int) -> int:
        """Have so many tasks of a component work, the first ones; returns how many did.

        Args:
            topology: Storm's id of the topology.
            component: Storm's own name of the component.
            count: Tasks that are to work.

        Raises:
            EngineError: They cannot, or Nimbus or ZooKeeper is gone.
        """
        with self.nimbus.use() as gateway:
            return self._ledger(gateway, topology).scale(component, count)

    def stop(self) -> None:
        """End the session with ZooKeeper; the next call begins one."""
        if self._zookeeper is not None:
            self._zookeeper.stop()
        self._gateway = self._zookeeper = None

    def _ledger(self, gateway: NimbusGateway, topology: str) -> SeatLedger:
        """The ledger of a topology; that it has seats, and where ZooKeeper is, does not change while it lives."""
        if topology not in self._seated:
            while len(self._seated) >= REMEMBERED:
                del self._seated[next(iter(self._seated))]
            self._seated[topology] = Seated.of(gateway, topology)
        seated = self._seated[topology]
        if self._zookeeper is None or (self._gateway, self._zookeeper.servers) != (gateway, seated.servers):
            self.stop()  # the JVM is another one, or this topology names another ZooKeeper
            self._gateway, self._zookeeper = gateway, ZooKeeper(gateway, seated.servers).start()
        return SeatLedger(seated, self._zookeeper)


def _check_alive(gateway: NimbusGateway, topologies: Iterable[str]) -> None:
    """Ask Nimbus whether topologies run: the ledger of one that was killed stays, and its workers say nothing.

    Raises:
        EngineError: One does not.
    """
    running = {each.id for each in gateway.cluster().topologies}
    for each in topologies:
        if each not in running:
            raise EngineUseError(f"no topology {each!r} runs on this cluster")


def _run(batches: Collection[_Batch]) -> None:
    """Make the moves of several topologies side by side."""
    while any(each.busy for each in batches):
        failed = any(each.failed for each in batches)
        for each in batches:
            each.go_on(skip=failed)
        time.sleep(POLL)


class _Batch:
    """Moves of one topology: those that wait, that are under way, and that are over."""

    def __init__(self, ledger: SeatLedger, wishes: Sequence[SeatWish], at_once: int, seconds: float) -> None:
        self._ledger, self._wishes, self._at_once, self._seconds = ledger, wishes, at_once, seconds
        self._waiting = deque(range(len(wishes)))
        self._orders: dict[int, SeatOrder] = {}
        self._done: dict[int, SeatMove | EngineError] = {}
        self._progress = time.monotonic()

    @property
    def busy(self) -> bool:
        return bool(self._waiting or self._orders)

    @property
    def failed(self) -> bool:
        return any(isinstance(each, EngineError) for each in self._done.values())

    def done(self) -> list[SeatMove | EngineError]:
        """The outcome of each move, in the order of the wishes."""
        return [self._done[number] for number in range(len(self._wishes))]

    def go_on(self, *, skip: bool) -> None:
        """Look at what is under way, and begin what may begin, unless all that waits is to be skipped."""
        try:
            view = self._ledger.view()
        except EngineError as error:  # ZooKeeper is gone; of what is over it is known
            for number in (*self._orders, *self._waiting):
                self._end(number, error)
            return
        for number, order in list(self._orders.items()):
            self._look(number, order, view)
        self._begin(view, skip=skip or self.failed)

    def _begin(self, view: SeatView, *, skip: bool) -> None:
        if skip:
            skipped = EngineError("not begun, for another move of the plan failed")
            self._done |= dict.fromkeys(self._waiting, skipped)
            self._waiting.clear()
        while self._waiting and len(self._orders) < self._at_once:
            number = self._waiting[0]
            try:
                order = self._order(self._wishes[number], view)
            except EngineError as error:
                self._end(number, error)
                return
            if order is None:
                return
            self._waiting.popleft()
            self._orders[number] = order

    def _order(self, wish: SeatWish, view: SeatView) -> SeatOrder | None:
        """Order a move; None while the last one of its task is under way, or the workers of its seats start."""
        task = f"{wish.component}/{wish.index}"
        seats = [each for each in view.seats if (each.component, each.index) == (wish.component, wish.index)]
        there = next((each for each in seats if each.task == wish.seat), None)
        if there is not None and not there.owner and all(each.settled for each in seats):
            return self._ledger.order(wish.component, wish.index, there.place, view)
        if time.monotonic() - self._progress <= self._seconds:
            return None
        if there is None:
            raise EngineError(f"{task}: the worker with its seat {wish.seat} says nothing for {self._seconds:.0f} s")
        raise EngineError(f"{task}: its last move has not settled in {self._seconds:.0f} s")

    def _look(self, number: int, order: SeatOrder, view: SeatView) -> None:
        try:
            done = self._ledger.look(order, view)
            if done is None and time.monotonic() > order.began + self._seconds:
                raise self._ledger.give_up(order, self._seconds)
        except EngineError as error:
            self._end(number, error)
            return
        if done is not None:
            self._end(number, done)

    def _end(self, number: int, what: SeatMove | EngineError) -> None:
        self._orders.pop(number, None)
        if number in self._waiting:
            self._waiting.remove(number)
        self._done[number] = what
        self._progress = time.monotonic()

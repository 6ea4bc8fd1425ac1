"""Tasks with seats: where they live, and moves of several of them at once, by the ledger of their topology."""

from __future__ import annotations

import time
from collections import deque
from typing import TYPE_CHECKING

import attrs

from headgate.errors import EngineError
from headgate_storm.client.connection import NimbusConnection
from headgate_storm.client.seats import POLL, SeatLedger

if TYPE_CHECKING:
    from collections.abc import Sequence

    from headgate_storm.client.seat import SeatMove, SeatOrder, SeatState
    from headgate_storm.nimbus.seat_view import SeatWish

AT_ONCE = 4
"""Moves of one topology at a time. With more, more of its tasks pause at once; with fewer, a plan takes longer."""
SECONDS = 60.0
"""Seconds that a move may take. With fewer, one fails where a spout that is idle has not sent its marker; with more, a
move that hangs is noticed later."""


@attrs.frozen(eq=False)
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

    def state(self, name: str) -> SeatState:
        """Seats in which the tasks of a topology live, and how many of them work.

        Args:
            name: Name of the topology.

        Raises:
            EngineError: The ledger cannot be read, or no worker has begun it.
        """
        with self.nimbus.use() as gateway, SeatLedger(gateway, name) as ledger:
            found = ledger.state()
        if not found.owners:
            raise EngineError(
                f"no worker of {name} has begun the ledger of its seats: does it start, or is ZooKeeper secured?"
            )
        return found

    def move(self, name: str, wishes: Sequence[SeatWish]) -> list[SeatMove | EngineError]:
        """Move tasks of a topology, in this order, several at once; after one that failed no other is begun.

        Args:
            name: Name of the topology.
            wishes: Tasks, and the seat that each is to live in.

        Returns:
            What became of each: the move, or why there was none.
        """
        try:
            with self.nimbus.use() as gateway, SeatLedger(gateway, name) as ledger:
                return _Batch(ledger, wishes, self.at_once, self.seconds).run()
        except EngineError as error:  # Nimbus or ZooKeeper is gone
            return [error] * len(wishes)

    def scale(self, name: str, component: str, count: int) -> int:
        """Have so many tasks of a component work, the first ones; returns how many did.

        Args:
            name: Name of the topology.
            component: Storm's own name of the component.
            count: Tasks that are to work.

        Raises:
            EngineError: They cannot, or Nimbus or ZooKeeper is gone.
        """
        with self.nimbus.use() as gateway, SeatLedger(gateway, name) as ledger:
            return ledger.scale(component, count)


class _Batch:
    """Moves that wait, that are under way, and that are over."""

    def __init__(self, ledger: SeatLedger, wishes: Sequence[SeatWish], at_once: int, seconds: float) -> None:
        self._ledger, self._wishes, self._at_once, self._seconds = ledger, wishes, at_once, seconds
        self._waiting = deque(range(len(wishes)))
        self._orders: dict[int, SeatOrder] = {}
        self._done: dict[int, SeatMove | EngineError] = {}
        self._progress = time.monotonic()

    def run(self) -> list[SeatMove | EngineError]:
        """Make the moves; what became of each, in the order of the wishes."""
        while self._waiting or self._orders:
            self._begin()
            for number, order in list(self._orders.items()):
                self._look(number, order)
            time.sleep(POLL)
        return [self._done[number] for number in range(len(self._wishes))]

    def _begin(self) -> None:
        if any(isinstance(each, EngineError) for each in self._done.values()):
            skipped = EngineError("not begun, for another move of the plan failed")
            self._done |= dict.fromkeys(self._waiting, skipped)
            self._waiting.clear()
        while self._waiting and len(self._orders) < self._at_once:
            number = self._waiting[0]
            try:
                order = self._order(self._wishes[number])
            except EngineError as error:
                self._end(number, error)
                return
            if order is None:
                return
            self._waiting.popleft()
            self._orders[number] = order

    def _order(self, wish: SeatWish) -> SeatOrder | None:
        """Order a move; None while the last one of its task is under way, or the workers of its seats start."""
        ledger, task = self._ledger, f"{wish.component}/{wish.index}"
        seats = [each for each in ledger.told() if (each.component, each.index) == (wish.component, wish.index)]
        there = next((each for each in seats if each.task == wish.seat), None)
        if there is not None and not there.owner and all(each.settled for each in seats):
            return ledger.order(wish.component, wish.index, there.place)
        if time.monotonic() - self._progress <= self._seconds:
            return None
        if there is None:
            raise EngineError(f"{task}: the worker with its seat {wish.seat} says nothing for {self._seconds:.0f} s")
        raise EngineError(f"{task}: its last move has not settled in {self._seconds:.0f} s")

    def _look(self, number: int, order: SeatOrder) -> None:
        try:
            done = self._ledger.look(order)
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

"""Values of the ledger of seats: a seat as its worker told of it, a move that was ordered, and one that was made."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import attrs

from headworks.errors import EngineError

if TYPE_CHECKING:
    from collections.abc import Iterable


@attrs.frozen(kw_only=True)
class SeatState:
    """Seats in which the tasks of a topology live, and how many of them work.

    Attributes:
        owners: Id of the seat in which each task lives, by component; of one whose workers have not begun it, none.
        working: Number of tasks that work, the first ones, by component; the others have no new tuples.
    """

    owners: Mapping[str, Sequence[int]]
    working: Mapping[str, int]


@attrs.frozen(kw_only=True)
class Seat:
    """A seat, as the worker that it is in last said.

    Attributes:
        task: Id of the physical task.
        component: Its component. `index`: which of its logical tasks has this seat.
        host: Of the worker. `port`: of the worker.
        owner: True if the logical task lives in this seat.
        epoch: Number of the ownership that it has, or has given: 0 before the task ever moved or its worker restarted.
        handing: True until the next owner has acknowledged the state.
        settled: True if the task may move again, as far as this seat knows.
        held: Messages that wait for a marker.
        forwarded: Messages passed on to the owner since the worker started.
        disordered: Times that a marker was not waited for any longer.
        pause: Milliseconds from the last tuple that the task executed here to the acknowledgement of the next owner, of
            the last move away; None if there was none.
        lost: Times that the task has lost its state, or what it had executed since a move, as a worker ended.
        loss: Why, the last time; empty if there was none.
    """

    task: int
    component: str
    index: int
    host: str
    port: int
    owner: bool
    epoch: int
    handing: bool
    settled: bool
    held: int
    forwarded: int
    disordered: int
    pause: float | None
    lost: int = 0
    loss: str = ""

    @property
    def place(self) -> str:
        """Host and port of the worker."""
        return f"{self.host}:{self.port}"


@attrs.frozen(kw_only=True)
class SeatMove:
    """A move of one task that was carried out.

    Attributes:
        task: COMPONENT/INDEX. `source`: HOST:PORT where it lived. `target`: HOST:PORT where it lives.
        epoch: Number of the ownership.
        pause: Milliseconds from the last tuple that the task executed there to the acknowledgement that it is here.
        seconds: From the order until all was settled.
    """

    task: str
    source: str
    target: str
    epoch: int
    pause: float | None
    seconds: float


@attrs.frozen(kw_only=True)
class SeatOrder:
    """A move that was ordered.

    Attributes:
        source: The seat that had the task. `target`: the one that is to have it.
        epoch: Number of that ownership.
        began: Time of the order, by the monotonic clock.
    """

    source: Seat
    target: Seat
    epoch: int
    began: float

    @property
    def task(self) -> str:
        """COMPONENT/INDEX."""
        return f"{self.source.component}/{self.source.index}"


@attrs.frozen(kw_only=True)
class SeatView:
    """The words of a ledger and of the workers of its topology at one time.

    Attributes:
        pages: The page of each component with seats; an empty one before the first worker has made it.
        seats: All seats that workers tell of, by component, index and place.
    """

    pages: Mapping[str, Mapping[str, Any]]
    seats: list[Seat]

    def entered(self, component: str, index: int, epoch: int) -> bool:
        """True if the ownership of a number, or a later one, is in the ledger.

        Args:
            index: Number of the task in it.
            epoch: Number of the ownership.

        Raises:
            EngineError: The worker has refused to give the task.
        """
        page = self.pages[component]
        refused = page.get("refused", {}).get(str(index))
        if refused is not None and refused[0] == epoch:
            raise EngineError(f"{component}/{index} does not move: {refused[1]}")
        return bool(page and page["owners"][index][1] >= epoch)

    def settled(self, source: Seat, target: Seat, epoch: int) -> tuple[float | None] | None:
        """The pause of a move that is over, as the seat that gave the task has measured it; None while it is not over.

        Args:
            source: The seat that gave the task.
            target: The one that has it.
            epoch: Number of that ownership.

        Raises:
            EngineError: The task has stayed, as the ledger says.
        """
        seats = {each.task: each for each in self.seats}
        giver, taker = seats.get(source.task), seats.get(target.task)
        if giver is None or taker is None:
            return None
        if giver.owner and giver.epoch > epoch and self.entered(source.component, source.index, epoch + 1):
            raise EngineError(f"{source.component}/{source.index} stays at {source.place}: its state cannot be had")
        over = taker.owner and taker.settled and not giver.owner and giver.settled
        # Whoever restarts in the move owns it under a later number, and has measured nothing.
        return (giver.pause,) if over and taker.epoch >= epoch and giver.epoch >= epoch else None


def no_seats(component: str, topology: str, seated: Iterable[str]) -> str:
    """Sentence on a component whose tasks have no seats.

    Args:
        topology: Name of its topology.
    """
    return f"{component} has no seats: those of {topology} that have are {', '.join(seated)}"


def scale_refusal(component: str, most: int, count: int, *, elastic: bool) -> str:
    """Reason why so many tasks of a component cannot work, "" if they can.

    Args:
        count: Tasks that are to work.
        elastic: Whether it keeps no state, and all its inputs are dealt evenly.
    """
    if not elastic:
        return (
            f"all {most} tasks of {component} have to work: only a stateless component whose inputs are grouped by"
            " shuffle, local-or-shuffle or none can do with fewer"
        )
    if not 1 <= count <= most:
        return f"{component} has {most} tasks: from 1 to {most} can work, and not {count}; submit it with more tasks"
    return ""


def seat_of(task: int, row: list[Any], host: str, port: int, losses: Mapping[str, Mapping[str, Any]]) -> Seat:
    """Read what a worker says of a seat.

    Args:
        task: Id of the seat.
        row: What the worker says (`headworks.storm.seats.Movers`).
        losses: Of the ledger, by component and index.
    """
    component, index, owner, epoch, handing, settled, held, forwarded, disordered, pause = row
    lost, _epoch, loss = losses[component].get(str(index), (0, 0, ""))
    return Seat(
        task=task,
        component=component,
        index=index,
        host=host,
        port=port,
        owner=bool(owner),
        epoch=epoch,
        handing=bool(handing),
        settled=bool(settled),
        held=held,
        forwarded=forwarded,
        disordered=disordered,
        pause=pause / 1000 if pause >= 0 else None,
        lost=lost,
        loss=loss,
    )

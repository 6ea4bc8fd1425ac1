"""Topologies with seats, as a round of Nimbus has them: which of its executors are the seats of one task.

Of a task with seats Nimbus knows an executor for each worker. Task index `i` of a component has those whose task ids
are `first + i * workers` and the next ones, `first` being the lowest of the component
(`headworks.storm.seats.TaskIds`).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import attrs

from headworks.model import FrozenMap

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

KEY, FIT = "headworks.seats", "headworks.seats.fit"
"""Keys of a topology's configuration (`headworks.storm.seats.Seating`, `Requested`)."""
USUAL_FIT = 2.0
"""Times its even share of the tasks that a worker has heap for, unless the topology says otherwise."""
STREAM = "headworks"
"""Stream of markers, states and tuples that are passed on, which is none of the topology's own."""


@attrs.frozen(kw_only=True)
class Seating:
    """Components of a topology that have seats.

    Attributes:
        workers: Seats of each task.
        tasks: Tasks by component, named as in the model.
        ids: Storm's own name of each of these components.
        fit: Times its even share of the tasks that a worker has heap for.
        elastic: Those of which any number of tasks gives the same results, named as in the model.
        merged: Executors and seats of the components, by Storm's own names, of which a rebalance has put several seats
            into one executor: it may hold all seats of a task, so that none can move.
    """

    workers: int
    tasks: FrozenMap[str, int]
    ids: FrozenMap[str, str]
    fit: float = USUAL_FIT
    elastic: frozenset[str] = frozenset()
    merged: FrozenMap[str, tuple[int, int]] = FrozenMap()

    def seats(self, first: int, index: int) -> range:
        """Task ids of the seats of a task.

        Args:
            first: Lowest task id of its component.
            index: Number of the task in its component.
        """
        return range(first + index * self.workers, first + (index + 1) * self.workers)

    def unkept(self, topology: str, workers: int) -> str:
        """Sentences on what a rebalance cannot have, or has taken away; "" if there is nothing of that.

        Args:
            topology: Name of the topology.
            workers: Workers that it is to have.
        """
        said = [
            f"{count} executors of {name} hold its {seats} seats: its tasks stay where they are until"
            f" `storm rebalance {topology} -e {name}={seats}`"
            for name, (count, seats) in self.merged.items()
        ]
        if workers > self.workers:
            said.append(f"tasks have {self.workers} seats, in as many workers: for {workers} workers, submit it anew")
        return "; ".join(said)


def seating_of(
    conf: Mapping[str, Any], components: Iterable[Mapping[str, Any]], names: Mapping[str, str]
) -> Seating | None:
    """Read what a topology's configuration says of its seats; None if it has none, or other tasks than it says.

    Args:
        conf: The configuration: its owner's words, which may be any.
        components: Components of the round, each with its `id` and `executors`.
        names: The model's name by Storm's, of all of them.
    """
    said = conf.get(KEY)
    if not isinstance(said, dict) or not isinstance(said.get("components"), dict):
        return None
    workers = said.get("workers")
    tasks: dict[str, Any] = {
        name: each.get("tasks") for name, each in said["components"].items() if isinstance(each, dict)
    }
    flat = {each["id"]: each["executors"] for each in components}
    if not tasks or type(workers) is not int or workers < 1:
        return None
    if not all(_holds_seats(flat.get(name), count, workers) for name, count in tasks.items()):
        return None
    fit = conf.get(FIT)
    share = float(fit) if isinstance(fit, int | float) and fit > 0 else USUAL_FIT
    seats = {name: count * workers for name, count in tasks.items()}
    apart = {name: count for name, count in tasks.items() if len(flat[name]) == 2 * seats[name]}
    return Seating(
        workers=workers,
        tasks=FrozenMap({names[name]: count for name, count in apart.items()}),
        ids=FrozenMap({names[name]: name for name in apart}),
        fit=min(share, workers),
        elastic=frozenset(names[name] for name in apart if said["components"][name].get("elastic") is True),
        merged=FrozenMap({name: (len(flat[name]) // 2, seats[name]) for name in tasks if name not in apart}),
    )


def _holds_seats(flat: list[int] | None, tasks: Any, workers: int) -> bool:
    """True if executors, as first and last task id of each, are one after the other those of so many tasks."""
    if not flat or type(tasks) is not int or flat[-1] - flat[0] + 1 != tasks * workers:
        return False
    return all(after == before + 1 for before, after in zip(flat[1::2], flat[2::2], strict=False))

"""What placement constraints cost those who have none: plans with the code for them, and with it taken out, in turn.

`python -m headworks_lab.benchmarks.requests.constraint_price [--rounds N] [SCHEDULER ...]` plans Storm's larger
production clusters, which are read without constraints, in one process; the seconds are of its processor time. Taken
out are the counts of a room, and what the score asks of constraints. Plan and check ask each rule of a request, and
here there is none.
"""

from __future__ import annotations

import argparse
import contextlib
import gc
import statistics
import time
from operator import le
from typing import TYPE_CHECKING, Any
from unittest import mock

from headworks import PluginHost
from headworks.api import limited
from headworks.cli.output import console, table
from headworks.problem.plan import score
from headworks.problem.room.room import Room
from headworks_local.maven import resolve
from headworks_storm.client.clusterconf import NAMES, read_request
from headworks_storm.release.artefacts import SERVER_TESTS

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    import numpy as np
    from numpy.typing import NDArray

    from headworks.model import Request

SCHEDULERS = ("resource-aware", "even", "dstorm", "dstorm-plus", "otd")
COLUMNS = ("cluster", "scheduler", "CPU s without", "CPU s with", "ratio", "from", "to")
DEADLINE = 60.0
"""Seconds for a plan: a machine that is busy is not what is measured."""


class Plain:
    """The methods of a room without a word on constraints."""

    def fits(self: Any, task: int) -> NDArray[np.bool_]:
        """See `Room.fits`."""
        found: NDArray[np.bool_] = self.has_worker(task)
        for resource, need in enumerate(self._problem.demand[task].tolist()):
            found &= self.free[:, resource] >= need
        return found

    def fits_on(self: Any, task: int, node: int) -> bool:
        """See `Room.fits_on`."""
        return all(map(le, self._demand[task], self.free[node].tolist())) and self._workers.fit(task, node)

    def admits(self: Any, *_: int) -> bool:
        """See `Room.admits`."""
        return True

    def place(self: Any, task: int, node: int) -> None:
        """See `Room.place`."""
        self.node_of[task] = node
        self.free[node] -= self._problem.demand[task]
        self._workers.add(task, node)
        self._recount(task, node)

    def place_alike(self: Any, tasks: Sequence[int], node: int) -> int:
        """See `Room.place_alike`."""
        count = len(tasks)
        for need, free in zip(self._demand[tasks[0]], self.free[node].tolist(), strict=True):
            if need > free:
                return 0
            if need > 0:
                count = min(count, int(free // need))
        count = self._workers.add_alike(tasks[:count], node)
        if count:
            self.node_of[tasks[:count]] = node
            self.free[node] -= count * self._problem.demand[tasks[0]]
            self._recount(tasks[0], node)
        return count

    def remove(self: Any, task: int) -> None:
        """See `Room.remove`."""
        node = int(self.node_of[task])
        self.node_of[task] = -1
        self.free[node] += self._problem.demand[task]
        self._workers.remove(task, node)
        self._recount(task, node)


@contextlib.contextmanager
def without() -> Iterator[None]:
    """Headworks without constraints."""
    parts: list[tuple[Any, str, Any]] = [
        (score, "penalty", lambda *_: 0.0),
        *((Room, name, each) for name, each in vars(Plain).items() if not name.startswith("_")),
    ]
    with contextlib.ExitStack() as stack:
        for where, name, instead in parts:
            stack.enter_context(mock.patch.object(where, name, instead))
        yield


def planned(host: PluginHost, scheduler: str, request: Request) -> tuple[float, Any]:
    """Seconds of processor time for a plan, and where its tasks are."""
    gc.collect()
    begin = time.process_time()
    plan = host.schedule(scheduler, request)
    return time.process_time() - begin, plan.assignment


def main() -> None:
    """Print one line a cluster and scheduler: medians of both, and the ratios of pairs."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=5, help="pairs of plans")
    parser.add_argument("--cluster", action="append", choices=NAMES, help="only this one")
    parser.add_argument("schedulers", nargs="*", default=SCHEDULERS, help="schedulers")
    arguments = parser.parse_args()
    host, rows = PluginHost.load(), []
    for cluster in arguments.cluster or NAMES[:2]:
        request = limited(read_request(resolve(SERVER_TESTS), cluster), deadline=DEADLINE)
        for scheduler in arguments.schedulers:
            planned(host, scheduler, request)
            spent: list[tuple[float, float]] = []
            for _ in range(arguments.rounds):
                with without():
                    plain, there = planned(host, scheduler, request)
                usual, same = planned(host, scheduler, request)
                assert there == same, f"{scheduler} decides otherwise on {cluster}"
                spent.append((plain, usual))
            medians = [statistics.median(each) for each in zip(*spent, strict=True)]
            ratios = sorted(usual / plain for plain, usual in spent)
            figures = (*medians, statistics.median(ratios), ratios[0], ratios[-1])
            rows.append((cluster, scheduler, *(f"{each:.2f}" for each in figures)))
    console().print(table("", COLUMNS, rows, numbers=COLUMNS[2:]))


if __name__ == "__main__":
    main()

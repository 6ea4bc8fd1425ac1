"""The four cases of section 4.2 (Fig. 6), by whether Workers are under high and under low load."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

import attrs
import numpy as np
from numpy.typing import NDArray

from headworks.hooks import Verdict
from headworks.model import Request
from headworks.problem import Problem
from headworks_nstorm.workers import Workers

if TYPE_CHECKING:
    from headworks.model import Observation
    from headworks_nstorm.options import Options

Case = Literal["balance", "warn", "optimise", "nothing"]
"""Cases 1 to 4: run Algorithm 1, warn of lacking resources, run Algorithm 2, do nothing."""


def case_of(high: bool, low: bool) -> Case:  # noqa: FBT001 - the two are the axes of a table
    """The case for whether any Worker is under high load, and any under low load.

    Args:
        high: Whether any Worker is under high load.
        low: Whether any Worker is under low load.
    """
    if high:
        return "balance" if low else "warn"
    return "optimise" if low else "nothing"


@attrs.frozen(eq=False, kw_only=True)
class Loads:
    """Load of each of the k Workers.

    Attributes:
        used: CPU in use, in percent of a core, float64 (k,).
        ratio: The same as a share of what the Worker may use, float64 (k,).
        high: Whether it is under high load, bool (k,).
        low: Whether it is under low load, bool (k,).
    """

    used: NDArray[np.float64]
    ratio: NDArray[np.float64]
    high: NDArray[np.bool_]
    low: NDArray[np.bool_]

    @property
    def case(self) -> Case:
        """Case of section 4.2."""
        return case_of(bool(self.high.any()), bool(self.low.any()))


def loads(problem: Problem, workers: Workers, options: Options) -> Loads:
    """Classify the Workers by CPU and by the queues of what runs in them; a node without a slot has no Worker.

    Args:
        problem: The request as arrays.
        workers: The Workers, and what runs in each.
        options: Thresholds of load and queue.
    """
    of, count = workers.of, len(workers.node)
    used = np.zeros(count)
    np.add.at(used, of[of >= 0], problem.demand[of >= 0, 0])
    ratio = np.divide(used, workers.cpu, out=np.where(used > 0, np.inf, 0.0), where=workers.cpu > 0)
    full = np.zeros(count, dtype=bool)
    behind = of[long_queues(problem, options)]
    full[behind[behind >= 0]] = True
    exists = problem.slots[workers.node] > 0
    high = (full | (ratio > options.high_load)) & exists
    return Loads(used=used, ratio=ratio, high=high, low=(ratio < options.low_load) & ~high & exists)


def running_workers(problem: Problem, options: Options) -> Workers:
    """The Workers that run, in the sense that the options give to the word.

    Args:
        problem: The request as arrays.
        options: Whether a Worker is a node or a slot.
    """
    return Workers.by_slot(problem) if options.workers == "slots" else Workers.by_node(problem, problem.current)


def long_queues(problem: Problem, options: Options) -> NDArray[np.int64]:
    """Executors with more tuples in their queue than a Worker under low or normal load has, ascending.

    Args:
        problem: The request as arrays.
        options: Threshold of the queue.
    """
    samples = problem.request.metrics.tasks if problem.measured else ()
    found = {problem.task_index[each.task] for each in samples if (each.queue or 0.0) > options.high_queue}
    return np.array(sorted(found), dtype=np.int64)


def analyse(observation: Observation, options: Options) -> Verdict:
    """Say which case an observation is; balance and optimise call for a plan, and so does a task that runs nowhere.

    Args:
        observation: A window of measurement.
        options: Thresholds of load and queue.
    """
    problem = Problem.of(Request.of(observation), measured=options.measured)
    waiting = int((problem.current < 0).sum())
    found = loads(problem, running_workers(problem, options), options)
    case = found.case
    if waiting:
        return Verdict(replan=True, state="unassigned", reasons=(f"{waiting} tasks have no live slot",))
    high, low = int(found.high.sum()), int(found.low.sum())
    units = "Workers" if options.workers == "slots" else "nodes"
    said = {
        "balance": f"{high} {units} are under high load, {low} under low load",
        "warn": f"{high} {units} are under high load and none under low load: the cluster lacks resources, add nodes",
        "optimise": f"no {units} are under high load, {low} are under low load",
        "nothing": f"no {units} are under high load, none under low load",
    }
    return Verdict(replan=case in ("balance", "optimise"), state=case, reasons=(said[case],))

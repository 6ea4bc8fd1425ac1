"""Metrics of a process that runs rounds: their totals, and figures of what the newest one saw."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from typing import TYPE_CHECKING, Literal, get_args

import attrs
import numpy as np

from headworks.control.guards import measure
from headworks.control.journal import Outcome
from headworks.model import STARVED, MoveKind
from headworks.model.scaling import rescaled
from headworks.problem import Problem

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from headworks.control.journal import Round
    from headworks.control.totals import Totals
    from headworks.model import Plan, Request, Task, TaskSample
    from headworks.plugins.tally import PluginTally

    Sample = tuple[tuple[str, ...], float | tuple[int, float]]
    """Values of the labels, and the value; of a summary the count and the sum."""


@attrs.frozen(kw_only=True)
class MetricFamily:
    """A metric with all of its labels.

    Attributes:
        kind: `summary` has a count and a sum: `NAME_count` and `NAME_sum`.
        help: A sentence.
        stability: `stable` if name, labels and meaning stay within a major version, `trial` if they may change.
    """

    name: str
    kind: Literal["counter", "gauge", "summary"]
    labels: tuple[str, ...]
    help: str
    stability: Literal["stable", "trial"] = "stable"


ROUNDS = MetricFamily(
    name="headworks_rounds_total", kind="counter", labels=("outcome",), help="Rounds, by how they ended."
)
PLANNING = MetricFamily(
    name="headworks_planning_seconds",
    kind="summary",
    labels=("scheduler",),
    help="Plans that were asked for, and the seconds that they took with all checks.",
)
MOVES = MetricFamily(
    name="headworks_moves_total", kind="counter", labels=("kind",), help="Moves of plans that were carried out."
)
STOPS = MetricFamily(
    name="headworks_stop_seconds",
    kind="summary",
    labels=(),
    help="Moved tasks, and the seconds for which they did nothing, where the engine measures it (Storm with seats).",
    stability="trial",
)
FORECASTS = MetricFamily(
    name="headworks_forecast_error",
    kind="summary",
    labels=("figure",),
    help="Forecasts of plans that were carried out, and the sum of their errors, each as a part of what was measured "
    "in the next round.",
    stability="trial",
)
SHARE = MetricFamily(
    name="headworks_traffic_share",
    kind="gauge",
    labels=("of",),
    help="Share of the traffic that goes between nodes: measured on what runs, planned by the newest plan, and "
    "predicted by the plan that was carried out last.",
)
NODES = MetricFamily(
    name="headworks_nodes",
    kind="gauge",
    labels=("state",),
    help="Nodes that the newest round saw: overloaded, in use below their capacity, or empty.",
)
UNPLACED = MetricFamily(
    name="headworks_unplaced_tasks",
    kind="gauge",
    labels=("reason",),
    help="Tasks without a slot in the newest plan, by the resource that is short or another reason.",
)
REPORTS = MetricFamily(
    name="headworks_reports_total",
    kind="counter",
    labels=("fate",),
    help="Reports of workers, callers and records by their fate, as the adapter counts them.",
    stability="trial",
)
ERRORS = MetricFamily(
    name="headworks_plugin_errors_total",
    kind="counter",
    labels=("plugin", "hook"),
    help="Calls of plugins that raised, were late, or gave an answer that breaks a rule.",
)
OF_TASK = ("topology", "component", "index")
TASKS = {
    "cpu": MetricFamily(
        name="headworks_task_cpu_points",
        kind="gauge",
        labels=OF_TASK,
        help="CPU of a task, 100 for a core; this and the next three with `--metrics-tasks`.",
        stability="trial",
    ),
    "received": MetricFamily(
        name="headworks_task_received_tuples",
        kind="gauge",
        labels=OF_TASK,
        help="Tuples a second that a task received.",
        stability="trial",
    ),
    "emitted": MetricFamily(
        name="headworks_task_emitted_tuples",
        kind="gauge",
        labels=OF_TASK,
        help="Tuples a second that a task emitted.",
        stability="trial",
    ),
    "queue": MetricFamily(
        name="headworks_task_queued_tuples",
        kind="gauge",
        labels=OF_TASK,
        help="Tuples that waited in the queue of a task.",
        stability="trial",
    ),
}
"""Metrics of a task, by the figure of its sample that they show."""
FAMILIES = (ROUNDS, PLANNING, MOVES, STOPS, FORECASTS, SHARE, NODES, UNPLACED, REPORTS, ERRORS, *TASKS.values())
"""All metrics, in the order in which they are shown."""
OTHER = "other"
"""Reason of unplaced tasks of which the plan names no one by one."""


@attrs.frozen(kw_only=True)
class RunningFigures:
    """Figures of what runs: the measured share between nodes, None without, and the number of nodes by state."""

    share: float | None = None
    nodes: Mapping[str, int] = attrs.field(factory=dict)


def running_figures(newest: Round | None) -> RunningFigures:
    """Figures of what the newest round saw; of 36,000 tasks they take a second."""
    if newest is None or newest.request is None:
        return RunningFigures()
    return RunningFigures(share=measure(newest.request, "traffic"), nodes=node_states(newest.request))


def busiest(seen: Request | None, most: int) -> list[tuple[Task, TaskSample]]:
    """The measured tasks that use the most CPU, then those that receive the most.

    Args:
        seen: What runs.
        most: How many at most.
    """
    if seen is None:
        return []
    tasks = {task.id: task for topology in seen.topologies for task in topology.tasks()}
    order = sorted(seen.metrics.tasks, key=lambda each: (-(each.cpu or 0.0), -(each.received or 0.0), each.task))
    return [(tasks[each.task], each) for each in order[:most]]


def samples(
    totals: Totals,
    runs: RunningFigures,
    tally: PluginTally,
    counts: Mapping[str, int],
    tasks: Iterable[tuple[Task, TaskSample]] = (),
) -> Iterator[tuple[MetricFamily, Iterable[Sample]]]:
    """Each metric with its samples.

    Args:
        totals: Of the rounds so far.
        runs: Of the newest round.
        tally: Of the plugins that took part in them.
        counts: Of the adapter beside the rounds, by name.
        tasks: Those whose figures are shown.
    """
    # All that there can be: what is counted first would else be no increase to Prometheus.
    yield ROUNDS, _by_name({**dict.fromkeys(get_args(Outcome), 0), **totals.rounds})
    yield PLANNING, [((name,), plans) for name, plans in tally.plans().items()]
    yield MOVES, _by_name({**dict.fromkeys(map(str, MoveKind), 0), **totals.moves})
    yield STOPS, [((), (totals.stops, totals.stopped))]
    yield FORECASTS, [((figure,), found) for figure, found in totals.errors.items()]
    yield SHARE, _by_name(dict(_shares(totals, runs.share)))
    yield NODES, _by_name(runs.nodes)
    yield UNPLACED, _by_name({} if totals.planned is None else _left(totals.planned))
    yield REPORTS, _by_name(counts)
    yield ERRORS, list(tally.errors().items())
    rows = [((task.topology, task.component, str(task.index)), sample) for task, sample in tasks]
    for figure, family in TASKS.items():
        found = ((labels, getattr(sample, figure)) for labels, sample in rows)
        yield family, [(labels, value) for labels, value in found if value is not None]


def _by_name(values: Mapping[str, float]) -> list[Sample]:
    return [((name,), value) for name, value in sorted(values.items())]


def _shares(totals: Totals, measured: float | None) -> Iterator[tuple[str, float]]:
    if measured is not None:
        yield "measured", measured
    if totals.planned is not None and totals.planned.plan is not None:
        yield "planned", totals.planned.plan.scores.share
    if totals.carried is not None:
        yield "predicted", totals.carried.scores.share


def node_states(request: Request) -> dict[str, int]:
    """Number of nodes by state, each node in one."""
    problem = Problem.of(request)
    over = (problem.used(problem.current) > problem.capacity).any(axis=1)
    used = np.bincount(problem.current[problem.current >= 0], minlength=problem.m) > 0
    counts = {"overloaded": over, "used": used & ~over, "empty": ~used & ~over}
    return {state: int(mask.sum()) for state, mask in counts.items()}


def _left(done: Round) -> Mapping[str, int]:
    return {} if done.plan is None or done.request is None else unplaced(done.plan, done.request)


def unplaced(plan: Plan, request: Request) -> dict[str, int]:
    """Number of tasks without a slot, by the resource that is short or the code of another reason.

    A plan gives a reason for each of the first of them, and of the others only their number: these are `OTHER`.
    """
    starved = {each.subject for each in plan.reasons if each.code == STARVED}
    tasks = [task for topology in rescaled(request, plan).topologies for task in topology.tasks()]
    missing = {task.id: task.topology for task in tasks if task.id not in plan.assignment}
    found = Counter(STARVED for topology in missing.values() if topology in starved)
    for reason in plan.reasons:
        if reason.subject in missing:
            found[(reason.resource or reason.code) if reason.code == "capacity" else reason.code] += 1
    found[OTHER] = max(plan.scores.unplaced - found.total(), 0)
    return dict(+found)

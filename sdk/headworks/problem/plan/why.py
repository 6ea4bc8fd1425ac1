"""The reasons for one task's place in a plan: each node in its stead, with the rest of the plan as it is.

No scheduler takes part: the figures are those by which all are compared, and limits are those that every plan keeps.
"""

from __future__ import annotations

from collections import Counter
from html import escape
from typing import TYPE_CHECKING

import attrs
import numpy as np

from headworks.errors import DocumentError, known_names
from headworks.model import Reason, Repair, Slot
from headworks.model.plan import html_table
from headworks.model.scaling import rescaled
from headworks.model.spoken import node_named, task_named
from headworks.model.tabular import Record, Tabular
from headworks.problem.arrays.arrays import STEP
from headworks.problem.arrays.profiles import FULL, Profiled, load_with
from headworks.problem.plan.alternatives import Others, no_slot, restarts
from headworks.problem.plan.problem import Problem

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from headworks.model import Plan, Request
    from headworks.problem.arrays.arrays import Arrays


@attrs.frozen(kw_only=True)
class Alternative:
    """One node for a task, all others as planned. Figures are changes against the plan, so those of its node are 0.

    Attributes:
        node: Id of the node.
        fits: Whether the task may be there.
        reasons: Resources that are short, hard constraints that it would break, and limits; none where it fits.
        slot: Slot that it would have, None where there is none.
        inter_node: Change of the traffic between nodes, in the unit of the scores. For a task without a slot it is
            against a plan in which all its traffic is between nodes.
        fullest_node: Change of the largest used share of any resource on any node.
        restarts: Change of the number of running workers whose tasks change.
    """

    node: str
    fits: bool
    reasons: tuple[Reason, ...] = ()
    slot: Slot | None = None
    inter_node: float = 0.0
    fullest_node: float = 0.0
    restarts: int = 0


@attrs.frozen(kw_only=True, repr=False)
class Why(Tabular):
    """The reasons for one task's place.

    Attributes:
        task: Its id.
        scheduler: Name of the scheduler, "" where none was asked: the plan is what runs, or the loop's own.
        planned: Slot that the plan gives it, None for none.
        running: Slot in which it runs, None if it does not.
        unit: Unit of traffic.
        traffic: Traffic that it exchanges with all other tasks.
        alternatives: A row for each node: that of the plan, those that fit by traffic, fullest node and restarts, the
            others. If one node was asked about, its row and that of the plan.
        best: Id of the first other node that fits, None if none does.
        break_even: Traffic more that the task would have to exchange with tasks on that node for it to be as good by
            traffic; negative where that node is better by traffic already.
        state: MB of its state that another node has to load before it can run there; None where that is not known.
        repaired: The core's change of what the scheduler decided, None where the task is where it was decided.
        sentence: All of this in a sentence.
    """

    task: str
    scheduler: str
    planned: Slot | None
    running: Slot | None
    unit: str
    traffic: float
    alternatives: tuple[Alternative, ...]
    best: str | None = None
    break_even: float | None = None
    state: float | None = None
    repaired: Repair | None = None
    sentence: str = ""

    @property
    def rows(self) -> list[Record]:
        """A row for each node: whether the task fits there, the changes, and the reasons against it."""
        return [
            {
                "task": self.task,
                "scheduler": self.scheduler,
                **attrs.asdict(each, filter=lambda field, _: field.name not in ("slot", "reasons")),
                "reasons": "; ".join(reason.message for reason in each.reasons),
            }
            for each in self.alternatives
        ]

    def __repr__(self) -> str:
        """A line, which is the sentence."""
        return f"<Why {self.task}: {self.sentence}>"

    def _repr_html_(self) -> str:
        """A table for a notebook, one row a node."""
        columns = ("node", "fits", f"traffic between nodes ({self.unit})", "fullest node", "restarts", "reasons")
        return f"<p>{escape(self.sentence)}</p>{html_table(columns, map(_cells, self.alternatives))}"


def _cells(row: Alternative) -> tuple[object, ...]:
    figures = (f"{row.inter_node:+.4g}", f"{100 * row.fullest_node:+.1f}%", row.restarts)
    return row.node, "yes" if row.fits else "no", *figures, "; ".join(each.message for each in row.reasons)


def explain(request: Request, plan: Plan, task: str, *, node: str | None = None) -> Why:
    """Find the reasons for a task's place.

    A move's turn is not looked at: a node that fits may have to be left by another task first.

    Args:
        plan: The plan for it, of any scheduler, or what runs (`headworks.problem.plan.standing`).
        task: Id of the task, `TOPOLOGY/COMPONENT/INDEX`; the topology's name serves as well.
        node: Say why it is not on this node, named by its id or its host.

    Raises:
        DocumentError: The plan has no such task, or the cluster no such node.
    """
    asked = rescaled(request, plan)
    problem, basis = Problem.of(asked), Problem.of(asked, measured=plan.measured)
    task = task_named(asked.topologies, task)
    index = problem.task_index.get(task)
    if index is None:
        raise DocumentError("", _unknown(problem, task))
    there = None if node is None else node_named(asked.cluster.nodes, node)
    others = Others.of(basis, plan, index)
    rows = _rows(problem, others)
    here = others.planned.node if others.planned else None
    rows = sorted(rows, key=lambda row: (row.node != here, not row.fits, *_figures(row)))
    rows = rows if there is None else [row for row in rows if row.node in (here, there)]
    better = next((row for row in rows if row.fits and row.node != here), None)
    found = Why(
        task=task,
        scheduler=plan.provenance.scheduler,
        planned=others.planned,
        running=others.ran,
        unit=problem.traffic.unit,
        traffic=_exchanged(problem, index) * _rate(problem, plan),
        alternatives=tuple(rows),
        best=better.node if better else None,
        break_even=better.inter_node if better and here is not None else None,
        state=next((each.state for each in asked.metrics.tasks if each.task == task), None),
        repaired=next((each for each in plan.repaired if each.task == task), None),
    )
    said = _sentence(found, plan) if there is None else _about(found, plan, there)
    loads = f"; another node has to load {found.state:g} MB of its state first" if found.state else ""
    return attrs.evolve(found, sentence=said + loads)


def _figures(row: Alternative) -> tuple[float, float, int, str]:
    return row.inter_node, row.fullest_node, row.restarts, row.node


def _rows(problem: Arrays, others: Others) -> list[Alternative]:
    slots, planned = others.slots(), others.planned
    local = problem.traffic.of_task(others.task, others.node_of, problem.m)
    rate = _rate(problem, others.plan) / problem.traffic.scale
    fullest = _fullest(problem, others)
    at = problem.node_index[planned.node] if planned else -1
    now, full = (int(local[at]), float(fullest[at])) if planned else (0, _without(problem, others))
    rows: dict[str, tuple[tuple[bool, int, Slot], Alternative]] = {}
    changed = restarts(others, planned)
    for slot, why in zip(slots, others.reasons(slots), strict=True):
        node, more = problem.node_index[slot.node], restarts(others, slot) - changed
        row = Alternative(
            node=slot.node,
            fits=not why,
            reasons=tuple(why),
            slot=slot,
            inter_node=(now - int(local[node])) * rate,
            fullest_node=float(fullest[node]) - full,
            restarts=more,
        )
        rank = (bool(why), more, slot)  # of the slots of a node that which fits, then that which restarts fewest
        if slot.node not in rows or rank < rows[slot.node][0]:
            rows[slot.node] = (rank, row)
    none = (node for node in problem.node_ids if node not in rows)
    full_nodes = [Alternative(node=node, fits=False, reasons=(no_slot(others, node),)) for node in none]
    return [row for _, row in rows.values()] + full_nodes


def _ratios(problem: Arrays, others: Others) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Used share of each resource of each node, without the task and with it there, as `score` counts it."""
    usage, whole = problem.used(others.node_of), np.maximum(problem.capacity, STEP)
    without, there = usage / whole, (usage + problem.demand[others.task]) / whole
    if others.plan.input_rate is not None:
        loads = load_with(problem, others.node_of, others.task, others.plan.input_rate)
        without[:, 0], there[:, 0] = (each / FULL for each in loads)
    return without, there


def _without(problem: Arrays, others: Others) -> float:
    return float(_ratios(problem, others)[0].max(initial=0.0))


def _fullest(problem: Arrays, others: Others) -> NDArray[np.float64]:
    """Largest used share of any node with the task on each, shape (m,): the task's node only becomes fuller."""
    without, there = _ratios(problem, others)
    found: NDArray[np.float64] = np.maximum(without.max(initial=0.0), there.max(axis=1, initial=0.0))
    return found


def _rate(problem: Arrays, plan: Plan) -> float:
    """Factor from stated traffic to that at the plan's input rate, as `score` has it."""
    if plan.input_rate is None:
        return 1.0
    return plan.input_rate / (Profiled.of(problem.request).input_rate or plan.input_rate or 1.0)


def _exchanged(problem: Arrays, task: int) -> float:
    together = np.zeros(problem.n, dtype=np.int64)
    return float(problem.traffic.of_task(task, together, 1)[0]) / problem.traffic.scale


def _sentence(why: Why, plan: Plan) -> str:
    where = _where(why, plan)
    if why.best is None:
        return f"{where}: no {'other ' if why.planned else ''}node can take it ({_obstacles(why) or 'there is none'})"
    count = sum(row.fits and row.slot != why.planned for row in why.alternatives)
    others = (
        f"{count} other node{'' if count == 1 else 's'}" if why.planned else f"{count} of {len(why.alternatives)} nodes"
    )
    if why.break_even is None:
        return f"{where}, though {others} could take it, {why.best} with the least traffic"
    return f"{where}; of {others} that could take it the best, {why.best}, {_by_traffic(why, why.break_even)}"


def _about(why: Why, plan: Plan, node: str) -> str:
    """The sentence on one node."""
    where, row = _where(why, plan), next(each for each in why.alternatives if each.node == node)
    if why.planned is not None and why.planned.node == node:
        return where
    if not row.fits:
        return f"{where}; {node} cannot take it: {'; '.join(reason.message for reason in row.reasons)}"
    if why.break_even is None:
        return f"{where}, though {node} could take it"
    changes = f"fullest node {row.fullest_node:+.1%}, restarts {row.restarts:+d}"
    return f"{where}; {node} could take it ({changes}): it {_by_traffic(why, why.break_even)}"


def _where(why: Why, plan: Plan) -> str:
    where = f"{why.task} is on {why.planned.node}" if why.planned else f"{why.task} has no slot"
    if why.repaired is not None:
        where += f" ({why.scheduler} decided on {why.repaired.source or 'no node'}; {why.repaired.why})"
    return f"the plan is held, so that {where}" if plan.status == "held" else where


def _by_traffic(why: Why, more: float) -> str:
    """What another node has more or less between nodes, and what follows."""
    change = f"{abs(more):,.6g} {why.unit}"
    if more > 0:
        return f"has {change} more between nodes: with so much more between the task and that node it would be as good"
    if more == 0:
        return "has as much traffic between nodes"
    said = f": {why.scheduler} does not go by traffic alone, or did not find it" if why.scheduler else ""
    return f"has {change} less between nodes{said}"


def _obstacles(why: Why) -> str:
    """Number of nodes by the first thing that each is short of."""
    here = why.planned.node if why.planned else None
    first = (row.reasons[0] for row in why.alternatives if row.reasons and row.node != here)
    count = Counter(reason.resource or reason.code for reason in first)
    return ", ".join(f"{what}: {number}" for what, number in sorted(count.items()))


def _unknown(problem: Arrays, task: str) -> str:
    """A message with names of tasks that are like the unknown one, or of components."""
    near = [each for each in problem.task_ids if each.startswith(f"{task}/")]
    if near:
        return f"{task!r} is not a task but has {len(near)}: {near[0]} to {near[-1]}"
    parts = ["/".join(each) for each in problem.components]
    of = task.rpartition("/")[0]
    mine = [each for each in problem.task_ids if each.rpartition("/")[0] == of]
    if mine:
        return f"there is no task {task!r}; {of} has {mine[0]} to {mine[-1]}"
    said = f"no component {of or task!r}{known_names(of or task, parts)}"
    return f"{task!r} is not a task (TOPOLOGY/COMPONENT/INDEX): {said}"

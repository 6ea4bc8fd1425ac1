"""Plans of schedulers, receipts of executors, changes by steps, and the tables in which notebooks show them."""

from __future__ import annotations

import enum
from collections.abc import Callable, Mapping, Sequence
from html import escape
from typing import TYPE_CHECKING, Literal, Protocol, runtime_checkable

import attrs

from headworks.model.cluster import Slot
from headworks.model.sketch import sketch
from headworks.model.tabular import Record, Tabular
from headworks.model.values import FrozenMap

if TYPE_CHECKING:
    from collections.abc import Iterable


ROWS = 20
"""Rows of a table, at most."""


def html_table(columns: Sequence[str], rows: Iterable[Sequence[object]]) -> str:
    """A table, cut where it is long.

    Args:
        rows: Cells of each row, as many as columns; None is an empty one.
    """
    every = list(rows)
    more = len(every) - ROWS
    lines = [_row("th", columns), *(_row("td", each) for each in every[:ROWS])]
    if more > 0:
        lines.append(_row("td", [f"{more} more", *[""] * (len(columns) - 1)]))
    return f"<table>{''.join(lines)}</table>"


def _row(tag: str, cells: Sequence[object]) -> str:
    inner = "".join(f"<{tag}>{'' if cell is None else escape(str(cell))}</{tag}>" for cell in cells)
    return f"<tr>{inner}</tr>"


STARVED = "starved"
"""Code of the reason that names a topology left without nodes on purpose: others at least as important take them."""

NOT_SEARCHED = "not-searched"
"""Code of the reason that a scheduler gives whose plan is whole but not what it is for: the request was too large."""

NO_PROFILES = "no-profiles"
"""Code of the reason that a scheduler gives which plans by profiles, and had none: its plan is whole, and no result."""

ENDED_EARLY = "ended-early"
"""Code of the reason that the host gives where it asked a search for its best plan so far, as its deadline was near or
Ctrl-C came, and that a scheduler gives whose search a clock cut short: the plan is whole, and another run may find
another one."""

FULLER = "fuller"
"""Code of the reason that the host gives where a plan takes more than `limits.fill` of a node's CPU, to place or bear
more."""

THREADS = "threads"
"""Code of the reason that the host gives for a component that declares more CPU for a task than its threads can use:
what they can use was planned with."""

REMARKS = {
    NOT_SEARCHED: "not searched",
    NO_PROFILES: "no profiles",
    ENDED_EARLY: "ended early",
    FULLER: "fuller",
    THREADS: "beyond threads",
}
"""What a table says after the status, by the code of a reason that a plan may give although it is whole."""


class Status(enum.StrEnum):
    """Outcome of planning."""

    OK = "ok"
    """Every task has a slot."""
    INFEASIBLE = "infeasible"
    """Some task cannot be placed; `reasons` say which resource, need and have; the rest may be assigned."""
    HELD = "held"
    """The scheduler failed (raised, overran, answered nonsense): the running assignment stands."""


@attrs.frozen(kw_only=True)
class Reason:
    """Reason why a plan is not OK, or was not searched for: a code, its subject, and the resource that is short."""

    code: str
    subject: str
    message: str
    resource: str | None = None
    need: float | None = None
    have: float | None = None


class MoveKind(enum.StrEnum):
    """Kind of a move."""

    PLACE = "place"
    MIGRATE = "migrate"
    EVICT = "evict"


@attrs.frozen(kw_only=True)
class Move:
    """One step from the running assignment to the planned one.

    An `evict` takes a running task off its slot (`target` is None); a `place` follows if it goes elsewhere.
    """

    kind: MoveKind
    task: str
    source: Slot | None = None
    target: Slot | None = None


@attrs.frozen(kw_only=True)
class Repair:
    """A task that is not where its scheduler decided, as the decision broke a rule.

    Attributes:
        task: Its id.
        source: Node that was decided, None where the scheduler left it without one.
        target: Node on which the core puts it, None where it is left without one.
        why: The rule, in words.
    """

    task: str
    source: str | None = None
    target: str | None = None
    why: str = ""

    def __str__(self) -> str:
        return f"{self.task} was decided on {self.source or 'no node'} and is on {self.target or 'no node'}: {self.why}"


@attrs.frozen(kw_only=True)
class Scores:
    """The figures by which every scheduler is compared, all computed by `headworks.problem.plan.score`.

    Attributes:
        unit: Unit of traffic, `tuples/s` or `bytes/s`.
        traffic: All traffic between different tasks, at the plan's input rate if it names one.
        inter_node: Traffic between tasks on different nodes (Eq. 5.2 of D-Storm).
        share: inter_node / traffic, 0 where there is none.
        nodes_used: Nodes that host a task (Eq. 5.3).
        workers: Slots that host a task.
        cost: Sum of the prices of the nodes used, per hour; None where a node used has no price.
        fullest_node: Largest used share of any resource on any node.
        fullest_link: Largest load of a node's network, by what leaves it for other nodes or comes from them: over its
            bandwidth where nodes state one, else over an even share of all traffic (`traffic` / nodes).
        factor: Factor of the load that the plan bears: every rate may grow by it until a node's CPU, the threads
            of a task or the network of a node that states a bandwidth are full; None without CPU demand.
        balance: Smallest over largest CPU utilisation among the nodes used, 1 = even; None without demand.
        moves: Running tasks that change or lose their slot; those of a dead node do not run.
        unplaced: Tasks without a slot.
        throughput: Tuples/s that all tasks of profiled components together process at the highest input rate that
            overloads no node, no task's threads and no network of known bandwidth, by the profiles; None without
            profiles, or where one does not cover its node.
        penalty: Weight of the soft constraints that are broken: of each its weight, times the tasks that break it.
        batch_seconds: Longest batch of a sequential topology: the slowest node of each stage, stage after stage.
        state_seconds: Seconds that the first batch takes longer, in which nodes load the state of tasks that move.
            Both None without such a topology, where one of its tasks has no slot, or where profiles price its tasks.
    """

    unit: str = "tuples/s"
    traffic: float = 0.0
    inter_node: float = 0.0
    share: float = 0.0
    nodes_used: int = 0
    workers: int = 0
    cost: float | None = None
    fullest_node: float = 0.0
    fullest_link: float = 0.0
    factor: float | None = None
    balance: float | None = None
    moves: int = 0
    unplaced: int = 0
    throughput: float | None = None
    penalty: float = 0.0
    batch_seconds: float | None = None
    state_seconds: float | None = None

    @property
    def idle(self) -> bool:
        """True if no task has a place: nothing crosses a network then, whatever `share` counts as apart."""
        return not self.nodes_used


@attrs.frozen(kw_only=True)
class Bound:
    """Bound that no plan which fits the measurements can beat, as an exact scheduler found it.

    Attributes:
        figure: The score that it bounds: `inter_node` from below, or `throughput` from above.
        value: The bound, in the unit of that score.
        proven: Whether the plan reaches the bound (within the scheduler's tolerance), so that it is the optimum; or a
            plan with more tasks does, of whose throughput the scheduler was told to give up a part (`within`).
    """

    figure: str
    value: float
    proven: bool = False


@attrs.frozen(kw_only=True)
class Provenance:
    """Provenance of a plan: enough to make it again, byte for byte."""

    scheduler: str = ""
    version: str = ""
    options: FrozenMap[str, object] = FrozenMap()
    seed: int = 0
    request: str = ""


@attrs.frozen(kw_only=True, repr=False)
class Plan(Tabular):
    """The answer to a request. `assignment` maps task ids to slots; `moves` lead there in order.

    `measured` tells whether the plan fits measured demands, or declared ones alone. Scores are computed on measured
    demands if there are any, for every scheduler alike.

    A scheduler that chooses the number of tasks names it in `parallelism`, by `topology/component`. Other components
    keep theirs, and task ids follow (`headworks.model.scaling`). `input_rate` is the rate of all spouts together, in
    tuples/s; components with profiles are then priced at that rate.

    `repaired` has the tasks that the core moved, as the decision broke a constraint or the limit on batches. Repairs
    that a scheduler makes itself are its decision, and not in it.
    """

    status: Status = Status.OK
    reasons: tuple[Reason, ...] = ()
    assignment: FrozenMap[str, Slot] = FrozenMap()
    moves: tuple[Move, ...] = ()
    scores: Scores = Scores()
    measured: bool = True
    parallelism: FrozenMap[str, int] = FrozenMap()
    input_rate: float | None = None
    bound: Bound | None = None
    provenance: Provenance = Provenance()
    repaired: tuple[Repair, ...] = ()
    explanation: str = ""

    @property
    def rows(self) -> list[Record]:
        """A row for each task that has a place: its id, its component and index, and its node and port."""
        parts = ((task, *task.rpartition("/")[::2], slot) for task, slot in sorted(self.assignment.items()))
        return [
            {
                "task": task,
                "component": component,
                "index": int(index) if index.isdecimal() else None,
                "node": slot.node,
                "port": slot.port,
            }
            for task, component, index, slot in parts
        ]

    @property
    def starves(self) -> bool:
        """True if the only tasks without a slot are those of topologies that the scheduler starves on purpose.

        Such a plan is complete as far as it goes: the control loop carries it out.
        """
        codes = {reason.code for reason in self.reasons}
        beside = {STARVED, "move-limit", ENDED_EARLY, THREADS}
        return self.status is Status.INFEASIBLE and STARVED in codes and codes <= beside

    @property
    def label(self) -> str:
        """Label of the outcome, as short as a table needs it."""
        status = "starves" if self.starves else str(self.status)
        remarks = [REMARKS[reason.code] for reason in self.reasons if reason.code in REMARKS and not self.starves]
        return ", ".join([status, *dict.fromkeys(remarks), *(["repaired"] if self.repaired else [])])

    def __repr__(self) -> str:
        """A line: what it holds is `headworks.documents.dumps(plan)`."""
        placed = f"{len(self.assignment)} tasks on {self.scores.nodes_used} nodes, {len(self.moves)} moves"
        return f"<Plan of {self.provenance.scheduler or 'nobody'}: {self.label}, {placed}>"

    def _repr_html_(self) -> str:
        """Tables for a notebook: the figures, why it is not whole, where tasks run; and a picture of that."""
        scores = self.scores
        figures = [
            ("status", self.label),
            ("scheduler", f"{self.provenance.scheduler} {self.provenance.version}"),
            ("traffic between nodes", "-" if scores.idle else f"{100 * scores.share:.1f}%"),
            ("nodes used", scores.nodes_used),
            ("workers", scores.workers),
            ("fullest node", "-" if scores.idle else f"{100 * scores.fullest_node:.1f}%"),
            ("fullest link", "-" if scores.idle else f"{100 * scores.fullest_link:.1f}%"),
            ("running tasks that move", scores.moves),
            *(("reason", each.message) for each in self.reasons),
            *(("repaired", str(each)) for each in self.repaired),
        ]
        places = html_table(("task", "slot"), sorted(self.assignment.items()))
        return html_table(("figure", "value"), figures) + sketch(self.assignment) + places


@attrs.frozen(kw_only=True)
class Step:
    """One thing that an executor did for a plan, its success, and the answer of the engine.

    `stopped` is the time in seconds for which the task that it moved did nothing, where the engine measured that.
    """

    action: str
    subject: str
    done: bool = True
    message: str = ""
    stopped: float | None = None


@attrs.frozen(kw_only=True)
class Receipt:
    """Receipt of an executor: its steps, and the assignment to restore to undo them.

    `undo_parallelism` has the numbers of tasks to restore, by `topology/component`. `unseen` are tasks that are right
    in the engine's own table, but that nothing reports. `dropped` is the loop's: tasks that stay against the plan, as
    their places held no more or a bound on moves was reached, each with the reason.
    """

    done: bool = True
    level: str = ""
    steps: tuple[Step, ...] = ()
    undo: FrozenMap[str, Slot] = FrozenMap()
    undo_parallelism: FrozenMap[str, int] = FrozenMap()
    unseen: tuple[str, ...] = ()
    dropped: FrozenMap[str, str] = FrozenMap()


Undrained = Literal["wait", "keep", "force"]
"""Choices for a topology that is not empty in time: wait on, keep the old allocation, or move its tasks anyway."""


@attrs.frozen(kw_only=True)
class Backlog:
    """Tuples under way in a topology.

    Attributes:
        active: Whether its sources may emit.
        tuples: Number of tuples that were emitted and are not yet done; None if not yet known.
        why: Origin of the number, or the reason why there is none, in words.
    """

    active: bool
    tuples: int | None = None
    why: str = ""


@runtime_checkable
class Intake(Protocol):
    """The sources of the topologies on a cluster; every method raises `EngineError` where the engine cannot say."""

    @property
    def cluster(self) -> str:
        """Name of the cluster: the same after a restart of this process, another one for another cluster."""

    def backlog(self, topologies: Sequence[str]) -> Mapping[str, Backlog]:
        """Tuples under way by topology id; topologies that are gone are left out."""

    def pause(self, topology: str) -> None:
        """Pause the sources of a topology; without effect if they pause already, or if it is gone."""

    def resume(self, topology: str) -> None:
        """Resume the sources of a topology; without effect if they emit already, or if it is gone."""


@attrs.frozen
class Drain:
    """Patience with paused topologies: seconds until they must be empty, and the consequence if they are not."""

    seconds: float
    undrained: Undrained = "keep"


@attrs.frozen(kw_only=True, eq=False)
class Steering:
    """Means by which a change steers an engine.

    Attributes:
        intake: Pauses topologies, resumes them, and says what is under way.
        rollback: Restores the assignment that a receipt's `undo` holds; without effect where nothing changed.
    """

    intake: Intake
    rollback: Callable[[Receipt], Receipt]


@attrs.frozen(kw_only=True, eq=False)
class Change:
    """A change of the assignment that is to be carried out while its topologies are empty.

    Attributes:
        topologies: Ids of the topologies whose running tasks it moves, without those whose tasks move live.
        before: Slots before it of all tasks of the topologies that it changes, those that move live too, by task id.
        execute: Carries it out; a step that fails is in the receipt.
    """

    topologies: tuple[str, ...]
    before: FrozenMap[str, Slot]
    execute: Callable[[], Receipt]

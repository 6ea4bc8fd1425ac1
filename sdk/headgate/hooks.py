"""The hooks a plugin may implement. What it implements says what it is: scheduler, monitor, executor.

A plugin is one object, named by its entry point in the group `headgate`. Hooks are called by name on the
plugin that a user chose, through `headgate.host.PluginHost`, except where a contract says *every plugin*.
An implementation may take any subset of a hook's arguments.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import TYPE_CHECKING, Any, Literal

import attrs
import pluggy

from headgate.model import Plan, Request

if TYPE_CHECKING:
    from collections.abc import Sequence
    from contextlib import AbstractContextManager
    from pathlib import Path

    import click

    from headgate.model import Observation, Receipt

GROUP = "headgate"
HOOKSPEC_VERSION = 1

hookspec = pluggy.HookspecMarker(GROUP)
hookimpl = pluggy.HookimplMarker(GROUP)


def _frozen(names: Iterable[str]) -> frozenset[str]:
    return frozenset(names)


@attrs.frozen(kw_only=True)
class Finding:
    """One thing that was looked at: `missing` things are optional, `broken` ones are not."""

    subject: str
    status: Literal["ok", "missing", "broken"]
    detail: str = ""
    fix: str = ""


@attrs.frozen(kw_only=True)
class NoOptions:
    """The options of a plugin that has none."""


@attrs.frozen(kw_only=True)
class Description:
    """What a plugin says of itself.

    Attributes:
        summary: One sentence; the first line of a docstring serves.
        options: An attrs class whose fields, defaults and types are the plugin's options.
        paper: Where the algorithm comes from, "" if nowhere.
        capabilities: What the conformance kit may expect, from `headgate.testing.CAPABILITIES`.
        hookspec: The hook specification it was written for.
    """

    summary: str
    options: type = NoOptions
    paper: str = ""
    capabilities: frozenset[str] = attrs.field(default=frozenset(), converter=_frozen)
    hookspec: int = HOOKSPEC_VERSION


@attrs.frozen(kw_only=True)
class Verdict:
    """Whether a new plan is called for, and why (the system analyser of D-Storm, section 5.4)."""

    replan: bool
    state: str = "normal"
    reasons: tuple[str, ...] = ()


@attrs.frozen(kw_only=True)
class Workload:
    """A named request that shows what a scheduler is for."""

    name: str
    summary: str
    build: Callable[[], Request]


Basis = Literal["exact", "predicted", "calibrated"]
"""What a recomputed figure rests on: the paper alone; a model whose numbers were not fitted to this figure; or a model
some of whose numbers were."""


@attrs.frozen(kw_only=True)
class Point:
    """Where a claim stands in a chart of its paper: `series` at `x`, the printed figure being the height."""

    chart: str
    series: str
    x: float | str


@attrs.frozen(kw_only=True)
class Claim:
    """A printed figure and the computation that reproduces it.

    `verify` returns what this code finds; the claim holds when it is within `tolerance` (relative) of `printed`.
    Without `verify` the figure cannot be recomputed, and `note` says what is missing. A claim whose `expected` is
    False can be computed and is known not to reproduce; `note` says why.

    Attributes:
        basis: What the computation rests on.
        fitted: How many numbers were fitted, where it is calibrated.
        point: Its place in a chart, which `headgate reproduce --html` draws.
    """

    id: str
    source: str
    statement: str
    printed: float | str
    verify: Callable[[], float | str] | None = None
    tolerance: float = 0.0
    basis: Basis = "exact"
    fitted: int = 0
    expected: bool = True
    note: str = ""
    point: Point | None = None


@attrs.frozen(kw_only=True)
class Improvement:
    """A request on which an improved variant stands beside the published scheduler that it comes from, and the optimum.

    The variant is the plugin that names the improvement. It is never worse; `headgate reproduce` says so if it is.

    Attributes:
        statement: What is compared, with its unit, and on which request.
        build: Makes the request.
        published: The published scheduler, by name.
        figure: What a plan of the request reaches; None where it reaches nothing that compares.
        more: Whether more of it is better.
        exact: Another scheduler, by name, whose plan carries a bound on the figure.
        effort: The options of `exact`.
        bound: What no plan passes, where that follows from the request alone.
        options: What makes a variant of the published scheduler, where the plugin is that scheduler itself.
        rounds: How often the two schedulers plan, each from its own plan before, at most; they end when nothing moves.
    """

    id: str
    statement: str
    build: Callable[[], Request]
    published: str
    figure: Callable[[Plan], float | None]
    more: bool = False
    exact: str = ""
    effort: Mapping[str, Any] = attrs.field(factory=dict)
    bound: Callable[[Request], float] | None = None
    options: Mapping[str, Any] = attrs.field(factory=dict)
    rounds: int = attrs.field(default=1, validator=attrs.validators.ge(1))
    note: str = ""


class Spec:
    """Hooks of every plugin."""

    @hookspec
    def headgate_describe(self) -> Description:  # type: ignore[empty-body]
        """Say what the plugin is. Required, constant, and cheap: no import of an engine, no I/O."""


class SchedulerSpec:
    """Hooks of a scheduler. A scheduler is a pure function of its arguments."""

    @hookspec
    def headgate_schedule(self, request: Request, options: Any) -> Plan:  # type: ignore[empty-body]
        """Decide where every task runs.

        `options` is an instance of the class named in the description. The same request, options and seed give
        the same plan, in any process and for any order of the request's nodes, topologies and components: ties
        are broken by id, randomness comes from `request.seed` alone. There is no I/O, no clock, no change of an
        argument. A task that cannot be placed is a status with reasons (`Problem.plan` makes them), never an
        exception. Planning ends within `request.limits.deadline` seconds, or the host holds the running
        assignment; at most `request.limits.max_moves` running tasks move.
        """

    @hookspec
    def headgate_analyse(self, observation: Observation, options: Any) -> Verdict:  # type: ignore[empty-body]
        """Judge whether the observation calls for a new plan. Optional; pure. Without it every round plans."""

    @hookspec
    def headgate_workloads(self) -> Sequence[Workload]:  # type: ignore[empty-body]
        """Name requests on which the scheduler is worth trying. Optional; cheap: `build` does the work."""

    @hookspec
    def headgate_claims(self) -> Sequence[Claim]:  # type: ignore[empty-body]
        """Name the printed figures that `headgate reproduce` recomputes. Optional; cheap."""

    @hookspec
    def headgate_improvements(self) -> Sequence[Improvement]:  # type: ignore[empty-body]
        """Name requests on which a variant stands beside the published scheduler and the optimum. Optional; cheap."""


class MonitorSpec:
    """Hooks of a monitor."""

    @hookspec
    def headgate_open(  # type: ignore[empty-body]
        self, application: Sequence[str], address: str | None
    ) -> AbstractContextManager[Any]:
        """Reach an engine and yield the target that the other hooks take.

        `application` is what the user wants to run there (a file and its arguments; empty to attach), `address`
        the engine's address, None to start one on this machine. Leaving the context ends what it started, and
        nothing else. Raises `EngineError` when the engine is out of reach. A target with methods `clock()` and
        `wait(seconds)` has a time of its own, in which the pauses between rounds pass too.
        """

    @hookspec
    def headgate_observe(self, target: Any, window: float) -> Observation:  # type: ignore[empty-body]
        """Measure an engine for about `window` seconds and say what was seen.

        `target` is the engine handle that the adapter's own connect function returns. The observation's
        assignment is where tasks *were seen to run*, not where they were asked to. The hook returns within
        `window` plus its own documented budget; what it could not measure it leaves out.
        """


class ExecutorSpec:
    """Hooks of an executor: what makes a plan true on an engine."""

    @hookspec
    def headgate_preflight(self, target: Any, plan: Plan) -> Sequence[str]:  # type: ignore[empty-body]
        """Say what the target cannot enforce, one sentence each; nothing if all of it. Light, without effect."""

    @hookspec
    def headgate_execute(self, target: Any, plan: Plan) -> Receipt:  # type: ignore[empty-body]
        """Carry out the plan's moves in order. A step that fails is in the receipt; it is not raised."""

    @hookspec
    def headgate_rollback(self, target: Any, receipt: Receipt) -> Receipt:  # type: ignore[empty-body]
        """Restore what the receipt's `undo` holds. Idempotent, and safe when nothing was executed."""

    @hookspec
    def headgate_scale(self, target: Any, add: int, drain: Sequence[str]) -> Receipt:  # type: ignore[empty-body]
        """Give the application `add` more nodes, and take from it those in `drain`, by id. Optional.

        A node is drained in order: no new task, then the running ones end, then it goes; after a timeout of the
        engine's own it goes all the same. The hook returns when the nodes are there, or gone; a step that fails is
        in the receipt.
        """


class ExperimentSpec:
    """Hooks of a simulator."""

    @hookspec
    def headgate_experiment(  # type: ignore[empty-body]
        self, request: Request, scheduler: str, seed: int, seconds: float
    ) -> Mapping[str, float]:
        """Run one experiment on a simulated engine, and say what became of it: an amount a figure, by name.

        `seconds` are simulated. The same arguments give the same figures, in any process. Figures without a value
        are left out. Raises a `HeadgateError` when the request or the scheduler does not fit.
        """


class LoopSpec:
    """Hooks around a round, called on every plugin that has them."""

    @hookspec
    def headgate_review(self, request: Request, plan: Plan) -> Sequence[str]:  # type: ignore[empty-body]
        """Object to a plan before it is carried out: one sentence an objection; any objection holds it. Pure."""

    @hookspec
    def headgate_on_round(self, record: Mapping[str, Any]) -> None:
        """Hear what a round did (the journal's record). What it raises is logged and forgotten."""


class CommandSpec:
    """Hooks that extend the command line."""

    @hookspec
    def headgate_commands(self) -> Sequence[click.Command]:  # type: ignore[empty-body]
        """Add commands or groups to `headgate`. Cheap: an engine is imported when a command runs."""

    @hookspec
    def headgate_examine(self, installation: Path) -> Sequence[Finding]:  # type: ignore[empty-body]
        """Check an engine's installation in a folder: what is there, what is not, and a fix for each finding.

        The user names the folder with `headgate doctor --NAME FOLDER`, NAME being the plugin's. Nothing is changed.
        What is wrong is a finding, never an exception.
        """


SPECS: tuple[type, ...] = (Spec, SchedulerSpec, MonitorSpec, ExecutorSpec, ExperimentSpec, LoopSpec, CommandSpec)

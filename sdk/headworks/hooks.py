"""The hooks a plugin may implement. What it implements says what it is: scheduler, monitor, executor.

A plugin is one object, named by its entry point in the group `headworks`, and loaded when its name is first asked for.
Hooks are called by name on the plugin that a user chose, through `headworks.plugins.host.PluginHost`, except where a
contract says *every plugin*. An implementation may take any subset of a hook's arguments.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from importlib.metadata import PackageNotFoundError, version
from typing import TYPE_CHECKING, Any, Literal, Protocol

import attrs
import pluggy

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from contextlib import AbstractContextManager
    from pathlib import Path

    from headworks.model import Change, Drain, Intake, Observation, Plan, Receipt, Request, Steering
    from headworks.model.evidence import Claim, Evidence
    from headworks.problem import Problem

GROUP = "headworks"
"""Entry-point group of plugins: the plugin's name, and the object."""
ROUNDS = "headworks.rounds"
"""Entry-point group of the plugins that take part in every round: the plugin's name, and the same object."""
COMMANDS = "headworks.commands"
"""Entry-point group of commands: the words after `headworks` with dots between them, and the click command."""
HOOKSPEC_VERSION = 1

Ask = Callable[[str, float], "Plan | None"]
"""Another scheduler's plan for the same request, by its name, within seconds."""

hookspec = pluggy.HookspecMarker(GROUP)
hookimpl = pluggy.HookimplMarker(GROUP)


def _frozen(names: Iterable[str]) -> frozenset[str]:
    return frozenset(names)


def _text(docstring: str | None) -> str:
    return docstring or ""


@attrs.frozen(kw_only=True)
class Finding:
    """One thing that was looked at: `missing` things are optional, `broken` ones are not."""

    subject: str
    status: Literal["ok", "missing", "broken"]
    detail: str = ""
    fix: str = ""

    @classmethod
    def of_package(cls, name: str, fix: str) -> Finding:
        """Finding whether a Python package is installed.

        Args:
            name: Its distribution's name.
            fix: What it is for, and how to install it.
        """
        try:
            return cls(subject=name, status="ok", detail=version(name))
        except PackageNotFoundError:
            return cls(subject=name, status="missing", detail="not installed", fix=fix)


@attrs.frozen(kw_only=True)
class NoOptions:
    """The options of a plugin that has none."""


@attrs.frozen(kw_only=True)
class Description:
    """Self-description of a plugin.

    Attributes:
        summary: One sentence; the first line of a docstring serves.
        options: An attrs class whose fields, defaults and types are the plugin's options.
        paper: Where the algorithm comes from, "" if nowhere.
        capabilities: What the conformance kit may expect, from `headworks.testing.CAPABILITIES`.
        hookspec: The hook specification it was written for; the first and the last of several that it keeps.
        deadlines: Seconds by name of the hook, where its own may take longer or less long than others'. Hooks that are
            called unasked can only take less.
    """

    summary: str = attrs.field(converter=_text)
    options: type = NoOptions
    paper: str = ""
    capabilities: frozenset[str] = attrs.field(default=frozenset(), converter=_frozen)
    hookspec: int | tuple[int, int] = HOOKSPEC_VERSION
    deadlines: Mapping[str, float] = attrs.field(factory=dict, hash=False)


@attrs.frozen(kw_only=True)
class Verdict:
    """Analyser's verdict: is a new plan called for, and why (the system analyser of D-Storm, section 5.4).

    `state` is the analyser's own word. Two have a meaning to the loop, plan or not: `unsatisfactory` (what is offered
    is not done in time) and `warn` (no node has room to relieve another) let `--elastic` add a node.

    `interval` is for what can wait: so many seconds have to lie between the last plan that was carried out and this one
    (the scheduling interval of D-Storm, section 5.4).
    """

    replan: bool
    state: str = "normal"
    reasons: tuple[str, ...] = ()
    interval: float = 0.0


class Scheduler(Protocol):
    """Type of a plugin that schedules, for type checkers: `acme: Scheduler = Acme()`.

    Of these three types are the hooks that such a plugin has to have. Each may take any subset of its arguments.
    """

    def headworks_describe(self) -> Description:
        """See `Spec.headworks_describe`."""

    def headworks_schedule(self, *args: Any, **arguments: Any) -> Plan:
        """See `SchedulerSpec.headworks_schedule`."""


class Monitor(Protocol):
    """Type of a plugin that watches an engine; see `Scheduler`."""

    def headworks_describe(self) -> Description:
        """See `Spec.headworks_describe`."""

    def headworks_open(self, *args: Any, **arguments: Any) -> AbstractContextManager[Any]:
        """See `MonitorSpec.headworks_open`."""

    def headworks_observe(self, *args: Any, **arguments: Any) -> Observation:
        """See `MonitorSpec.headworks_observe`."""


class Executor(Protocol):
    """Type of a plugin that carries plans out; see `Scheduler`."""

    def headworks_describe(self) -> Description:
        """See `Spec.headworks_describe`."""

    def headworks_preflight(self, *args: Any, **arguments: Any) -> Sequence[str]:
        """See `ExecutorSpec.headworks_preflight`."""

    def headworks_execute(self, *args: Any, **arguments: Any) -> Receipt:
        """See `ExecutorSpec.headworks_execute`."""

    def headworks_rollback(self, *args: Any, **arguments: Any) -> Receipt:
        """See `ExecutorSpec.headworks_rollback`."""


class Spec:
    """Hooks of every plugin."""

    @hookspec
    def headworks_describe(self) -> Description:  # type: ignore[empty-body]
        """Say what the plugin is. Required, constant, and cheap: no import of an engine, no I/O."""

    @hookspec
    def headworks_needs(self) -> Sequence[Finding]:  # type: ignore[empty-body]
        """Look for packages and programs that the plugin needs beside its own. Optional; light: starts no engine."""

    @hookspec
    def headworks_evidence(self) -> Evidence:  # type: ignore[empty-body]
        """Name workloads to try the plugin on, printed figures that it recomputes, and improvements that it shows.

        Optional; cheap: the functions in a `Workload`, a `Claim` and an `Improvement` do the work. `headworks plan
        PLUGIN:WORKLOAD` and `headworks reproduce PLUGIN` call them.
        """

    @hookspec
    def headworks_documents(self) -> Mapping[str, type | Mapping[str, Any]]:  # type: ignore[empty-body]
        """Name the documents that the plugin defines: each an attrs class, or its JSON Schema. Optional."""


class SchedulerSpec:
    """Hooks of a scheduler. A scheduler is a pure function of its arguments."""

    @hookspec
    def headworks_prepare(self) -> None:
        """Load what is slow to load, once in a process, before plans are asked for. Optional.

        `headworks_schedule` is called after it, and the time that it takes is not that of the deadline; it is called
        before every plan, so the second time it has nothing left to do. If it raises, or takes more than a minute,
        the running assignment is held.
        """

    @hookspec
    def headworks_schedule(  # type: ignore[empty-body]
        self, request: Request, problem: Problem, options: Any, ask: Ask
    ) -> Plan:
        """Decide where every task runs.

        `problem` is the request as arrays, with what was measured; take it, or the request, or both. `options` is an
        instance of the class named in the description. `ask(name, seconds)` is the plan of another scheduler for the
        same request, with its default options and checked like any, within so many seconds of the deadline; None if it
        is not installed or has no plan. A scheduler that is asked may ask nobody. The same request, options and seed
        give the same plan, in any process and for any order of the request's nodes, topologies and components: ties
        are broken by id, randomness comes from `request.seed` alone. There is no I/O, no clock, no change of an
        argument. A task that cannot be placed is a status with reasons (`Problem.plan` makes them), never an
        exception. Planning ends within `request.limits.deadline` seconds, or the host holds the running
        assignment, or takes a plan that the scheduler has offered (`headworks.toolbox.cancel.offer`); a search that
        says how it is ended (`headworks.toolbox.cancel.on_cancel`) is asked for its best plan so far before that, and
        only such plans may differ from run to run. At most
        `request.limits.max_moves` running tasks move; without `request.limits.restarts` none does, and no task joins
        a worker that runs, for either would restart its process (`Room` and `Problem.plan` know), but for topologies
        whose tasks move live.
        """

    @hookspec
    def headworks_analyse(self, observation: Observation, options: Any) -> Verdict:  # type: ignore[empty-body]
        """Judge whether the observation calls for a new plan. Optional; pure. Without it every round plans."""


class MonitorSpec:
    """Hooks of a monitor."""

    @hookspec
    def headworks_open(  # type: ignore[empty-body]
        self, application: Sequence[str], address: str | None
    ) -> AbstractContextManager[Any]:
        """Reach an engine and yield the target that the other hooks take.

        `application` is what the user wants to run there (a file and its arguments; empty to attach), `address`
        the engine's address, None to start one on this machine. Leaving the context ends what it started, and
        nothing else. Raises `EngineError` when the engine is out of reach. A target with methods `clock()` and
        `wait(seconds)` has a time of its own, in which the pauses between rounds pass too.
        """

    @hookspec
    def headworks_observe(self, target: Any, window: float) -> Observation:  # type: ignore[empty-body]
        """Measure an engine for about `window` seconds and say what was seen.

        `target` is the engine handle that the adapter's own connect function returns. The observation's
        assignment is where tasks *were seen to run*, not where they were asked to. The hook returns within
        `window` plus its own documented budget; what it could not measure it leaves out.
        """


class PrioritySpec:
    """Hooks of a priority manager."""

    @hookspec
    def headworks_prioritise(  # type: ignore[empty-body]
        self, observation: Observation, address: str | None
    ) -> Observation:
        """Answer the observation with the priorities, desired and minimum nodes of its topologies as they are now.

        `--priorities NAME:ADDRESS` names the plugin and says, in the plugin's own words, where priorities are kept;
        without an address it is None. Of the answer the `priority`, `desired_nodes` and `minimum_nodes` of
        topologies are taken, by id, and the notes; nothing else. Called in every round, before it is analysed
        and planned, by any thread. A round in which it raises is held.
        """

    @hookspec
    def headworks_reschedule(  # type: ignore[empty-body]
        self, change: Change, steering: Steering, drain: Drain, address: str | None
    ) -> Receipt:
        """Carry out a change step by step: pause its topologies, wait until they are empty, change, resume. Optional.

        `--drain` asks for it. Nothing but `change.topologies` is paused, and of them only what is active; a topology
        whose tasks move live is not among them, and a change of such topologies alone is carried out at once. The
        receipt is done if the change was carried out. If not, the assignment is `change.before` again. In both
        cases every topology that was paused is active again when the hook returns, or raises; what could not be done
        is remembered at `address` for `headworks_recover`.
        """

    @hookspec
    def headworks_recover(self, steering: Steering, address: str | None) -> Sequence[str]:  # type: ignore[empty-body]
        """Finish or undo the changes on this cluster that began and did not end; say what was done, a sentence each.

        Called before every round with `--drain`: the process may have been killed at any moment, and the database or
        the engine may have been gone. If it raises, the round is held, and the next one calls it again.
        """


class ExecutorSpec:
    """Hooks of an executor: what makes a plan true on an engine."""

    @hookspec
    def headworks_intake(self, target: Any) -> Intake:  # type: ignore[empty-body]
        """Give the handle by which the sources of topologies are paused and resumed. Optional; light.

        Raises `EngineError`, with what to give, if the target cannot pause topologies or cannot see that they are
        empty.
        """

    @hookspec
    def headworks_preflight(self, target: Any, plan: Plan) -> Sequence[str]:  # type: ignore[empty-body]
        """Say what the target cannot enforce, one sentence each; nothing if all of it. Light, without effect."""

    @hookspec
    def headworks_keeps(self, target: Any, plan: Plan) -> bool:  # type: ignore[empty-body]
        """Say if the tasks of a plan stay where they are without being asked to. Light, without effect. Optional.

        An engine that deals tasks out anew, as Spark does for each stage, may run all of them by chance where a
        plan without moves wants them. The plan is carried out if the answer is no. An engine without this hook
        keeps its tasks.
        """

    @hookspec
    def headworks_execute(self, target: Any, plan: Plan) -> Receipt:  # type: ignore[empty-body]
        """Carry out the plan's moves in order. A step that fails is in the receipt; it is not raised."""

    @hookspec
    def headworks_rollback(self, target: Any, receipt: Receipt) -> Receipt:  # type: ignore[empty-body]
        """Restore what the receipt's `undo` and `undo_parallelism` hold. Idempotent; safe when nothing was executed."""

    @hookspec
    def headworks_scale(self, target: Any, add: int, drain: Sequence[str]) -> Receipt:  # type: ignore[empty-body]
        """Give the application `add` more nodes, and take from it those in `drain`, by id. Optional.

        A node is drained in order: no new task, then the running ones end, then it goes; after a timeout of the
        engine's own it goes all the same. The hook returns when the nodes are there, or gone; a step that fails is
        in the receipt.
        """


class ExperimentSpec:
    """Hooks of an engine on which experiments run: a simulator, or a real one on a bench."""

    @hookspec
    def headworks_bench(self) -> AbstractContextManager[Any]:  # type: ignore[empty-body]
        """Yield what experiments on a real engine run on, one after the other, such as a place for a cluster.

        Optional: an engine without it is a simulator, whose experiments need nothing and may run at the same time.
        What is started for the first experiment may serve the next; all of it ends when the context is left.
        """

    @hookspec
    def headworks_experiment(  # type: ignore[empty-body]
        self, request: Request, scheduler: str, seed: int, seconds: float, bench: Any
    ) -> Mapping[str, float]:
        """Run one experiment, and say what became of it: an amount a figure, by name.

        `bench` is what `headworks_bench` yields, None for a simulator, whose `seconds` are simulated: the same
        arguments give the same figures, in any process. A real engine measures for so many seconds once it is warm, and
        takes its own name for the scheduler that it has without Headworks. Figures without a value are left out. Raises
        a `HeadworksError` when the request or the scheduler does not fit.
        """

    @hookspec
    def headworks_measured_claims(self, plugin: str) -> Sequence[Claim]:  # type: ignore[empty-body]
        """Name printed figures of a plugin's paper that this engine measures; none of a plugin that it does not know.

        Optional; cheap: the functions in a `Claim`, whose `measured` is True, start the engine, measure it and end it.
        `headworks reproduce PLUGIN --live` calls them, one after the other.
        """


class LoopSpec:
    """Hooks around a round, called on every plugin that the entry-point group `headworks.rounds` names."""

    @hookspec
    def headworks_review(self, request: Request, plan: Plan) -> Sequence[str]:  # type: ignore[empty-body]
        """Object to a plan before it is carried out: one sentence an objection; any objection holds it. Pure."""

    @hookspec
    def headworks_on_round(self, record: Mapping[str, Any]) -> None:
        """Hear what a round did (the journal's record). What it raises is logged and forgotten."""


class InstallationSpec:
    """Hooks on an engine's installation."""

    @hookspec
    def headworks_examine(self, installation: Path) -> Sequence[Finding]:  # type: ignore[empty-body]
        """Check an engine's installation in a folder: what is there, what is not, and a fix for each finding.

        The user names the folder with `headworks doctor --NAME FOLDER`, NAME being the plugin's. Nothing is changed.
        What is wrong is a finding, never an exception.
        """


SPECS: tuple[type, ...] = (
    *(Spec, SchedulerSpec, MonitorSpec, PrioritySpec),
    *(ExecutorSpec, ExperimentSpec, LoopSpec, InstallationSpec),
)

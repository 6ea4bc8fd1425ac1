"""Hooks that a plugin may leave out, of whatever kind it is, and the ones around every round."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from headworks.hooks.values import hookspec

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from pathlib import Path
    from threading import Event

    from headworks.hooks.values import Finding, Verdict
    from headworks.model import Change, Drain, Intake, Observation, Plan, Receipt, Request, Steering, Workload


class PluginSpec:
    """Optional hooks of every plugin."""

    @hookspec
    def headworks_needs(self) -> Sequence[Finding]:  # type: ignore[empty-body]
        """Look for packages and programs that the plugin needs beside its own. Optional; light: starts no engine."""

    @hookspec
    def headworks_workloads(self) -> Sequence[Workload]:  # type: ignore[empty-body]
        """Name requests to try schedulers on. Optional; cheap: the function in a `Workload` makes the request.

        Commands take one as `PLUGIN:WORKLOAD`.
        """

    @hookspec
    def headworks_documents(self) -> Mapping[str, type | Mapping[str, Any]]:  # type: ignore[empty-body]
        """Name the documents that the plugin defines: each an attrs class, or its JSON Schema. Optional."""


class SchedulingSpec:
    """Optional hooks of a scheduler."""

    @hookspec
    def headworks_prepare(self) -> None:
        """Load what is slow to load, once in a process, before plans are asked for. Optional.

        `headworks_schedule` is called after it, and the time that it takes is not that of the deadline; it is called
        before every plan, so the second time it has nothing left to do. If it raises, or takes more than a minute,
        the running assignment is held.
        """

    @hookspec
    def headworks_analyse(self, observation: Observation, options: Any) -> Verdict:  # type: ignore[empty-body]
        """Judge whether the observation calls for a new plan. Optional; pure. Without it every round plans."""


class EngineSpec:
    """Optional hooks of a monitor, of an executor, and of an engine's installation."""

    @hookspec
    def headworks_run(  # type: ignore[empty-body]
        self,
        application: Sequence[str],
        address: str | None,
        launch: Sequence[str],
        rounds: Callable[[Any, Event], object],
    ) -> int:
        """Run an application in this thread, as the engine's own launcher does, and return its exit code. Optional.

        `headworks run` calls it, if it is there, in place of `headworks_open`: in its main thread, so that the
        application may handle signals. The end of the application is the end of the hook. What the application raises
        is shown, and is an exit code. `launch` has the options `--conf`, `--packages` and `--properties-file`, as they
        were typed. `rounds(target, ended)` is called in another thread as soon as something can be placed, and returns
        when there are no more; `ended` is a `threading.Event` that the hook sets when the application has ended.
        Raises `EngineError` when the engine is out of reach.
        """

    @hookspec
    def headworks_intake(self, target: Any) -> Intake:  # type: ignore[empty-body]
        """Give the handle by which the sources of topologies are paused and resumed. Optional; light.

        Raises `EngineError`, with what to give, if the target cannot pause topologies or cannot see that they are
        empty.
        """

    @hookspec
    def headworks_keeps(self, target: Any, plan: Plan) -> bool:  # type: ignore[empty-body]
        """Say if the tasks of a plan stay where they are without being asked to. Light, without effect. Optional.

        An engine that deals tasks out anew, as Spark does for each stage, may run all of them by chance where a
        plan without moves wants them. The plan is carried out if the answer is no. An engine without this hook
        keeps its tasks.
        """

    @hookspec
    def headworks_scale(self, target: Any, add: int, drain: Sequence[str]) -> Receipt:  # type: ignore[empty-body]
        """Give the application `add` more nodes, and take from it those in `drain`, by id. Optional.

        A node is drained in order: no new task, then the running ones end, then it goes; after a timeout of the
        engine's own it goes all the same. The hook returns when the nodes are there, or gone; a step that fails is
        in the receipt.
        """

    @hookspec
    def headworks_examine(self, installation: Path) -> Sequence[Finding]:  # type: ignore[empty-body]
        """Check an engine's installation in a folder: what is there, what is not, and a fix for each finding.

        The user names the folder with `headworks doctor --NAME FOLDER`, NAME being the plugin's. Nothing is changed.
        What is wrong is a finding, never an exception.
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


class LoopSpec:
    """Hooks around a round, called on every plugin that the entry-point group `headworks.rounds` names."""

    @hookspec
    def headworks_review(self, request: Request, plan: Plan) -> Sequence[str]:  # type: ignore[empty-body]
        """Object to a plan before it is carried out: one sentence an objection; any objection holds it. Pure."""

    @hookspec
    def headworks_on_round(self, record: Mapping[str, Any]) -> None:
        """Hear what a round did (the journal's record). What it raises is logged and forgotten."""

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
        """Report packages and programs that the plugin needs beside its own. Optional; light: starts no engine."""

    @hookspec
    def headworks_workloads(self) -> Sequence[Workload]:  # type: ignore[empty-body]
        """List requests to try schedulers on. Optional; cheap: the function in a `Workload` makes the request.

        Commands take one as `PLUGIN:WORKLOAD`.
        """

    @hookspec
    def headworks_documents(self) -> Mapping[str, type | Mapping[str, Any]]:  # type: ignore[empty-body]
        """Name the documents that the plugin defines, each as an attrs class or a JSON Schema. Optional."""

    @hookspec
    def headworks_recognise(self, document: Any) -> str:  # type: ignore[empty-body]
        """Recognise a foreign document that was given as a request, and name the command for it. Optional; pure.

        The document is plain data: dicts, lists, texts, numbers, booleans and None. Return "" for all that you do not
        know.
        """


class SchedulingSpec:
    """Optional hooks of a scheduler."""

    @hookspec
    def headworks_prepare(self) -> None:
        """Load slow things, such as a solver, before plans are asked for. Optional.

        It is called before every `headworks_schedule`, outside of the deadline, and has nothing left to do the second
        time. If it raises or takes more than a minute, the running assignment is held.
        """

    @hookspec
    def headworks_analyse(self, observation: Observation, options: Any) -> Verdict:  # type: ignore[empty-body]
        """Judge whether the observation calls for a new plan. Optional; pure. Without it, every round plans."""


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

        `headworks run` calls it in place of `headworks_open`, in the main thread, so that the application may handle
        signals. The hook ends with the application. If the application raises, show the error and return an exit code.

        `launch` holds the options `--conf`, `--packages` and `--properties-file` as they were typed. Call
        `rounds(target, ended)` in another thread as soon as something can be placed; it returns when there are no more
        rounds. Set `ended`, a `threading.Event`, when the application has ended. Raise `EngineError` if the engine is
        out of reach.
        """

    @hookspec
    def headworks_intake(self, target: Any) -> Intake:  # type: ignore[empty-body]
        """Return the handle that pauses and resumes the sources of topologies. Optional; light.

        If the target cannot pause topologies, or cannot see that they are empty, raise `EngineError`. Its text says
        which setting is missing.
        """

    @hookspec
    def headworks_look(self, target: Any) -> Observation:  # type: ignore[empty-body]
        """Return nodes, topologies and places of tasks as they are now. Optional; light: waits for nothing.

        It is called just before a plan is carried out or undone. The loop drops what no longer holds, and names it in
        `Receipt.dropped`. Leave out measurements. Without this hook, the whole plan is carried out.
        """

    @hookspec
    def headworks_keeps(self, target: Any, plan: Plan) -> bool:  # type: ignore[empty-body]
        """Tell whether the tasks of a plan stay where they are without being asked to. Optional; light, without effect.

        An engine may deal tasks anew, as Spark does for each stage. All of them may then run by chance where a plan
        without moves wants them. If the answer is no, that plan is carried out too. Without this hook, an engine keeps
        its tasks.
        """

    @hookspec
    def headworks_scale(self, target: Any, add: int, drain: Sequence[str]) -> Receipt:  # type: ignore[empty-body]
        """Give the application `add` more nodes, and take away those in `drain`, by id. Optional.

        Drain a node in order: it gets no new task, its running tasks end, then it goes. After a timeout of the engine's
        own it goes all the same. Return when the nodes are there or gone. A step that fails is in the receipt.
        """

    @hookspec
    def headworks_examine(self, installation: Path) -> Sequence[Finding]:  # type: ignore[empty-body]
        """Check an engine's installation in a folder, and return findings with a fix for each fault.

        The user names the folder with `headworks doctor --NAME FOLDER`, where NAME is the plugin's. Change nothing. A
        fault is a finding, never an exception.
        """


class PrioritySpec:
    """Hooks of a priority manager."""

    @hookspec
    def headworks_prioritise(  # type: ignore[empty-body]
        self, observation: Observation, address: str | None
    ) -> Observation:
        """Return the observation with the current priorities, desired and minimum nodes of its topologies.

        `--priorities NAME:ADDRESS` names the plugin. `address` says where it keeps priorities, None if the user gave
        none. Only the `priority`, `desired_nodes` and `minimum_nodes` of topologies, by id, and the notes are taken
        from the answer. Any thread may call the hook, before each round is analysed and planned. If it raises, the
        round is held.
        """

    @hookspec
    def headworks_reschedule(  # type: ignore[empty-body]
        self, change: Change, steering: Steering, drain: Drain, address: str | None
    ) -> Receipt:
        """Carry out a change step by step: pause its topologies, wait until they are empty, change, resume. Optional.

        `--drain` asks for it. Pause only active topologies of `change.topologies`, and none whose tasks move live. If
        all of them move live, carry the change out at once. The receipt is done if the change was carried out; if not,
        the assignment is `change.before` again. Either way, every paused topology is active again when the hook returns
        or raises. Keep the rest at `address`, for `headworks_recover`.
        """

    @hookspec
    def headworks_recover(self, steering: Steering, address: str | None) -> Sequence[str]:  # type: ignore[empty-body]
        """Finish or undo changes on this cluster that began and did not end; return a sentence on each.

        It is called before every round with `--drain`, since the process may have been killed, or the database or
        engine may have been gone. If it raises, the round is held, and the next round calls it again.
        """


class LoopSpec:
    """Hooks around a round, called on every plugin that the entry-point group `headworks.rounds` names."""

    @hookspec
    def headworks_review(self, request: Request, plan: Plan) -> Sequence[str]:  # type: ignore[empty-body]
        """Object to a plan before it is carried out, one sentence each. Any objection holds the plan. Pure."""

    @hookspec
    def headworks_on_round(self, record: Mapping[str, Any]) -> None:
        """Receive the journal's record of a round. An exception is logged and forgotten."""

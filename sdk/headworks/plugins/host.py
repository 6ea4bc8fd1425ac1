"""The plugin host: one typed door to every plugin; what is broken is set aside and named, and the host goes on."""

from __future__ import annotations

import contextlib
import functools
import time
from functools import partial
from typing import TYPE_CHECKING, Any, cast

import attrs

from headworks.errors import HeadworksError, PluginError, UnknownPluginError, known_names
from headworks.hooks import Description, Verdict
from headworks.model import Status
from headworks.plugins.guard import Calls, checked, deadline_of, guarded, opened
from headworks.plugins.loading import KINDS, Loaded, Quarantined, Registry, admit
from headworks.plugins.options import make_options
from headworks.plugins.planning_time import STRETCH
from headworks.plugins.tally import PluginTally

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
    from contextlib import AbstractContextManager
    from threading import Event

    from headworks.model import Observation, Plan, Receipt, Request, Workload
    from headworks.plugins.processes import SchedulerProcesses
    from headworks.toolbox.cancel import Cancellation


class PluginHost:
    """The installed plugins, by name; each is loaded when its name is first asked for.

    Attributes:
        tally: Plans that this host was asked for, and errors of its plugins.
    """

    def __init__(
        self,
        registry: Registry | None = None,
        processes: SchedulerProcesses | None = None,
        strangers: Callable[[], SchedulerProcesses] | None = None,
    ) -> None:
        """Take the plugins of a registry; none by default.

        Args:
            processes: Processes in which schedulers that are installed are asked; None asks them in threads.
            strangers: Makes the same for those that are not built in, where there are no `processes`.
        """
        self.registry = registry or Registry()
        self.processes, self._strangers = processes, strangers
        self.tally = PluginTally()
        self._calls = Calls()

    @classmethod
    def load(cls, names: Iterable[str] | None = None) -> PluginHost:
        """The installed plugins, none of which is imported yet.

        Args:
            names: Know these alone; all by default. `HEADWORKS_DISABLE_PLUGINS` names those to leave out.
        """
        return cls(Registry.installed(names))

    def __contains__(self, name: object) -> bool:
        """Check whether a plugin of that name is installed; it may be broken, which only loading shows."""
        return name in self.registry

    @property
    def plugins(self) -> dict[str, Loaded]:
        """Every sound plugin, by name; loads all."""
        return {each.name: each for each in self.registry.all() if isinstance(each, Loaded)}

    @property
    def quarantined(self) -> tuple[Quarantined, ...]:
        """Every plugin that is set aside; loads all."""
        return tuple(each for each in self.registry.all() if isinstance(each, Quarantined))

    def with_plugin(self, name: str, plugin: object) -> PluginHost:
        """This host and one more plugin, under a name that is not taken.

        Raises:
            PluginError: The name is taken, or the plugin is not fit to load.
        """
        if isinstance(self.registry.get(name), Loaded):
            raise PluginError(f"{name}: a plugin of that name is loaded already; choose another name")
        loaded = admit(name, plugin)
        if isinstance(loaded, Quarantined):
            raise PluginError(f"{name}: {loaded.reason}")
        return PluginHost(self.registry.plus(loaded), self.processes, self._strangers)

    @contextlib.contextmanager
    def isolated(self, *, wanted: bool = True, built_in: bool = True) -> Iterator[PluginHost]:
        """This host with processes for its schedulers, until the block ends; those without an entry point keep threads.

        Args:
            wanted: Whether there are to be any; without, all have threads.
            built_in: Whether built-in ones have processes, too.
        """
        if not wanted:
            yield PluginHost(self.registry)
            return
        with contextlib.ExitStack() as stack:

            @functools.cache
            def processes() -> SchedulerProcesses:
                # Documents cost 0.1 s, which a command that asks in threads does not need.
                from headworks.plugins.processes import SchedulerProcesses

                return stack.enter_context(contextlib.closing(SchedulerProcesses()))

            yield PluginHost(self.registry, processes() if built_in else None, processes)

    def plugin(self, name: str, hook: str = "headworks_describe") -> Loaded:
        """One plugin that implements a hook; loads it if necessary.

        Raises:
            PluginError: It is not there, is set aside, or does not implement the hook.
        """
        plugin = self.registry.get(name)
        if isinstance(plugin, Quarantined):
            raise PluginError(f"{name} is set aside: {plugin.reason}; see `headworks doctor`")
        if plugin is None or hook not in plugin.hooks:
            what = KINDS.get(hook, f"plugin with {hook}")
            wrong = (
                f"{name} is not {'an' if what == 'engine' else 'a'} {what}"
                if plugin
                else f"there is no {what} {name!r}"
            )
            raise UnknownPluginError(f"{wrong}{known_names(name, self.having(hook))}")
        return plugin

    def having(self, hook: str) -> tuple[str, ...]:
        """Names of the plugins that implement a hook, sorted; loads all."""
        return tuple(name for name, plugin in self.plugins.items() if hook in plugin.hooks)

    def has(self, name: str, hook: str) -> bool:
        """Check whether an installed plugin implements a hook."""
        return hook in self.plugin(name).hooks

    @property
    def schedulers(self) -> tuple[str, ...]:
        """Names of the plugins that schedule, sorted; loads all."""
        return self.having("headworks_schedule")

    def describe(self, name: str) -> Description:
        """Self-description of a plugin."""
        return self.plugin(name).description

    def options(self, name: str, given: Mapping[str, Any] | None = None) -> Any:
        """An instance of a scheduler's options class; text values are converted to the field's type.

        Raises:
            OptionError: An option is unknown or its value does not fit.
        """
        return make_options(name, self.plugin(name, "headworks_schedule").description.options, given or {})

    def options_on(self, engine: str, name: str, given: Mapping[str, Any]) -> Mapping[str, Any]:
        """Values of a scheduler's options on an engine: the given ones, else its defaults for that engine.

        Args:
            engine: Name of the engine.
            name: Name of the scheduler.
            given: Values by name.

        Raises:
            OptionError: An option is unknown or its value does not fit.
        """
        values = {**self.plugin(name, "headworks_schedule").description.defaults.get(engine, {}), **given}
        self.options(name, values)
        return values

    def schedule(
        self,
        name: str,
        request: Request,
        options: Any = None,
        *,
        cancellation: Cancellation | None = None,
        stretch: float = STRETCH,
    ) -> Plan:
        """Ask a scheduler for a plan, and check everything about it.

        It runs in a thread or a process of its own until the deadline, which begins after `headworks_prepare`: so many
        seconds of the process's CPU, and up to `stretch` times as many by the clock on a machine that is busy. If it
        raises, overruns, changes the request, or answers with a plan that breaks a rule, the plan that comes back is
        HELD: the running assignment, with the reason. A search that can be ended (`headworks.toolbox.cancel`) is asked
        for its best plan so far when most of the deadline is over; with a `cancellation`, by Ctrl-C too.

        Args:
            options: An instance of its options class, or values by name; None for the defaults.
            stretch: 1 where the plan is of no use later, whatever else the machine does.

        Raises:
            DocumentError: The request contradicts itself.
            OptionError: An option does not fit.
            PluginError: There is no such scheduler.
        """
        # It needs numpy, 0.1 s that commands which do not plan save.
        from headworks.plugins.headroom import with_headroom

        plugin = self.plugin(name, "headworks_schedule")
        processes = self.processes if plugin.distribution and (plugin.stranger or cancellation is None) else None
        if processes is None and plugin.stranger and self._strangers is not None:
            processes = self._strangers()
        more = {"cancellation": cancellation, "processes": processes, "stretch": stretch}
        began = time.perf_counter()
        plan = with_headroom(
            request, lambda asked: self._schedule(name, asked, options, others=partial(self.answer, asked), **more)
        )
        self.tally.planned(name, time.perf_counter() - began)
        if plan.status is Status.HELD:
            self.tally.failed(name, "headworks_schedule")
        return plan

    def _schedule(self, name: str, request: Request, options: Any, **more: Any) -> Plan:
        # It needs numpy, 0.1 s that commands which do not plan save.
        from headworks.plugins.sandbox import run_scheduler

        plugin = self.plugin(name, "headworks_schedule")
        return run_scheduler(
            name,
            plugin.version,
            plugin.caller.headworks_schedule,
            request=request,
            options=self._fitting(plugin, options),
            takes_problem=plugin.takes_problem,
            prepare=plugin.caller.headworks_prepare if "headworks_prepare" in plugin.hooks else None,
            **more,
        )

    def _fitting(self, plugin: Loaded, options: Any) -> Any:
        return options if isinstance(options, plugin.description.options) else self.options(plugin.name, options)

    def answer(self, request: Request, name: str, seconds: float, cancellation: Cancellation) -> Plan | None:
        """The plan of a scheduler that another one asks for, None if there is no such scheduler or it has no plan."""
        try:
            plugin = self.plugin(name, "headworks_schedule")
        except PluginError:
            return None
        asked = attrs.evolve(request, limits=attrs.evolve(request.limits, deadline=seconds))
        plan = self._schedule(plugin.name, asked, None, cancellation=cancellation)
        return None if plan.status is Status.HELD else plan

    def analyse(self, name: str, observation: Observation, options: Any = None) -> Verdict:
        """Ask a scheduler whether a new plan is called for; without an analysis, it always is."""
        plugin = self.plugin(name, "headworks_schedule")
        if "headworks_analyse" not in plugin.hooks:
            return Verdict(replan=True, state="unjudged")
        given = self._fitting(plugin, options)
        return cast("Verdict", self.call(name, "headworks_analyse", observation=observation, options=given))

    def open(self, name: str, application: Sequence[str], address: str | None) -> AbstractContextManager[Any]:
        """Reach an engine; the context yields the target that the other calls take.

        Args:
            application: File to run there and its arguments; empty to attach.
            address: Address of the engine, None to start one on this machine.
        """
        plugin = self.plugin(name, "headworks_open")
        return opened(plugin, "headworks_open", application=tuple(application), address=address)

    def run(
        self,
        name: str,
        application: Sequence[str],
        address: str | None,
        launch: Sequence[str],
        rounds: Callable[[Any, Event], object],
    ) -> int:
        """Run an application in this thread, and rounds beside it, and return its exit code.

        Args:
            application: File to run and its arguments.
            address: Address of the engine, None to start one on this machine.
            launch: Options of the engine's own launcher.
            rounds: Is given a target, and an event that says that the application has ended.
        """
        caller, hook = self.plugin(name, "headworks_run").caller, "headworks_run"
        with guarded(name, hook, silent=False):
            code = caller.headworks_run(application=tuple(application), address=address, launch=launch, rounds=rounds)
        return cast("int", checked(name, hook, code))

    def observe(self, name: str, target: Any, window: float) -> Observation:
        """Measure an engine for a window of seconds."""
        return cast("Observation", self.call(name, "headworks_observe", target=target, window=window))

    def look(self, name: str, target: Any) -> Observation | None:
        """The engine as it is now, without measurements; None of an engine without the hook."""
        found = self.call(name, "headworks_look", target=target) if self.has(name, "headworks_look") else None
        return cast("Observation | None", found)

    def preflight(self, name: str, target: Any, plan: Plan) -> tuple[str, ...]:
        """Sentences on the parts of a plan that the target cannot enforce."""
        return cast("tuple[str, ...]", self.call(name, "headworks_preflight", target=target, plan=plan))

    def keeps(self, name: str, target: Any, plan: Plan) -> bool:
        """Whether tasks stay in their places unasked; an engine without the hook keeps them."""
        return not self.has(name, "headworks_keeps") or self.call(name, "headworks_keeps", target=target, plan=plan)

    def execute(self, name: str, target: Any, plan: Plan) -> Receipt:
        """Carry out a plan."""
        return cast("Receipt", self.call(name, "headworks_execute", target=target, plan=plan))

    def rollback(self, name: str, target: Any, receipt: Receipt) -> Receipt:
        """Undo what a receipt records."""
        return cast("Receipt", self.call(name, "headworks_rollback", target=target, receipt=receipt))

    def review(self, request: Request, plan: Plan) -> tuple[str, ...]:
        """Objections of every plugin that reviews plans, each with its name."""
        return tuple(
            f"{name}: {objection}"
            for name in self._hearing("headworks_review")
            for objection in self.call(name, "headworks_review", request=request, plan=plan)
        )

    def on_round(self, record: Mapping[str, Any]) -> tuple[str, ...]:
        """Tell every listener of a round, and return their errors."""
        failures = []
        for name in self._hearing("headworks_on_round"):
            try:
                self.call(name, "headworks_on_round", record=record)
            except HeadworksError as error:
                failures.append(str(error))
        return tuple(failures)

    def workloads(self, name: str) -> tuple[Workload, ...]:
        """Workloads that a plugin names; none if it has no such hook."""
        if not self.has(name, "headworks_workloads"):
            return ()
        return cast("tuple[Workload, ...]", self.call(name, "headworks_workloads"))

    def gather(self, hook: str) -> tuple[Any, ...]:
        """Answers of all plugins that implement a hook without arguments, by their names; loads all."""
        return tuple(self.call(name, hook) for name in self.having(hook))

    def _hearing(self, hook: str) -> tuple[str, ...]:
        """Names of the plugins that take part in every round and have this hook."""
        return tuple(plugin.name for plugin in self.registry.unasked() if hook in plugin.hooks)

    def call(self, name: str, hook: str, **arguments: Any) -> Any:
        """Call a hook of a plugin, guarded; in a thread of its own if the hook has a deadline.

        Raises:
            PluginError: There is no such plugin, it failed, or its answer was not there in time.
        """
        plugin = self.plugin(name, hook)
        try:
            return self._call(plugin, hook, arguments)
        except PluginError:
            self.tally.failed(name, hook)
            raise

    def _call(self, plugin: Loaded, hook: str, arguments: Mapping[str, Any]) -> Any:
        name = plugin.name

        def ask() -> Any:
            with guarded(name, hook):
                return checked(name, hook, getattr(plugin.caller, hook)(**arguments))

        seconds = deadline_of(hook, plugin.description.deadlines, arguments.get("window", 0.0))
        if seconds is None:
            return ask()
        with guarded(name, hook, silent=False):
            return self._calls.within(name, hook, seconds, ask)

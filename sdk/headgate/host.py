"""The plugin host: one typed door to every plugin; what is broken is set aside and named, and the host goes on."""

from __future__ import annotations

import contextlib
import os
import sys
from collections import Counter
from importlib.metadata import EntryPoint, entry_points, version
from typing import TYPE_CHECKING, Any

import attrs
import pluggy

from headgate.errors import HeadgateError, PluginError
from headgate.hooks import GROUP, HOOKSPEC_VERSION, SPECS, Claim, Description, Finding, Improvement, Verdict, Workload
from headgate.options import make_options

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence
    from contextlib import AbstractContextManager
    from pathlib import Path

    import click

    from headgate.anytime import Wish
    from headgate.model import Observation, Plan, Receipt, Request

DISABLE = "HEADGATE_DISABLE_PLUGINS"
"""Environment variable: names of plugins, separated by commas, that are not loaded."""

HOOKS = frozenset(name for spec in SPECS for name in vars(spec) if name.startswith("headgate_"))


@attrs.frozen(kw_only=True)
class Loaded:
    """A plugin that is ready: its hooks can be called."""

    name: str
    description: Description
    hooks: frozenset[str]
    distribution: str
    version: str
    caller: Any = attrs.field(repr=False)


@attrs.frozen(kw_only=True)
class Quarantined:
    """A plugin that was set aside, and why."""

    name: str
    origin: str
    reason: str


class PluginHost:
    """Every installed plugin, by name.

    Each plugin has a plugin manager of its own: registering is all or nothing, and a call reaches it alone.
    """

    def __init__(self, plugins: Iterable[Loaded] = (), quarantined: Iterable[Quarantined] = ()) -> None:
        self.plugins: dict[str, Loaded] = {plugin.name: plugin for plugin in plugins}
        self.quarantined: tuple[Quarantined, ...] = tuple(quarantined)

    @classmethod
    def load(cls, names: Iterable[str] | None = None) -> PluginHost:
        """Load the plugins of the entry-point group `headgate`, one by one.

        Args:
            names: Load these alone; all by default. `HEADGATE_DISABLE_PLUGINS` names those to leave out.
        """
        off = {name.strip() for name in os.environ.get(DISABLE, "").split(",")}
        found = [each for each in entry_points(group=GROUP) if each.name not in off]
        if names is not None:
            wanted = set(names)
            found = [each for each in found if each.name in wanted]
        count = Counter(entry.name for entry in found)
        with contextlib.redirect_stdout(sys.stderr):
            results = [_load(entry, count[entry.name]) for entry in sorted(found, key=lambda each: each.name)]
        return cls(
            [each for each in results if isinstance(each, Loaded)],
            [each for each in results if isinstance(each, Quarantined)],
        )

    def with_plugin(self, name: str, plugin: object) -> PluginHost:
        """This host and one more plugin, under a name that is not taken.

        Raises:
            PluginError: The name is taken, or the plugin is not fit to load.
        """
        if name in self.plugins:
            raise PluginError(f"{name}: a plugin of that name is loaded already; choose another name")
        loaded = admit(name, plugin)
        if isinstance(loaded, Quarantined):
            raise PluginError(f"{name}: {loaded.reason}")
        return PluginHost([*self.plugins.values(), loaded], self.quarantined)

    def having(self, hook: str) -> tuple[str, ...]:
        """Names of the plugins that implement a hook, sorted."""
        return tuple(sorted(name for name, plugin in self.plugins.items() if hook in plugin.hooks))

    @property
    def schedulers(self) -> tuple[str, ...]:
        """Names of the plugins that schedule, sorted."""
        return self.having("headgate_schedule")

    def describe(self, name: str) -> Description:
        """What a plugin says of itself."""
        return self._get(name).description

    def options(self, name: str, given: Mapping[str, Any] | None = None) -> Any:
        """An instance of a plugin's options class; text values are converted to the field's type.

        Raises:
            OptionError: An option is unknown or its value does not fit.
        """
        return make_options(name, self._get(name).description.options, given or {})

    def schedule(self, name: str, request: Request, options: Any = None, *, wish: Wish | None = None) -> Plan:
        """Ask a scheduler for a plan, and trust nothing it does.

        It runs in a thread of its own until the deadline. If it raises, overruns, changes the request, or answers
        with a plan that breaks a rule, the plan that comes back is HELD: the running assignment, with the reason.
        With a `wish`, Ctrl-C ends one that hears it (`headgate.anytime`), and its best plan so far is the answer.

        Raises:
            DocumentError: The request contradicts itself.
            OptionError: An option does not fit.
            PluginError: There is no such scheduler.
        """
        from headgate.safety import run_scheduler

        plugin = self._get(name, "headgate_schedule")
        if not isinstance(options, plugin.description.options):
            options = self.options(name, options)
        call = plugin.caller.headgate_schedule
        return run_scheduler(name, plugin.version, call, request=request, options=options, wish=wish)

    def analyse(self, name: str, observation: Observation, options: Any = None) -> Verdict:
        """Ask a scheduler whether a new plan is called for; one without an opinion always says yes."""
        plugin = self._get(name, "headgate_schedule")
        if "headgate_analyse" not in plugin.hooks:
            return Verdict(replan=True, state="unjudged")
        if not isinstance(options, plugin.description.options):
            options = self.options(name, options)
        verdict: Verdict = self._call(name, "headgate_analyse", observation=observation, options=options)
        return verdict

    def open(self, name: str, application: Sequence[str], address: str | None) -> AbstractContextManager[Any]:
        """Reach an engine; the context yields the target that the other calls take."""
        reached: AbstractContextManager[Any] = self._call(
            name, "headgate_open", application=tuple(application), address=address
        )
        return reached

    def observe(self, name: str, target: Any, window: float) -> Observation:
        """Measure an engine for a window of seconds."""
        seen: Observation = self._call(name, "headgate_observe", target=target, window=window)
        return seen

    def preflight(self, name: str, target: Any, plan: Plan) -> Sequence[str]:
        """What the target cannot enforce of a plan."""
        return tuple(self._call(name, "headgate_preflight", target=target, plan=plan) or ())

    def execute(self, name: str, target: Any, plan: Plan) -> Receipt:
        """Carry out a plan."""
        receipt: Receipt = self._call(name, "headgate_execute", target=target, plan=plan)
        return receipt

    def rollback(self, name: str, target: Any, receipt: Receipt) -> Receipt:
        """Undo what a receipt records."""
        undone: Receipt = self._call(name, "headgate_rollback", target=target, receipt=receipt)
        return undone

    def scale(self, name: str, target: Any, *, add: int, drain: Sequence[str]) -> Receipt:
        """Change the nodes that an application has."""
        receipt: Receipt = self._call(name, "headgate_scale", target=target, add=add, drain=tuple(drain))
        return receipt

    def experiment(self, name: str, request: Request, scheduler: str, *, seed: int, seconds: float) -> dict[str, float]:
        """Run one experiment on a simulated engine."""
        found = self._call(
            name, "headgate_experiment", request=request, scheduler=scheduler, seed=seed, seconds=seconds
        )
        return dict(found or {})

    def review(self, request: Request, plan: Plan) -> tuple[str, ...]:
        """Objections of every plugin that reviews plans, each with the plugin's name."""
        return tuple(
            f"{name}: {objection}"
            for name in self.having("headgate_review")
            for objection in self._call(name, "headgate_review", request=request, plan=plan) or ()
        )

    def on_round(self, record: Mapping[str, Any]) -> tuple[str, ...]:
        """Tell every listener of a round; returns what went wrong, which concerns no one else."""
        failures = []
        for name in self.having("headgate_on_round"):
            try:
                self._call(name, "headgate_on_round", record=record)
            except HeadgateError as error:
                failures.append(str(error))
        return tuple(failures)

    def workloads(self, name: str) -> tuple[Workload, ...]:
        """The workloads that a scheduler names."""
        return tuple(self._call(name, "headgate_workloads") or ()) if self._has(name, "workloads") else ()

    def claims(self, name: str) -> tuple[Claim, ...]:
        """The printed figures that a scheduler says it reproduces."""
        return tuple(self._call(name, "headgate_claims") or ()) if self._has(name, "claims") else ()

    def improvements(self, name: str) -> tuple[Improvement, ...]:
        """The requests on which a variant is shown beside the published scheduler and the optimum."""
        return tuple(self._call(name, "headgate_improvements") or ()) if self._has(name, "improvements") else ()

    def commands(self) -> tuple[click.Command, ...]:
        """Commands that plugins add to the command line, in order of plugin name; a plugin that fails adds none."""
        found: list[click.Command] = []
        for name in self.having("headgate_commands"):
            with contextlib.suppress(HeadgateError):
                found += self._call(name, "headgate_commands") or ()
        return tuple(found)

    def examine(self, name: str, installation: Path) -> tuple[Finding, ...]:
        """What a plugin finds of an engine's installation in a folder."""
        return tuple(self._call(name, "headgate_examine", installation=installation) or ())

    def _has(self, name: str, hook: str) -> bool:
        return f"headgate_{hook}" in self._get(name).hooks

    def _call(self, name: str, hook: str, **arguments: Any) -> Any:
        plugin = self._get(name, hook)
        try:
            return getattr(plugin.caller, hook)(**arguments)
        except HeadgateError:
            raise
        except Exception as error:
            raise PluginError(f"{name}: {hook} raised {type(error).__name__}: {error}") from error

    def _get(self, name: str, hook: str = "headgate_describe") -> Loaded:
        plugin = self.plugins.get(name)
        if plugin is not None and hook in plugin.hooks:
            return plugin
        aside = next((each for each in self.quarantined if each.name == name), None)
        if aside is not None:
            raise PluginError(f"{name} is set aside: {aside.reason}; see `headgate doctor`")
        known = ", ".join(self.having(hook)) or "none"
        raise PluginError(f"no plugin {name!r} with {hook}; there are: {known}")


def _load(entry: EntryPoint, count: int) -> Loaded | Quarantined:
    origin = f"{entry.value} of {entry.dist.name if entry.dist else 'unknown'}"
    if count > 1:
        reason = f"{count} distributions name a plugin {entry.name!r}; uninstall all but one"
        return Quarantined(name=entry.name, origin=origin, reason=reason)
    try:
        plugin = entry.load()
    except (Exception, SystemExit) as error:  # noqa: BLE001 - a stranger's import may do anything
        reason = f"cannot be imported: {type(error).__name__}: {error}"
        return Quarantined(name=entry.name, origin=origin, reason=reason)
    return admit(entry.name, plugin, entry)


def admit(name: str, plugin: object, entry: EntryPoint | None = None) -> Loaded | Quarantined:
    """Register one object as a plugin if it is fit: known hooks, described, for this hook specification."""
    origin = f"{entry.value} of {entry.dist.name}" if entry and entry.dist else type(plugin).__name__
    manager = pluggy.PluginManager(GROUP)
    for spec in SPECS:
        manager.add_hookspecs(spec)
    try:
        manager.register(plugin, name)
        manager.check_pending()
        hooks = frozenset(caller.name for caller in manager.get_hookcallers(plugin) or ())
        description = _described(plugin, hooks, manager)
    except (Exception, SystemExit) as error:  # noqa: BLE001 - the plugin's own code runs here
        return Quarantined(name=name, origin=origin, reason=f"{type(error).__name__}: {error}")
    return Loaded(
        name=name,
        description=description,
        hooks=hooks,
        distribution=entry.dist.name if entry and entry.dist else "",
        version=entry.dist.version if entry and entry.dist else version("headgate"),
        caller=_Caller(manager),
    )


def _described(plugin: object, hooks: frozenset[str], manager: pluggy.PluginManager) -> Description:
    forgotten = sorted(name for name in dir(plugin) if name in HOOKS and name not in hooks)
    if forgotten:
        raise PluginError(f"{', '.join(forgotten)} lacks @hookimpl, so it would never be called")
    if "headgate_describe" not in hooks:
        raise PluginError("headgate_describe is missing; every plugin has to say what it is")
    found = manager.hook.headgate_describe()
    if len(found) != 1 or not isinstance(found[0], Description):
        raise PluginError(f"headgate_describe answers {found!r}, not a Description")
    description: Description = found[0]
    if description.hookspec != HOOKSPEC_VERSION:
        raise PluginError(f"is written for hooks {description.hookspec}, this is {HOOKSPEC_VERSION}")
    if not isinstance(description.summary, str) or not description.summary.strip():
        raise PluginError("its description has no summary; a docstring does")
    if not attrs.has(description.options):
        raise PluginError(f"its options {description.options!r} are no attrs class")
    return description


class _Caller:
    """Calls a hook of the one plugin in a manager and unwraps the one result."""

    def __init__(self, manager: pluggy.PluginManager) -> None:
        self._hook = manager.hook

    def __getattr__(self, hook: str) -> Any:
        def call(**arguments: Any) -> Any:
            results = getattr(self._hook, hook)(**arguments)
            return results[0] if results else None

        return call

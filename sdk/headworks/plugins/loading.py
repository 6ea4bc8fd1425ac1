"""Plugins by name: an entry point is loaded when its name is first asked for; what is unfit is set aside by name."""

from __future__ import annotations

import contextlib
import difflib
import inspect
import logging
import os
import sys
import threading
import time
from collections.abc import Mapping
from functools import cache, partial
from importlib.metadata import EntryPoint, PackageNotFoundError, distribution, distributions, entry_points, version
from typing import TYPE_CHECKING, Any, TypeVar

import attrs
import pluggy

from headworks.errors import PluginError
from headworks.hooks import GROUP, HOOKSPEC_VERSION, ROUNDS, SPECS, Description, LoopSpec
from headworks.interrupts import is_signal
from headworks.plugins.guard import LOADING, Overdue, failure, in_time, keep_traceback
from headworks.plugins.own_process import printing_to_stderr

if TYPE_CHECKING:
    from collections.abc import Callable, Container, Iterable

T = TypeVar("T")

LOG = logging.getLogger("headworks.loading")
FIRST_PARTY = frozenset({"headworks", "headworks-lab"})
"""Distributions of the built-in plugins and commands, whose names no other can take."""
SHADOWED = "a built-in one has this name; give it another"
"""Reason to set aside what another package calls as a built-in plugin is called."""
DISABLE = "HEADWORKS_DISABLE_PLUGINS"
"""Environment variable: names of plugins and of commands, separated by commas, that are not loaded."""


def _hooks_of(*specs: type) -> frozenset[str]:
    return frozenset(name for spec in specs for name in vars(spec) if name.startswith("headworks_"))


KINDS = {"headworks_describe": "plugin", "headworks_schedule": "scheduler", "headworks_open": "engine"}
"""What a person calls plugins with these hooks."""
HOOKS, UNASKED = _hooks_of(*SPECS), _hooks_of(LoopSpec)


@attrs.frozen(kw_only=True)
class Loaded:
    """A plugin that is ready: its hooks can be called.

    Attributes:
        takes_problem: Whether its scheduler takes the request as arrays.
        stranger: Whether an entry point names it that is not one of ours.
        seconds: Time that its import and its description took.
    """

    name: str
    description: Description
    hooks: frozenset[str]
    distribution: str
    version: str
    takes_problem: bool
    stranger: bool = False
    seconds: float = 0.0
    caller: Any = attrs.field(repr=False)


@attrs.frozen(kw_only=True)
class Quarantined:
    """A plugin that was set aside, and why."""

    name: str
    origin: str
    reason: str


class Registry:
    """Plugins by name, those of entry points not imported before they are asked for.

    Args:
        entries: The entry points of each name; a name that has more than one is not loaded.
    """

    def __init__(
        self,
        entries: Mapping[str, tuple[EntryPoint, ...]] | None = None,
        rounds: Iterable[str] = (),
        ready: Iterable[Loaded | Quarantined] = (),
        shadowed: Iterable[Quarantined] = (),
    ) -> None:
        self._entries = dict(entries or {})
        self._rounds = frozenset(rounds)
        self._ready = {each.name: each for each in ready}
        self._shadowed = tuple(shadowed)
        self._lock = threading.RLock()

    @classmethod
    def installed(cls, names: Iterable[str] | None = None) -> Registry:
        """The entry points of this Python, none of them loaded; `names` leaves out all others."""
        wanted = None if names is None else set(names)
        named = {group: _named(group, wanted) for group in (GROUP, ROUNDS)}
        built_in = {name for each in named.values() for name, entries in each.items() if any(map(_built_in, entries))}
        plugins, rounds = (
            {name: fit for name, each in named[group].items() if (fit := _allowed(each, built_in=name in built_in))}
            for group in (GROUP, ROUNDS)
        )
        both = {
            name: tuple({_origin(each): each for each in (*plugins.get(name, ()), *rounds.get(name, ()))}.values())
            for name in {**plugins, **rounds}
        }
        return cls(both, rounds, shadowed=(*_shadowed(named.values(), built_in), *_unread()))

    def __contains__(self, name: object) -> bool:
        """Check whether a plugin of that name is installed, fit or not."""
        return name in self._ready or name in self._entries

    def get(self, name: str) -> Loaded | Quarantined | None:
        """A plugin, loaded now if it was not; None where there is none of that name."""
        with self._lock:
            if name not in self._ready and name in self._entries:
                self._ready[name] = _load(name, self._entries[name], heard=name in self._rounds)
            return self._ready.get(name)

    def all(self) -> tuple[Loaded | Quarantined, ...]:
        """Every plugin, by name."""
        known = map(self.get, sorted({**self._entries, **self._ready}))
        return (*(each for each in known if each is not None), *self._shadowed)

    def unasked(self) -> tuple[Loaded, ...]:
        """Plugins that take part in every round, and those that are loaded already, by name."""
        with self._lock:
            found = [self.get(name) for name in sorted({*self._rounds, *self._ready})]
        return tuple(each for each in found if isinstance(each, Loaded))

    def plus(self, plugin: Loaded) -> Registry:
        """This registry and one more plugin."""
        with self._lock:
            return Registry(self._entries, self._rounds, (*self._ready.values(), plugin), self._shadowed)


def found(group: str) -> dict[str, tuple[EntryPoint, ...]]:
    """The entry points of a group by name, without those that `HEADWORKS_DISABLE_PLUGINS` names.

    A name that a built-in one has is that one's alone.
    """
    return {name: _allowed(each, built_in=any(map(_built_in, each))) for name, each in _named(group).items()}


def shadowed(group: str) -> tuple[Quarantined, ...]:
    """Entry points that are set aside since a built-in plugin or command has their name."""
    named = _named(group)
    return _shadowed([named], {name for name, entries in named.items() if any(map(_built_in, entries))})


def _built_in(entry: EntryPoint) -> bool:
    return entry in _own()


@cache
def _own() -> frozenset[EntryPoint]:
    """Entry points of our distributions, found by the folders of their metadata: within, any may call itself so."""
    found: set[EntryPoint] = set()
    for name in FIRST_PARTY:
        with contextlib.suppress(PackageNotFoundError):
            found.update(distribution(name).entry_points)
    return frozenset(found)


def _allowed(entries: tuple[EntryPoint, ...], *, built_in: bool) -> tuple[EntryPoint, ...]:
    return tuple(filter(_built_in, entries)) if built_in else entries


def _shadowed(
    groups: Iterable[Mapping[str, tuple[EntryPoint, ...]]], built_in: Iterable[str]
) -> tuple[Quarantined, ...]:
    """Entry points of others that bear the name of a built-in one, a name once."""
    every = [each for group in groups for entries in group.values() for each in entries if not _built_in(each)]
    strangers = {name: {_origin(each): each for each in every if each.name == name} for name in sorted(built_in)}
    return tuple(set_aside(name, tuple(each.values()), SHADOWED) for name, each in strangers.items() if each)


def _named(group: str, wanted: Container[str] | None = None) -> dict[str, tuple[EntryPoint, ...]]:
    off = {name.strip() for name in os.environ.get(DISABLE, "").split(",")}
    by_name: dict[str, tuple[EntryPoint, ...]] = {}
    for each in _readable(group):
        if each.name not in off and (wanted is None or each.name in wanted):
            by_name[each.name] = tuple(dict.fromkeys((*by_name.get(each.name, ()), each)))
    return by_name


def _readable(group: str) -> Iterable[EntryPoint]:
    """The entry points of a group, without those of distributions that `_unread` names."""
    try:
        return entry_points(group=group)
    except Exception:  # noqa: BLE001 - a file that anybody may have written
        return [
            each
            for found in _one_by_one().values()
            if isinstance(found, tuple)
            for each in found
            if each.group == group
        ]


def _unread() -> tuple[Quarantined, ...]:
    """Distributions whose entry points cannot be read, and why."""
    try:
        entry_points()
    except Exception:  # noqa: BLE001 - see above
        every = _one_by_one().items()
        return tuple(
            Quarantined(name=name, origin="entry_points.txt", reason=f"cannot be read: {failure(found)}")
            for name, found in every
            if isinstance(found, Exception)
        )
    return ()


def _one_by_one() -> dict[str, tuple[EntryPoint, ...] | Exception]:
    """The entry points of each distribution by the name of its folder, or what they raise."""
    found: dict[str, tuple[EntryPoint, ...] | Exception] = {}
    for each in distributions():
        name = str(getattr(each, "_normalized_name", each.name))
        if name not in found:
            try:
                found[name] = tuple(each.entry_points)
            except Exception as error:  # noqa: BLE001 - see above
                found[name] = error
    return found


def imported(entry: EntryPoint) -> Any:
    """The object of an entry point; what its import prints goes to stderr.

    Raises:
        PluginError: It cannot be imported.
    """
    if entry.dist is not None and not _distribution(entry):
        raise PluginError("its dist-info has no METADATA, as after an installation that was cut off: install it again")
    LOG.debug("%s: import of %s", entry.name, entry.value)  # the last line before an import that ends the process
    try:
        return in_time(entry.name, "import", LOADING, partial(_quietly, entry.load))
    except Overdue as late:
        keep_traceback(entry.name, "import", late)
        raise PluginError(f"its import {late}") from late
    except BaseException as error:
        if is_signal(error):
            raise
        keep_traceback(entry.name, "import", error)
        raise PluginError(f"cannot be imported: {failure(error)}") from error


def set_aside(name: str, entries: tuple[EntryPoint, ...], reason: str) -> Quarantined:
    """An entry point that is not used, and where it comes from."""
    return Quarantined(name=name, origin=", ".join(map(_origin, entries)), reason=reason)


def twice(name: str, entries: tuple[EntryPoint, ...]) -> str:
    """Reason to set a name aside that several entry points have."""
    sources = {_distribution(each) for each in entries}
    if len(sources) > 1:
        return f"{len(sources)} distributions name {name!r}; uninstall all but one"
    return f"{len(entries)} objects are named {name!r}; name one"


def _origin(entry: EntryPoint) -> str:
    return f"{entry.value} of {_distribution(entry) or 'unknown'}"


def _distribution(entry: EntryPoint) -> str:
    """Name of the distribution that an entry point is of, "" where nothing says it."""
    with contextlib.suppress(Exception):  # later Pythons raise where the metadata are missing, earlier ones say None
        return (entry.dist.name if entry.dist else "") or ""
    return ""


def _load(name: str, entries: tuple[EntryPoint, ...], *, heard: bool) -> Loaded | Quarantined:
    if len(entries) > 1:
        return set_aside(name, entries, twice(name, entries))
    begin = time.perf_counter()
    try:
        plugin = imported(entries[0])
    except PluginError as error:
        return set_aside(name, entries, str(error))
    loaded = admit(name, plugin, entries[0])
    if isinstance(loaded, Loaded):
        loaded = attrs.evolve(loaded, seconds=time.perf_counter() - begin)
    if isinstance(loaded, Loaded) and not heard and (deaf := sorted(loaded.hooks & UNASKED)):
        reason = f"{', '.join(deaf)} would never be called: name the plugin in the entry-point group {ROUNDS!r} too"
        return set_aside(name, entries, reason)
    return loaded


def admit(name: str, plugin: object, entry: EntryPoint | None = None) -> Loaded | Quarantined:
    """Register one object as a plugin if it is fit: known hooks, described, for this hook specification."""
    manager = pluggy.PluginManager(GROUP)
    for spec in SPECS:
        manager.add_hookspecs(spec)
    try:
        _check_object(plugin)
        manager.register(plugin, name)
        manager.check_pending()
        hooks = frozenset(caller.name for caller in manager.get_hookcallers(plugin) or ())
        description = in_time(name, "describe", LOADING, partial(_quietly, _described, plugin, hooks, manager))
    except BaseException as error:
        if is_signal(error):
            raise
        origin = _origin(entry) if entry else type(plugin).__name__
        keep_traceback(name, "admission", error)
        return Quarantined(name=name, origin=origin, reason=_aside(error))
    return Loaded(
        name=name,
        description=description,
        hooks=hooks,
        distribution=_distribution(entry) if entry else "",
        version=str(entry.dist.version) if entry and entry.dist else version("headworks"),
        takes_problem=any("problem" in each.argnames for each in manager.hook.headworks_schedule.get_hookimpls()),
        stranger=entry is not None and not _built_in(entry),
        caller=_Caller(manager),
    )


def _quietly(call: Callable[..., T], *arguments: Any) -> T:
    with printing_to_stderr():
        return call(*arguments)


def _aside(error: BaseException) -> str:
    return f"headworks_describe {error}" if isinstance(error, Overdue) else failure(error)


def _described(plugin: object, hooks: frozenset[str], manager: pluggy.PluginManager) -> Description:
    _check_hooks(plugin, hooks, manager)
    answers = manager.hook.headworks_describe()
    if len(answers) != 1 or not isinstance(answers[0], Description):
        raise PluginError(f"headworks_describe answers {answers!r}, not a Description")
    description: Description = answers[0]
    _check_version(description.hookspec)
    if sys.flags.optimize > 1 and not description.summary:  # -OO strips the docstrings that summaries are made of
        description = attrs.evolve(description, summary=getattr(plugin, "__name__", type(plugin).__name__))
    if not isinstance(description.summary, str) or not description.summary.strip():
        raise PluginError("its description has no summary; a docstring does")
    if not attrs.has(description.options):
        raise PluginError(f"its options {description.options!r} are no attrs class")
    _check_deadlines(description.deadlines)
    _check_defaults(description.defaults)
    return description


def _check_deadlines(deadlines: Any) -> None:
    given = deadlines.items() if isinstance(deadlines, Mapping) else [("all hooks", deadlines)]
    for hook, seconds in given:
        if not (isinstance(seconds, int | float) and seconds > 0):
            raise PluginError(f"its deadline of {hook} is {seconds!r}: give seconds above 0 by name of the hook")


def _check_defaults(defaults: Any) -> None:
    """Check the form alone: whether values fit is seen when the engine runs, for to convert them takes imports."""
    if not isinstance(defaults, Mapping) or not all(isinstance(each, Mapping) for each in defaults.values()):
        raise PluginError(f"its defaults are {defaults!r}: give values by name of the option, by name of the engine")


def _check_version(written_for: int | tuple[int, int]) -> None:
    """Refuse what is written for other hooks than these: a version, or the first and the last of several."""
    first, last = (written_for, written_for) if isinstance(written_for, int) else written_for
    if not first <= HOOKSPEC_VERSION <= last:
        versions = f"{first}" if first == last else f"{first} to {last}"
        which = "a later" if first > HOOKSPEC_VERSION else "an earlier"
        raise PluginError(
            f"is written for hooks {versions}, this is {HOOKSPEC_VERSION}: install {which} headworks,"
            " or another version of the plugin"
        )


def _check_object(plugin: object) -> None:
    """Refuse what pluggy would take, or refuse in words that help nobody."""
    if isinstance(plugin, type):
        raise PluginError(f"names the class {plugin.__name__}, an object of it is needed: {plugin.__name__}()")
    for name in dir(plugin):
        marked = getattr(inspect.getattr_static(plugin, name, None), "headworks_impl", None)
        if isinstance(marked, dict) and name not in HOOKS and not marked.get("optionalhook"):
            close = difflib.get_close_matches(name, HOOKS, n=1)
            meant = f", did you mean {close[0]}?" if close else f" in version {HOOKSPEC_VERSION} of the hooks."
            later = "One of a later version is marked @hookimpl(optionalhook=True)."
            raise PluginError(f"there is no hook {name}{meant} {later}")


def _check_hooks(plugin: object, hooks: frozenset[str], manager: pluggy.PluginManager) -> None:
    forgotten = sorted(name for name in dir(plugin) if name in HOOKS and name not in hooks)
    if forgotten:
        raise PluginError(f"{', '.join(forgotten)} lacks @hookimpl, so it would never be called")
    if "headworks_describe" not in hooks:
        raise PluginError("headworks_describe is missing; every plugin has to describe itself")
    for name in sorted(hooks):
        if any(each.wrapper or each.hookwrapper for each in getattr(manager.hook, name).get_hookimpls()):
            raise PluginError(f"{name} is a hook wrapper; each plugin is called alone, so it would wrap nothing")


class _Caller:
    """Calls a hook of the one plugin in a manager and unwraps the one result."""

    def __init__(self, manager: pluggy.PluginManager) -> None:
        self._hook = manager.hook

    def __getattr__(self, hook: str) -> Any:
        def call(**arguments: Any) -> Any:
            results = getattr(self._hook, hook)(**arguments)
            return results[0] if results else None

        return call

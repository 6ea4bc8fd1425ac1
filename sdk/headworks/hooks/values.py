"""Values that hooks answer, the marks of hooks, and the names of the entry points."""

from __future__ import annotations

from collections.abc import Mapping
from importlib.metadata import PackageNotFoundError, version
from typing import TYPE_CHECKING, Any, Literal

import attrs
import pluggy

if TYPE_CHECKING:
    from collections.abc import Iterable

GROUP = "headworks"
"""Entry-point group of plugins: the plugin's name, and the object."""
ROUNDS = "headworks.rounds"
"""Entry-point group of the plugins that take part in every round: the plugin's name, and the same object."""
COMMANDS = "headworks.commands"
"""Entry-point group of commands: the words after `headworks` with dots between them, and the click command."""
HOOKSPEC_VERSION = 1

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
        paper: The source of the algorithm, "" if there is none.
        capabilities: Promises to the conformance kit, from `headworks.testing.CAPABILITIES`.
        hookspec: The hook specification it was written for; the first and the last of several that it keeps.
        deadlines: Seconds by name of the hook, where its own may take longer or less long than others'. Hooks that are
            called unasked can only take less.
        defaults: Values of options by name, by name of the engine: defaults while that engine runs, in place of those
            of the class.
    """

    summary: str = attrs.field(converter=_text)
    options: type = NoOptions
    paper: str = ""
    capabilities: frozenset[str] = attrs.field(default=frozenset(), converter=_frozen)
    hookspec: int | tuple[int, int] = HOOKSPEC_VERSION
    deadlines: Mapping[str, float] = attrs.field(factory=dict, hash=False)
    defaults: Mapping[str, Mapping[str, Any]] = attrs.field(factory=dict, hash=False)


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


class Spec:
    """The hook of every plugin."""

    @hookspec
    def headworks_describe(self) -> Description:  # type: ignore[empty-body]
        """Describe the plugin. Required, constant and cheap: no import of an engine, no I/O."""

"""Commands that plugins add, named in the entry-point group `headworks.commands` by the words after `headworks`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NoReturn

import click

from headworks.cli.summaries import Summaries
from headworks.errors import PluginError
from headworks.hooks import COMMANDS
from headworks.plugins.loading import Quarantined, found, imported, set_aside, shadowed, twice

if TYPE_CHECKING:
    from collections.abc import Mapping
    from importlib.metadata import EntryPoint


LABORATORY = frozenset({"demo.priority", "reproduce", "storm.profile", "sweep"})
"""Commands of the distribution `headworks-lab`, which may not be installed."""


def names() -> set[str]:
    """The first words of the commands, nothing imported."""
    return {words.partition(".")[0] for words in found(COMMANDS)}


def find(name: str) -> click.Command | None:
    """The command of a name with its subcommands, imported now; None if there is none.

    One that is set aside stays a command, which says why when it is called: the others work on. A command that a group
    has of itself cannot be replaced.
    """
    named = found(COMMANDS)
    entries = {words: each for words, each in sorted(named.items()) if words.partition(".")[0] == name}
    absent = {words for words in LABORATORY - named.keys() if words.partition(".")[0] == name}
    if name in absent:
        return InLaboratory(name)
    if not entries:
        return None
    group = _command(name, entries[name]) if name in entries else Summaries(name)
    if not isinstance(group, click.Group):
        return group
    below = {words.partition(".")[2]: words for words in entries if words != name}
    added = {last: _command(words, entries[words]) for last, words in below.items() if last not in group.commands}
    joined = Summaries.of(group)
    elsewhere = {words.partition(".")[2]: InLaboratory(words) for words in absent}
    joined.commands = {**elsewhere, **group.commands, **added}
    return joined


def quarantined(taken: frozenset[str]) -> tuple[Quarantined, ...]:
    """Commands that are set aside, and why; imports all."""
    named = found(COMMANDS)
    every = (
        _below(words, entries, named, taken) or _fit(words, entries, taken) for words, entries in sorted(named.items())
    )
    return (*(each for each in every if isinstance(each, Quarantined)), *shadowed(COMMANDS))


def _below(
    words: str, entries: tuple[EntryPoint, ...], named: Mapping[str, tuple[EntryPoint, ...]], taken: frozenset[str]
) -> Quarantined | None:
    """A command that is to be in a group which has one of that name, or that is none."""
    name, _, below = words.partition(".")
    if not below or (name not in taken and name not in named):
        return None
    group = None if name in taken else _command(name, named[name])
    if not isinstance(group, click.Group | SetAside):
        return set_aside(words, entries, f"headworks {name} takes no commands")
    if isinstance(group, click.Group) and below in group.commands:
        return set_aside(words, entries, f"headworks {name} has a command of that name already")
    return None


def _command(words: str, entries: tuple[EntryPoint, ...]) -> click.Command:
    fit = _fit(words, entries)
    return fit if isinstance(fit, click.Command) else SetAside(fit)


def _fit(
    words: str, entries: tuple[EntryPoint, ...], taken: frozenset[str] = frozenset()
) -> click.Command | Quarantined:
    if words in taken:
        return set_aside(words, entries, "headworks has a command of that name already")
    if len(entries) > 1:
        return set_aside(words, entries, twice(words, entries))
    try:
        command = imported(entries[0])
    except PluginError as error:
        return set_aside(words, entries, str(error))
    if not isinstance(command, click.Command):
        return set_aside(words, entries, f"is of type {type(command).__name__}, not a click command")
    return command


class SetAside(click.Command):
    """Stands for a command that is set aside: listed, and refused with the reason."""

    def __init__(self, aside: Quarantined) -> None:
        super().__init__(aside.name.rpartition(".")[2], short_help="Set aside: see `headworks doctor`.")
        self._aside = aside

    def make_context(self, *_arguments: Any, **_more: Any) -> NoReturn:
        """Refuse, whatever the arguments are."""
        raise PluginError(f"{self._aside.name} is set aside: {self._aside.reason}; see `headworks doctor`")


class InLaboratory(click.Command):
    """Stands for a command of the laboratory where that is not installed: not listed, and refused with what to do."""

    def __init__(self, words: str) -> None:
        super().__init__(words.rpartition(".")[2], hidden=True)
        self._words = words.replace(".", " ")

    def make_context(self, *_arguments: Any, **_more: Any) -> NoReturn:
        """Refuse, whatever the arguments are."""
        raise click.UsageError(
            f"headworks {self._words} is a command of the laboratory: install it with `pip install ./lab` in a clone"
        )

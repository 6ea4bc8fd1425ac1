"""The file `headworks.toml`: a table for each command, whose values are the defaults of its options."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from headworks.cli.plugin_commands import SetAside
from headworks.control.settings import read_toml
from headworks.errors import DocumentError, known_names, pointer

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence
    from pathlib import Path

OPTIONS = "headworks.plugins.options"
"""In `Context.default_map`: options of schedulers; the callback of `--option` adds those of the command line."""
BROKEN = "headworks.cli.broken"
"""In `Context.meta`: the error of the file that was found, where a command may yet do without it."""
DOCTOR = "doctor"
"""The command that says what is wrong with the file, and needs nothing of it."""
NO_KEYS = ("config", "help", "version")
"""Options of which a file says nothing."""


def take(root: click.Context, path: Path, words: Sequence[str]) -> None:
    """Take the values of the file that was found as defaults; one that is broken stops neither help nor `doctor`.

    Args:
        root: Context of the group of all commands.
        path: The file.
        words: What was typed, the name of the command first.

    Raises:
        DocumentError: It is broken, and the command may need it.
    """
    try:
        root.default_map = defaults_of(root, path)
    except DocumentError as error:
        root.meta[BROKEN] = error
        context = _called(root, words)
        if set(words) & {"-h", "--help"}:
            click.echo(f"headworks: {error}", err=True)
            click.echo(context.get_help())
            root.exit()
        if words[0] != DOCTOR and not any("--config" in each.opts for each in context.command.get_params(context)):
            raise


def refuse_broken(context: click.Context) -> None:
    """Refuse to go on with a broken file, unless another one was named.

    Raises:
        DocumentError: The file that was found is broken.
    """
    if isinstance(error := context.meta.get(BROKEN), DocumentError):
        raise error


def _called(context: click.Context, words: Sequence[str]) -> click.Context:
    """Context of the command that words name, as far as they do."""
    for word in words:
        command = context.command.get_command(context, word) if isinstance(context.command, click.Group) else None
        if command is None or isinstance(command, SetAside):
            break
        context = click.Context(command, info_name=word, parent=context)
    return context


def defaults_of(root: click.Context, path: Path) -> dict[str, Any]:
    """The values of a file, by the words of the commands and the names of their parameters.

    Args:
        root: Context of the group of all commands.
        path: The file.

    Raises:
        DocumentError: A table or a key is unknown, or a value does not fit; the pointer says which.
    """
    return _table(root, root.command, read_toml(path), path)


def path_of(context: click.Context) -> tuple[str, ...]:
    """The words of a command and of the groups that it is in, without the root."""
    return () if context.parent is None else (*path_of(context.parent), str(context.info_name))


def keys(command: click.Command, context: click.Context) -> dict[str, click.Option]:
    """The options of a command by their names in a file: as on the command line, in the plural if repeatable.

    Args:
        command: The command.
        context: Context of the group of all commands.
    """
    if context.command is command:  # what is for all commands, such as --verbose, is typed
        return {}
    options = [each for each in command.get_params(context) if isinstance(each, click.Option)]
    named = {str(each.name) if each.multiple else max(each.opts, key=len)[2:]: each for each in options}
    return {name: each for name, each in named.items() if name not in NO_KEYS}


def _table(root: click.Context, command: click.Command, table: object, path: Path, *where: str) -> dict[str, Any]:
    """The table of a command or a group as a map of defaults.

    The table of a command that is set aside is passed over: the other commands work on.
    """
    if not isinstance(table, dict):
        raise DocumentError(pointer(*where), "is no table", str(path))
    options, inner = keys(command, root), command.get_command if isinstance(command, click.Group) else _none
    found: dict[str, Any] = {}
    for name, value in table.items():
        if option := options.get(name.replace("_", "-")):
            found |= _value(root, option, value, path, pointer(*where, name))
        elif below := inner(root, name):
            found[name] = {} if isinstance(below, SetAside) else _table(root, below, value, path, *where, name)
        else:
            raise _unknown(root, command, name, path, *where)
    return found


def _none(_root: click.Context, _name: str) -> None:
    """The command of a name in a command that is no group."""


def _unknown(root: click.Context, command: click.Command, name: str, path: Path, *where: str) -> DocumentError:
    tables = command.list_commands(root) if isinstance(command, click.Group) else []
    what, known = ("table", tables) if tables else ("key", keys(command, root))
    named: Iterable[str] = known
    return DocumentError(pointer(*where, name), f"unknown {what}{known_names(name, named)}", str(path))


def _value(root: click.Context, option: click.Option, value: Any, path: Path, at: str) -> Mapping[str, Any]:
    """The value of an option as it is, once it was seen to fit."""
    if option.name == "options":
        return {OPTIONS: _flat(value, at, path)}
    try:
        option.type_cast_value(root, value)
    except (click.BadParameter, TypeError, ValueError) as error:
        why = error.message if isinstance(error, click.BadParameter) else f"{value!r} does not fit"
        raise DocumentError(at, why, str(path)) from None
    return {str(option.name): value}


def _flat(value: Any, at: str, path: Path) -> dict[str, Any]:
    """Options of schedulers: `beta = 0`, or where there are several schedulers `dstorm.beta = 0`."""
    if not isinstance(value, dict):
        raise DocumentError(at, f"{value!r} is no table of options", str(path))
    nested = {
        f"{name}.{key}": item for name, each in value.items() if isinstance(each, dict) for key, item in each.items()
    }
    return {**{name: each for name, each in value.items() if not isinstance(each, dict)}, **nested}

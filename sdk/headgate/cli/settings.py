"""Settings as options of a command, and the file that holds them: `--config headgate.toml`."""

from __future__ import annotations

from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, get_args, get_origin

import click

from headgate.cli.plugin_commands import SetAside
from headgate.control.settings import Setting, read_toml
from headgate.errors import DocumentError, known_names, pointer

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

OPTIONS = "headgate.plugins.options"
"""In `Context.meta`: options of schedulers from the file; the callback of `--option` adds those of the command line."""


class Configured(click.Command):
    """A command with a table of settings, which takes its options from a TOML file too.

    The table of `headgate serve storm` is `[serve.storm]`. What the command line says wins over the file.
    """

    def __init__(self, *args: Any, settings: Callable[[], Iterable[Setting]] = tuple, **more: Any) -> None:
        """Make a command.

        Args:
            args: As for `click.Command`.
            settings: Makes the table, when it is needed: its classes may be costly to import.
            more: As for `click.Command`.
        """
        super().__init__(*args, **more)
        self._settings = settings

    @cached_property
    def _options(self) -> list[click.Parameter]:
        file = click.Path(exists=True, dir_okay=False, path_type=Path)
        text = "TOML file with any of these options in the table of this command."
        config = click.Option(["--config"], type=file, is_eager=True, expose_value=False, callback=_read, help=text)
        return [*map(option_of, self._settings()), config]

    def get_params(self, ctx: click.Context) -> list[click.Parameter]:
        """The command's own parameters and its settings."""
        own = super().get_params(ctx)
        return [*own[:-1], *self._options, *own[-1:]]  # --help stays the last

    def keys(self, ctx: click.Context) -> dict[str, click.Option]:
        """The options by their names in a file: as on the command line, in the plural if repeatable."""
        options = [each for each in self.get_params(ctx) if isinstance(each, click.Option)]
        named = {str(each.name) if each.multiple else max(each.opts, key=len)[2:]: each for each in options}
        return {name: each for name, each in named.items() if name not in ("config", "help")}


class _Value(click.ParamType):  # type: ignore[type-arg]  # generic since click 8.2
    name = "value"

    def __init__(self, setting: Setting) -> None:
        self._setting = setting

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        """See `Setting.convert`."""
        try:
            return self._setting.convert(value)
        except ValueError as error:
            self.fail(str(error), param, ctx)


def option_of(setting: Setting) -> click.Option:
    """The command line's option for a setting."""
    flag = setting.name.replace("_", "-")
    if setting.kind is bool:
        return click.Option([f"--{flag}/--no-{flag}"], default=setting.default, help=setting.help)
    return click.Option(
        [f"--{flag}"],
        type=_Value(setting),
        default=setting.default,
        show_default=setting.default is not None,
        metavar=setting.metavar or _metavar(setting.kind),
        help=f"{setting.help}  [{setting.bounds}]" if setting.bounds else setting.help,
    )


def _metavar(kind: Any) -> str:
    plain = get_args(kind)[0] if type(None) in get_args(kind) else kind
    if get_origin(plain) is Literal:
        return f"[{'|'.join(get_args(plain))}]"
    return {int: "INTEGER", float: "FLOAT"}.get(plain, "TEXT")


def _read(context: click.Context, _parameter: click.Parameter, path: Path | None) -> None:
    """Take the values of a file as the defaults of the command line.

    Raises:
        DocumentError: A table or a key is unknown, or a value does not fit; the pointer says which.
    """
    if path is None:
        return
    root, tables = context.find_root(), read_toml(path)
    _check_names(root, root.command, tables, path)
    command, table, where = context.command, tables, _names(context)
    for name in where:
        table = table.get(name, {})
    assert isinstance(command, Configured)
    given = {command.keys(context)[_key(name)]: (name, value) for name, value in table.items()}
    context.default_map = dict(context.default_map or {})
    for option, (name, value) in given.items():
        at = pointer(*where, name)
        if option.name == "options":
            context.meta[OPTIONS] = _flat(value, at, path)
        else:
            context.default_map[str(option.name)] = _fitting(context, option, value, at, path)


def _names(context: click.Context) -> tuple[str, ...]:
    """The names of a command and the groups that it is in, without the root."""
    return () if context.parent is None else (*_names(context.parent), str(context.info_name))


def _key(name: str) -> str:
    return name.replace("_", "-")


def _check_names(root: click.Context, command: click.Command, table: object, path: Path, *where: str) -> None:
    """Refuse a table that is no command's, and a key that its command does not have.

    The table of a command that is set aside is passed over: the other commands work on.
    """
    if not isinstance(table, dict):
        raise DocumentError(pointer(*where), f"is no table in {path}")
    if isinstance(command, click.Group):
        for name, below in table.items():
            inner = command.get_command(root, name)
            if isinstance(inner, SetAside):
                continue
            if inner is None or not _takes_tables(root, inner):
                raise _unknown("table", name, _tables(root, command), path, *where)
            _check_names(root, inner, below, path, *where, name)
    elif isinstance(command, Configured):
        known = command.keys(root)
        for name in table:
            if _key(name) not in known:
                raise _unknown("key", name, known, path, *where)


def _takes_tables(root: click.Context, command: click.Command) -> bool:
    return isinstance(command, Configured) or (isinstance(command, click.Group) and bool(_tables(root, command)))


def _tables(root: click.Context, group: click.Group) -> list[str]:
    commands = {name: group.get_command(root, name) for name in group.list_commands(root)}
    return [name for name, each in commands.items() if each is not None and _takes_tables(root, each)]


def _unknown(what: str, name: str, known: Iterable[str], path: Path, *where: str) -> DocumentError:
    return DocumentError(pointer(*where, name), f"unknown {what} in {path}{known_names(name, known)}")


def _flat(value: Any, at: str, path: Path) -> dict[str, Any]:
    """Options of schedulers: `beta = 0`, or where there are several schedulers `dstorm.beta = 0`."""
    if not isinstance(value, dict):
        raise DocumentError(at, f"{value!r} is no table of options in {path}")
    nested = {
        f"{name}.{key}": item for name, each in value.items() if isinstance(each, dict) for key, item in each.items()
    }
    return {**{name: each for name, each in value.items() if not isinstance(each, dict)}, **nested}


def _fitting(context: click.Context, option: click.Option, value: Any, at: str, path: Path) -> Any:
    """The value as it is, once it was seen to fit."""
    try:
        option.type_cast_value(context, value)
    except (click.BadParameter, TypeError, ValueError) as error:
        why = error.message if isinstance(error, click.BadParameter) else f"{value!r} does not fit"
        raise DocumentError(at, f"{why} (in {path})") from None
    return value

"""The settings of the control loop as one table, as options of a command, and in the file `headworks.toml`.

A setting is a field of an attrs class with `help` in its metadata. More metadata where it is needed: `name`, if it is
not called as the field; `default`, if that of a running loop is another; `least`, `above` and `most`, its bounds;
`takes`, its values in words, and its `metavar`. The file has a table of defaults for each command.
"""

from __future__ import annotations

import math
import tomllib
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, TypeVar, get_args, get_origin, get_type_hints

import attrs
import click

from headworks.errors import DocumentError, known_names, pointer
from headworks.plugins.options import describe, text_converter

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence


T = TypeVar("T")


@attrs.frozen(kw_only=True)
class Pace:
    """Schedule of the control loop: its period and its end."""

    interval: float = attrs.field(default=60.0, metadata={"help": "Seconds between rounds.", "least": 0})
    rounds: int | None = attrs.field(
        default=None, metadata={"help": "Stop after this many rounds; by default, never.", "least": 1}
    )
    replan: bool = attrs.field(
        default=False, metadata={"help": "Plan in every round, even if the scheduler's analysis sees no need."}
    )


@attrs.frozen(kw_only=True)
class Setting:
    """One row of the table.

    Attributes:
        name: An identifier; the option `--min-gain` is the setting `min_gain`.
        kind: The type of its values.
        help: One sentence.
        bounds: The bounds of a number in words, "" without any.
        takes: Its values in words, where the type does not say them; `metavar` stands for one in a line of help.
    """

    name: str
    kind: Any
    default: Any
    help: str
    least: float | None = None
    above: float | None = None
    most: float | None = None
    takes: str = ""
    metavar: str | None = None

    @property
    def bounds(self) -> str:
        """The bounds of a number in words, "" without any."""
        words = (("at least", self.least), ("more than", self.above), ("at most", self.most))
        return " and ".join(f"{word} {bound:g}" for word, bound in words if bound is not None)

    def convert(self, value: Any) -> Any:
        """The value that text, or a plain value of a TOML file, stands for.

        Raises:
            ValueError: It does not fit.
        """
        try:
            made = text_converter().structure(value, self.kind)
        except Exception:  # noqa: BLE001 - whatever a conversion raises means that the value does not fit
            fits = False
        else:
            fits = made is None or self._is_within(made)
        if not fits:
            bounds = f", {self.bounds}" if self.bounds else ""
            raise ValueError(f"{value!r} is not {self.takes or describe(self.kind)}{bounds}")
        return made

    def _is_within(self, value: Any) -> bool:
        if isinstance(value, Path):
            return value.exists()
        if isinstance(value, float) and not math.isfinite(value):
            return False
        return not (
            (self.least is not None and value < self.least)
            or (self.above is not None and value <= self.above)
            or (self.most is not None and value > self.most)
        )


def settings_of(*kinds: type) -> tuple[Setting, ...]:
    """The table of some attrs classes, and of the classes of their fields."""
    return tuple(setting for kind in kinds for setting in _settings(kind))


def _settings(kind: type) -> Iterator[Setting]:
    for field, hint in _fields(kind):
        if "help" in field.metadata:
            yield Setting(**{"name": field.name, "default": field.default, **field.metadata}, kind=hint)
        elif attrs.has(hint):
            yield from _settings(hint)


def _fields(kind: type) -> Iterator[tuple[Any, Any]]:
    hints = get_type_hints(kind)
    return ((field, hints[field.name]) for field in attrs.fields(kind))


def make(kind: type[T], values: Mapping[str, Any], **more: Any) -> T:
    """An instance of an attrs class with settings: what `values` leaves out is the default.

    Args:
        kind: The class; the settings of its fields' classes count too.
        values: Values that `Setting.convert` made, by the setting's name; those of other classes are passed over.
    """
    for field, hint in _fields(kind):
        name = field.metadata.get("name", field.name)
        if "help" in field.metadata and (name in values or "default" in field.metadata):
            more[field.name] = values.get(name, field.metadata.get("default"))
        elif "help" not in field.metadata and field.name not in more and attrs.has(hint):
            more[field.name] = make(hint, values)
    return kind(**more)


OPTIONS = "headworks.plugins.options"
"""In `Context.default_map`: options of schedulers; the callback of `--option` adds those of the command line."""
BROKEN = "headworks.cli.broken"
"""In `Context.meta`: the error of the file that was found, where a command may yet do without it."""
DOCTOR = "doctor"
"""The command that says what is wrong with the file, and needs nothing of it."""
NO_KEYS = ("config", "help", "version")
"""Options of which a file says nothing."""


def take_defaults(root: click.Context, path: Path, words: Sequence[str]) -> None:
    """Take the values of the file that was found as defaults; one that is broken stops neither help nor `doctor`.

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


def _is_set_aside(command: click.Command) -> bool:
    # Plugins' commands are looked at only where there is a file.
    from headworks.cli.plugin_commands import SetAside

    return isinstance(command, SetAside)


def _called(context: click.Context, words: Sequence[str]) -> click.Context:
    """Context of the command that words name, as far as they do."""
    for word in words:
        command = context.command.get_command(context, word) if isinstance(context.command, click.Group) else None
        if command is None or _is_set_aside(command):
            break
        context = click.Context(command, info_name=word, parent=context)
    return context


def defaults_of(root: click.Context, path: Path) -> dict[str, Any]:
    """The values of a file, by the words of the commands and the names of their parameters.

    Raises:
        DocumentError: A table or a key is unknown, or a value does not fit; the pointer says which.
    """
    return _table(root, root.command, read_toml(path), path)


def read_toml(path: Path) -> dict[str, Any]:
    """The tables of a TOML file.

    Raises:
        DocumentError: It cannot be read, or is not TOML.
    """
    try:
        return tomllib.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise DocumentError("", f"{path} cannot be read: {getattr(error, 'strerror', None) or error}") from None


def path_of(context: click.Context) -> tuple[str, ...]:
    """The words of a command and of the groups that it is in, without the root."""
    return () if context.parent is None else (*path_of(context.parent), str(context.info_name))


def keys(command: click.Command, context: click.Context) -> dict[str, click.Option]:
    """The options of a command by their names in a file: as on the command line, in the plural if repeatable."""
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
        raise DocumentError(pointer(*where), "is not a table", str(path))
    options, inner = keys(command, root), command.get_command if isinstance(command, click.Group) else _none
    found: dict[str, Any] = {}
    for name, value in table.items():
        if option := options.get(name.replace("_", "-")):
            found |= _value(root, option, value, path, pointer(*where, name))
        elif below := inner(root, name):
            found[name] = {} if _is_set_aside(below) else _table(root, below, value, path, *where, name)
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
        raise DocumentError(at, f"{value!r} is not a table of options", str(path))
    nested = {
        f"{name}.{key}": item for name, each in value.items() if isinstance(each, dict) for key, item in each.items()
    }
    return {**{name: each for name, each in value.items() if not isinstance(each, dict)}, **nested}


class Configured(click.Command):
    """A command with a table of settings, which takes its options from a TOML file too.

    The table of `headworks serve storm` is `[serve.storm]`. What the command line says wins over the file.
    """

    def __init__(self, *args: Any, settings: Callable[[], Iterable[Setting]] = tuple, **more: Any) -> None:
        """Make a command.

        Args:
            settings: Makes the table, when it is needed: its classes may be costly to import.
        """
        super().__init__(*args, **more)
        self._settings = settings

    @cached_property
    def _options(self) -> list[click.Parameter]:
        file = click.Path(exists=True, dir_okay=False, path_type=Path)
        text = "TOML file with any of these options in the table of this command, instead of headworks.toml."
        config = click.Option(["--config"], type=file, is_eager=True, expose_value=False, callback=_read, help=text)
        return [*map(option_of, self._settings()), config]

    def get_params(self, ctx: click.Context) -> list[click.Parameter]:
        """The command's own parameters and its settings."""
        own = super().get_params(ctx)
        return [*own[:-1], *self._options, *own[-1:]]  # --help stays the last

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Read what was typed, unless the file that was found is broken and none was named instead."""
        try:
            rest = super().parse_args(ctx, args)
        except click.UsageError:
            refuse_broken(ctx)  # what is missing may stand in the file
            raise
        refuse_broken(ctx)
        return rest


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
    """Take the values of a file as the defaults of the command line."""
    if path is None:
        return
    found: Any = defaults_of(context.find_root(), path)
    for name in path_of(context):
        found = found.get(name, {})
    context.default_map = found
    context.meta.pop(BROKEN, None)

"""Settings as options of a command, which a file may name: `--config headworks.toml`."""

from __future__ import annotations

from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, get_args, get_origin

import click

from headworks.cli.defaults import BROKEN, defaults_of, path_of, refuse_broken

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from headworks.control.settings import Setting


class Configured(click.Command):
    """A command with a table of settings, which takes its options from a TOML file too.

    The table of `headworks serve storm` is `[serve.storm]`. What the command line says wins over the file.
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
        text = "TOML file with any of these options in the table of this command, instead of headworks.toml."
        config = click.Option(["--config"], type=file, is_eager=True, expose_value=False, callback=_read, help=text)
        return [*map(option_of, self._settings()), config]

    def get_params(self, ctx: click.Context) -> list[click.Parameter]:
        """The command's own parameters and its settings."""
        own = super().get_params(ctx)
        return [*own[:-1], *self._options, *own[-1:]]  # --help stays the last

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Read what was typed, unless the file that was found is broken and none was named instead.

        Args:
            ctx: Context of the command.
            args: What was typed.
        """
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

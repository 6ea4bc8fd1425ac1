"""Types of parameters on the command line: addresses, finite numbers, places of this machine or of others."""

from __future__ import annotations

import math
from typing import Any

import click

from headworks.samples.objects import is_url


class Address(click.ParamType):  # type: ignore[type-arg]  # generic since click 8.2
    """HOST:PORT; an address of IPv6 stands in brackets."""

    name = "address"

    def __init__(self, host: str = "") -> None:
        """Take the host of an address that is a port alone; without one, a host is asked for."""
        self._host = host

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> tuple[str, int]:
        """Host and port of a text."""
        if isinstance(value, tuple):
            return value
        host, colon, port = str(value).rpartition(":")
        host = host if colon else self._host
        if not (host and port.isdecimal() and int(port) < 65536):
            self.fail(f"{value!r} is no {'[HOST:]PORT' if self._host else 'HOST:PORT'}", param, ctx)
        return host.strip("[]"), int(port)


class Counted(click.ParamType):  # type: ignore[type-arg]  # generic since click 8.2
    """NAME=COUNT, or NAME for one."""

    name = "name and count"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> tuple[str, int]:
        """Name and count of a text."""
        if isinstance(value, tuple):
            return value
        name, equals, count = str(value).partition("=")
        if not name or (equals and not (count.isascii() and count.isdecimal() and int(count))):
            self.fail(f"{value!r} is no NAME=COUNT", param, ctx)
        return name, int(count or 1)


class FiniteRange(click.FloatRange):
    """A number within bounds that is neither infinite nor NaN, which compares with no bound."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> float:
        """Read a number.

        Raises:
            BadParameter: It is no number, not finite, or beyond a bound.
        """
        number = float(super().convert(value, param, ctx))
        if not math.isfinite(number):
            self.fail(f"{value} is not a finite number.", param, ctx)
        return number


class PathOrUrl(click.ParamType):  # type: ignore[type-arg]  # generic from click 8.4 only
    """A path of this machine, or a folder or file on others by its URL.

    Args:
        exists: True to refuse paths where nothing is; those on others are looked at when they are used.
    """

    def __init__(self, *, exists: bool, files: bool = False) -> None:
        self.name = "path or URL" if files else "folder or URL"
        self._path = click.Path(exists=exists, file_okay=files)

    def convert(self, value: object, param: click.Parameter | None, ctx: click.Context | None) -> str:
        """The place as text."""
        return str(value) if is_url(str(value)) else str(self._path.convert(str(value), param, ctx))

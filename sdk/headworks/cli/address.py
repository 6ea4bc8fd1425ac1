"""Addresses on the command line."""

from __future__ import annotations

from typing import Any

import click


class Address(click.ParamType):  # type: ignore[type-arg]  # generic since click 8.2
    """HOST:PORT; an address of IPv6 stands in brackets."""

    name = "address"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> tuple[str, int]:
        """Host and port of a text.

        Args:
            value: The text, or what was made of it already.
            param: Parameter, for the error.
            ctx: Context, for the error.
        """
        if isinstance(value, tuple):
            return value
        host, colon, port = str(value).rpartition(":")
        if not (colon and host and port.isdecimal() and int(port) < 65536):
            self.fail(f"{value!r} is no HOST:PORT", param, ctx)
        return host.strip("[]"), int(port)

"""Arguments of commands that are a path of this machine or a folder on others."""

from __future__ import annotations

import click

from headworks.samples.remote.folder import is_url


class Place(click.ParamType):  # type: ignore[type-arg]  # generic from click 8.4 only
    """A path of this machine, or a folder or file on others by its URL.

    Args:
        exists: True to refuse paths where nothing is; those on others are looked at when they are used.
        files: True to take files as well as folders.
    """

    def __init__(self, *, exists: bool, files: bool = False) -> None:
        self.name = "path or URL" if files else "folder or URL"
        self._path = click.Path(exists=exists, file_okay=files)

    def convert(self, value: object, param: click.Parameter | None, ctx: click.Context | None) -> str:
        """The place as text.

        Args:
            value: What was typed.
            param: The parameter that it is for.
            ctx: The command's context.
        """
        return str(value) if is_url(str(value)) else str(self._path.convert(str(value), param, ctx))

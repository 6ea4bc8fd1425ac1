"""Groups of commands whose help has the whole first sentence of each command, section by section."""

from __future__ import annotations

import copy
from typing import TYPE_CHECKING

import click

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

WHOLE = 10_000
"""Characters of a summary at most: none is cut, for half a sentence helps nobody to choose."""


class Summaries(click.Group):
    """A group that lists its commands with whole summaries."""

    @classmethod
    def of(cls, group: click.Group) -> click.Group:
        """A copy of a group that lists them so; one of a class of its own lists them as that says."""
        made = cls(group.name) if type(group) is click.Group else copy.copy(group)
        vars(made).update(vars(group))
        return made

    def sections(self, names: Sequence[str]) -> Mapping[str, Sequence[str]]:
        """Names of the commands by the title of their section."""
        return {"Commands": names}

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the commands that are not hidden, in one column for all sections."""
        every = {name: self.get_command(ctx, name) for name in self.list_commands(ctx)}
        shown = {name: each for name, each in every.items() if each is not None and not each.hidden}
        wide = max(map(len, shown), default=0)
        for title, names in self.sections(list(shown)).items():
            if names:
                with formatter.section(title):
                    formatter.write_dl([(f"{name:{wide}}", shown[name].get_short_help_str(WHOLE)) for name in names])

"""The plugin object of the Storm adapter."""

from __future__ import annotations

from typing import TYPE_CHECKING

from headgate.hooks import Description, hookimpl

if TYPE_CHECKING:
    from collections.abc import Sequence

    import click


class Storm:
    """Apache Storm: production clusters from its test data as request documents."""

    @hookimpl
    def headgate_describe(self) -> Description:
        """Describe the adapter."""
        return Description(summary=self.__doc__ or "")

    @hookimpl
    def headgate_commands(self) -> Sequence[click.Command]:
        """Add `headgate import storm-clusterconf`."""
        from headgate_storm.commands import import_group

        return (import_group,)


storm = Storm()

"""The plugin `pipeline`: commands that turn raw samples into knowledge, and fan out experiments."""

from __future__ import annotations

from typing import TYPE_CHECKING

from headgate.hooks import Description, hookimpl

if TYPE_CHECKING:
    from collections.abc import Sequence

    import click


class Pipeline:
    """Learn profiles, traffic, demand, drift and health from raw samples, on Spark."""

    @hookimpl
    def headgate_describe(self) -> Description:
        """Summary of the adapter."""
        return Description(summary=self.__doc__ or "")

    @hookimpl
    def headgate_commands(self) -> Sequence[click.Command]:
        """The commands `headgate profile` and `headgate sweep`, and the group `headgate pipeline`."""
        from headgate_pipeline.commands import pipeline, profile
        from headgate_pipeline.sweep_command import sweep

        return profile, pipeline, sweep


pipeline = Pipeline()

"""The plugin `pipeline`: its name and what it is; its work is in commands."""

from __future__ import annotations

from headworks.hooks import Description, hookimpl


class Pipeline:
    """Learn profiles, traffic, demand, drift and health from raw samples, on Spark."""

    @hookimpl
    def headworks_describe(self) -> Description:
        """Summary of the adapter."""
        return Description(summary=self.__doc__ or "")


pipeline = Pipeline()

"""The plugin `pipeline`: the document that its jobs make of raw samples."""

from __future__ import annotations

from typing import TYPE_CHECKING

from headgate.hooks import Description, hookimpl
from headgate_pipeline.learning.knowledge import Knowledge

if TYPE_CHECKING:
    from collections.abc import Mapping


class Pipeline:
    """Learn profiles, traffic, demand, drift and health from raw samples, on Spark."""

    @hookimpl
    def headgate_describe(self) -> Description:
        """Summary of the adapter."""
        return Description(summary=self.__doc__ or "")

    @hookimpl
    def headgate_documents(self) -> Mapping[str, type]:
        """The document `knowledge`."""
        return {"knowledge": Knowledge}


pipeline = Pipeline()

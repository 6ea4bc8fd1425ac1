"""The documents that cross a process boundary, by name: those of the core, and those that plugins define."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from headworks.api import Comparison
from headworks.control.journal import Round
from headworks.documents.schema import schema_of
from headworks.model import Observation, Plan, Receipt, Request
from headworks.model.knowledge import Knowledge

if TYPE_CHECKING:
    from collections.abc import Mapping

    from headworks.plugins.host import PluginHost

CORE: dict[str, type] = {
    kind.__name__.lower(): kind for kind in (Comparison, Knowledge, Observation, Plan, Receipt, Request, Round)
}


def documents(host: PluginHost) -> dict[str, type | Mapping[str, Any]]:
    """The class of each document, or its JSON Schema where that is written by hand; a plugin replaces none of the core.

    Args:
        host: The plugins; all are loaded.
    """
    named = {name: kind for each in host.gather("headworks_documents") for name, kind in each.items()}
    return dict(sorted({**named, **CORE}.items()))


def schemas(host: PluginHost) -> dict[str, Mapping[str, Any]]:
    """The JSON Schema of each document."""
    return {name: schema_of(kind) if isinstance(kind, type) else kind for name, kind in documents(host).items()}

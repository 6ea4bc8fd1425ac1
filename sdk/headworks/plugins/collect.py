"""Parts that all plugins together name: documents, and what they need on this machine."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Mapping

    from headworks.hooks import Finding
    from headworks.plugins.host import PluginHost


def documents_of(host: PluginHost) -> dict[str, type | Mapping[str, Any]]:
    """The documents that plugins define, by name: each an attrs class, or its JSON Schema; loads all."""
    return {
        document: kind
        for name in host.having("headworks_documents")
        for document, kind in host.call(name, "headworks_documents").items()
    }


def needs_of(host: PluginHost) -> tuple[Finding, ...]:
    """Requirements of all plugins on this machine, each once, and whether they are met; loads all."""
    named = (finding for name in host.having("headworks_needs") for finding in host.call(name, "headworks_needs"))
    return tuple(dict.fromkeys(named))

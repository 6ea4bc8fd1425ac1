"""Parts that all plugins together name: documents, what they need on this machine, and figures that engines measure."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Mapping

    from headworks.hooks import Finding
    from headworks.model.evidence import Claim
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


def measured_claims_of(host: PluginHost, plugin: str) -> tuple[Claim, ...]:
    """Printed figures of a plugin's paper that engines measure, by any of them.

    Args:
        host: The plugins.
        plugin: Name of the plugin.
    """
    hook = "headworks_measured_claims"
    return tuple(claim for engine in host.having(hook) for claim in host.call(engine, hook, plugin=plugin))

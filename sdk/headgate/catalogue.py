"""The documents that cross a process boundary, by name."""

from __future__ import annotations

from headgate.api import Comparison
from headgate.knowledge import Knowledge
from headgate.model import Observation, Plan, Receipt, Request
from headgate.record import Round


def documents() -> dict[str, type]:
    """The class of each document."""
    kinds = (Comparison, Knowledge, Observation, Plan, Receipt, Request, Round)
    return {kind.__name__.lower(): kind for kind in kinds}

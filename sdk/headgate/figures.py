"""Figures as people read them, the same in a terminal and on a page."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from headgate.model import Scores


def quantity(amount: float | None, digits: int = 3) -> str:
    """A number as people read it: 12,345 or 0.457, and - where there is none."""
    if amount is None:
        return "-"
    whole = abs(amount) >= 10 ** (digits - 1) or amount == int(amount)
    return f"{amount:,.0f}" if whole else f"{amount:.{digits}g}"


def percent(share: float) -> str:
    """A share as a percentage."""
    return f"{share:.1%}"


def score_cells(scores: Scores) -> tuple[str, ...]:
    """The cells of a comparison that come from scores, in the order of `SCORE_COLUMNS`."""
    return (
        percent(scores.share),
        quantity(scores.inter_node),
        str(scores.nodes_used),
        str(scores.workers),
        percent(scores.utilisation),
        quantity(scores.cost),
        str(scores.moves),
    )


SCORE_COLUMNS = ("between nodes", "traffic between", "nodes", "workers", "fullest", "cost/h", "moves")

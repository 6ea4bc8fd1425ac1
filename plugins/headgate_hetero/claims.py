"""Every printed figure."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

    from headgate.hooks import Claim


def claims() -> Sequence[Claim]:
    """None yet."""
    return ()

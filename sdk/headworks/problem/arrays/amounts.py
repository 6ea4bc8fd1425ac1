"""Amounts of resources as numbers whose sums are exact."""

from __future__ import annotations

STEP = 2.0**-20
"""Amounts are counted in steps of 2**-20 (rounded down), so that sums of demands are exact in any order."""

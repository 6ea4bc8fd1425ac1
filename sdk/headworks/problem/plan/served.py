"""Work that gets done where nodes cannot do all of it.

A source has a bounded number of tuples on their way, so it waits for the slowest node that they pass. Many tuples on
their way in a network of queues share it by proportional fairness: the done shares x maximise the sum of w log x.
Sources that pass a full node get less, and others do not wait for them. Source: Kelly, Maulloo and Tan, "Rate control
for communication networks" (1998); for closed networks of queues, Walton, "Proportional fairness and its relationship
with multi-class queueing networks" (2009).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Floats = NDArray[np.float64]

STEPS = 200
"""Updates of prices; the done share is within a thousandth then."""
GENTLE, FASTEST = 0.3, 5.0
"""Exponent of an update, and the use of a resource beyond which it does not grow faster."""
CHEAP, FREE = 1e-2, 1e-9
"""Prices at the start, and at least."""


def served(use: Floats, weight: Floats) -> Floats:
    """Share of the work of each source that gets done, float64 (g,) in 0 to 1.

    Args:
        use: Share of each resource that all work of each source would take, float64 (g, r).
        weight: Tuples that a source may have on their way, in any unit, float64 (g,).
    """
    price = np.full(use.shape[1], CHEAP)
    done = np.ones(len(use))
    for _ in range(STEPS):
        done = np.minimum(1.0, weight / np.maximum(use @ price, FREE))
        price = np.maximum(price * np.clip(done @ use, 1 / FASTEST, FASTEST) ** GENTLE, FREE)
    over = np.where(use > 0, np.maximum(done @ use, 1.0), 1.0)
    found: Floats = done / over.max(axis=1, initial=1.0)
    return found

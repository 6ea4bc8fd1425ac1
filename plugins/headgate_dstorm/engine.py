"""Algorithm 1 without the quadratic part: the same placements, bit for bit, from what a placement changes."""

from __future__ import annotations

from typing import TYPE_CHECKING

from headgate_dstorm.groups import Groups
from headgate_dstorm.heaps import Heaps
from headgate_dstorm.scan import Scan

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from headgate.problem import Problem
    from headgate_dstorm.options import Options


def place(problem: Problem, options: Options) -> NDArray[np.int64]:
    """Run Algorithm 1; equal to `place_literally` for the printed reading of every option.

    Returns:
        Node index of each task, -1 for those left when nodes run out.
    """
    groups = Groups(problem)
    return (Heaps if Heaps.suit(groups, options) else Scan)(problem, options, groups).run()

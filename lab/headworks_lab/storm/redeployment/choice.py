"""Random redeployment of some tasks, as section 5.2 of the paper describes it."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import random
    from collections.abc import Collection, Mapping

    from headworks.model import Slot


def redeployed(
    assignment: Mapping[str, Slot], movable: Collection[str], count: int, rng: random.Random
) -> dict[str, Slot]:
    """New slots of so many tasks, drawn at random; afterwards tasks are dealt as evenly as these few can have it.

    Args:
        assignment: Slot of every task; tasks go to the slots that are in use.
        movable: Tasks that may be drawn.
        count: Tasks that get another slot: M in the paper; all of them if there are fewer.
        rng: Draws.
    """
    drawn = rng.sample(sorted(movable), min(count, len(movable)))
    slots = sorted(set(assignment.values()))
    load = Counter(slot for task, slot in assignment.items() if task not in drawn)
    found: dict[str, Slot] = {}
    for task in drawn:
        others = [slot for slot in slots if slot != assignment[task]]
        found[task] = min(others, key=lambda slot: (load[slot], rng.random()))
        load[found[task]] += 1
    return found

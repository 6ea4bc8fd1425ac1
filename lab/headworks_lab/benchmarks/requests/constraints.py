"""Random requests with placement constraints: plans of the built-in schedulers that break a hard one.

`python -m headworks_lab.benchmarks.requests.constraints FIRST LAST [SCHEDULER ...]` asks each scheduler for a plan of
each seed's request. The count shares nothing with the check of the host (`headworks.testing.reference`).
"""

from __future__ import annotations

import random
import sys
import time
from collections import Counter

import attrs

from headworks import PluginHost
from headworks.model import Status
from headworks.model.scaling import rescaled
from headworks.testing.instances.build import SeededDice, build_request, constrained
from headworks.testing.reference import broken_constraints

DEADLINE = 60.0
"""Seconds for a plan: it is constraints that are judged here, and not the speed of a machine that is busy."""


def main(first: int, last: int, names: list[str]) -> None:
    """Print outcomes by scheduler, and each seed whose plan is held or breaks a constraint.

    Args:
        first: First seed.
        last: Seed after the last one.
        names: Schedulers; all but `optimal`, which takes seconds, where there are none.
    """
    host, outcomes, begin = PluginHost.load(), Counter[tuple[str, str]](), time.process_time()
    for seed in range(first, last):
        dice = SeededDice(random.Random(seed))
        request = constrained(dice, build_request(dice, fresh=seed % 3 == 0))
        request = attrs.evolve(request, limits=attrs.evolve(request.limits, deadline=DEADLINE))
        for name in names or [each for each in host.schedulers if each != "optimal"]:
            plan = host.schedule(name, request)
            outcomes[name, str(plan.status)] += 1
            if plan.status is Status.HELD:
                print(seed, name, plan.reasons[0].message)
            elif broken := broken_constraints(rescaled(request, plan), plan.assignment):
                print(seed, name, "breaks", broken)
    for (name, outcome), count in sorted(outcomes.items()):
        print(f"{name:16} {outcome:12} {count}")
    print(f"{time.process_time() - begin:.0f} s of CPU")


if __name__ == "__main__":
    main(int(sys.argv[1]), int(sys.argv[2]), sys.argv[3:])

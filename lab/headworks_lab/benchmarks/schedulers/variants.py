"""Improved variants beside the published schedulers: what each leaves wrong, and what the best possible leaves.

    python -m headworks_lab.benchmarks.schedulers.variants

sps-v2: minima that are cut, nodes that are idle while somebody desires one, and nodes beyond what is desired, over
random claims of 2 to 6 topologies on every cluster from the sum of the minima to two nodes more than desired. otd: the
load of the fullest Worker of the computation-intensive application after 50 rounds at most, against the mean of all.
"""

from __future__ import annotations

import random
from collections import Counter
from typing import TYPE_CHECKING

import numpy as np

from headworks.cli.output import console, table
from headworks.problem import Problem
from headworks_nstorm.deployment import rounds
from headworks_nstorm.options import Options
from headworks_nstorm.workloads import computation
from headworks_priority.claimants import Claimant
from headworks_priority.options import SpsOptions, SpsV2Options
from headworks_priority.shares import sps, sps_v2

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

DRAWS = 2_000
RULES: dict[str, Callable[[list[Claimant], int], list[int]]] = {
    "sps (paper, as printed)": lambda claims, nodes: sps(claims, nodes, SpsOptions(reading="Y", total="C")),
    "sps (paper, reading X)": lambda claims, nodes: sps(claims, nodes, SpsOptions()),
    "sps-v2 (ours)": lambda claims, nodes: sps_v2(claims, nodes, SpsV2Options()),
}
OTD = {
    "otd (paper)": (Options(guard=False), False),
    "otd, guard (ours)": (Options(), False),
    "otd, tabu of one round (ours)": (Options(guard=False), True),
}


def draw(dice: random.Random) -> list[Claimant]:
    rows = []
    for _ in range(dice.randint(2, 6)):
        minimum = dice.randint(1, 5)
        rows.append((dice.randint(1, 3), minimum + dice.randint(0, 6), minimum))
    return [
        Claimant(topology=at, id=f"t{at}", priority=priority, desired=desired, minimum=minimum)
        for at, (priority, desired, minimum) in enumerate(sorted(rows))
    ]


def faults(rule: Callable[[list[Claimant], int], list[int]]) -> Counter[str]:
    dice, found = random.Random(0), Counter[str]()
    for _ in range(DRAWS):
        claims = draw(dice)
        desired = sum(claim.desired for claim in claims)
        for nodes in range(sum(claim.minimum for claim in claims), desired + 3):
            shares = rule(claims, nodes)
            found["clusters"] += 1
            found["cut"] += any(share < claim.minimum for share, claim in zip(shares, claims, strict=True))
            found["idle"] += sum(shares) < min(nodes, desired)
            found["beyond"] += any(share > claim.desired for share, claim in zip(shares, claims, strict=True))
    return found


def shares_rows() -> Iterator[tuple[str, ...]]:
    for name, rule in RULES.items():
        found = faults(rule)
        yield (name, *(f"{found[fault] / found['clusters']:.1%}" for fault in ("cut", "idle", "beyond")))
    yield ("optimum", "0.0%", "0.0%", "0.0%")


def balance_rows() -> Iterator[tuple[str, ...]]:
    problem = Problem.of(computation())
    capacity, mean = problem.capacity[0, 0], problem.demand[:, 0].sum() / problem.m
    for name, (options, tabu) in OTD.items():
        course = list(rounds(problem, options, 50, tabu=tabu))
        used = np.bincount(course[-1][1], weights=problem.demand[:, 0], minlength=problem.m)
        moves = sum(each.migration is not None for each, _ in course)
        yield (name, f"{used.max() / capacity:.1%}", str(moves))
    yield ("bound: all alike", f"{mean / capacity:.1%}", "")


def main() -> None:
    columns = ("scheduler", "a minimum is cut", "a node is idle", "more than desired")
    console().print(table("share of clusters on which", columns, list(shares_rows()), numbers=columns[1:]))
    columns = ("scheduler", "fullest Worker", "moves in 50 rounds")
    console().print(
        table("load of the fullest Worker, 100% at first", columns, list(balance_rows()), numbers=columns[1:])
    )


if __name__ == "__main__":
    main()

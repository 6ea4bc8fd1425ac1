"""Plans of all schedulers on fresh random requests, against the best that any of them finds.

    python -m headworks_lab.benchmarks.schedulers.quality throughput|traffic [--seed N] [--count N] [--deadline SECONDS]
        [--schedulers NAME ...]

A request follows from the seed and its number alone. `optimal` has the deadline that is named, the others their
default. Throughput is compared in percent of the best, traffic between nodes as a share of all traffic: relative gaps
explode where the best is next to nothing. `proven` are optima and refusals that are proven, `beaten` are bounds that
some plan beats: there must be none. A request that a scheduler refuses and another one plans is `refused`. Times
are CPU seconds, checks included.
"""

from __future__ import annotations

import argparse
import contextlib
import random
import time
from collections.abc import Callable
from typing import TYPE_CHECKING

import attrs

from headworks.cli.output import console, table
from headworks.model import Limits, Plan, Request, Status
from headworks.plugins.host import PluginHost
from headworks.testing.instances.build import Dice, SeededDice, Size, build_request
from headworks.testing.instances.profiled import build_profiled

if TYPE_CHECKING:
    from collections.abc import Iterator


SIZE = Size(nodes=9, topologies=3, components=5, parallelism=3)
"""Bounds of the requests for traffic."""
SHORT = (0.02, 0.05)
"""Gaps that are counted."""
PROGRESS = 50
"""Requests between two lines of progress."""


@attrs.frozen(kw_only=True)
class Goal:
    """What is compared: how a request is made, a plan's figure, and how far one is from the best."""

    build: Callable[[Dice], Request]
    figure: Callable[[Plan], float | None]
    best: Callable[[list[float]], float]
    gap: Callable[[float, float, Plan], float]
    schedulers: tuple[str, ...]


GOALS = {
    "throughput": Goal(
        build=build_profiled,
        figure=lambda plan: plan.scores.throughput,
        best=max,
        gap=lambda value, best, _: 1 - value / best if best else 0.0,
        schedulers=("hetero", "hetero-plus", "optimal"),
    ),
    "traffic": Goal(
        build=lambda dice: build_request(dice, SIZE, fresh=True),
        figure=lambda plan: plan.scores.inter_node,
        best=min,
        gap=lambda value, best, plan: (value - best) / plan.scores.traffic if plan.scores.traffic else 0.0,
        schedulers=("dstorm", "dstorm-plus", "optimal", "resource-aware", "even"),
    ),
}


@attrs.define
class Tally:
    """Gaps and times of one scheduler."""

    gaps: list[float] = attrs.field(factory=list)
    seconds: list[float] = attrs.field(factory=list)
    refused: int = 0
    proven: int = 0
    beaten: int = 0

    def judge(self, plan: Plan, best: float | None, *, least: bool) -> None:
        """Count proofs, and bounds that the best plan of any scheduler beats, which must be none."""
        bound = plan.bound
        self.proven += (
            bound.proven if bound is not None else any("is proven that" in each.message for each in plan.reasons)
        )
        if bound is not None and best is not None:
            self.beaten += best < bound.value * (1 - 1e-9) if least else best > bound.value * (1 + 1e-9)

    def row(self, name: str) -> tuple[str, ...]:
        count = max(len(self.gaps), 1)
        below = (f"{sum(gap > short for gap in self.gaps)}" for short in SHORT)
        best = sum(gap <= 1e-3 for gap in self.gaps)
        mean, worst = sum(self.gaps) / count, max(self.gaps, default=0.0)
        times = sum(self.seconds) / max(len(self.seconds), 1), max(self.seconds, default=0.0)
        return (
            name, f"{len(self.gaps)}", f"{best}", f"{mean:.2%}", f"{worst:.1%}", *below, f"{self.refused}",
            f"{self.proven}", f"{self.beaten}",
            *(f"{each:.2f}" for each in times),
        )  # fmt: skip


def requests(goal: Goal, seed: int, count: int) -> Iterator[Request]:
    """The requests of a seed: each from a generator of its own, so that a number names it."""
    for number in range(count):
        yield goal.build(SeededDice(random.Random(f"{seed}-{number}")))


def measure(goal: Goal, asked: argparse.Namespace, tallies: dict[str, Tally]) -> Iterator[int]:
    """Plan one request after the other, tally them, and tell how many there were."""
    host = PluginHost.load()
    for number, request in enumerate(requests(goal, asked.seed, asked.count)):
        yield number
        plans = {}
        for name, tally in tallies.items():
            limits = Limits(deadline=asked.deadline) if name == "optimal" else request.limits
            begin = time.process_time()
            options = {"within": 0.0} if goal.best is max and name in {"hetero-plus", "optimal"} else {}
            plans[name] = host.schedule(name, attrs.evolve(request, limits=limits), options)
            tally.seconds.append(time.process_time() - begin)
        figures = {
            name: figure
            for name, plan in plans.items()
            if plan.status is Status.OK and (figure := goal.figure(plan)) is not None
        }
        best = goal.best(list(figures.values())) if figures else None
        for name, tally in tallies.items():
            tally.judge(plans[name], best, least=goal.best is min)
        if best is None:
            continue
        for name, tally in tallies.items():
            if name not in figures:
                tally.refused += 1
                continue
            tally.gaps.append(goal.gap(figures[name], best, plans[name]))
            if tally.gaps[-1] > SHORT[0] and asked.verbose:
                console(stderr=True).print(f"{number}: {name} {figures[name]:g}, best {best:g}")
    yield asked.count


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("goal", choices=GOALS)
    parser.add_argument("--seed", type=int, default=random.randrange(10**6), help="by default another one each time")
    parser.add_argument("--count", type=int, default=200, help="requests")
    parser.add_argument("--deadline", type=float, default=60.0, help="seconds of `optimal`")
    parser.add_argument("--schedulers", nargs="+", help="names")
    parser.add_argument("--verbose", action="store_true", help="name the requests on which a plan is far from the best")
    asked = parser.parse_args()
    goal, done = GOALS[asked.goal], 0
    tallies = {name: Tally() for name in asked.schedulers or goal.schedulers}
    with contextlib.suppress(KeyboardInterrupt):  # the table is that of the requests until then
        for done in measure(goal, asked, tallies):
            if done % PROGRESS == 0:
                console(stderr=True).print(f"{done} of {asked.count}")
    columns = (
        "scheduler",
        "plans",
        "best",
        "mean gap",
        "worst",
        "over 2 %",
        "over 5 %",
        "refused",
        "proven",
        "beaten",
        "CPU s",
        "most",
    )
    title = f"{asked.goal}, {done} requests of seed {asked.seed}"
    rows = [tally.row(name) for name, tally in tallies.items()]
    console().print(table(title, columns, rows, numbers=columns[1:]))


if __name__ == "__main__":
    main()

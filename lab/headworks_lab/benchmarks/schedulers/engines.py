"""Proofs and plans of `optimal` without each of its engines in turn, and those of `dstorm-plus` without its annealers.

    python -m headworks_lab.benchmarks.schedulers.engines traffic|throughput|tasks|annealing [--seed N] [--count N]
        [--effort SECONDS] [--file FILE]

The requests are the papers' own, and those of `quality`. One on which an engine is never called is not planned again
without it: `used` counts the others. `lost` are proofs that need the engine, `won` those that it prevents, `worse` and
`better` plans, by more than a ten-thousandth. CPU seconds are those of the scheduler alone. Ctrl-C ends the run, and a
file lets another one go on from there.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import random
import time
from functools import cache
from itertools import product
from pathlib import Path
from pkgutil import resolve_name
from typing import TYPE_CHECKING, Any
from unittest import mock

import attrs
import numpy as np

from headworks.cli.output import console, table
from headworks.model import Limits, Plan, Request, Status
from headworks.plugins.host import PluginHost
from headworks_dstorm.workloads import SHAPES
from headworks_dstorm.workloads import micro_benchmark as dstorm_benchmark
from headworks_exact.any_number import Highest
from headworks_exact.options import Options
from headworks_exact.search import FOR_THROUGHPUT, FOR_TRAFFIC, search
from headworks_hetero.workloads import BENCH, micro_benchmark
from headworks_hetero.workloads import SHAPES as PROFILED
from headworks_lab.benchmarks.schedulers.exact import DEADLINE, settings
from headworks_lab.benchmarks.schedulers.many_topologies import many_topologies
from headworks_lab.benchmarks.schedulers.quality import GOALS, requests

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

CLOSE = 1e-4
"""Part of all traffic, or of the best throughput, by which two plans may differ and count as equal."""
COLUMNS = ("without", "used", "proven", "lost", "won", "worse", "better", "largest loss", "CPU s")
ALL = "nothing"
EXACT, PLUS = "headworks_exact", "headworks_dstorm.plus.starts"
Engines = dict[str, tuple[str, "Callable[..., Any]"]]
ANNEALERS: Engines = {
    "annealing": (f"{PLUS}.anneal", lambda _problem, _exchange, node_of, **_: node_of),
    "chains": (f"{PLUS}.anneal_chains", lambda *_, **__: None),
}
ENGINES: dict[str, Engines] = {
    "traffic": {
        "bound by topology": (f"{EXACT}.search.bound_by_topology", lambda *_: None),
        "patterns listed in full": (f"{EXACT}.patterns.PatternBuilder.everything", lambda *_: None),
        "patterns priced by tables": (f"{EXACT}.placement._Search._search", lambda *_: False),
        "lists up to a target": (f"{EXACT}.placement._Search._approach", lambda *_: False),
        "programs of the relaxation's columns": (f"{EXACT}.placement._Search._solve_columns", lambda *_: None),
        "cuts": (f"{EXACT}.pricing._Master.cut", lambda *_: False),
        **ANNEALERS,
    },
    "throughput": {
        "relaxation of spreads": (
            f"{EXACT}.throughput.highest_of_any",
            lambda spreads, *_: Highest(rate=np.inf, price=np.zeros(len(spreads.free)), shares=None),
        ),
        "rounded shares": (f"{EXACT}.throughput._rounded", lambda _instances, _shares, best: best),
        "proofs for more tasks": (f"{EXACT}.throughput._holds_for_any", lambda *_: False),
        "program of counts": (f"{EXACT}.throughput.by_counts", lambda *_, **__: (None, None)),
    },
    "tasks": {"program of fewest tasks": (f"{EXACT}.fewest.by_counts", lambda *_, **__: (None, None))},
    "annealing": ANNEALERS,
}
ASKED = {"traffic": FOR_TRAFFIC, "throughput": FOR_THROUGHPUT, "tasks": FOR_THROUGHPUT, "annealing": ()}


def cases(goal: str, seed: int, count: int) -> Iterator[Request]:
    """The requests of the papers, and random ones; for annealing some larger ones too."""
    if goal in {"traffic", "annealing"}:
        yield from (dstorm_benchmark(shape, setting) for shape, (_, setting) in product(SHAPES, settings()))
    else:
        yield from (micro_benchmark(*each) for each in product(PROFILED, BENCH.values(), (0.0, 1.0, 5.0)))
    if goal == "annealing":
        yield from (many_topologies(tasks, tasks // 25, each) for tasks in (100, 200) for each in range(5))
    yield from requests(GOALS[{"annealing": "traffic", "tasks": "throughput"}.get(goal, goal)], seed, count)


@attrs.frozen
class Outcome:
    """A plan's figure, larger is better, None without a plan; whether it is proven; CPU seconds; engines in use."""

    figure: float | None
    proven: bool
    seconds: float
    used: tuple[str, ...]


class Bench:
    """Plans requests for a goal without one engine or another."""

    def __init__(self, goal: str, effort: float) -> None:
        self.goal, self.engines, self._host = goal, ENGINES[goal], PluginHost.load()
        self._options = Options(effort=effort / DEADLINE, **({"within": 0.0} if goal == "throughput" else {}))

    def outcomes(self, request: Request) -> dict[str, Outcome]:
        """Plan a request with all engines, and without each that was called."""
        ask = self._asking(request)
        found = {ALL: self._outcome(request, ask, None)}
        for name in found[ALL].used:  # the plans of others are the same without an exact engine
            found[name] = self._outcome(request, self._asking(request) if name in ANNEALERS else ask, name)
            if name not in found[name].used:
                raise RuntimeError(f"{name}: nothing called what stands for it")
        return found

    def _asking(self, request: Request) -> Callable[[str], Plan | None]:
        plans = cache(lambda name: self._host.schedule(name, request))
        return lambda name: None if plans(name).status is Status.HELD else plans(name)

    def _outcome(self, request: Request, ask: Callable[[str], Plan | None], without: str | None) -> Outcome:
        with contextlib.ExitStack() as stack:
            calls = {
                name: stack.enter_context(
                    mock.patch(target, autospec=True, side_effect=instead if name == without else resolve_name(target))
                )
                for name, (target, instead) in self.engines.items()
            }
            for name in ASKED[self.goal]:
                ask(name)
            begin = time.process_time()
            plan, seconds = self._answer(request, ask), time.process_time() - begin
        said = plan.bound.proven if plan.bound else any("proven that" in each.message for each in plan.reasons)
        used = tuple(name for name, each in calls.items() if each.called)
        return Outcome(self._figure(plan), bool(said), seconds, used)

    def _answer(self, request: Request, ask: Callable[[str], Plan | None]) -> Plan:
        if self.goal == "annealing":
            return self._host.schedule("dstorm-plus", request)
        patient = attrs.evolve(request, limits=Limits(deadline=DEADLINE))
        return search(patient, self._options, lambda name, _: ask(name))

    def _figure(self, plan: Plan) -> float | None:
        figures = {
            "throughput": plan.scores.throughput or 0.0,
            "tasks": -float(sum(plan.parallelism.values())),
            "traffic": -plan.scores.share,
            "annealing": -plan.scores.share - plan.scores.nodes_used / 100,
        }
        return figures[self.goal] if plan.status is Status.OK else None


def row(name: str, found: list[dict[str, Outcome]], *, relative: bool) -> tuple[str, ...]:
    """How outcomes without an engine differ from those with all."""
    pairs = [(each[ALL], each.get(name, each[ALL])) for each in found]
    losses = [_loss(one.figure, other.figure, relative=relative) for one, other in pairs]
    counts = (
        sum(name in each for each in found),
        sum(other.proven for _, other in pairs),
        sum(one.proven > other.proven for one, other in pairs),
        sum(one.proven < other.proven for one, other in pairs),
        sum(each > CLOSE for each in losses),
        sum(each < -CLOSE for each in losses),
    )
    seconds = sum(other.seconds for _, other in pairs)
    return (name, *(f"{each}" for each in counts), f"{max(losses, default=0.0):.2%}", f"{seconds:.0f}")


def _loss(one: float | None, other: float | None, *, relative: bool) -> float:
    if one is None or other is None:
        return float(one is not None) - float(other is not None)
    return (one - other) / (abs(one) or 1.0) if relative else one - other


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("goal", choices=ENGINES)
    parser.add_argument("--seed", type=int, default=random.randrange(10**6), help="by default another one each time")
    parser.add_argument("--count", type=int, default=500, help="random requests")
    parser.add_argument("--effort", type=float, default=0.6, help="deterministic seconds a request")
    parser.add_argument("--file", type=Path, help="outcomes are kept there, and those that it has are not made again")
    asked = parser.parse_args()
    lines = asked.file.read_text().splitlines() if asked.file and asked.file.exists() else []
    found = [{name: Outcome(**each) for name, each in json.loads(line).items()} for line in lines]
    bench = Bench(asked.goal, asked.effort)
    with contextlib.suppress(KeyboardInterrupt):  # the table is that of the requests until then
        for request in list(cases(asked.goal, asked.seed, asked.count))[len(found) :]:
            found.append(bench.outcomes(request))
            if asked.file:
                with asked.file.open("a") as file:
                    print(json.dumps({name: attrs.asdict(each) for name, each in found[-1].items()}), file=file)
    rows = [row(name, found, relative=asked.goal in {"throughput", "tasks"}) for name in (ALL, *bench.engines)]
    console().print(table(f"{asked.goal}, {len(found)} requests", COLUMNS, rows, numbers=COLUMNS[1:]))


if __name__ == "__main__":
    main()

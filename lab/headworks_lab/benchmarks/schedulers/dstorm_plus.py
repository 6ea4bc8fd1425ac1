"""D-Storm, and what refinement makes of it: the 36 micro-benchmarks, and larger problems.

    python -m headworks_lab.benchmarks.schedulers.dstorm_plus [--large]

The best known traffic is the least that this script finds, with longer runs and other seeds among its tries: it is
computed each time, and no proof. Times are CPU seconds (milliseconds of the micro-benchmarks) from problem to
placement or plan.
"""

from __future__ import annotations

import argparse
import time

import numpy as np
from rich.console import Console
from rich.table import Table

from headworks.problem import Problem
from headworks_dstorm.fast import place
from headworks_dstorm.options import PlusOptions
from headworks_dstorm.plus.anneal import anneal
from headworks_dstorm.plus.exchange import Exchange
from headworks_dstorm.plus.fill import fill
from headworks_dstorm.plus.starts import improve
from headworks_dstorm.workloads import SHAPES, BenchmarkSetting, micro_benchmark
from headworks_lab.benchmarks.schedulers.dstorm_engines import build

SETTINGS = (
    *(BenchmarkSetting(cs=cs) for cs in (10, 20, 30, 40)),
    *(BenchmarkSetting(ss=ss) for ss in (1.5, 2)),
    *(BenchmarkSetting(ts=ts) for ts in (8, 12, 16)),
    *(BenchmarkSetting(ps=ps) for ps in (5000, 7500, 10_000)),
)
"""Twelve settings: the sweeps over Cs, Ss, Ts and Ps that begin at the paper's defaults."""

LONG, SEEDS = 40_000, (1, 2)
LONGER = 1_000
"""Steps for each task of a large problem."""


def gaps(shape: str) -> list[tuple[float, float, float]]:
    """For each setting: gap of the paper's plan, gap of ours, milliseconds of ours."""
    rows = []
    for setting in SETTINGS:
        problem = Problem.of(micro_benchmark(shape, setting))
        paper, other = place(problem, PlusOptions()), fill(problem)
        begin = time.process_time()
        plan = improve(problem, PlusOptions())
        took = time.process_time() - begin
        ours = problem.node_of(plan.assignment)
        starts = [start for start in (paper, other) if (start >= 0).all()]
        exchange = Exchange(problem)
        tries = [anneal(problem, exchange, start, steps=LONG, seed=seed) for start in starts for seed in SEEDS]
        best = min(problem.traffic.inter_node(each) for each in (ours, *starts, *tries))
        paper_gap, our_gap = (problem.traffic.inter_node(each) / max(best, 1) - 1 for each in (paper, ours))
        rows.append((paper_gap, our_gap, took * 1000))
    return rows


def small(out: Console) -> None:
    table = Table(title="Traffic between nodes above the best known (36 micro-benchmarks)")
    for heading in ("shape", "paper mean", "max", "ours mean", "max", "within 1 %", "ms mean", "max"):
        table.add_column(heading, justify="right")
    for shape in SHAPES:
        paper, ours, took = (np.array(each) for each in zip(*gaps(shape), strict=True))
        figures = (paper.mean(), paper.max(), ours.mean(), ours.max())
        within = f"{(ours <= 0.01).sum()} of {len(ours)}"
        table.add_row(shape, *(f"{each:.2%}" for each in figures), within, f"{took.mean():.0f}", f"{took.max():.0f}")
    out.print(table)


def share(problem: Problem, node_of: np.ndarray) -> str:
    return f"{problem.traffic.inter_node(node_of) / problem.traffic.total:.1%}"


def large(out: Console, *, full: bool) -> None:
    """Random topologies of five operators; the nodes are those of the micro-benchmarks, 70 % full."""
    table = Table(title="Share of traffic between nodes")
    for heading in ("tasks an operator", "tasks / nodes", "dstorm", "s", "dstorm-plus", "s", "best known"):
        table.add_column(heading, justify="right")
    for tasks, nodes in ((1_000, 100), *([(10_000, 1_000)] if full else [])):
        for name, width, uneven in (("4-12", 8, False), ("6-18", 12, False), ("1-20", 10, True)):
            problem = Problem.of(build(tasks, nodes, different=False, width=width, uneven=uneven))
            table.add_row(name, f"{problem.n:,} / {problem.m:,}", *measure(problem))
    out.print(table)


def measure(problem: Problem) -> tuple[str, ...]:
    """Shares and CPU seconds of both, and the least share of all tries."""
    begin = time.process_time()
    paper = place(problem, PlusOptions())
    placed = time.process_time()
    ours = problem.node_of(improve(problem, PlusOptions()).assignment)
    ended = time.process_time()
    longer = anneal(problem, Exchange(problem), paper, steps=LONGER * problem.n, seed=1)
    best = min((ours, longer), key=problem.traffic.inter_node)
    times = f"{placed - begin:.2f}", f"{ended - placed:.2f}"
    return share(problem, paper), times[0], share(problem, ours), times[1], share(problem, best)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--large", action="store_true", help="include 10,000 tasks on 1,000 nodes")
    arguments = parser.parse_args()
    out = Console(width=110)
    small(out)
    large(out, full=arguments.large)


if __name__ == "__main__":
    main()

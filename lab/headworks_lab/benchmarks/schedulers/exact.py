"""Optima and their proofs: the D-Storm micro-benchmark, and throughput on three machines beside Algorithm 2.

    python -m headworks_lab.benchmarks.schedulers.exact [--effort SECONDS] [--only traffic|throughput]

Times are CPU seconds of this process; effort is in CP-SAT's deterministic seconds.
"""

from __future__ import annotations

import argparse
import time
from typing import TYPE_CHECKING

import attrs
from rich.console import Console
from rich.table import Table

from headworks.model import Limits
from headworks.problem import Problem
from headworks_dstorm.fast import place
from headworks_dstorm.options import Options as DStormOptions
from headworks_dstorm.workloads import SHAPES, BenchmarkSetting
from headworks_dstorm.workloads import micro_benchmark as dstorm_benchmark
from headworks_exact.options import Options
from headworks_exact.search import search
from headworks_hetero.options import Options as HeteroOptions
from headworks_hetero.options import PlusOptions
from headworks_hetero.planning import as_printed
from headworks_hetero.plus.improve import improved
from headworks_hetero.workloads import SCENARIOS, micro_benchmark

if TYPE_CHECKING:
    from collections.abc import Iterator

    from headworks.model import Plan, Request

DEADLINE = 600.0
PATIENCE = 20.0
"""CPU seconds in which an instance should be proven."""
SWEEPS = {"cs": (20, 30, 40), "ss": (1.33, 1.66, 2), "ts": (8, 12), "ps": (5000, 7500, 10_000)}
"""Beside the defaults, 11 settings a topology: with them 36 instances."""


def settings() -> Iterator[tuple[str, BenchmarkSetting]]:
    yield "defaults", BenchmarkSetting()
    for name, values in SWEEPS.items():
        for value in values:
            yield f"{name} {value:g}", BenchmarkSetting(**{name: value})


def optimum(request: Request, effort: float, **options: object) -> tuple[Plan, float]:
    begin = time.process_time()
    patient = attrs.evolve(request, limits=Limits(deadline=DEADLINE))
    plan = search(patient, Options(effort=effort / DEADLINE, max_columns=50_000, within=0.0, **options))
    return plan, time.process_time() - begin


def traffic(effort: float) -> Table:
    table = Table("instance", "paper (D-Storm)", "optimum", "bound", "proven", "paper's gap", "CPU s")
    proven = total = quick = 0
    for shape in SHAPES:
        for name, setting in settings():
            request = dstorm_benchmark(shape, setting)
            problem = Problem.of(request)
            paper = problem.plan(place(problem, DStormOptions())).scores.inter_node
            plan, seconds = optimum(request, effort)
            best, bound = plan.scores.inter_node, plan.bound
            done = bound is not None and bound.proven
            proven, total, quick = proven + done, total + 1, quick + (done and seconds <= PATIENCE)
            table.add_row(
                f"{shape} {name}", f"{paper:,.0f}", f"{best:,.0f}", f"{bound.value if bound else 0:,.0f}",
                "yes" if done else "no", f"{paper / best - 1:.1%}", f"{seconds:.2f}",
            )  # fmt: skip
    table.title = f"Traffic between nodes, tuples/s: {proven} of {total} proven, {quick} in {PATIENCE:g} s each"
    return table


def throughput(effort: float) -> Table:
    table = Table(
        "instance",
        "paper (Algorithm 2)",
        "ours (hetero-plus)",
        "optimum",
        "bound",
        "proven",
        "CPU s, ours",
        "CPU s, optimum",
    )
    for shape in SHAPES:
        for met in (0.0, 1.0, 5.0):
            request = micro_benchmark(shape, SCENARIOS["three"], met)
            paper = as_printed(request, HeteroOptions()).scores.throughput or 0.0
            begin = time.process_time()
            ours, mine = (
                improved(request, PlusOptions(within=0.0)).scores.throughput or 0.0,
                time.process_time() - begin,
            )
            plan, seconds = optimum(request, effort)
            best, bound = plan.scores.throughput or 0.0, plan.bound
            table.add_row(
                f"{shape} MET {met:g}", f"{paper:,.1f} ({paper / best:.1%})", f"{ours:,.1f} ({ours / best:.1%})",
                f"{best:,.1f}", f"{bound.value if bound else 0:,.1f}", "yes" if bound and bound.proven else "no",
                f"{mine:.2f}", f"{seconds:.2f}",
            )  # fmt: skip
    table.title = "Throughput on three machines, tuples/s (the exhaustive search of the paper took 18 h)"
    return table


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--effort", type=float, default=6.0, help="deterministic seconds an instance")
    parser.add_argument("--only", choices=("traffic", "throughput"))
    asked = parser.parse_args()
    for name, make in (("throughput", throughput), ("traffic", traffic)):
        if asked.only in (None, name):
            Console(width=110).print(make(asked.effort))


if __name__ == "__main__":
    main()

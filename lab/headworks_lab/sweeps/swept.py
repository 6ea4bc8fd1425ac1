"""The result of a sweep as data: a row for each experiment, medians, and two schedulers compared seed by seed."""

from __future__ import annotations

import contextlib
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

import attrs

from headworks.model.plan import html_table
from headworks.model.tabular import Record, Tabular
from headworks_lab.measure.paired import Effect, effect
from headworks_lab.sweeps.charts import bars, network_text, nodes_text, shown, table
from headworks_lab.sweeps.engines import bench_of
from headworks_lab.sweeps.experiments import OWN, ExperimentOutcome, Sweep
from headworks_lab.sweeps.sweep import Cell, summary
from headworks_lab.sweeps.sweep import sweep as run

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence


@attrs.frozen(kw_only=True)
class Against:
    """The effect of a scheduler against another one on a figure, on one workload, cluster and network."""

    workload: str
    nodes: int
    network: float
    figure: str
    scheduler: str
    baseline: str
    effect: Effect

    def __str__(self) -> str:
        """A sentence with the effect, its interval and the chance."""
        found, figure = self.effect, self.figure.replace("_", " ")
        told = found.times or found.difference
        between = "" if told.low is None or told.high is None else f" [{told.low:.3g}, {told.high:.3g}]"
        amount = (
            f"{told.median:.3g} times{between} the {figure} of {self.baseline}"
            if found.times
            else f"a {figure} that differs from {self.baseline}'s by {told.median:.3g}{between}"
        )
        where = "" if self.nodes == OWN else f" on {nodes_text(self.nodes)} nodes"
        where += "" if self.network == OWN else f" at {network_text(self.network)}"
        split = f"more in {found.more} and less in {found.less} of {found.pairs} seeds, p = {found.chance:.2g}"
        return f"{self.workload}{where}: {self.scheduler} has {amount}; {split}"


@attrs.frozen(kw_only=True, repr=False)
class SweepResult(Tabular):
    """Outcomes of the experiments of a sweep, in order."""

    outcomes: tuple[ExperimentOutcome, ...]

    @property
    def rows(self) -> list[Record]:
        """A row for each experiment: what was asked, the version and commit of each plugin, the figures, the error."""
        found = [each.row() for each in self.outcomes]
        columns = dict.fromkeys(name for row in found for name in row if name != "error")
        return [{name: row.get(name) for name in (*columns, "error")} for row in found]

    @property
    def cells(self) -> tuple[Cell, ...]:
        """Medians over seeds with their intervals, for each workload, cluster, network and scheduler."""
        return summary(self.outcomes)

    def against(self, baseline: str, figure: str = "throughput") -> list[Against]:
        """Compare every other scheduler with one, seed by seed.

        Args:
            baseline: Name of the scheduler.
            figure: Name of a figure that both have.
        """
        groups: dict[tuple[str, int, float], dict[str, dict[int, float]]] = {}
        for each in self.outcomes:
            asked = each.experiment
            if figure in each.figures:
                group = groups.setdefault((asked.workload, asked.nodes, asked.network), {})
                group.setdefault(asked.scheduler, {})[asked.seed] = each.figures[figure]
        return [
            Against(
                workload=workload,
                nodes=nodes,
                network=network,
                figure=figure,
                scheduler=name,
                baseline=baseline,
                effect=made,
            )
            for (workload, nodes, network), group in groups.items()
            for name, series in group.items()
            if name != baseline and (made := effect(group.get(baseline, {}), series)) is not None
        ]

    def figures(self) -> dict[str, str]:
        """A chart of each figure of each workload, as SVG by name."""
        return {f"{name} {figure}": bars(own, figure) for name, own in self._by_workload() for figure in shown(own)}

    def _by_workload(self) -> Iterator[tuple[str, list[Cell]]]:
        for workload in dict.fromkeys(each.workload for each in self.cells):
            yield workload, [each for each in self.cells if each.workload == workload]

    def __repr__(self) -> str:
        """A line that counts the experiments."""
        failed = sum(bool(each.error) for each in self.outcomes)
        return f"<SweepResult of {len(self.outcomes)} experiments, {failed} failed>"

    def _repr_html_(self) -> str:
        """A table for a notebook, a row for each scheduler, workload and cluster; and a chart of the throughput."""
        made = table(self.cells)
        charts = [bars(own, "throughput") for _, own in self._by_workload() if "throughput" in shown(own)]
        return html_table(made.columns, made.rows) + "".join(charts)


def sweep(
    workloads: str | Iterable[str],
    schedulers: str | Iterable[str],
    *,
    nodes: Sequence[int] = (OWN,),
    networks: Sequence[float] = (OWN,),
    seeds: int = 10,
    seconds: float = 300.0,
    warm_up: float | None = None,
    engine: str = "sim",
    folder: str | Path | None = None,
    tell: Callable[[int, int], None] = lambda *_: None,
) -> SweepResult:
    """Run every scheduler on every workload, cluster, network and seed, one after the other in this process.

    Args:
        workloads: PLUGIN:NAME, or paths of request documents; one or several.
        schedulers: Names; the name of a real engine stands for its own scheduler.
        nodes: Numbers of nodes; 0 for those of the workload.
        networks: Bits per second to each node, and from it; 0 for those of the workload.
        seeds: Runs of each, with seeds 0 on.
        seconds: Seconds of each that count.
        warm_up: Seconds before them; None leaves them to the engine.
        engine: Plugin that runs them.
        folder: Folder of results, from which an ended sweep goes on; None keeps nothing.
        tell: Takes the number of experiments that are done, and of all.

    Raises:
        DocumentError: The file of results cannot be read or written.
        PluginError: No experiments run on that engine.
    """
    asked = Sweep(
        workloads=(workloads,) if isinstance(workloads, str) else tuple(workloads),
        schedulers=(schedulers,) if isinstance(schedulers, str) else tuple(schedulers),
        nodes=tuple(nodes),
        networks=tuple(networks),
        seeds=seeds,
        seconds=seconds,
        warm_up=warm_up,
        engine=engine,
    )
    bench = bench_of(engine)
    with contextlib.ExitStack() as stack:
        place = Path(folder) if folder is not None else Path(stack.enter_context(tempfile.TemporaryDirectory()))
        running = stack.enter_context(bench.open()) if bench.real else None
        return SweepResult(outcomes=run(asked, place, None, tell, running))

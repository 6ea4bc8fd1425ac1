"""Simulated experiments side by side, as rows, a table, and curves: what `headworks.simulate` gives."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import attrs

from headworks.documents import digest
from headworks.errors import OptionError
from headworks.model.plan import html_table
from headworks.model.tabular import Record, Tabular
from headworks_sim.experiments.experiment import run
from headworks_sim.experiments.page import curves
from headworks_sim.experiments.summary import Summary, without
from headworks_sim.fluid.trace import Trace, naming, read_trace

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from pathlib import Path

    from headworks import PluginHost
    from headworks.model import Plan, Request

SHOWN = ("scheduler", "status", "offered", "throughput", "latency", "inter_node", "nodes", "moves", "backlog")
"""Columns of the table in a notebook."""
NESTED = ("rounds", "topologies", "curve")
"""Parts of a summary that are no single figure."""


@attrs.frozen(kw_only=True, repr=False)
class Simulation(Tabular):
    """Experiments with several schedulers on one request, one trace and one seed.

    Attributes:
        request: Digest of the request.
        trace: The events, None for none.
        summaries: Figures of each experiment.
    """

    request: str
    seed: int
    trace: Trace | None
    summaries: tuple[Summary, ...]

    @property
    def rows(self) -> list[Record]:
        """A row for each scheduler: the figures of its experiment."""
        start: Record = {"request": self.request, "seed": self.seed, "engine": "sim"}
        kept = [field.name for field in attrs.fields(Summary) if field.name not in NESTED]
        return [{**start, **{name: getattr(each, name) for name in kept}} for each in self.summaries]

    def curves(self) -> str:
        """The figures over time, as SVG."""
        return curves(self.summaries, self.trace)

    def __repr__(self) -> str:
        """A line: how much of the offered load each scheduler completed."""
        told = (f"{each.scheduler} {each.completed or 0.0:.1%} done" for each in self.summaries)
        return f"<Simulation{without(self.summaries)}: {', '.join(told)}>"

    def _repr_html_(self) -> str:
        """A table for a notebook, one row a scheduler, and the curves."""
        figures = ([row[name] for name in SHOWN] for row in self.rows)
        rows = [[f"{each:,.4g}" if isinstance(each, float) else each for each in row] for row in figures]
        return html_table(SHOWN, rows) + self.curves()


def simulate(
    request: Request,
    schedulers: Sequence[str | Callable[[Request], Plan]],
    *,
    seed: int,
    duration: float,
    warm_up: float | None,
    trace: str | Path | None,
    options: Mapping[str, Mapping[str, Any]],
    host: PluginHost | None,
) -> Simulation:
    """Run one experiment a scheduler; see `headworks.simulate`, which says more of the arguments.

    Raises:
        OptionError: No scheduler is named, or options are given for one that is not.
    """
    names = [each if isinstance(each, str) else getattr(each, "__name__", "function") for each in schedulers]
    if not names:
        raise OptionError("name a scheduler to simulate")
    if strays := sorted(set(options) - set(names)):
        raise OptionError(f"options are given for {', '.join(strays)}, simulated are {', '.join(names)}")
    story = None if trace is None else read_trace(trace)
    with naming(None if trace is None else str(trace)):
        found = [
            run(
                request,
                each,
                seed,
                duration,
                warm_up=warm_up,
                trace=story,
                options=options.get(name),
                host=host,
            )
            for name, each in zip(names, schedulers, strict=True)
        ]
    return Simulation(request=digest(request), seed=seed, trace=story, summaries=tuple(found))

"""Functions that a program calls: plan one request with one scheduler, or compare several."""

from __future__ import annotations

import contextlib
import os
import sys
import time
from collections.abc import Mapping
from html import escape
from pathlib import Path
from typing import TYPE_CHECKING, Any

import attrs

from headworks.documents import digest, loads, read_text, structure
from headworks.documents.formats import parse
from headworks.errors import DocumentError, OptionError, PluginError, known_names
from headworks.model import Bound, Plan, Request, Status
from headworks.model.plan import FULLER, html_table
from headworks.model.sketch import sketch
from headworks.model.tabular import Record, Tabular
from headworks.model.values import check_types
from headworks.plugins.guard import guarded
from headworks.plugins.host import PluginHost
from headworks.plugins.loading import found, imported
from headworks.problem import Problem
from headworks.problem.plan.front import front as front_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from headworks.problem.plan.why import Why
    from headworks.toolbox.cancel import Cancellation

NODE_COSTS = (0.0, 0.003, 0.03, 0.1, 0.3)
"""Values of the option `node_cost` that a front tries, from nodes that cost nothing to some that are hardly opened."""
MOVED = (0.0, 0.125, 0.25, 0.5)
"""Limits on moves that a front tries, as parts of the moves that a scheduler makes without them."""


@attrs.frozen(kw_only=True)
class Compared:
    """One scheduler in a comparison: its plan, and the seconds it took on this machine, checks included.

    `gap` is how far it is from the comparison's bound, relative to it: 0.1 is 10 % more traffic between nodes, or 10 %
    less throughput. None where the bound is 0 and it is not reached, or where the plan does not compare. `setting` is
    what a front asked for beside the given options, such as `node_cost=0.1` or `max_moves=2`.
    """

    scheduler: str
    plan: Plan
    seconds: float
    gap: float | None = None
    setting: str = ""

    @property
    def name(self) -> str:
        """The scheduler, and the setting if there is one."""
        return f"{self.scheduler} {self.setting}".rstrip()


@attrs.frozen(kw_only=True, repr=False)
class Comparison(Tabular):
    """Plans of several schedulers for one request, in the given order.

    `bound` is the tightest that any scheduler found; it is proven if some plan reaches it.
    """

    request: str
    plans: tuple[Compared, ...]
    bound: Bound | None = None

    @property
    def rows(self) -> list[Record]:
        """A row for each scheduler: what made the plan, its scores, its gap to the bound, and the seconds it took."""
        return [
            {
                "request": self.request,
                "scheduler": row.scheduler,
                "scheduler_version": row.plan.provenance.version,
                "setting": row.setting,
                "seed": row.plan.provenance.seed,
                "status": row.plan.label,
                **attrs.asdict(row.plan.scores),
                "bound": None if self.bound is None else self.bound.value,
                "gap": row.gap,
                "seconds": row.seconds,
            }
            for row in self.plans
        ]

    def __repr__(self) -> str:
        """A line: the schedulers, and the share of traffic between nodes in the plan of each."""
        told = ", ".join(f"{row.name} {row.plan.label} {row.plan.scores.share:.1%}" for row in self.plans)
        return f"<Comparison of {told or 'no plans'}>"

    def _repr_html_(self) -> str:
        """A table for a notebook, one row a scheduler, and a picture of each plan."""
        columns = ("scheduler", "status", "between nodes", "nodes", "fullest", "gap", "ms")
        pictures = ((row.name, sketch(row.plan.assignment)) for row in self.plans)
        drawn = "".join(f"<p>{escape(name)}</p>{picture}" for name, picture in pictures if picture)
        return html_table(columns, map(_cells, self.plans)) + drawn


def _cells(row: Compared) -> tuple[object, ...]:
    scores, gap = row.plan.scores, None if row.gap is None else f"{100 * row.gap:.1f}%"
    share, fullest = ("-" if scores.idle else f"{each:.1%}" for each in (scores.share, scores.fullest_node))
    figures = (share, scores.nodes_used, fullest)
    return row.name, row.plan.label, *figures, gap, f"{1000 * row.seconds:.1f}"


def plan(
    request: Request | Mapping[str, Any] | str | Path,
    scheduler: str,
    *,
    options: Mapping[str, Any] | None = None,
    deadline: float | None = None,
    max_moves: int | None = None,
    seed: int | None = None,
    host: PluginHost | None = None,
    cancel: Cancellation | None = None,
) -> Plan:
    """Plan a request with the scheduler of a name.

    Args:
        request: A request, its document as plain data, the path of its file, or `PLUGIN:WORKLOAD`.
        options: The scheduler's options by name; text is converted.
        deadline: Seconds to plan, instead of the request's own limit.
        max_moves: Running tasks that may move, instead of the request's own limit.
        host: The plugins to use; all that are installed by default.
        cancel: Ends a search early, with the best plan that it has.

    Returns:
        A plan; whether it is feasible is its status, never an exception.

    Raises:
        DocumentError: The request breaks its schema or contradicts itself.
        PluginError: There is no such scheduler.
        OptionError: An option is unknown or does not fit.
    """
    host = host or PluginHost.load()
    asked = limited(load_request(request, host), deadline=deadline, max_moves=max_moves, seed=seed)
    return host.schedule(scheduler, asked, options, cancellation=cancel)


def why(
    request: Request | Mapping[str, Any] | str | Path,
    task: str,
    scheduler: str | None = None,
    *,
    plan: Plan | None = None,
    node: str | None = None,
    options: Mapping[str, Any] | None = None,
    deadline: float | None = None,
    host: PluginHost | None = None,
) -> Why:
    """Find the reasons for one task's place: a row for each node; see `plan`.

    Without a scheduler nothing is planned: the plan is explained, or without one what runs.

    Args:
        task: Id of the task, `TOPOLOGY/COMPONENT/INDEX`; the topology's name serves as well.
        scheduler: Name of the one that plans.
        plan: A plan for the request, such as that of a journal's round.
        node: Say why the task is not on this node, named by its id or its host.

    Raises:
        DocumentError: The request breaks its schema or contradicts itself, or has no such task or node.
        PluginError: There is no such scheduler.
        OptionError: An option is unknown or does not fit.
    """
    # Alternatives of a task are asked for here alone.
    from headworks.problem.plan.standing import as_it_runs
    from headworks.problem.plan.why import explain

    host = host or PluginHost.load()
    asked = limited(load_request(request, host), deadline=deadline)
    if scheduler is not None:
        plan = host.schedule(scheduler, asked, options)
    return explain(asked, as_it_runs(asked) if plan is None else plan, task, node=node)


def compare(
    request: Request | Mapping[str, Any] | str | Path,
    schedulers: Iterable[str] | None = None,
    *,
    options: Mapping[str, Mapping[str, Any]] | None = None,
    deadline: float | None = None,
    host: PluginHost | None = None,
    front: bool = False,
) -> Comparison:
    """Plan one request with several schedulers, all installed ones by default; see `plan`.

    Args:
        front: Ask each scheduler several times, with values of `node_cost` and limits on moves, and keep the whole
            plans that no other one beats, by nodes. A plan beats another one if it is better in price (nodes, if some
            have none), traffic between nodes, load borne, moves, batch seconds or penalty, and as good in the others.

    Raises:
        DocumentError: The request breaks its schema or contradicts itself.
        PluginError: There is no such scheduler.
        OptionError: An option is unknown or does not fit, or is given for a scheduler that is not compared.
    """
    host = host or PluginHost.load()
    asked = limited(load_request(request, host), deadline=deadline)
    chosen = tuple(schedulers) if schedulers is not None else host.schedulers
    strays = sorted(set(options or ()) - set(chosen))
    if strays:
        raise OptionError(f"options are given for {', '.join(strays)}, compared are {', '.join(chosen) or 'none'}")
    Problem.of(asked)
    plans = [_compared(host, name, asked, (options or {}).get(name)) for name in chosen]
    bound = tightest([row.plan for row in plans])
    if front:
        plans += [other for row in plans for other in _others(host, row, asked, (options or {}).get(row.scheduler))]
        plans = [plans[number] for number in front_of([row.plan for row in plans])]
    rows = tuple(attrs.evolve(row, gap=gap_to(bound, row.plan)) for row in plans)
    return Comparison(request=digest(asked), plans=rows, bound=bound)


FUNCTIONS = "headworks.functions"
"""Group of the entry points of functions that a plugin has behind one of these."""


def simulate(
    request: Request | Mapping[str, Any] | str | Path,
    schedulers: str | Callable[[Request], Plan] | Iterable[str | Callable[[Request], Plan]],
    *,
    seed: int = 0,
    duration: float = 600.0,
    warm_up: float | None = None,
    trace: str | Path | None = None,
    options: Mapping[str, Mapping[str, Any]] | None = None,
    host: PluginHost | None = None,
) -> Tabular:
    """Run the control loop in simulated time with each scheduler; all meet the same cluster and the same events.

    Args:
        request: As `plan` takes it.
        schedulers: Names, or functions from a request to a plan; one or several.
        seed: Seed of the moments at which supervisors look, and of the schedulers.
        duration: Simulated seconds that count.
        warm_up: Seconds before them, in which tasks start; the simulator's own number by default.
        trace: File of events, as `headworks simulate --trace` takes it.
        options: Options by the name of the scheduler.

    Returns:
        A row for each scheduler: throughput, latency, moves and more, as means over the time.

    Raises:
        DocumentError: The request or the trace breaks its schema or contradicts itself.
        PluginError: There is no such scheduler, or no simulator is installed.
        OptionError: An option is unknown or does not fit.
    """
    entries = found(FUNCTIONS).get("simulate")
    if not entries:
        raise PluginError(f"no plugin simulates: none has a function `simulate` in the entry points {FUNCTIONS}")
    result: Tabular = imported(entries[0])(
        load_request(request, host),
        (schedulers,) if isinstance(schedulers, str) or callable(schedulers) else tuple(schedulers),
        seed=seed,
        duration=duration,
        warm_up=warm_up,
        trace=trace,
        options=options or {},
        host=host,
    )
    return result


def tightest(plans: Iterable[Plan]) -> Bound | None:
    """The bound that says most: a proven one, else the highest on traffic or the lowest on throughput."""
    bounds = [plan.bound for plan in plans if plan.bound is not None]
    return max(
        bounds, key=lambda each: (each.proven, each.value * (-1 if each.figure == "throughput" else 1)), default=None
    )


def gap_to(bound: Bound | None, plan: Plan) -> float | None:
    """Relative gap of a whole plan to a bound; see `Compared.gap`."""
    if bound is None or plan.status is not Status.OK or any(each.code == FULLER for each in plan.reasons):
        return None
    if not plan.measured and plan.scores.fullest_node > 1:  # it fits what was declared, the bound what was measured
        return None
    if bound.figure == "throughput":
        reached = plan.scores.throughput
        return None if reached is None or not bound.value else max(1 - reached / bound.value, 0.0)
    if plan.parallelism:
        return None
    if not bound.value:
        return 0.0 if not plan.scores.inter_node else None
    return max(plan.scores.inter_node / bound.value - 1, 0.0)


def _compared(
    host: PluginHost, name: str, request: Request, options: Mapping[str, Any] | None, setting: str = ""
) -> Compared:
    begin = time.perf_counter()
    made = host.schedule(name, request, options)
    return Compared(scheduler=name, plan=made, seconds=time.perf_counter() - begin, setting=setting)


def _others(
    host: PluginHost, first: Compared, request: Request, options: Mapping[str, Any] | None
) -> Iterator[Compared]:
    """Plans of a scheduler with other costs of a node and lower limits on moves than made its first one."""
    name, given, moves = first.scheduler, dict(options or {}), first.plan.scores.moves
    if "node_cost" not in given and "node_cost" in attrs.fields_dict(host.describe(name).options):
        for cost in NODE_COSTS:
            yield _compared(host, name, request, {**given, "node_cost": cost}, f"node_cost={cost:g}")
    for most in sorted({int(moves * part) for part in MOVED} - {moves}):
        yield _compared(host, name, limited(request, max_moves=most), given, f"max_moves={most}")


def find_request(text: str, host: PluginHost) -> Request:
    """The request that an argument of a command names.

    Args:
        text: The path of a request document, `-` for stdin, or `PLUGIN:WORKLOAD`.

    Raises:
        DocumentError: It is not a file and no workload, or not a valid request.
    """
    if text == "-":
        return _read(sys.stdin.buffer.read(), "standard input", host)
    plugin, colon, name = text.partition(":")
    if colon and not os.path.exists(text):  # noqa: PTH110 - a long text is no error here
        if plugin in host:
            return _workload(host, plugin, name)
        if "/" not in plugin:
            raise DocumentError(
                "", f"{text} is not a file, and no plugin is named {plugin!r}{_with_workloads(plugin, host)}"
            )
    return _read(read_text(text), text, host)


def _read(text: str | bytes, source: str, host: PluginHost) -> Request:
    """The request that a text is, or an error that says what it is instead, if a plugin knows that."""
    try:
        return loads(text, Request, source=source)
    except DocumentError as error:
        said = _recognised(text, source, host)
        raise (DocumentError("", said, source) if said else error) from None


def _recognised(text: str | bytes, source: str, host: PluginHost) -> str:
    with contextlib.suppress(DocumentError, PluginError):
        document = parse(text, source)
        for name in host.having("headworks_recognise"):
            if said := host.call(name, "headworks_recognise", document=document):
                return str(said)
    return ""


def workload(name: str, *, host: PluginHost | None = None) -> Request:
    """The request of a workload that a plugin names, such as `dstorm:linear`; `headworks workloads` lists them.

    Raises:
        DocumentError: The plugin has no such workload.
        PluginError: There is no such plugin.
    """
    plugin, colon, rest = name.partition(":")
    if not colon:
        raise DocumentError("", f"{name!r} is not PLUGIN:WORKLOAD")
    return _workload(host or PluginHost.load(), plugin, rest)


def _with_workloads(plugin: str, host: PluginHost) -> str:
    having = [name for name in host.having("headworks_workloads") if host.workloads(name)]
    return known_names(plugin, having)


def _workload(host: PluginHost, plugin: str, name: str) -> Request:
    known = {workload.name: workload for workload in host.workloads(plugin)}
    if name not in known:
        raise DocumentError("", f"{plugin} has no workload {name!r}{known_names(name, known)}")
    with guarded(plugin, f"workload {name}"):
        made = known[name].build()
    if not isinstance(made, Request):
        raise PluginError(f"{plugin}: workload {name} is of type {type(made).__name__}, not Request")
    return made


def load_request(request: Request | Mapping[str, Any] | str | Path, host: PluginHost | None = None) -> Request:
    """A request from whatever form it has; see `plan`.

    Raises:
        DocumentError: It is none of these, or not a valid request.
    """
    if isinstance(request, Request):
        check_types(request, Request)
        return request
    if isinstance(request, str) and request != "-":
        return find_request(request, host or PluginHost.load())
    if isinstance(request, str | Path):
        return _read(read_text(request), str(request), host or PluginHost.load())
    if isinstance(request, Mapping):
        return structure(dict(request), Request)
    raise DocumentError("", f"a {type(request).__name__} is not a request, nor a document, a path or PLUGIN:WORKLOAD")


def limited(
    request: Request,
    *,
    deadline: float | None = None,
    max_moves: int | None = None,
    slowdown: float | None = None,
    fill: float | None = None,
    seed: int | None = None,
) -> Request:
    """The request with some of its limits replaced; None keeps one as it is."""
    limits = request.limits
    if deadline is not None:
        limits = attrs.evolve(limits, deadline=deadline)
    if max_moves is not None:
        limits = attrs.evolve(limits, max_moves=max_moves)
    if slowdown is not None:
        limits = attrs.evolve(limits, slowdown=slowdown)
    if fill is not None:
        limits = attrs.evolve(limits, fill=fill)
    return attrs.evolve(request, limits=limits, seed=request.seed if seed is None else seed)

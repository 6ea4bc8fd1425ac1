"""Experiments of a sweep: scheduler x workload x cluster x network x seed, their outcomes, and their file."""

from __future__ import annotations

import contextlib
import functools
import itertools
import json
import random
from typing import TYPE_CHECKING, Any

import attrs

from headworks.api import find_request
from headworks.control.journal import FileJournal, read_journal
from headworks.errors import DocumentError, HeadworksError
from headworks.model import FrozenMap
from headworks.plugins.host import PluginHost
from headworks.plugins.loading import Registry
from headworks.plugins.origin import origin
from headworks.plugins.processes import SchedulerProcesses
from headworks_lab.sweeps.engines import bench_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence
    from pathlib import Path

    from headworks.model import Request
    from headworks.model.tabular import Record
    from headworks_lab.sweeps.engines import Running

OWN = 0
"""Stands for the number of nodes, or the rate of their networks, that the workload itself has."""
BITS = 8
"""Bits of a byte: networks have rates in bits, nodes of a request a bandwidth in bytes."""


@attrs.frozen(kw_only=True, order=True)
class Experiment:
    """One scheduler on one workload and cluster with one seed.

    Attributes:
        workload: PLUGIN:NAME, or a request document.
        nodes: Number of nodes; `OWN` for those of the workload.
        scheduler: Name of the scheduler.
        seed: Seed of a simulator and of the scheduler; on a real engine the number of the repetition.
        seconds: Simulated seconds, or those that a real engine is measured.
        engine: Plugin that runs it.
        network: Bits per second to each node, and from it; `OWN` for those of the workload.
        warm_up: Seconds before them that are left out; None leaves them to the engine.
    """

    workload: str
    nodes: int = OWN
    scheduler: str
    seed: int = 0
    seconds: float = 300.0
    engine: str = "sim"
    network: float = OWN
    warm_up: float | None = None

    @property
    def id(self) -> str:
        """Key in the file of results: all fields, so that another question is another experiment."""
        return " ".join(str(value) for value in attrs.astuple(self))


@attrs.frozen(kw_only=True)
class Sweep:
    """The product of workloads, numbers of nodes, networks, schedulers and seeds.

    Attributes:
        workloads: PLUGIN:NAME, or request documents.
        schedulers: Names of schedulers.
        nodes: Numbers of nodes; `OWN` for those of the workload.
        seeds: Runs of each combination, with seeds 0 on.
        seconds: Seconds of each.
        engine: Plugin that runs them.
        networks: Bits per second to each node, and from it; `OWN` for those of the workload.
        warm_up: Seconds before them that are left out; None leaves them to the engine.
    """

    workloads: tuple[str, ...]
    schedulers: tuple[str, ...]
    nodes: tuple[int, ...] = (OWN,)
    seeds: int = 1
    seconds: float = 300.0
    engine: str = "sim"
    networks: tuple[float, ...] = (OWN,)
    warm_up: float | None = None

    def experiments(self) -> tuple[Experiment, ...]:
        """All experiments, in order."""
        every = itertools.product(self.workloads, self.nodes, self.networks, self.schedulers, range(self.seeds))
        return tuple(
            Experiment(
                workload=workload,
                nodes=nodes,
                scheduler=scheduler,
                seed=seed,
                seconds=self.seconds,
                engine=self.engine,
                network=network,
                warm_up=self.warm_up,
            )
            for workload, nodes, network, scheduler, seed in every
        )


def drawn(experiments: Iterable[Experiment]) -> list[Experiment]:
    """The order in which experiments run on a real engine: one workload and cluster after another, seed by seed.

    All experiments of a seed are a block, whose order is drawn by the seed: what changes slowly on a machine, as its
    load does, meets every scheduler alike.

    Args:
        experiments: In any order.
    """
    blocks: dict[tuple[str, int, int], list[Experiment]] = {}
    for each in experiments:
        blocks.setdefault((each.workload, each.nodes, each.seed), []).append(each)
    order: list[Experiment] = []
    for key in sorted(blocks):
        block = sorted(blocks[key])
        random.Random(" ".join(map(str, key))).shuffle(block)
        order += block
    return order


@attrs.frozen(kw_only=True)
class ExperimentOutcome:
    """Figures of an experiment by name, or the `error` for which there are none.

    Attributes:
        origin: Version and commit of the plugins that took part, as `headworks.plugins.origin` gives them.
    """

    experiment: Experiment
    figures: FrozenMap[str, float] = FrozenMap()
    error: str = ""
    origin: FrozenMap[str, str] = FrozenMap()

    def line(self) -> dict[str, Any]:
        """Line of the file of results."""
        asked = attrs.asdict(self.experiment)
        return {"id": self.experiment.id, **asked, **self.origin, "figures": dict(self.figures), "error": self.error}

    def row(self) -> Record:
        """The experiment, its plugins and its figures as a flat row; figures named as a field end in `_used`."""
        asked = attrs.asdict(self.experiment)
        figures = {f"{name}_used" if name in asked else name: value for name, value in self.figures.items()}
        return {**asked, **self.origin, **figures, "error": self.error}


def try_out(experiment: Experiment, bench: Running | None = None) -> ExperimentOutcome:
    """Run one experiment; what goes wrong is its outcome.

    Args:
        experiment: The experiment.
        bench: Place of a real engine, which stands; a simulator needs none.
    """
    try:
        request = connected(sized(_request(experiment.workload), experiment.nodes), experiment.network)
        with contextlib.nullcontext(bench) if bench is not None else bench_of(experiment.engine).open() as running:
            found = dict(
                running.run(request, experiment.scheduler, experiment.seed, experiment.seconds, experiment.warm_up)
            )
    except HeadworksError as error:
        return ExperimentOutcome(experiment=experiment, error=str(error))
    if offered := found.get("offered"):
        found["completed"] = found["throughput"] / offered
    return ExperimentOutcome(experiment=experiment, figures=FrozenMap(found))


@functools.cache
def _host() -> PluginHost:
    """The installed plugins; loaded once a process."""
    # Spark's Python workers are processes of their own, which the command that began the sweep cannot hand a host to.
    return PluginHost(Registry.installed(), strangers=functools.cache(SchedulerProcesses))


@functools.cache
def _request(workload: str) -> Request:
    """The request of a workload; made once a process, for a worker runs many experiments on it."""
    return find_request(workload, _host())


def sized(request: Request, nodes: int) -> Request:
    """The request with so many nodes: its own in order of id, again and again under other ids; nothing runs on these.

    Args:
        request: The request of a workload.
        nodes: Number of nodes; `OWN` changes nothing.

    Raises:
        DocumentError: It has no node to repeat.
    """
    if nodes == OWN:
        return request
    own = sorted(request.cluster.nodes, key=lambda node: node.id)
    if not own:
        raise DocumentError("/cluster/nodes", "there is no node to repeat")
    # Round k of the nodes is called NODE~k: workloads keep the nodes that their assignments name.
    many = [
        own[index % len(own)]
        if index < len(own)
        else attrs.evolve(own[index % len(own)], id=f"{own[index % len(own)].id}~{index // len(own)}", host=None)
        for index in range(nodes)
    ]
    kept = {node.id for node in many}
    running = FrozenMap({task: slot for task, slot in request.assignment.items() if slot.node in kept})
    seen = tuple(each for each in request.metrics.nodes if each.node in kept)
    return attrs.evolve(
        request,
        cluster=attrs.evolve(request.cluster, nodes=tuple(many)),
        assignment=running,
        metrics=attrs.evolve(request.metrics, nodes=seen),
    )


def connected(request: Request, network: float) -> Request:
    """The request whose nodes have networks of a rate.

    Args:
        request: The request.
        network: Bits per second; `OWN` changes nothing.
    """
    if network == OWN:
        return request
    nodes = tuple(attrs.evolve(node, bandwidth=network / BITS) for node in request.cluster.nodes)
    return attrs.evolve(request, cluster=attrs.evolve(request.cluster, nodes=nodes))


def read_outcomes(file: Path, experiments: Iterable[Experiment]) -> dict[str, ExperimentOutcome]:
    """Outcomes of a file of results; errors are not among them, so that they are tried again.

    Args:
        file: JSON lines; it may be missing.
        experiments: Those that count.

    Returns:
        Outcome by id of the experiment.
    """
    if not file.exists():
        return {}
    by_id = {each.id: each for each in experiments}
    return {
        line["id"]: ExperimentOutcome(
            experiment=by_id[line["id"]],
            figures=FrozenMap(line["figures"]),
            origin=FrozenMap({name: text for name, text in line.items() if name.endswith(("_version", "_commit"))}),
        )
        for line in read_journal(file)
        if line.get("id") in by_id and not line.get("error")
    }


def with_origin(outcome: ExperimentOutcome) -> ExperimentOutcome:
    """The outcome with the version and the commit of its scheduler and its engine, as they are installed here."""
    asked = outcome.experiment
    found = origin(_host(), asked.scheduler, "scheduler") | origin(_host(), asked.engine, "engine")
    return attrs.evolve(outcome, origin=FrozenMap(found))


def append_outcomes(journal: FileJournal, outcomes: Sequence[ExperimentOutcome]) -> None:
    """Append outcomes to a file of results.

    Args:
        journal: The file.
        outcomes: Outcomes, one line each.
    """
    for each in outcomes:
        journal.append(each.line())


def slices(experiments: Sequence[Experiment], size: int) -> Iterator[Sequence[Experiment]]:
    """Consecutive parts of so many experiments, the last one of the rest.

    Args:
        experiments: All of them.
        size: Experiments to a part.
    """
    for first in range(0, len(experiments), size):
        yield experiments[first : first + size]


def dumped(experiment: Experiment) -> str:
    """JSON of an experiment, for the workers."""
    return json.dumps(attrs.asdict(experiment))

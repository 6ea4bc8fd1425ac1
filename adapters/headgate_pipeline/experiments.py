"""Experiments of a sweep: scheduler x workload x cluster x seed, what each found, and where that is kept."""

from __future__ import annotations

import functools
import itertools
import json
from typing import TYPE_CHECKING, Any

import attrs

from headgate.control.journal import FileJournal, read_journal
from headgate.errors import DocumentError, HeadgateError
from headgate.model import Cluster, FrozenMap
from headgate.plugins.host import PluginHost

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence
    from pathlib import Path

    from headgate.model import Request

OWN = 0
"""As many nodes as the workload itself has."""


@attrs.frozen(kw_only=True, order=True)
class Experiment:
    """One of them: `seconds` simulated on an `engine`.

    `workload` is PLUGIN:NAME or a request document, `nodes` how many nodes it has, `OWN` for its own.
    """

    workload: str
    nodes: int = OWN
    scheduler: str
    seed: int = 0
    seconds: float = 300.0
    engine: str = "sim"

    @property
    def id(self) -> str:
        """Names it in the file of results."""
        return " ".join(str(value) for value in attrs.astuple(self))


@attrs.frozen(kw_only=True)
class Sweep:
    """What is tried with what, for how many simulated `seconds` each, on which simulator."""

    workloads: tuple[str, ...]
    schedulers: tuple[str, ...]
    nodes: tuple[int, ...] = (OWN,)
    seeds: int = 1
    seconds: float = 300.0
    engine: str = "sim"

    def experiments(self) -> tuple[Experiment, ...]:
        """All of them, in order."""
        every = itertools.product(self.workloads, self.nodes, self.schedulers, range(self.seeds))
        return tuple(
            Experiment(
                workload=workload,
                nodes=nodes,
                scheduler=scheduler,
                seed=seed,
                seconds=self.seconds,
                engine=self.engine,
            )
            for workload, nodes, scheduler, seed in every
        )


@attrs.frozen(kw_only=True)
class Outcome:
    """What an experiment found, or the `error` for which it found nothing."""

    experiment: Experiment
    figures: FrozenMap[str, float] = FrozenMap()
    error: str = ""

    def line(self) -> dict[str, Any]:
        """As it is kept."""
        return {"id": self.experiment.id, "figures": dict(self.figures), "error": self.error}


def try_out(experiment: Experiment) -> Outcome:
    """Run one experiment; what goes wrong is its outcome."""
    try:
        request = sized(_request(experiment.workload), experiment.nodes)
        found = _host().experiment(
            experiment.engine, request, experiment.scheduler, seed=experiment.seed, seconds=experiment.seconds
        )
    except HeadgateError as error:
        return Outcome(experiment=experiment, error=str(error))
    return Outcome(experiment=experiment, figures=FrozenMap(found))


@functools.cache
def _host() -> PluginHost:
    """The installed plugins; loaded once a process."""
    return PluginHost.load()


@functools.cache
def _request(workload: str) -> Request:
    from headgate.api import find_request

    return find_request(workload, _host())


def sized(request: Request, nodes: int) -> Request:
    """The request with so many nodes: its own in order of id, again and again under other ids; nothing runs on them.

    Raises:
        DocumentError: It has no node to repeat.
    """
    if nodes == OWN:
        return request
    own = sorted(request.cluster.nodes, key=lambda node: node.id)
    if not own:
        raise DocumentError("/cluster/nodes", "there is no node to repeat")
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
        cluster=Cluster(nodes=tuple(many)),
        assignment=running,
        metrics=attrs.evolve(request.metrics, nodes=seen),
    )


def kept(file: Path, experiments: Iterable[Experiment]) -> dict[str, Outcome]:
    """Outcomes in a file, by id, of those experiments that are asked for; errors are tried again."""
    if not file.exists():
        return {}
    by_id = {each.id: each for each in experiments}
    return {
        line["id"]: Outcome(experiment=by_id[line["id"]], figures=FrozenMap(line["figures"]))
        for line in read_journal(file)
        if line.get("id") in by_id and not line.get("error")
    }


def keep(journal: FileJournal, outcomes: Sequence[Outcome]) -> None:
    """Add outcomes to a file."""
    for each in outcomes:
        journal.append(each.line())


def slices(experiments: Sequence[Experiment], size: int) -> Iterator[Sequence[Experiment]]:
    """Parts of so many."""
    for first in range(0, len(experiments), size):
        yield experiments[first : first + size]


def dumped(experiment: Experiment) -> str:
    """As a worker is told."""
    return json.dumps(attrs.asdict(experiment))

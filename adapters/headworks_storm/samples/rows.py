"""Reports of workers as rows of samples (`headworks.samples.rows`), a window of a worker at a time.

A worker sees its share of a node and of a topology: those rows carry its port, and shares of one window add up. Tasks
are executors, named after a round of Nimbus; what that round does not know is left out.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import attrs

from headworks.model import Cluster, FrozenMap, Observation
from headworks.samples.rows import rows_of
from headworks.samples.store import write_rows
from headworks_storm.seats.metrics import logical_metrics, logical_names
from headworks_storm.workers.measures import metrics_of, seen

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from pathlib import Path

    from headworks.samples.store import Sink
    from headworks_storm.nimbus.snapshot import Snapshot
    from headworks_storm.workers.reports import Report

ENGINE = "storm"
"""The engine's name in every row."""


def write_samples(
    sink: Sink, reports: Iterable[Report], snapshot: Snapshot, placed: Snapshot | None = None
) -> tuple[Path, ...]:
    """Add reports to samples; see `headworks.samples.store.write_rows`.

    Args:
        sink: Takes them.
        reports: What workers reported.
        snapshot: The round of Nimbus that names their tasks.
        placed: The same round with tasks in place of their seats; None where it has no seats.

    Returns:
        The files in the folder.

    Raises:
        EngineError: pyarrow is missing, or a file cannot be written or sent.
    """
    return write_rows(sink, (row for report in reports for row in sample_rows(report, snapshot, placed)))


def sample_rows(report: Report, snapshot: Snapshot, placed: Snapshot | None = None) -> Iterator[dict[str, Any]]:
    """The rows of a report. Its key is the life of the worker (`origin`) and the number of the report in it.

    Args:
        report: What one worker did in one window.
        snapshot: The round of Nimbus that names its tasks; topologies but the worker's are left out.
        placed: The same round with tasks in place of their seats; None where it has no seats.
    """
    own, named = _only(report.topology, snapshot), _only(report.topology, placed or snapshot)
    names = logical_names(own, named)
    observation = Observation(
        cluster=Cluster(nodes=snapshot.nodes),
        topologies=tuple(each.topology for each in named.scheduled),
        assignment=FrozenMap({names.get(task, task): slot for task, slot in seen([report], own).items()}),
        metrics=logical_metrics(metrics_of([report], own, report.window), own, named),
    )
    origin = ":".join(map(str, report.process))
    return rows_of(observation, engine=ENGINE, origin=origin, number=report.number, end=report.time, share=report.port)


def _only(topology: str, snapshot: Snapshot) -> Snapshot:
    return attrs.evolve(snapshot, scheduled=tuple(each for each in snapshot.scheduled if each.topology.id == topology))

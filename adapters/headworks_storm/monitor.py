"""The observation of a Storm cluster: its state by Nimbus, its load by the reports of workers."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

import attrs

from headworks.model.parts import known_metrics
from headworks_storm.seats.metrics import logical_metrics

if TYPE_CHECKING:
    from headworks.model import Observation
    from headworks_storm.nimbus.snapshot import Snapshot
    from headworks_storm.target import StormTarget


def observe(target: StormTarget, window: float) -> Observation:
    """Measure for a window of time, and read the newest round of Nimbus after it.

    Executors are where Nimbus says, and a note says how old that is; tasks with seats are where the ledger of their
    topology says. Takes the window, and waits for the first round.

    Args:
        window: Seconds to measure.

    Returns:
        The cluster, its topologies, their assignment and metrics; without a watch on workers no metrics.

    Raises:
        EngineError: Nimbus has never asked, or asks no more.
    """
    snapshot = target.latest()
    if target.watch is None:
        time.sleep(window)
        return _dated(*target.seated(target.latest()), target)
    metrics = target.watch.measure(snapshot, window)
    latest = target.latest()
    # Measured before the round was read: a topology that was killed meanwhile may be in the metrics alone.
    metrics = known_metrics(metrics, latest.observation())
    placed, notes = target.seated(latest)
    seen = _dated(placed, notes, target)
    return attrs.evolve(seen, metrics=known_metrics(logical_metrics(metrics, latest, placed), seen))


def look(target: StormTarget) -> Observation:
    """The newest round of Nimbus, with tasks in place of their seats; nothing is measured.

    Raises:
        EngineError: Nimbus has never asked, or asks no more.
    """
    return target.seated(target.latest())[0].observation()


def _dated(snapshot: Snapshot, notes: tuple[str, ...], target: StormTarget) -> Observation:
    note = f"round {snapshot.round} of Nimbus is {target.rounds.age:.0f} s old"
    return attrs.evolve(snapshot.observation(), notes=(note, *notes))

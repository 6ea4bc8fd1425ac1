"""The observation of a Storm cluster: its state by Nimbus, its load by the reports of workers."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

import attrs

from headgate_storm.nimbus.filter_metrics import known_metrics

if TYPE_CHECKING:
    from headgate.model import Observation
    from headgate_storm.target import StormTarget


def observe(target: StormTarget, window: float) -> Observation:
    """Measure for a window of time, and read the newest round of Nimbus after it.

    Executors are where Nimbus says. Takes the window, and for the first round of Nimbus up to the target's patience.

    Args:
        target: The cluster.
        window: Seconds to measure.

    Returns:
        The cluster, its topologies, their assignment and metrics; without a watch on workers no metrics.

    Raises:
        EngineError: Nimbus has never asked.
    """
    snapshot = target.rounds.latest(target.patience)
    if target.watch is None:
        time.sleep(window)
        return target.rounds.latest(target.patience).observation()
    metrics = target.watch.measure(snapshot, window)
    snapshot = target.rounds.latest(target.patience)
    seen = snapshot.observation()
    # Measured before the round was read: a topology that was killed meanwhile may be in the metrics alone.
    return attrs.evolve(seen, metrics=known_metrics(metrics, seen))

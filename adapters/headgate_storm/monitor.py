"""The state of a Storm cluster as Nimbus and its workers tell it."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

import attrs

from headgate_storm.nimbus.filter_metrics import known_metrics

if TYPE_CHECKING:
    from headgate.model import Observation
    from headgate_storm.target import StormTarget


def observe(target: StormTarget, window: float) -> Observation:
    """Measure for `window` seconds, and say what the newest round of Nimbus shows.

    Executors are where workers report them; where nobody looks at workers, or an executor is silent, where Nimbus
    says. Takes the window, and for the first round of Nimbus up to the target's patience.

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
    return attrs.evolve(seen, metrics=known_metrics(metrics, seen))

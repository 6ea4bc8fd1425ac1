"""Nimbus's own settings of time, as the round carries them, and how long they let a plan take."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Self

import attrs

if TYPE_CHECKING:
    from collections.abc import Mapping

ROUNDS = 3
"""Rounds of Nimbus that may stay away before it counts as silent."""
LEAST_SILENCE = 30.0
"""Seconds after which Nimbus counts as silent at the earliest, three rounds by Storm's default: on a busy machine one
that asks every second stays away for longer than three of them."""
STORING = 60.0
"""Seconds that a plan may take to be stored, beyond the rounds that it takes."""

DAY = 86_400
"""Seconds that a setting may be."""


def seconds(said: Any) -> float:
    """Seconds that a setting says; 0 where it is not a whole number up to a day."""
    return float(said) if type(said) is int and 0 < said <= DAY else 0.0


@attrs.frozen(kw_only=True)
class Timing:
    """Settings of Nimbus in seconds; the defaults are Storm's.

    Attributes:
        monitor: Between two rounds (`nimbus.monitor.freq.secs`).
        launch: After which an executor that was never heard of is dead (`nimbus.task.launch.secs`).
        timeout: After which one that is heard of no more is (`nimbus.task.timeout.secs`).
        start: That a supervisor gives a worker to start (`supervisor.worker.start.timeout.secs`).
    """

    monitor: float = 10.0
    launch: float = 120.0
    timeout: float = 30.0
    start: float = 120.0

    @classmethod
    def of(cls, data: Mapping[str, Any]) -> Self:
        """The settings in a round; what is missing there, or no number up to a day, is Storm's default.

        Args:
            data: Seconds by the name of Storm's setting; a jar of before sends none.
        """
        names = {
            "monitor": "nimbus.monitor.freq.secs",
            "launch": "nimbus.task.launch.secs",
            "timeout": "nimbus.task.timeout.secs",
            "start": "supervisor.worker.start.timeout.secs",
        }
        found = {field: seconds(data.get(name)) for field, name in names.items()}
        return cls(**{field: each for field, each in found.items() if each})

    @property
    def silence(self) -> float:
        """Seconds without a round after which Nimbus is silent."""
        return max(ROUNDS * self.monitor, LEAST_SILENCE)

    @property
    def storing(self) -> float:
        """Seconds for a plan to be stored: two rounds to ask and to see it, and one that was under way."""
        return STORING + 3 * self.monitor

    def starting(self, own: float = 0.0) -> float:
        """Seconds after which an executor that Nimbus still assigns runs for sure.

        Within `launch` Nimbus believes in a new executor unheard, and for `timeout` in the last that its old worker
        said, or for the topology's own time in place of both where that is longer. It drops what it has not heard of
        then, in one of the next two rounds.

        Args:
            own: Seconds that the topology sets (`topology.worker.timeout.secs`); 0 sets none.
        """
        return max(self.launch, self.start, own) + max(self.timeout, own) + 2 * self.monitor

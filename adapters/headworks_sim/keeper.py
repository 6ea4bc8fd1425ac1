"""The writer of a simulated monitor's samples, as Parquet: the files of every engine, with simulated time in them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from headworks.samples.rows import rows_of
from headworks.samples.store import Keeper, write_rows
from headworks_sim.target import EPOCH

if TYPE_CHECKING:
    from pathlib import Path

    from headworks.model import Observation


class ObservationWriter:
    """Writer of observations into a folder of samples; see `headworks.samples.rows` for the columns."""

    def __init__(self, folder: Path, origin: str, begin: float = EPOCH) -> None:
        """Take the destination.

        Args:
            folder: Folder of the samples, with `day=.../hour=...` in it.
            origin: Key that tells experiments apart that write into one folder, such as `dstorm:1`.
            begin: Seconds since 1970 (UTC) at which simulated time begins.
        """
        self._folder, self._origin, self._begin = folder, origin, begin
        self._number = 0
        self._states = Keeper(folder, "sim")

    def keep(self, observation: Observation, now: float) -> None:
        """Write one observation; one without a window has measured nothing, and is left out.

        Args:
            observation: What was measured.
            now: End of its window, seconds of simulated time.

        Raises:
            EngineError: pyarrow is missing, or the folder cannot be written.
        """
        if observation.metrics.window <= 0:
            return
        self._number += 1
        end = self._begin + now
        write_rows(self._folder, rows_of(observation, engine="sim", origin=self._origin, number=self._number, end=end))
        self._states.keep_state(observation, end)

"""Engines that experiments run on: the entry-point group `headworks.experiments` names a `Bench` for each."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

from headworks.errors import PluginError, known_names
from headworks.plugins.loading import found, imported

if TYPE_CHECKING:
    from collections.abc import Mapping
    from contextlib import AbstractContextManager

    from headworks.model import Request

EXPERIMENTS = "headworks.experiments"


class Running(Protocol):
    """Place where experiments run, one after the other."""

    def run(
        self, request: Request, scheduler: str, seed: int, seconds: float, warm_up: float | None = None
    ) -> Mapping[str, float]:
        """Run one experiment; figures by name, without those that have no value.

        A simulator's figures depend on the arguments alone. A real engine takes its own name for the scheduler that it
        has without Headworks. Figures are of so many seconds after a warm-up, which the engine chooses if it is None,
        and says as the figure `warm_up`. `start` is the seconds from the begin until what came in was completed.

        Raises:
            HeadworksError: The request or the scheduler does not fit.
        """


class Bench(Protocol):
    """An engine as experiments see it.

    Attributes:
        real: Whether it is a real engine; experiments on simulators may run at the same time.
    """

    real: bool

    def open(self) -> AbstractContextManager[Running]:
        """Start what experiments run on; all of it ends when the context is left."""


def bench_of(engine: str) -> Bench:
    """The bench of an engine.

    Raises:
        PluginError: No experiments run on that engine.
    """
    named = found(EXPERIMENTS)
    if engine not in named:
        raise PluginError(f"no experiments run on {engine!r}{known_names(engine, named)}")
    bench: Bench = imported(named[engine][0])
    return bench

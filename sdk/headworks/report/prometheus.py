"""Metrics for Prometheus, computed when they are read; each server has a registry of its own."""

from __future__ import annotations

import contextlib
from typing import TYPE_CHECKING, Any

from prometheus_client import CollectorRegistry, core, start_http_server
from prometheus_client.registry import Collector

from headworks.errors import EngineError
from headworks.report.metrics import RunningFigures, busiest, running_figures, samples

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from headworks.control.journal import Round
    from headworks.control.totals import HeardRounds
    from headworks.plugins.tally import PluginTally
    from headworks.report.metrics import MetricFamily

KINDS: Mapping[str, Any] = {
    "counter": core.CounterMetricFamily,
    "gauge": core.GaugeMetricFamily,
    "summary": core.SummaryMetricFamily,
}


class LoopCollector(Collector):
    """The metrics of a process that runs rounds, for its registry."""

    def __init__(
        self, heard: HeardRounds, tally: PluginTally, counts: Callable[[], Mapping[str, int]], tasks: int = 0
    ) -> None:
        """Take what is read.

        Args:
            heard: The rounds.
            tally: Of the plugins that take part in them.
            counts: Reads what the adapter counts beside them, from any thread.
            tasks: Most tasks whose figures are shown.
        """
        self._heard, self._tally, self._counts, self._tasks = heard, tally, counts, tasks
        self._known: tuple[Round | None, RunningFigures] = (None, RunningFigures())

    def collect(self) -> Iterator[Any]:
        """All metrics as they are now."""
        tasks = busiest(self._heard.measured(), self._tasks) if self._tasks else []
        for family, values in samples(self._heard.totals, self._running(), self._tally, self._counts(), tasks):
            made = _empty(family)
            for labels, value in values:
                if isinstance(value, tuple):
                    made.add_metric(labels, count_value=value[0], sum_value=value[1])
                else:
                    made.add_metric(labels, value)
            yield made

    def _running(self) -> RunningFigures:
        """Figures of the newest round, computed once for it."""
        newest, (of, found) = self._heard.newest(), self._known
        if newest is not of:
            self._known = (newest, found := running_figures(newest))
        return found


def _empty(family: MetricFamily) -> Any:
    return KINDS[family.kind](family.name, f"[{family.stability}] {family.help}", labels=family.labels)


@contextlib.contextmanager
def served(
    address: tuple[str, int],
    heard: HeardRounds,
    tally: PluginTally,
    counts: Callable[[], Mapping[str, int]],
    tasks: int = 0,
) -> Iterator[str]:
    """Show metrics over HTTP while the block runs.

    Args:
        address: Host and port to listen on; port 0 is any free one.
        counts: Reads what the adapter counts beside the rounds, from any thread.
        tasks: Most tasks whose figures are shown.

    Yields:
        Their URL.

    Raises:
        EngineError: The address is taken or not one of this machine.
    """
    registry = CollectorRegistry()
    registry.register(LoopCollector(heard, tally, counts, tasks))
    host, port = address
    try:
        server, thread = start_http_server(port, host, registry)
    except OSError as error:
        raise EngineError(f"{host}:{port} cannot be listened on: {error.strerror or error}") from None
    try:
        yield f"http://{f'[{host}]' if ':' in host else host}:{server.server_port}/metrics"
    finally:
        server.shutdown()
        server.server_close()
        thread.join()

"""The process beside Nimbus, put together: rounds, the bridge, the collector of reports, the archive of samples."""

from __future__ import annotations

import contextlib
from pathlib import Path
from typing import TYPE_CHECKING, Any

import attrs

from headgate.model import Metrics, Request
from headgate_storm.nimbus.bridge import Bridge
from headgate_storm.nimbus.rounds import Rounds
from headgate_storm.nimbus.secret import read_or_make_secret
from headgate_storm.target import StormTarget
from headgate_storm.workers.collector import Collector
from headgate_storm.workers.sample_writer import Archive
from headgate_storm.workers.watch import Workers

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from headgate.plugins.host import PluginHost
    from headgate_storm.nimbus.rounds import Decision
    from headgate_storm.nimbus.snapshot import Snapshot

HOOKS: dict[str, list[Any]] = {
    "topology.auto.task.hooks": ["headgate.storm.monitor.TaskHook"],
    "topology.metrics.reporters": [{"class": "headgate.storm.monitor.QueueReporter"}],
}
"""Settings of `storm.yaml` by which workers report."""
SCHEDULER = {"storm.scheduler": "headgate.storm.HeadgateScheduler"}
"""Settings of Nimbus by which it asks."""


@attrs.frozen(kw_only=True)
class Places:
    """Where a service listens and writes.

    Attributes:
        endpoint: The file by which Nimbus finds it (`headgate.endpoint`).
        port: For Nimbus; 0 is any free one.
        collector: Address for the reports of workers (`headgate.collector`); None takes none.
        token: File with the secret of workers (`headgate.collector.token.file`), made if it is not there; by default
            `collector.token` beside the endpoint.
        samples: Folder for what workers report, as Parquet; None writes none.
    """

    endpoint: Path
    port: int = 0
    collector: tuple[str, int] | None = None
    token: Path | None = None
    samples: Path | None = None

    @property
    def token_file(self) -> Path:
        """The file with the secret of workers."""
        return self.token or self.endpoint.with_name("collector.token")


@attrs.frozen(kw_only=True, eq=False)
class Service:
    """A running service: the target for the control loop, and what it listens with."""

    target: StormTarget
    bridge: Bridge
    collector: Collector | None
    places: Places

    def nimbus_conf(self) -> dict[str, Any]:
        """What `storm.yaml` of Nimbus has to say."""
        return {**SCHEDULER, "headgate.endpoint": str(self.places.endpoint.absolute())}

    def worker_conf(self) -> dict[str, Any]:
        """What `storm.yaml` of supervisors has to say; nothing without a collector."""
        if self.collector is None:
            return {}
        address = "{}:{}".format(*self.collector.address)
        secret = {"headgate.collector.token.file": str(self.places.token_file.absolute())}
        return {**HOOKS, "headgate.collector": address, **secret}


@contextlib.contextmanager
def serve(
    host: PluginHost,
    scheduler: str,
    options: Mapping[str, Any],
    places: Places,
    *,
    shadow: bool = False,
    on_decision: Callable[[Snapshot, Decision], None] | None = None,
) -> Iterator[Service]:
    """Answer Nimbus with a scheduler, and take the reports of workers.

    Raises:
        EngineError: A port is taken, a file cannot be written, or a library is missing.
    """
    with contextlib.ExitStack() as stack:
        collector = _collector(places, stack)
        watch = Workers(collector) if collector is not None else None
        rounds = Rounds(
            lambda request: host.schedule(scheduler, request, options),
            shadow=shadow,
            metrics=lambda: watch.latest if watch is not None else Metrics(),
            on_decision=on_decision,
        )
        if collector is not None and places.samples is not None:
            stack.enter_context(Archive(collector, places.samples, rounds))
        host.schedule(scheduler, Request(), options)  # the first plan of a process imports half of it: not in a round
        bridge = stack.enter_context(Bridge(rounds.answer, places.endpoint, port=places.port))
        yield Service(target=StormTarget(rounds=rounds, watch=watch), collector=collector, bridge=bridge, places=places)


def _collector(places: Places, stack: contextlib.ExitStack) -> Collector | None:
    if places.collector is None:
        return None
    return stack.enter_context(Collector(*places.collector, token=read_or_make_secret(places.token_file)))

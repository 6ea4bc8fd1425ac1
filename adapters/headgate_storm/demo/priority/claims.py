"""Figures of the priority thesis that `headgate demo priority` measures: how much longer `sps` takes than `dps`."""

from __future__ import annotations

import functools
import tempfile
from pathlib import Path
from statistics import fmean
from typing import TYPE_CHECKING

from headgate.model.evidence import Claim
from headgate_storm.demo.priority.workload import Workload

if TYPE_CHECKING:
    from collections.abc import Callable

    from headgate_storm.demo.priority.run import PriorityDemoResult

PAIR = ("sps", "dps")
PRINTED = (
    ("te-service-0.1", "section 4.1.7.2, Figure 13", 0.1, 0.21),
    ("te-service-0.2", "section 4.1.7.1, Figure 10", 0.2, 0.38),
    ("te-service-0.3", "section 4.1.7.2, Figure 13", 0.3, 0.39),
)
"""Id, source, service time (Shigh, seconds), and by how much TE of SPS is printed to be above that of DPS."""
NOTE = (
    "a quarter of the thesis's size: a topology of events has one node under sps and two under dps, where the thesis "
    "has 6 and 8; a reading takes time and not a processor, and the first event comes before nodes have changed hands"
)


def measured_claims() -> tuple[Claim, ...]:
    """The thesis's ratios of latencies of complex events, which a run of both schedulers measures."""
    return tuple(
        Claim(
            id=name,
            source=source,
            statement=f"TE under SPS above TE under DPS, a reading taking {service:g} s",
            printed=printed,
            verify=functools.partial(measure, service),
            measured=True,
            note=NOTE,
        )
        for name, source, service, printed in PRINTED
    )


def measure(service: float, run: Callable[[Workload], PriorityDemoResult] | None = None) -> float:
    """Relative distance of TE under `sps` from that under `dps`, means over all events of a run.

    Args:
        service: Seconds that a reading takes (Shigh).
        run: Runs the demo under both schedulers; the real one by default.

    Raises:
        EngineError: Something does not start, or what was sent was not done in time.
    """
    found = (run or run_demo)(Workload(service=service))
    mean = {each.scheduler: fmean(each.latencies.complex_events) for each in found.phases}
    return mean["sps"] / mean["dps"] - 1


def run_demo(workload: Workload) -> PriorityDemoResult:
    """Run the demo under both schedulers, with its messages on stderr.

    Args:
        workload: Parameters.
    """
    # Nimbus's client and Kafka's cost 0.5 s, which naming the figures does not need.
    from headgate.cli.host import plugins
    from headgate.cli.output import Progress
    from headgate_storm.demo.priority.run import run

    with tempfile.TemporaryDirectory(prefix="headgate-live-", ignore_cleanup_errors=True) as folder:
        return run(plugins(), PAIR, workload, Path(folder), Progress())

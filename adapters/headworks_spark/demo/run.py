"""The demo from the first daemon to the last: cluster, session, query, phases, and the check that no row was lost."""

from __future__ import annotations

import contextlib
import time
from typing import TYPE_CHECKING, Any

import attrs

from headworks.cli.tables import moves_table
from headworks.model import Request
from headworks.report.format import percent
from headworks_local.process import output_to
from headworks_spark.demo.flights import FlightsQuery
from headworks_spark.demo.phases import SCHEDULERS, MeasuredPlacement, alone, carry_out, question, warm_up
from headworks_spark.driver.session import ONE_JOB, session
from headworks_spark.events.recorder import EventRecorder
from headworks_spark.local.cluster import LocalSpark

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from pathlib import Path

    from headworks import PluginHost
    from headworks.model import Plan
    from headworks_local.isolated.limits import NodeLimits
    from headworks_spark.local.cluster import WorkerSpec
    from headworks_spark.target import SparkTarget


@attrs.frozen(kw_only=True)
class SparkDemoResult:
    """Measurements of a whole run of the demo.

    Attributes:
        spark: Version of the engine. `load`: share of all CPU that was planned for.
        apart: Whether nodes had a network, and processor time, of their own.
        phases: Each placement, in the order tried; the first is Spark's own.
        question: The first request of the schedulers.
        days: Days of flights that were processed in all.
        differences: Where the stream's statistics differ from the batch answer over the same days; none expected.
        seconds: Duration of all of it.
    """

    spark: str
    load: float
    apart: bool
    phases: tuple[MeasuredPlacement, ...]
    question: Request
    days: int
    differences: tuple[str, ...]
    seconds: float


def run(
    host: PluginHost,
    workers: Sequence[WorkerSpec],
    load: float,
    folder: Path,
    say: Callable[[str], None],
    show: Callable[[Any], None],
    *,
    apart: tuple[NodeLimits, ...] | None = None,
) -> SparkDemoResult:
    """Run the demo on a cluster of its own; every process that it starts ends with it.

    Args:
        load: Share of all CPU to plan for.
        say: Takes progress messages.
        show: Takes tables for a person.
        apart: Bounds of the node of each Worker, None if nodes are not apart.

    Raises:
        EngineError: Cluster, session or query fail, or a plan cannot be made or carried out.
    """
    begin = time.monotonic()
    sizes = ", ".join(str(worker.cores) for worker in workers)
    say(f"starting a Spark Master and {len(workers)} Workers of {sizes} cores")
    with LocalSpark(tuple(workers), apart=apart) as cluster:
        say(f"the Master at {cluster.master_url} lists every Worker alive; starting the session")
        with _query(cluster, folder, say) as (target, query, handle):
            phases, first = _phases(host, target, load, say, show)
            say("comparing the stream's statistics with the batch answer over the same rows")
            days, differences = _answer(query, handle, target.spark)
            version = str(target.spark.version)
    return SparkDemoResult(
        spark=version,
        load=load,
        apart=apart is not None,
        phases=phases,
        question=first,
        days=days,
        differences=differences,
        seconds=time.monotonic() - begin,
    )


@contextlib.contextmanager
def _query(
    cluster: LocalSpark, folder: Path, say: Callable[[str], None]
) -> Iterator[tuple[SparkTarget, FlightsQuery, Any]]:
    """The session with the running flights query; both are stopped at the end."""
    with output_to(folder / "driver.log"):
        hosts = [worker.host for worker in cluster.workers]
        spark = session(cluster.master_url, "headworks demo", hosts=hosts, **ONE_JOB)
    try:
        with EventRecorder(spark) as recorder:
            flights = FlightsQuery(folder=folder)
            say("starting the streaming query: 12 feeds by carrier, re-keyed by destination, statistics per airport")
            handle = flights.start(spark)
            target = flights.target(spark, recorder)
            try:
                yield target, flights, handle
            finally:
                handle.stop()
    finally:
        spark.stop()


def _phases(
    host: PluginHost, target: SparkTarget, load: float, say: Callable[[str], None], show: Callable[[Any], None]
) -> tuple[tuple[MeasuredPlacement, ...], Request]:
    say("warming up (the first batches start Python workers)")
    warm_up(target, say)
    say("measuring a year of flights as Spark places it by itself")
    first, pilot = alone(target, load)
    phases = [first]
    for name in SCHEDULERS:
        # Each scheduler finds the placement of the one before, as it would on a cluster that runs.
        asked = question(target, pilot, phases[-1].placed, load)

        def tell(plan: Plan, label: str = name) -> None:
            before, after = percent(phases[-1].measured.share), percent(plan.scores.share)
            does = "re-placing the running query" if plan.moves else "every task stays where it is"
            say(f"{label}: traffic between nodes should go from {before} to {after}; {does}")
            if plan.moves:
                show(moves_table(plan))

        phases.append(carry_out(host, target, name, asked, tell))
        measured = phases[-1].measured
        hits = f"{measured.hits} of {measured.asked} tasks where asked"
        say(f"{name}: {percent(measured.share)} measured, {hits}")
    return tuple(phases), question(target, pilot, first.placed, load)


def _answer(query: FlightsQuery, handle: Any, spark: Any) -> tuple[int, tuple[str, ...]]:
    """Days processed and differences, with the query stopped between two batches."""
    # The table and the progress of a running query may be of different batches.
    handle.stop()
    days, _ = query.streamed(spark)
    return days, query.check(handle, spark)

"""The command `headworks demo`."""

from __future__ import annotations

import json
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

import click

from headworks.cli.installed import plugins
from headworks.cli.output import Progress, console, emit, folder_option, json_option, say, table
from headworks.cli.parameters import FiniteRange
from headworks.errors import EngineError
from headworks_local.isolated.options import demo_apart_options

if TYPE_CHECKING:
    from collections.abc import Sequence

    from headworks import PluginHost
    from headworks_local.isolated.limits import NodeLimits
    from headworks_local.isolated.options import ApartOptions
    from headworks_spark.local.cluster import WorkerSpec

NETWORK = 2e6
"""Bits per second of each node that is apart, if nothing else is asked for. With much more, no placement waits for it;
with much less, batches of Spark's own placement take most of the demo."""
CORES = (4, 2, 1)
"""Cores of the Workers: different, so that schedulers which look at them and those which do not place differently."""


@click.group("demo", invoke_without_command=True)
@click.option(
    "--load", default=0.8, show_default=True, type=FiniteRange(0.05, 1.0), help="Share of each node's CPU to plan for."
)
@folder_option("headworks-demo", "demo.json and demo.html")
@click.option("--offline", is_flag=True, help="Only the part that needs no Java; it writes demo.json alone.")
@demo_apart_options
@json_option
@click.pass_context
def demo(
    context: click.Context,
    /,
    *,
    load: float,
    output: Path,
    offline: bool,
    apart: ApartOptions,
    as_json: bool,
) -> None:
    """Place a real PySpark query on a real three-node cluster, and measure the gain.

    The query reads a year of flights. While it runs, one scheduler after the other places its tasks. The page
    demo.html has the curves of batches under each placement. Nodes that are apart have 2mbit each by default.
    """
    if context.invoked_subcommand is not None:
        return
    # 0.1 s that a list of commands, which imports this module, does not need.
    from headworks_spark.local.cluster import worker_specs

    host, workers = plugins(context), worker_specs(CORES)
    missing = _missing()
    if not (offline or missing):
        limits = apart.limits(len(workers), NETWORK)
        _real(host, workers, load, output, apart=limits, as_json=as_json)
        return
    _offline(host, workers, load, output, as_json=as_json)
    if missing and not offline:
        say(f"the part on a real cluster was left out: {missing}")
        context.exit(4)


def _missing() -> str:
    """Reason why the real part cannot run on this machine, "" if it can."""
    # 0.1 s that a list of commands does not need.
    from headworks_local.java import find_java
    from headworks_spark.driver.jar import spark_home

    try:
        find_java()
        spark_home()
    except EngineError as error:
        return str(error)
    return ""


def _offline(host: PluginHost, workers: Sequence[WorkerSpec], load: float, output: Path, *, as_json: bool) -> None:
    # numpy and cattrs cost 0.2 s, which a list of commands does not need.
    from headworks.api import compare
    from headworks.documents import unstructure, write_text
    from headworks_spark.demo.flights import FlightsQuery
    from headworks_spark.demo.offline import offline_request
    from headworks_spark.demo.phases import SCHEDULERS
    from headworks_spark.demo.show import OFFLINE, offline_rows

    request = offline_request(FlightsQuery(folder=Path()), workers, load)
    compared = compare(request, [name for name in SCHEDULERS if name in host], host=host)
    title = f"planned offline: 12 feeds and 12 partitions of airports on nodes of {', '.join(map(str, CORES))} cores"
    write_text(output / "demo.json", json.dumps(unstructure(compared), indent=2) + "\n")
    emit(
        unstructure(compared),
        table(title, OFFLINE, offline_rows(compared, request), numbers=OFFLINE[2:]),
        as_json=as_json,
    )
    say(f"wrote {output / 'demo.json'}")


def _real(
    host: PluginHost,
    workers: Sequence[WorkerSpec],
    load: float,
    output: Path,
    *,
    apart: tuple[NodeLimits, ...] | None,
    as_json: bool,
) -> None:
    # The session, the control loop and numpy cost 0.3 s, which a list of commands does not need.
    from headworks.documents import write_text
    from headworks_spark.demo.gain import gain
    from headworks_spark.demo.run import run
    from headworks_spark.demo.show import measured_columns, measured_data, measured_page, measured_rows, note, verdict

    progress = Progress()
    with tempfile.TemporaryDirectory(prefix="headworks-demo-", ignore_cleanup_errors=True) as folder:
        found = run(host, workers, load, Path(folder), progress, console(stderr=True).print, apart=apart)
    write_text(output / "demo.json", json.dumps(measured_data(found), indent=2) + "\n")
    write_text(output / "demo.html", measured_page(found))
    title = f"{found.phases[0].measured.rows:,} flights a placement, Spark {found.spark}, planned for {load:.0%} load"
    columns = measured_columns(found)
    emit(measured_data(found), table(title, columns, measured_rows(found), numbers=columns[1:]), as_json=as_json)
    say(note(found))
    say(verdict(found))
    progress(f"wrote {output / 'demo.json'} and {output / 'demo.html'}")
    if found.differences:
        raise EngineError(f"rows were lost or counted twice: {'; '.join(found.differences[:3])}")
    if won := gain(found):
        say(str(won))

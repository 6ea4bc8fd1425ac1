"""The command `headworks demo storm`."""

from __future__ import annotations

import json
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

import click

from headworks.cli.installed import plugins
from headworks.cli.output import Progress, console, emit, folder_option, json_option, say, table
from headworks.cli.parameters import FiniteRange
from headworks_local.isolated.options import demo_apart_options
from headworks_storm.release.artefacts import STORM

if TYPE_CHECKING:
    from headworks_local.isolated.options import ApartOptions


@click.command()
@click.option(
    "--load", default=0.7, show_default=True, type=FiniteRange(0.05, 1.0), help="Share of each node's CPU to plan for."
)
@click.option("--version", default=STORM, show_default=True, help="Release of Storm.")
@folder_option("headworks-demo", "storm.json and storm.html")
@demo_apart_options
@json_option
def storm(
    *,
    load: float,
    version: str,
    output: Path,
    apart: ApartOptions,
    as_json: bool,
) -> None:
    """Place a real topology on a real Storm cluster, and measure the gain.

    Storm's own scheduler places it first, then `resource-aware` and `dstorm` from measured traffic. At last the
    topology gets seats, and its tasks move while all workers run. The page storm.html has the curve of throughput. It
    takes less than 8 minutes on 2 cores. Nodes that are apart have 2mbit each by default.
    """
    # numpy, cattrs and psutil cost 0.5 s, which `headworks demo --help` does not need.
    from headworks.documents import write_text
    from headworks_storm.demo.run import NETWORK, run
    from headworks_storm.demo.show import BEARS, COLUMNS, TIMES, data, html, note, rows, times
    from headworks_storm.local.cluster import THREE

    limits = apart.limits(len(THREE), NETWORK)
    progress, show = Progress(), console(stderr=True).print
    with tempfile.TemporaryDirectory(prefix="headworks-demo-", ignore_cleanup_errors=True) as folder:
        found = run(plugins(), THREE, load, Path(folder), progress, show, version=version, apart=limits)
    write_text(output / "storm.json", json.dumps(data(found), indent=2) + "\n")
    write_text(output / "storm.html", html(found))
    title = f"Storm {found.storm}, planned for {load:.0%} load"
    tables = [table(title, COLUMNS, rows(found), numbers=COLUMNS[1:])]
    tables += [table(BEARS, TIMES, times(found), numbers=TIMES[1:])] if found.apart else []
    emit(data(found), *tables, as_json=as_json)
    say(note(found))
    progress(f"wrote {output / 'storm.json'} and {output / 'storm.html'}")

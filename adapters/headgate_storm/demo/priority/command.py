"""The command `headgate demo priority`."""

from __future__ import annotations

import json
import tempfile
from pathlib import Path

import click

from headgate.cli.host import plugins
from headgate.cli.numbers import FiniteRange
from headgate.cli.output import Progress, emit, folder_option, json_option, say, table

SCHEDULERS = ("isolation", "sps", "dps", "sps-v2")


@click.command()
@click.option(
    "-s",
    "--scheduler",
    "schedulers",
    multiple=True,
    default=SCHEDULERS,
    show_default=True,
    type=click.Choice(SCHEDULERS),
    help="Under which schedulers; may be repeated.",
)
@click.option("--gap", default=30.0, show_default=True, type=FiniteRange(1), help="Seconds between batches (BG).")
@click.option("--length", default=30, show_default=True, type=click.IntRange(1, 1000), help="Tuples of a batch (BL).")
@click.option("--batches", default=6, show_default=True, type=click.IntRange(1, 1000), help="Batches (BT).")
@click.option("--factor", default=0.67, show_default=True, type=FiniteRange(0, 1), help="Part that makes events (EP).")
@click.option("--service", default=0.2, show_default=True, type=FiniteRange(0.001, 60), help="Seconds a tuple (Shigh).")
@folder_option("headgate-demo", "priority.json and priority.html")
@json_option
def priority(
    *,
    schedulers: tuple[str, ...],
    gap: float,
    length: int,
    batches: int,
    factor: float,
    service: float,
    output: Path,
    as_json: bool,
) -> None:
    """Let priorities change while topologies run, on a real Storm cluster and a real Kafka.

    Use case 1 of the priority thesis: two topologies infer events from batches of readings and send triggers, two
    archive them; nodes change hands by the priority manager. Each scheduler has the same batches.
    """
    # numpy, cattrs and psutil cost 0.5 s, which `headgate demo --help` does not need.
    from headgate.documents import write_text
    from headgate_storm.demo.priority.run import run
    from headgate_storm.demo.priority.show import COLUMNS, NOTE, data, html, rows
    from headgate_storm.demo.priority.workload import Workload

    progress = Progress()
    workload = Workload(gap=gap, length=length, batches=batches, factor=factor, service=service)
    with tempfile.TemporaryDirectory(prefix="headgate-demo-", ignore_cleanup_errors=True) as folder:
        found = run(plugins(), schedulers, workload, Path(folder), progress)
    write_text(output / "priority.json", json.dumps(data(found), indent=2) + "\n")
    write_text(output / "priority.html", html(found))
    title = f"Use case 1 on {batches} batches, one every {gap:g} s"
    emit(data(found), table(title, COLUMNS, rows(found), numbers=COLUMNS[1:]), as_json=as_json)
    say(NOTE)
    progress(f"wrote {output / 'priority.json'} and {output / 'priority.html'}")

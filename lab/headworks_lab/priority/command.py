"""The command `headworks demo priority`."""

from __future__ import annotations

import json
import tempfile
from pathlib import Path
from typing import Any

import click
from click.core import ParameterSource

from headworks.cli.installed import plugins
from headworks.cli.output import Progress, emit, folder_option, json_option, say, table
from headworks.cli.parameters import FiniteRange

SCHEDULERS = ("isolation", "sps", "dps", "sps-v2")
OF_FEEDS = ("sps", "dps")
"""Schedulers that the thesis compares in its second use case (section 4.2.6)."""
BATCHES = {"gap": 30.0, "length": 30, "batches": 6, "factor": 0.67, "service": 0.2}
FEEDS = {"rate": 6.67, "proportion": 0.5, "tuples": 800, "service": 0.4}
"""Options of each use case, and what they are where nothing is said."""


@click.command()
@click.option("--use-case", default="1", show_default=True, type=click.Choice(("1", "2")), help="Use case to run.")
@click.option(
    "-s",
    "--scheduler",
    "schedulers",
    multiple=True,
    type=click.Choice(SCHEDULERS),
    help="A scheduler, repeatable; by default all four in use case 1, sps and dps in 2.",
)
@click.option("--gap", type=FiniteRange(1), help="1: seconds between batches (BG); 30 by default.")
@click.option("--length", type=click.IntRange(1, 1000), help="1: tuples of a batch (BL); 30 by default.")
@click.option("--batches", type=click.IntRange(1, 1000), help="1: batches (BT); 6 by default.")
@click.option("--factor", type=FiniteRange(0, 1), help="1: part that makes events (EP); 0.67 by default.")
@click.option("--rate", type=FiniteRange(0.1, 1000), help="2: tuples a second, while many come; 6.67 by default.")
@click.option("--proportion", type=FiniteRange(0, 1), help="2: part that comes at that rate (r1); 0.5 by default.")
@click.option("--tuples", type=click.IntRange(8, 100_000), help="2: tuples to the first topic (NT); 800 by default.")
@click.option(
    "--service", type=FiniteRange(0.001, 60), help="Seconds a tuple (Shigh); 0.2 by default in use case 1, 0.4 in 2."
)
@folder_option("headworks-demo", "priority.json and priority.html")
@json_option
@click.pass_context
def priority(
    context: click.Context,
    /,
    *,
    use_case: str,
    schedulers: tuple[str, ...],
    output: Path,
    as_json: bool,
    **asked: Any,
) -> None:
    """Let priorities change while topologies run, on a real Storm cluster and a real Kafka.

    Use case 1 of the priority thesis: two topologies infer events from batches of readings and send triggers, two
    archive them. Use case 2: two topologies work on feeds, and the first sends triggers while many tuples come. Nodes
    change hands by the priority manager. Each scheduler has the same tuples.
    """
    parameters = _parameters(context, use_case, asked)
    progress = Progress()
    with tempfile.TemporaryDirectory(prefix="headworks-demo-", ignore_cleanup_errors=True) as name:
        run = _batches if use_case == "1" else _feeds
        numbers, page, columns, rows, note = run(schedulers, parameters, Path(name), progress)
    # cattrs costs 0.1 s, which `headworks demo --help` does not need.
    from headworks.documents import write_text

    write_text(output / "priority.json", json.dumps(numbers, indent=2) + "\n")
    write_text(output / "priority.html", page)
    said = ", ".join(f"{key} {value:g}" for key, value in parameters.items())
    emit(numbers, table(f"Use case {use_case}: {said}", columns, rows, numbers=columns[1:]), as_json=as_json)
    say(note)
    progress(f"wrote {output / 'priority.json'} and {output / 'priority.html'}")


def _parameters(context: click.Context, use_case: str, asked: dict[str, Any]) -> dict[str, Any]:
    """The parameters of a use case; an option of the other one is a mistake."""
    own, other = (BATCHES, FEEDS) if use_case == "1" else (FEEDS, BATCHES)
    for name in other.keys() - own.keys():
        if context.get_parameter_source(name) is not ParameterSource.DEFAULT:
            raise click.UsageError(f"--{name} is of the other use case: --use-case {3 - int(use_case)}")
    return {name: usual if asked[name] is None else asked[name] for name, usual in own.items()}


Shown = tuple[dict[str, Any], str, tuple[str, ...], list[tuple[str, ...]], str]
"""Numbers, the page, columns and rows of a table, and the note below it."""


def _batches(schedulers: tuple[str, ...], parameters: dict[str, Any], folder: Path, progress: Progress) -> Shown:
    # numpy, cattrs and psutil cost 0.5 s, which `headworks demo --help` does not need.
    from headworks_lab.priority.run import run
    from headworks_lab.priority.show import COLUMNS, NOTE, data, html, rows
    from headworks_lab.priority.workload import Workload

    found = run(plugins(), schedulers or SCHEDULERS, Workload(**parameters), folder, progress)
    return data(found), html(found), COLUMNS, rows(found), NOTE


def _feeds(schedulers: tuple[str, ...], parameters: dict[str, Any], folder: Path, progress: Progress) -> Shown:
    if "isolation" in schedulers:
        raise click.UsageError(
            "isolation does not place topologies that want more nodes than there are: -s sps, dps, sps-v2"
        )
    # numpy, cattrs and psutil cost 0.5 s, which `headworks demo --help` does not need.
    from headworks_lab.priority.feeds.feeds import FeedWorkload
    from headworks_lab.priority.feeds.run import run
    from headworks_lab.priority.feeds.show import COLUMNS, NOTE, data, html, rows

    found = run(plugins(), schedulers or OF_FEEDS, FeedWorkload(**parameters), folder, progress)
    return data(found), html(found), COLUMNS, rows(found), NOTE

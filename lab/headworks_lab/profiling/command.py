"""The command `headworks storm profile`."""

from __future__ import annotations

import re
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

import attrs
import click

from headworks.cli.installed import plugins
from headworks.cli.output import Progress, emit, json_option, table
from headworks.cli.parameters import FiniteRange
from headworks_storm.release.artefacts import STORM

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from headworks.model import TransferCost
    from headworks.model.knowledge import Knowledge
    from headworks_lab.profiling.run import MachineType

COLUMNS = ("component", "type", "e %s", "met %", "alpha", "levels")
WAY = ("placement", "send µs", "receive µs")
TYPE = re.compile(r"(?P<name>[^=:]+)=(?P<points>[1-9]\d*)(?::(?P<options>.*))?")


def _machines(_context: click.Context, _parameter: click.Parameter, value: tuple[str, ...]) -> tuple[MachineType, ...]:
    # psutil, cattrs and filelock cost 0.1 s, which the list of commands does not need.
    from headworks_lab.profiling.run import MachineType

    found = [TYPE.fullmatch(each) for each in value]
    names = [each["name"] for each in found if each]
    if len(names) < len(value) or len(set(names)) < len(names):
        raise click.BadParameter("each is NAME=POINTS or NAME=POINTS:JVM-OPTIONS, such as slow=100:-Xint, a name once")
    return tuple(
        MachineType(name=each["name"], points=float(each["points"]), options=tuple((each["options"] or "").split()))
        for each in found
        if each
    )


@click.command()
@click.argument("word", metavar="DOCUMENT")
@click.option(
    "--machine",
    "machines",
    multiple=True,
    required=True,
    callback=_machines,
    metavar="NAME=POINTS[:JVM-OPTIONS]",
    help="A machine type: its CPU points, and options of its workers' JVM.",
)
@click.option(
    "--factor",
    default=4.0,
    show_default=True,
    type=FiniteRange(1, min_open=True),
    help="Factor of the rate, level by level.",
)
@click.option("--levels", default=6, show_default=True, type=click.IntRange(min=1), help="Levels at most.")
@click.option("--window", default=10.0, show_default=True, type=FiniteRange(min=1), help="Seconds of each level.")
@click.option(
    "--transfer",
    is_flag=True,
    help="Also measure the cost of a tuple between workers, from pairs of placements of the same rates.",
)
@click.option("--text", type=click.Path(exists=True, dir_okay=False, path_type=Path), help="Text to read.")
@click.option("--version", default=STORM, show_default=True, help="Release of Storm.")
@click.option(
    "-O",
    "--output",
    default="knowledge.json",
    show_default=True,
    type=click.Path(dir_okay=False, path_type=Path),
    help="File for the profiles, a document `knowledge`.",
)
@json_option
def profile(
    *,
    word: str,
    machines: tuple[MachineType, ...],
    factor: float,
    levels: int,
    window: float,
    transfer: bool,
    text: Path | None,
    version: str,
    output: Path,
    as_json: bool,
) -> None:
    """Profile the components of a topology on machine types, as the heterogeneity papers do.

    On a cluster of its own, one task of each component runs on each machine type in turn; the rate of the spouts is
    raised until no more is processed. At the point of highest CPU use, e is Storm's time to execute a tuple, and MET
    the rest of the CPU. All types are this machine: they differ in their declared points and in the JVM's options.

    With `--transfer` the components run in one worker, in two of this machine, and on two nodes: the growth of CPU with
    tuples is the cost of their way.
    """
    # numpy, cattrs and psutil cost 0.5 s, which the list of commands does not need.
    from headworks.documents import unstructure, write
    from headworks_lab.profiling.rule import knowledge_of
    from headworks_lab.profiling.run import ProfilingPlan
    from headworks_lab.profiling.run import profile as measure
    from headworks_lab.profiling.transfer import APART, NEAR, measure_transfer, transfer_cost
    from headworks_storm.workload.find import find_submission, read_text

    host, progress = plugins(), Progress()
    found = find_submission(word, host)
    if len(found.topologies) != 1:
        raise click.UsageError(f"{word} has {len(found.topologies)} topologies, and one is profiled")
    plan = ProfilingPlan(factor=factor, levels=levels, window=window)
    with tempfile.TemporaryDirectory(prefix="headworks-profile-", ignore_cleanup_errors=True) as folder:
        points = measure(host, found, machines, plan, Path(folder), progress, text=read_text(text), version=version)
        inside = Path(folder) / "transfer"
        inside.mkdir()
        rates = (1.0, factor) if transfer else ()
        pairs = measure_transfer(host, found, rates, window, inside, progress, text=read_text(text), version=version)
    costs = {each: transfer_cost(pairs, each) for each in (NEAR, APART)}
    made = attrs.evolve(knowledge_of(found.topologies[0].id, points), transfer=costs[APART] or costs[NEAR])
    write(output, made)
    shown = [table("profiles", COLUMNS, list(_rows(made)), numbers=COLUMNS[2:])]
    if transfer:
        shown.append(table("cost of a tuple between workers", WAY, list(_ways(costs)), numbers=WAY[1:]))
    data = {"points": points, "transfer": pairs, "knowledge": made}
    emit({name: unstructure(each) for name, each in data.items()}, *shown, as_json=as_json)
    progress(f"wrote {output}")


def _ways(costs: Mapping[str, TransferCost | None]) -> Iterator[tuple[str, ...]]:
    for placement, cost in costs.items():
        both = ("-", "-") if cost is None else (f"{1e4 * cost.send:.1f}", f"{1e4 * cost.receive:.1f}")
        yield (placement, *both)


def _rows(known: Knowledge) -> list[tuple[str, ...]]:
    return [
        (
            each.profile.component,
            each.profile.machine_type,
            f"{each.profile.e:.4g}",
            f"{each.profile.met:.3g}",
            "" if each.profile.alpha is None else f"{each.profile.alpha:.3g}",
            str(each.samples),
        )
        for each in known.profiles
    ]

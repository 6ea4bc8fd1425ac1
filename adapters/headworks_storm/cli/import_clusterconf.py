"""The commands `headworks import` and `headworks import storm-clusterconf`."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING

import attrs
import click

if TYPE_CHECKING:
    from collections.abc import Callable

    from headworks.model import Request, Resources


@attrs.frozen(kw_only=True)
class ImportedCluster:
    """One imported cluster in figures. CPU in points, memory in MB."""

    cluster: str
    file: str
    supervisors: int
    topologies: int
    executors: int
    components: int
    streams: int
    cpu_requested: float
    cpu_capacity: float
    memory_requested: float
    memory_capacity: float

    @classmethod
    def of(cls, cluster: str, file: Path, request: Request) -> ImportedCluster:
        """Count the parts of a request.

        Args:
            cluster: Name of the cluster.
            file: The file that holds the request.
            request: The cluster and its topologies.
        """
        parts = [part for topology in request.topologies for part in topology.components]

        def requested(amount: Callable[[Resources], float]) -> float:
            return sum(amount(part.demand) * part.parallelism for part in parts)

        return cls(
            cluster=cluster,
            file=str(file),
            supervisors=len(request.cluster.nodes),
            topologies=len(request.topologies),
            executors=sum(part.parallelism for part in parts),
            components=len(parts),
            streams=sum(len(topology.streams) for topology in request.topologies),
            cpu_requested=requested(lambda demand: demand.cpu),
            cpu_capacity=sum(node.capacity.cpu for node in request.cluster.nodes),
            memory_requested=requested(lambda demand: demand.memory),
            memory_capacity=sum(node.capacity.memory for node in request.cluster.nodes),
        )


@click.group("import")
def import_group() -> None:
    """Turn data of other projects into request documents."""


@import_group.command("storm-clusterconf")
@click.argument("clusters", nargs=-1, metavar="[largeCluster01|largeCluster02|largeCluster03]...")
@click.option("--jar", type=click.Path(path_type=Path), help="Test jar of storm-server, instead of fetching it.")
@click.option(
    "-O",
    "--output",
    type=click.Path(file_okay=False, path_type=Path),
    default=".",
    show_default=True,
    help="Folder to write to.",
)
@click.option("--json", "as_json", is_flag=True, help="Print the figures as JSON.")
def storm_clusterconf(clusters: tuple[str, ...], jar: Path | None, output: Path, *, as_json: bool) -> None:
    """Import production clusters from Storm's test data, all three by default.

    Writes CLUSTER.json, a request document, for each.
    """
    # cattrs, zipfile and the model cost 0.1 s, which the list of commands does not need.
    from headworks import documents
    from headworks_local.maven import resolve
    from headworks_storm.client.clusterconf import NAMES, read_request
    from headworks_storm.release.artefacts import SERVER_TESTS

    for name in clusters:
        if name not in NAMES:
            raise click.BadParameter(f"{name!r} is none of {', '.join(NAMES)}")
    jar = jar or resolve(SERVER_TESTS)
    rows = []
    for name in clusters or NAMES:
        request, file = read_request(jar, name), output / f"{name}.json"
        documents.write(file, request)
        rows.append(ImportedCluster.of(name, file, request))
    click.echo(json.dumps([attrs.asdict(row) for row in rows], indent=2)) if as_json else _print(rows)


def _print(rows: list[ImportedCluster]) -> None:
    # rich costs 0.1 s, which the list of commands does not need.
    from rich.console import Console
    from rich.table import Table

    table = Table("", box=None)
    for row in rows:
        table.add_column(row.cluster, overflow="fold")
    for field in attrs.fields(ImportedCluster)[1:]:  # but the name, which heads the column
        cells = [getattr(row, field.name) for row in rows]
        shown = (cell if isinstance(cell, str) else f"{cell:,.0f}" for cell in cells)
        table.add_row(field.name.replace("_", " "), *shown)
    Console(highlight=False, markup=False, emoji=False).print(table)

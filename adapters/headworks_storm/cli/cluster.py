"""The commands `headworks storm up`, `down`, `status` and `prepare`. Data goes to stdout, messages to stderr."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from headworks.errors import DocumentError
from headworks_local.cluster_commands import MOST, end_cluster, running_cluster
from headworks_local.isolated.options import apart_options, fault_command
from headworks_storm.cli.seats import home_option
from headworks_storm.release.artefacts import STORM

if TYPE_CHECKING:
    from headworks_local.isolated.options import ApartOptions
    from headworks_storm.local.cluster import SupervisorSpec

SIZES = "400:4096:4,200:2048:3,100:1024:2"
"""Three supervisors of different size, as CPU:MEMORY:SLOTS, on a machine of one core and more: points are declared."""
JAR = click.Path(exists=True, dir_okay=False, path_type=Path)


def _supervisors(_context: click.Context, _parameter: click.Parameter, value: str) -> tuple[SupervisorSpec, ...]:
    # psutil, cattrs and filelock cost 0.1 s, which the list of commands does not need.
    from headworks_storm.local.cluster import supervisor_specs

    sizes = [re.fullmatch(r"([1-9]\d*):([1-9]\d*):([1-9]\d?)", each.strip()) for each in value.split(",")]
    found = [(float(size[1]), float(size[2]), int(size[3])) for size in sizes if size]
    if len(found) < len(sizes) or len(sizes) > MOST:
        raise click.BadParameter(f"{value!r} is not a list of CPU:MEMORY:SLOTS such as 400:4096:4,200:2048:2")
    return supervisor_specs(found)


def _conf(_context: click.Context, _parameter: click.Parameter, value: Path | None) -> dict[str, Any]:
    # numpy and cattrs cost 0.2 s, which the list of commands does not need.
    from headworks.documents.formats import parse

    try:
        conf = parse(value.read_bytes(), value.name) if value else {}
    except DocumentError as error:
        raise click.BadParameter(f"{value}: {error}") from None
    if not isinstance(conf, dict):
        raise click.BadParameter(f"{value} holds no object")
    return conf


@click.command()
@click.option(
    "--supervisors",
    default=SIZES,
    show_default=True,
    callback=_supervisors,
    help="CPU points, memory in MB and slots of each supervisor.",
)
@click.option("--version", default=STORM, show_default=True, help="Release of Storm.")
@click.option("--conf", type=JAR, callback=_conf, help="File with settings for storm.yaml, in JSON, YAML or TOML.")
@click.option("--extlib", type=JAR, multiple=True, help="Jar for daemons and workers.")
@click.option("--extlib-daemon", type=JAR, multiple=True, help="Jar for daemons, such as a scheduler.")
@apart_options
@click.option("--json", "as_json", is_flag=True, help="Print the cluster as JSON.")
def up(
    supervisors: tuple[SupervisorSpec, ...],
    version: str,
    conf: dict[str, Any],
    extlib: tuple[Path, ...],
    extlib_daemon: tuple[Path, ...],
    *,
    apart: ApartOptions,
    as_json: bool,
) -> None:
    """Start ZooKeeper, Nimbus and supervisors, and leave them running."""
    limits = apart.limits(len(supervisors))
    # psutil, cattrs and filelock cost 0.1 s, which the list of commands does not need.
    from headworks_storm.local.cluster import LocalStorm
    from headworks_storm.local.state import up as start

    click.echo(f"starting Storm {version}: ZooKeeper, Nimbus and {len(supervisors)} supervisors ...", err=True)
    cluster = LocalStorm(
        supervisors, version=version, conf=conf, extlib=extlib, extlib_daemon=extlib_daemon, apart=limits
    )
    with start(cluster) as state:
        _show(state.describe(), as_json=as_json)
    click.echo("look at it with: headworks storm status\nend it with: headworks storm down", err=True)


@click.command()
@click.option("--version", default=STORM, show_default=True, help="Release of Storm.")
@click.option("--json", "as_json", is_flag=True, help="Print the jars as JSON.")
def prepare(version: str, *, as_json: bool) -> None:
    """Fetch Storm's jars and make Headworks's own, so that a cluster starts without a network."""
    # psutil, cattrs and filelock cost 0.1 s, which the list of commands does not need.
    from headworks_storm.release.artefacts import distribution
    from headworks_storm.release.jar import own_jars

    click.echo(f"fetching the jars of Storm {version} that are not here ...", err=True)
    jars = distribution(version)
    own = list(map(str, own_jars(version)))
    if as_json:
        click.echo(json.dumps({"storm": version, "jars": len({*jars.lib, *jars.lib_worker}), "headworks": own}))
    click.echo("all are here: `headworks storm up` needs no network", err=True)


@click.command()
@click.option("--json", "as_json", is_flag=True, help="Print the result as JSON.")
def down(*, as_json: bool) -> None:
    """End the cluster that `up` started, its workers too; without effect if there is none."""
    # psutil, cattrs and filelock cost 0.1 s, which the list of commands does not need.
    from headworks_storm.local.state import StormState

    end_cluster(StormState, as_json=as_json)


@click.command()
@home_option
@click.option("--json", "as_json", is_flag=True, help="Print the cluster as JSON.")
def status(home: Path | None, *, as_json: bool) -> None:
    """Show a cluster; exit code 1 if you name none and `up` started none."""
    # psutil, cattrs and filelock cost 0.1 s, which the list of commands does not need.
    from headworks_storm.cli.ask import ask
    from headworks_storm.install.installation import Installation
    from headworks_storm.local.state import StormState

    if home is not None:
        where = Installation.at(home)
        at = {"version": where.version, "conf": str(where.conf_file.parent)}
        _show(at | ask(home, "cluster"), as_json=as_json)
        return
    _show(running_cluster(StormState).describe(), as_json=as_json)


def _bridge() -> str:
    # psutil, cattrs and filelock cost 0.1 s, which the list of commands does not need.
    from headworks_storm.local.state import StormState

    return running_cluster(StormState).bridge


fault = fault_command(_bridge)


def _show(cluster: dict[str, Any], *, as_json: bool) -> None:
    if as_json:
        click.echo(json.dumps(cluster, indent=2))
        return
    click.echo(
        f"Storm {cluster['version']}: Nimbus at {cluster['nimbus']}, storm.yaml for clients in {cluster['conf']}"
    )
    for each in cluster["supervisors"]:
        cpu = f"{each['used_cpu']:g} of {each['cpu']:g} points"
        memory = f"{each['used_memory_mb']:g} of {each['memory_mb']:g} MB"
        rack = f", in {each['rack']}" if each.get("rack") else ""
        click.echo(f"  {each['host']}  {each['used_slots']} of {each['slots']} slots, {cpu}, {memory}{rack}")
    for each in cluster["topologies"]:
        parts = f"{each['workers']} workers, {each['executors']} executors"
        click.echo(f"  {each['name']}  {each['status']}, {parts}  {each['scheduling']}".rstrip())

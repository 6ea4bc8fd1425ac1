"""The commands `headworks yarn up`, `down` and `status`. Data goes to stdout, messages to stderr."""

from __future__ import annotations

import json
from typing import Any

import click

from headworks_local.cluster_commands import end_cluster, running_cluster, whole_numbers

VCORES = whole_numbers("vcores")


@click.group()
def yarn() -> None:
    """Run a local YARN: a ResourceManager, and nodes of different size on loopback addresses."""


@yarn.command()
@click.option("--nodes", "vcores", default="4,2,2", show_default=True, callback=VCORES, help="Vcores of each node.")
@click.option("--memory", default=4096, show_default=True, type=click.IntRange(512), help="MB that each node offers.")
@click.option("--json", "as_json", is_flag=True, help="Print the cluster as JSON.")
def up(vcores: tuple[int, ...], memory: int, *, as_json: bool) -> None:
    """Start a ResourceManager and NodeManagers, and leave them running."""
    # The list of all commands imports this module, and needs none of the 0.2 s that clusters take to import.
    from headworks_spark.yarn.conf import node_specs
    from headworks_spark.yarn.state import up as start

    click.echo(f"starting a ResourceManager and {len(vcores)} NodeManagers ...", err=True)
    with start(node_specs(vcores, memory)) as state:
        _show(state.describe(), as_json=as_json)
    click.echo("end it with: headworks yarn down", err=True)


@yarn.command()
@click.option("--json", "as_json", is_flag=True, help="Print the result as JSON.")
def down(*, as_json: bool) -> None:
    """End the YARN that `up` started, with all containers; without effect if there is none."""
    # 0.2 s that a list of commands does not need.
    from headworks_spark.yarn.state import YarnState

    end_cluster(YarnState, as_json=as_json)


@yarn.command()
@click.option("--json", "as_json", is_flag=True, help="Print the cluster as JSON.")
def status(*, as_json: bool) -> None:
    """Show the YARN that `up` started; exit code 1 if there is none."""
    # 0.2 s that a list of commands does not need.
    from headworks_spark.yarn.state import YarnState

    _show(running_cluster(YarnState).describe(), as_json=as_json)


def _show(cluster: dict[str, Any], *, as_json: bool) -> None:
    if as_json:
        click.echo(json.dumps(cluster))
        return
    click.echo(cluster["ui"])
    for name, value in cluster["environment"].items():
        click.echo(f"export {name}={value}")
    for each in cluster["nodes"]:
        size = f"{each['used_vcores']} of {each['vcores']} vcores used  {each['memory_mb']} MB"
        click.echo(f"{each['host']}  {size}  {each['state']}")

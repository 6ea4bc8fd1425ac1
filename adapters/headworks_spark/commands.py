"""The commands `headworks spark up`, `down`, `status` and their kin. Data goes to stdout, messages to stderr."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from headworks.cli.parameters import FiniteRange
from headworks.errors import EngineError
from headworks_local.cluster_commands import end_cluster, running_cluster, whole_numbers
from headworks_local.isolated.options import apart_options, fault_command

if TYPE_CHECKING:
    from headworks_local.isolated.options import ApartOptions
    from headworks_spark.local.state import SparkState

CORES = whole_numbers("cores")


@click.group()
def spark() -> None:
    """Run a local Spark cluster: nodes of different size on loopback addresses."""


@spark.command()
@click.option("--workers", "cores", default="4,2,1", show_default=True, callback=CORES, help="Cores of each Worker.")
@apart_options
@click.option("--json", "as_json", is_flag=True, help="Print the cluster as JSON.")
def up(cores: tuple[int, ...], *, apart: ApartOptions, as_json: bool) -> None:
    """Start a Master and Workers, and leave them running."""
    limits = apart.limits(len(cores))
    # The list of all commands imports this module, and needs none of the 0.2 s that clusters take to import.
    from headworks_spark.local.cluster import worker_specs
    from headworks_spark.local.state import up as start

    click.echo(f"starting a Spark Master and {len(cores)} Workers ...", err=True)
    with start(worker_specs(cores), limits) as state:
        _show(state.describe(), as_json=as_json)
    click.echo("end it with: headworks spark down", err=True)


@spark.command()
@click.option("--json", "as_json", is_flag=True, help="Print the jar as JSON.")
def prepare(*, as_json: bool) -> None:
    """Compile Headworks's task scheduler against this Spark; otherwise the first session does."""
    # 0.15 s that a list of commands does not need.
    from headworks_spark.driver.jar import scheduler_jar, spark_home

    home = spark_home()
    jar = scheduler_jar(home)
    if as_json:
        click.echo(json.dumps({"spark": home.version, "headworks": str(jar)}))
    click.echo(f"{jar} is there for Spark {home.version}", err=True)


@spark.command()
@click.option(
    "-O",
    "--output",
    default=".",
    show_default=True,
    type=click.Path(file_okay=False, path_type=Path),
    help="Folder to write it to.",
)
@click.option("--json", "as_json", is_flag=True, help="Print its path and settings as JSON.")
def jar(output: Path, *, as_json: bool) -> None:
    """Write the jar that lets Headworks place tasks in an application that spark-submit starts."""
    # 0.15 s that a list of commands does not need.
    from headworks_spark.driver.jar import PLACEMENT, scheduler_jar, spark_home

    home = spark_home()
    made = scheduler_jar(home)
    output.mkdir(parents=True, exist_ok=True)
    written = output / made.name
    written.write_bytes(made.read_bytes())
    if as_json:
        click.echo(json.dumps({"spark": home.version, "jar": str(written), "spark.plugins": PLACEMENT}))
        return
    click.echo(f"for Spark {home.version} on a standalone cluster, YARN or Kubernetes:", err=True)
    click.echo(f"spark-submit --jars {written} --conf spark.plugins={PLACEMENT} ...")


@spark.command()
@click.option("--json", "as_json", is_flag=True, help="Print the result as JSON.")
def down(*, as_json: bool) -> None:
    """End the cluster that `up` started; without effect if there is none."""
    # 0.2 s that a list of commands does not need.
    from headworks_spark.local.state import SparkState

    end_cluster(SparkState, as_json=as_json)


@spark.command()
@click.option("--cores", default=1, show_default=True, type=click.IntRange(1), help="Cores that it offers.")
@click.option("--json", "as_json", is_flag=True, help="Print the cluster as JSON.")
def add(cores: int, *, as_json: bool) -> None:
    """Add a Worker to the cluster that `up` started, on the next free address."""
    # 0.2 s that a list of commands does not need.
    from headworks_spark.local.state import SparkState, note

    with SparkState.alone():
        cluster = _running_state().cluster()
        spec = cluster.add_worker(cores)
        state = note(cluster)
        state.write()
        # Written first: from then on `headworks spark down` ends the Worker, and the reaper of this process need not.
        state.release()
    click.echo(f"added the Worker on {spec.host}", err=True)
    _show(state.describe(), as_json=as_json)


@spark.command()
@click.argument("host")
@click.option(
    "--timeout",
    default=60.0,
    show_default=True,
    type=FiniteRange(min=0),
    help="Seconds before executors are killed.",
)
@click.option("--json", "as_json", is_flag=True, help="Print the cluster as JSON.")
def drain(host: str, *, timeout: float, as_json: bool) -> None:
    """Decommission the Worker on HOST: its executors end their tasks, then it goes."""
    # 0.2 s that a list of commands does not need.
    from headworks_spark.local.state import SparkState, note

    with SparkState.alone():
        cluster = _running_state().cluster()
        in_order = cluster.drain_worker(host, timeout=timeout)
        state = note(cluster)
        state.write()
    how = "went by themselves" if in_order else f"were killed after {timeout:g} s"
    click.echo(f"drained the Worker on {host}; its executors {how}", err=True)
    _show(state.describe(), as_json=as_json)


def _bridge() -> str:
    return _running_state().bridge


spark.add_command(fault_command(_bridge))


def _running_state() -> SparkState:
    # 0.2 s that a list of commands does not need.
    from headworks_spark.local.state import SparkState

    running = SparkState.read()
    if running is None:
        raise EngineError("no local Spark cluster runs: start one with `headworks spark up`")
    return running


@spark.command()
@click.option("--json", "as_json", is_flag=True, help="Print the cluster as JSON.")
def status(*, as_json: bool) -> None:
    """Show the cluster that `up` started; exit code 1 if there is none."""
    # 0.2 s that a list of commands does not need.
    from headworks_spark.local.state import SparkState

    _show(running_cluster(SparkState).describe(), as_json=as_json)


def _show(cluster: dict[str, Any], *, as_json: bool) -> None:
    if as_json:
        click.echo(json.dumps(cluster))
        return
    click.echo(f"{cluster['master_url']}  {cluster['ui']}")
    click.echo(f"SPARK_CONF_DIR={cluster['conf_dir']}")
    for worker in cluster["workers"]:
        rack = f"  {worker['rack']}" if worker["rack"] else ""
        click.echo(f"{worker['host']}  {worker['cores']} cores  {worker['memory']} MB  {worker['state']}{rack}")

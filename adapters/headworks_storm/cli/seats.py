"""Commands of `headworks storm` on tasks with seats: `seats`, `move` and `scale`."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
from click.core import ParameterSource

from headworks.cli.parameters import FiniteRange

if TYPE_CHECKING:
    from collections.abc import Mapping


def _one(context: click.Context, parameter: click.Parameter, home: Path | None) -> Path | None:
    """Refuse to choose between the installation that the environment names and a local cluster that runs."""
    if home is None or context.get_parameter_source(str(parameter.name)) is not ParameterSource.ENVIRONMENT:
        return home
    # psutil, cattrs and filelock cost 0.1 s, which the list of commands does not need.
    from headworks_storm.local.state import StormState

    local = StormState.read()
    if local is not None and home.resolve() != Path(local.home).resolve():
        told = f"$STORM_HOME is {home}, and a local cluster runs in {local.home}: name one of them with --home"
        raise click.UsageError(told)
    return home


home_option = click.option(
    "--home",
    envvar="STORM_HOME",
    show_envvar=True,
    type=click.Path(exists=True, file_okay=False, path_type=Path),
    callback=_one,
    help="A Storm installation whose conf/storm.yaml names Nimbus; the cluster of `headworks storm up` by default.",
)
json_option = click.option("--json", "as_json", is_flag=True, help="Print the data as JSON.")


@click.command()
@click.argument("name")
@home_option
@json_option
def seats(name: str, home: Path | None, *, as_json: bool) -> None:
    """Show where the tasks of a topology live, and the seats that they may move to."""
    told = ask(home, "seats", name=name)
    found = told["seats"]
    if as_json:
        click.echo(json.dumps(found, indent=2))
        return
    for each in found:
        if each["owner"]:
            others = [_place(seat) for seat in found if _task(seat) == _task(each)]
            to = ", ".join(place for place in others if place != _place(each)) or "no other worker"
            state = "settled" if each["settled"] else f"{each['held']} wait"
            state += "" if each["index"] < told["working"][each["component"]] else ", does not work"
            lost = f"  state lost {each['lost']} x, last as {each['loss']}" if each["lost"] else ""
            click.echo(f"{_task(each)}  {_place(each)}  ownership {each['epoch']}  {state}  seats at {to}{lost}")


def _task(seat: Mapping[str, Any]) -> str:
    return f"{seat['component']}/{seat['index']}"


def _place(seat: Mapping[str, Any]) -> str:
    return f"{seat['host']}:{seat['port']}"


def ask(home: Path | None, command: str, **words: Any) -> Any:
    """Carry out a command: see `headworks_storm.cli.ask`."""
    # psutil, cattrs and filelock cost 0.1 s, which the list of commands does not need.
    from headworks_storm.cli.ask import ask as carried_out

    return carried_out(home, command, **words)


@click.command()
@click.argument("name")
@click.argument("task", metavar="COMPONENT/INDEX")
@click.argument("place", metavar="[HOST:PORT]", required=False)
@click.option("--cancel", is_flag=True, help="Take back an order that no worker has carried out.")
@click.option("--wait", default=60.0, show_default=True, type=FiniteRange(min=1), help="Seconds that it may take.")
@home_option
@json_option
def move(
    name: str, task: str, place: str | None, wait: float, home: Path | None, *, cancel: bool, as_json: bool
) -> None:
    """Move a task to the seat that it has in another worker, while all workers run."""
    component, _, index = task.rpartition("/")
    if not component or not index.isdigit():
        raise click.BadParameter(f"{task!r} is not a COMPONENT/INDEX, such as count/3", param_hint="COMPONENT/INDEX")
    if (place is None) != cancel:
        raise click.UsageError("name HOST:PORT, to which the task is to move, or --cancel")
    if place is None:
        ask(home, "cancel", name=name, component=component, index=int(index))
        click.echo(json.dumps({"task": task, "cancelled": True}) if as_json else f"{task} stays where it is")
        return
    done = ask(home, "move", name=name, component=component, index=int(index), place=place, wait=wait)
    if as_json:
        click.echo(json.dumps(done))
        return
    pause = "not measured" if done["pause"] is None else f"{done['pause']:.1f} ms"
    click.echo(f"{task}  {done['source']} -> {done['target']}  pause {pause}  settled in {done['seconds']:.1f} s")


@click.command()
@click.argument("name")
@click.argument("wanted", metavar="COMPONENT=COUNT")
@home_option
@json_option
def scale(name: str, wanted: str, home: Path | None, *, as_json: bool) -> None:
    """Change how many tasks of a component work, while all workers run.

    The component keeps no state, and its tuples are dealt evenly.
    """
    component, _, count = wanted.rpartition("=")
    if not component or not count.isdecimal():
        raise click.BadParameter(f"{wanted!r} is not a COMPONENT=COUNT, such as split=3", param_hint="COMPONENT=COUNT")
    before = ask(home, "scale", name=name, component=component, count=int(count))
    if as_json:
        click.echo(json.dumps({"component": component, "before": before, "after": int(count)}))
        return
    click.echo(f"{component}: {before} -> {count} tasks work")

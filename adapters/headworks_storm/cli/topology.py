"""Commands of `headworks storm` on topologies: `submit`, `show`, `errors`, `rebalance`, and the like; and `jar`."""

from __future__ import annotations

import json
import re
import sysconfig
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

import attrs
import click

from headworks.cli.installed import plugins
from headworks.cli.parameters import FiniteRange
from headworks.errors import EngineError
from headworks_storm.cli.seats import ask, home_option, json_option
from headworks_storm.install.unit import systemd_unit

if TYPE_CHECKING:
    from headworks_storm.client.gateway import NimbusGateway
    from headworks_storm.client.summary import TopologyInfo

FILE = click.Path(exists=True, dir_okay=False, path_type=Path)
POLL = 0.5
"""Seconds between two looks at a topology that starts. With less, Nimbus is asked in vain more often."""

wait_option = click.option("--wait", type=click.IntRange(min=0), help="Seconds that Nimbus waits before it acts.")
share = FiniteRange(min=0)


@click.command()
@click.argument("words", nargs=-1, metavar="DOCUMENT | [ARGUMENTS]...")
@click.option("--jar", type=FILE, help="Submit the topology that this jar builds, as `storm jar` does.")
@click.option("--class", "main", metavar="CLASS", help="The main class in the jar.")
@click.option("--name", help="Name of the topology, its id by default.")
@click.option("--workers", type=click.IntRange(min=1), help="Worker processes to ask for.")
@click.option("--rate", default=1.0, show_default=True, type=share, help="Times the declared rate of spouts.")
@click.option("--cpu", default=1.0, show_default=True, type=share, help="Times the declared cost of a tuple.")
@click.option("--memory", default=0.0, show_default=True, type=share, help="Part of the declared heap to hold.")
@click.option("--text", type=FILE, help="Text whose words are counted.")
@click.option("--seats", is_flag=True, help="Give tasks of bolts a seat in each worker.")
@click.option("--movable", multiple=True, metavar="COMPONENT=STATE", help="State of a bolt that has seats.")
@click.option("--wait", default=0.0, type=share, help="Seconds to wait until every executor runs; 0 does not wait.")
@home_option
@json_option
def submit(
    words: tuple[str, ...],
    jar: Path | None,
    main: str | None,
    wait: float,
    home: Path | None,
    *,
    seats: bool,
    movable: tuple[str, ...],
    as_json: bool,
    **settings: Any,
) -> None:
    """Submit a topology to a cluster.

    DOCUMENT is a topology or request document, or PLUGIN:WORKLOAD such as storm:word-count: its spouts emit at
    their rates, its bolts use the declared processor time. With --jar and --class any other topology is submitted;
    ARGUMENTS are its own, after -- if they begin with a dash.
    """
    # psutil, cattrs and filelock cost 0.1 s, which the list of commands does not need.
    from headworks_storm.install.installation import standing_or_at
    from headworks_storm.install.submit import Submitter

    if (jar is None) != (main is None):
        raise click.UsageError("--jar and --class go together: the jar, and the class in it that submits")
    if jar is None and len(words) != 1:
        raise click.UsageError("name one DOCUMENT or PLUGIN:WORKLOAD, or a --jar and its --class")
    states = _states(movable) if seats else None
    if movable and not seats:
        raise click.UsageError("--movable names bolts that have seats: add --seats")
    where = standing_or_at(home)
    submitter = Submitter.of(where)
    with where.gateway() as nimbus:
        # A jar names its topologies itself: those that it submitted are the ones that were not there before.
        before = {each.id for each in nimbus.cluster().topologies}
        if jar is not None and main is not None:
            notes = submitter.jar(jar, main, words, seats=states)
        else:
            described = _described(words[0], **settings)
            notes = [note for each in described for note in submitter.description(each, seats=states)]
        for note in notes:
            click.echo(note, err=True)
        names = [each.name for each in nimbus.cluster().topologies if each.id not in before]
        _wait_until_running(nimbus, names, wait)
        _show([attrs.asdict(nimbus.topology(name)) for name in names], as_json=as_json)


def _described(
    word: str, *, name: str | None, workers: int | None, rate: float, cpu: float, memory: float, text: Path | None
) -> list[dict[str, Any]]:
    # numpy and cattrs cost 0.2 s, which the list of commands does not need.
    from headworks_storm.workload.describe import Load
    from headworks_storm.workload.find import find_submission, read_text

    found = find_submission(word, plugins())
    conf = {} if workers is None else {"topology.workers": workers}
    described = found.described(load=Load(cpu=cpu, memory=memory, rate=rate), text=read_text(text), conf=conf)
    if name is not None and len(described) > 1:
        raise click.UsageError(f"{word} has {len(described)} topologies, and --name is for one")
    # Storm refuses names with these characters (Utils.validateTopologyName).
    return [{**each, "name": name or re.sub(r"[/.:\\]", "-", each["name"])} for each in described]


def _states(movable: tuple[str, ...]) -> dict[str, str]:
    states = {}
    for each in movable:
        component, sign, state = each.partition("=")
        if not sign or not component:
            raise click.BadParameter(
                f"{each!r} is not a COMPONENT=STATE, such as count=stateless or count=fields:counts"
            )
        states[component] = state
    return states


def _wait_until_running(nimbus: NimbusGateway, names: list[str], seconds: float) -> None:
    deadline = time.monotonic() + seconds
    while seconds:
        silent = [each for name in names for each in _silent(nimbus.topology(name))]
        if not silent:
            return
        if time.monotonic() > deadline:
            raise EngineError(f"submitted, but after {seconds:.0f} s not yet running: {', '.join(sorted(set(silent)))}")
        time.sleep(POLL)


def _silent(topology: TopologyInfo) -> list[str]:
    """Components some executor of which has not reported; the topology itself if nothing is placed."""
    return [each.component for each in topology.executors if not each.uptime] if topology.executors else [topology.name]


@click.command()
@click.argument("name")
@home_option
@json_option
def show(name: str, home: Path | None, *, as_json: bool) -> None:
    """Show a topology: its status, where its executors run and since when, its errors."""
    _show([ask(home, "topology", name=name)], as_json=as_json)


@click.command()
@click.argument("name")
@home_option
@json_option
def errors(name: str, home: Path | None, *, as_json: bool) -> None:
    """Show the errors that components of a topology reported, the newest first; exit code 1 if there are any."""
    found = ask(home, "topology", name=name)["errors"]
    if as_json:
        click.echo(json.dumps(found, indent=2))
    for each in found if not as_json else ():
        at = time.strftime("%Y-%m-%d %H:%M:%S", time.localtime(each["time"]))
        click.echo(f"{at}  {each['component']} on {each['host']}:{each['port']}  {each['message'].strip()}")
    if not found:
        click.echo(f"{name} has reported no errors", err=True)
    raise SystemExit(1 if found else 0)


@click.command()
@click.argument("name")
@wait_option
@click.option("--workers", type=click.IntRange(min=1), help="Worker processes to ask for from now on.")
@click.option("-e", "--executors", multiple=True, metavar="COMPONENT=NUMBER", help="Executors of a component.")
@home_option
@json_option
def rebalance(
    name: str,
    wait: int | None,
    workers: int | None,
    executors: tuple[str, ...],
    home: Path | None,
    *,
    as_json: bool,
) -> None:
    """Have Nimbus schedule a topology anew from nothing: all its workers may restart."""
    counts = {}
    for each in executors:
        component, _, number = each.rpartition("=")
        if not component or not number.isdigit() or not int(number):
            raise click.BadParameter(f"{each!r} is not a COMPONENT=NUMBER")
        counts[component] = int(number)
    cut = ask(home, "rebalance", name=name, wait=wait, workers=workers, executors=counts)
    click.echo("; ".join((f"{name} is scheduled anew", *cut)), err=True)
    if as_json:
        click.echo(json.dumps({"topology": name, "asked": "is scheduled anew", "cut": cut}))


@click.command()
@click.argument("name")
@home_option
@json_option
def activate(name: str, home: Path | None, *, as_json: bool) -> None:
    """Let the spouts of a topology emit."""
    _act(home, "activate", name, "emits", as_json=as_json)


@click.command()
@click.argument("name")
@home_option
@json_option
def deactivate(name: str, home: Path | None, *, as_json: bool) -> None:
    """Let the spouts of a topology pause."""
    _act(home, "deactivate", name, "pauses", as_json=as_json)


@click.command()
@click.argument("name")
@wait_option
@home_option
@json_option
def kill(name: str, wait: int | None, home: Path | None, *, as_json: bool) -> None:
    """Kill a topology, by default after its message timeout."""
    _act(home, "kill", name, "is being killed", as_json=as_json, wait=wait)


@click.command()
@click.option(
    "-O",
    "--output",
    type=click.Path(file_okay=False, path_type=Path),
    default=".",
    show_default=True,
    help="Folder to write it to.",
)
@click.option("--seats", is_flag=True, help="Write the jar for seats too, for a Nimbus that rewrites topologies.")
@json_option
def jar(output: Path, *, seats: bool, as_json: bool) -> None:
    """Write the jar for a cluster: into extlib-daemon of Nimbus, and into extlib of supervisors for the monitor."""
    # zipfile and the search for a Java cost 0.05 s, which the list of commands does not need.
    from headworks_storm.release.jar import hand_out

    files = [str(each) for each in hand_out(output, seats=seats)]
    click.echo(json.dumps({"jars": files}) if as_json else "\n".join(files))
    click.echo("a daemon loads it when it next starts; `headworks doctor --storm HOME` names what is missing", err=True)


@click.command()
@click.argument("arguments", nargs=-1, metavar="-- [SERVE ARGUMENTS]...")
@click.option("--user", default="storm", show_default=True, help="The user that Nimbus runs as.")
@json_option
def unit(arguments: tuple[str, ...], user: str, *, as_json: bool) -> None:
    """Print a systemd unit for `headworks serve storm`, with its limits and restarts.

    Put arguments of `headworks serve storm` after --. Without --endpoint, the unit has
    /var/lib/headworks/endpoint.json, and paths that do not begin with / are in that folder.
    """
    named = any(each.partition("=")[0] == "--endpoint" for each in arguments)
    endpoint = () if named else ("--endpoint", "/var/lib/headworks/endpoint.json")
    program = str(Path(sysconfig.get_path("scripts"), "headworks"))
    text = systemd_unit(user, (program, "serve", "storm", *endpoint, *arguments))
    click.echo(json.dumps({"unit": text}) if as_json else text, nl=as_json)


def _act(home: Path | None, command: str, name: str, done: str, *, as_json: bool, **words: Any) -> None:
    ask(home, command, name=name, **words)
    click.echo(f"{name} {done}", err=True)
    if as_json:
        click.echo(json.dumps({"topology": name, "asked": done}))


def _lives(seat: dict[str, Any]) -> str:
    return f"{seat['component']}/{seat['index']}" if seat["owner"] else "nobody"


def _executor(each: dict[str, Any]) -> tuple[str, ...]:
    tasks = f"{each['start']}" if each["start"] == each["end"] else f"{each['start']}-{each['end']}"
    since = f"{each['uptime']} s" if each["uptime"] else "starting"
    return each["component"], tasks, f"{each['host']}:{each['port']}", since


def _show(topologies: list[dict[str, Any]], *, as_json: bool) -> None:
    if as_json:
        click.echo(json.dumps(topologies, indent=2))
        return
    for topology in topologies:
        click.echo("  ".join(topology[key] for key in ("name", "id", "status", "scheduling")).rstrip())
        lives = {each["task"]: _lives(each) for each in topology.get("seats", ())}
        rows: list[tuple[str, ...]] = [("component", "tasks", "worker", "runs for", "lives here" if lives else "")]
        rows += [(*_executor(each), lives.get(each["start"], "")) for each in topology["executors"]]
        widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
        for row in rows if topology["executors"] else ():
            click.echo("  ".join(("", *map(str.ljust, row, widths))).rstrip())
        if topology["errors"]:
            click.echo(f"  {len(topology['errors'])} errors: see `headworks storm errors {topology['name']}`")

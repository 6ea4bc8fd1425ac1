"""The commands `headworks priority list | set | remove | trigger | history`."""

from __future__ import annotations

import getpass
import os
import socket
from typing import TYPE_CHECKING, Any

import click

from headworks.cli.output import emit, json_option, say, table, wide_option
from headworks_manager.opening import open_store
from headworks_manager.plain import entry, outcome, plain, registered, time_text
from headworks_manager.rules.indication import CHANGING, HOLD, Trigger

if TYPE_CHECKING:
    from headworks_manager.database.history import Author, Change
    from headworks_manager.rules.indication import Indication
    from headworks_manager.rules.starving import Seen


class _NumberOrNone(click.ParamType):  # type: ignore[type-arg]  # generic since click 8.2
    name = "number"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> int | str:
        """A whole number, or `none` for what the topology declares itself."""
        if value == "none":
            return "none"
        try:
            return int(value)
        except ValueError:
            self.fail(f"{value!r} is not a whole number; `none` restores the topology's own declaration", param, ctx)


NUMBER = _NumberOrNone()
SPARE = ("minimum", "desired", "trigger", "it would take")
"""Columns that are left out first where there is no room."""
database_option = click.option(
    "--database",
    envvar="HEADWORKS_DATABASE",
    metavar="URL|FILE",
    help="Where priorities are: a file, postgresql://USER@HOST/NAME, or HEADWORKS_DATABASE; by default SQLite in the "
    "user's state folder. ?cluster=NAME at its end names the cluster.",
)
why_option = click.option("--why", default="", metavar="TEXT", help="Reason, for the history.")


@click.group()
def priority() -> None:
    """Show and change priorities of topologies while they run."""


@priority.command("list")
@database_option
@wide_option
@json_option
def list_command(database: str | None, *, as_json: bool) -> None:
    """List the registered topologies with priorities, nodes and triggers: which starve, since when, and the remedy."""
    with open_store(database) as store:
        found, seen, data = list(store.indications().values()), store.seen(), list(map(plain, registered(store)))
    columns = (
        "topology",
        "priority",
        "trigger",
        "now",
        "desired",
        "minimum",
        "nodes",
        "starves since",
        "it would take",
    )
    rows = [(*_row(each), *_seen_cells(seen.get(each.name))) for each in found]
    shown = table(f"{len(found)} topologies", columns, rows, numbers=("priority", "now", *columns[4:7]), spare=SPARE)
    emit(data, shown, as_json=as_json)


@priority.command("set")
@click.argument("name")
@click.option("--priority", "level", type=NUMBER, help="Priority, lower is more important; none: as it declares.")
@click.option("--trigger-priority", type=int, help="Priority while its trigger is on, 0 at first.")
@click.option("--desired", type=NUMBER, help="Nodes that it would like to use; none: as it declares.")
@click.option("--minimum", type=NUMBER, help="Nodes that it must have; none: as it declares.")
@click.option("--hold", type=int, help=f"Seconds between two changes by triggers, {HOLD / 1000:g} at first.")
@click.option(
    "--aging", type=NUMBER, help="Seconds that it may starve before it comes first; none, as at first: no end."
)
@why_option
@database_option
@json_option
def set_command(name: str, why: str, database: str | None, *, as_json: bool, **given: Any) -> None:
    """Register the topology NAME, or change the given values."""
    names = {"level": "priority", "desired": "desired_nodes", "minimum": "minimum_nodes"}
    fields = {names.get(key, key): _number(key, value) for key, value in given.items() if value is not None}
    with open_store(database) as store:
        done = store.set(name, fields, _author(why))
    say(f"{name} is {'registered' if done.verdict == 'new' else 'changed'}")
    emit(plain(entry(done)), _history_table([done]), as_json=as_json)


@priority.command()
@click.argument("name")
@click.option("--source", metavar="TEXT", help="Forget this source of its triggers alone: its numbers begin anew.")
@why_option
@database_option
@json_option
def remove(name: str, source: str | None, why: str, database: str | None, *, as_json: bool) -> None:
    """Forget the topology NAME, whose own declaration then counts; its history stays."""
    with open_store(database) as store:
        done = store.forget(name, source, _author(why)) if source else store.remove(name, _author(why))
    say(f"{f'{source} of {name}' if source else name} is {done.verdict}")
    emit(plain(entry(done)), _history_table([done]), as_json=as_json)


@priority.command()
@click.argument("state", type=click.Choice(["on", "off"]))
@click.argument("name")
@click.option("--source", metavar="TEXT", help="Sender, by default you; each one has sequence numbers of its own.")
@click.option("--sequence", type=int, help="Number that grows from trigger to trigger; by default the next one.")
@click.option("--now", "at_once", is_flag=True, help="Do not wait for the hold after an earlier change.")
@why_option
@database_option
@json_option
def trigger(
    state: str,
    name: str,
    source: str | None,
    sequence: int | None,
    why: str,
    database: str | None,
    *,
    at_once: bool,
    as_json: bool,
) -> None:
    """Send Trigger On or Trigger Off for the topology NAME; exit code 1 if it is repeated or late."""
    author = _author(why)
    sent = Trigger(topology=name, on=state == "on", source=source or author.who, sequence=sequence)
    with open_store(database) as store:
        done = store.trigger(sent, author, at_once=at_once)
    say(f"{done.verdict}: {done.message}")
    if as_json:
        emit(plain(outcome(done)), as_json=True)
    raise SystemExit(0 if done.verdict in CHANGING else 1)


@priority.command()
@click.argument("name", required=False)
@click.option("--last", default=20, show_default=True, type=click.IntRange(min=1), help="Changes to show at most.")
@database_option
@wide_option
@json_option
def history(name: str | None, last: int, database: str | None, *, as_json: bool) -> None:
    """Show the newest changes, of the topology NAME alone or of all: when, who, why."""
    with open_store(database) as store:
        found = store.history(name, limit=last)
    emit([plain(entry(each)) for each in found], _history_table(found), as_json=as_json)


def _author(why: str) -> Author:
    # The store needs SQLAlchemy, 0.3 s that the list of commands does not need.
    from headworks_manager.database.history import Author

    try:
        user = getpass.getuser()
    except (KeyError, OSError):  # a container's user may have no name
        user = str(os.getuid())
    return Author(who=f"{user}@{socket.gethostname()}", why=why)


def _number(key: str, value: Any) -> int | None:
    if value == "none":
        return None
    return value * 1000 if key in ("hold", "aging") else int(value)


def _row(each: Indication) -> tuple[object, ...]:
    word = "on" if each.active else "off"
    waiting = "" if each.wanted == each.active else f", then {'on' if each.wanted else 'off'}"
    level = "as declared" if each.level is None else each.level
    own = "as declared" if each.priority is None else each.priority
    return each.name, own, word + waiting, level, each.desired_nodes, each.minimum_nodes


def _seen_cells(seen: Seen | None) -> tuple[object, ...]:
    if seen is None:
        return None, None, None
    since = None if seen.starving is None else time_text(seen.starving)
    return seen.nodes, since, seen.remedy


def _history_table(changes: list[Change]) -> Any:
    title = "1 change" if len(changes) == 1 else f"{len(changes)} changes"
    rows = [
        (time_text(each.at), each.topology, each.action, _outcome(each), _differences(each), each.who, each.why)
        for each in changes
    ]
    columns = ("time", "topology", "action", "outcome", "change", "who", "why")
    return table(title, columns, rows, spare=("why", "who"))


def _outcome(change: Change) -> str:
    again = f", {change.times} times until {time_text(change.until)}"
    return change.verdict + (again if change.times > 1 else "")


def _differences(change: Change) -> str:
    before = change.before
    if not change.after:
        return ""
    changed = [key for key in change.after if key not in ("name", "changed") and before.get(key) != change.after[key]]
    if not before:
        return ", ".join(_said(key, change.after[key]) for key in changed if change.after[key] is not False)
    return ", ".join(f"{_said(key, before.get(key))} to {_value(key, change.after[key])}" for key in changed)


def _said(key: str, value: Any) -> str:
    return f"{key} {_value(key, value)}"


def _value(key: str, value: Any) -> str:
    if isinstance(value, bool):
        return "on" if value else "off"
    if value is None:
        return "as declared"
    return f"{value / 1000:g} s" if key in ("hold", "aging") else str(value)

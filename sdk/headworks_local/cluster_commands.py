"""Parts of the commands `up`, `down` and `status`, which every engine has for its local cluster."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, TypeVar

import click

if TYPE_CHECKING:
    from collections.abc import Callable

    from headworks_local.local_cluster import ClusterState

S = TypeVar("S", bound="ClusterState")

MOST = 200
"""Nodes of a local cluster at most: each has a loopback address of its own, and with more than 244 the last byte of one
does not suffice."""


def whole_numbers(of: str) -> Callable[[click.Context, click.Parameter, str], tuple[int, ...]]:
    """Callback of an option that takes a number for each node, such as 4,2,1.

    Args:
        of: Plural noun of the things that are counted, for the message.
    """

    def parse(_context: click.Context, _parameter: click.Parameter, value: str) -> tuple[int, ...]:
        counts = tuple(int(each) if each.strip().isdigit() else 0 for each in value.split(","))
        if min(counts) < 1 or len(counts) > MOST:
            raise click.BadParameter(f"{value!r} is not a list of {of}: expected whole numbers such as 4,2,1")
        return counts

    return parse


def end_cluster(kind: type[ClusterState], *, as_json: bool) -> None:
    """End the cluster that is left running, and say so; without effect if there is none.

    Args:
        as_json: Whether the names of the ended daemons are printed as JSON.
    """
    ended = kind.end()
    if as_json:
        click.echo(json.dumps({"ended": [each.name for each in ended.daemons] if ended else []}))
    click.echo(f"ended the {kind.title} at {ended.where}" if ended else f"no local {kind.title} runs", err=True)


def running_cluster(kind: type[S]) -> S:
    """The cluster that is left running; ends the command with exit code 1 if there is none."""
    running = kind.read()
    if running is None:
        click.echo(f"no local {kind.title} runs: start one with `headworks {kind.engine} up`", err=True)
        raise SystemExit(1)
    return running

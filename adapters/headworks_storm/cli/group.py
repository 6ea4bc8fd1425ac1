"""The group `headworks storm` and its commands."""

from __future__ import annotations

import click

from headworks_storm.cli.cluster import down, fault, prepare, status, up
from headworks_storm.cli.seats import move, scale, seats
from headworks_storm.cli.topology import activate, deactivate, errors, jar, kill, rebalance, show, submit, unit

COMMANDS: tuple[click.Command, ...] = (
    *(up, prepare, down, status, fault),
    *(submit, show, errors, rebalance, activate, deactivate, kill, jar, unit),
    *(seats, move, scale),
)


@click.group(commands={str(each.name): each for each in COMMANDS})
def storm() -> None:
    """Run a local Storm cluster: supervisors of different size on loopback addresses."""

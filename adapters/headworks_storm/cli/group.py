"""The group `headworks storm` and its commands."""

from __future__ import annotations

import click

from headworks_storm.cli.cluster import down, fault, prepare, status, up
from headworks_storm.cli.seats import move, scale, seats
from headworks_storm.cli.topology import activate, deactivate, errors, jar, kill, rebalance, show, submit, unit

KINDS: dict[str, tuple[click.Command, ...]] = {
    "Cluster": (status, jar, unit),
    "Topologies": (submit, show, errors, rebalance, activate, deactivate, kill, seats, move, scale),
    "Local cluster": (up, down, prepare, fault),
}


class Kinds(click.Group):
    """A group whose help lists commands by their kind."""

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:  # noqa: ARG002 - click's own
        """Write a section for each kind."""
        widest = max(len(str(each.name)) for commands in KINDS.values() for each in commands)
        for kind, commands in KINDS.items():
            with formatter.section(kind):
                limit = formatter.width - 6 - widest
                formatter.write_dl([(str(each.name), each.get_short_help_str(limit)) for each in commands])


@click.group(cls=Kinds, commands={str(each.name): each for commands in KINDS.values() for each in commands})
def storm() -> None:
    """Work with a Storm cluster: yours, or one that you start on this machine."""

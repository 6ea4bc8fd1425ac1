"""A cluster of real processes that need no Java, and the commands of an engine on it.

Each daemon has a child in a session of its own, as the worst engine might.
"""

from __future__ import annotations

import os
import sys
import time
from pathlib import Path

import attrs
import click

from headworks.cli import main as cli
from headworks.interrupts import held
from headworks_local.lifetime import lifetime
from headworks_local.local_cluster import ClusterState
from headworks_local.process import Daemon, LocalCluster, end, end_group

DAEMON = "import os, time; os.fork() or os.setsid(); time.sleep(600)"
DAEMONS = 3
PAUSE = 0.1
"""Seconds between two daemons."""


@attrs.define(eq=False)
class Cluster(LocalCluster):
    folder: Path
    group: str = ""
    daemons: list[Daemon] = attrs.field(factory=list)

    def start(self):
        self.folder.mkdir(parents=True, exist_ok=True)
        try:
            for number in range(DAEMONS):
                self.group = self.group or lifetime().group()
                command = [sys.executable, "-S", "-c", DAEMON]
                log = self.folder / "log"
                self.daemons.append(Daemon.start(f"{number}", command, log=log, env=os.environ, group=self.group))
                time.sleep(PAUSE)
        except BaseException:
            self.stop()
            raise
        return self

    def stop(self):
        with held():
            end(self.daemons, grace=0.2)
            end_group(self.group)


@attrs.frozen(kw_only=True)
class State(ClusterState):
    engine = "stand-in"
    title = "stand-in"

    @property
    def where(self):
        return "here"


@click.group("stand-in")
def command():
    pass


@command.command()
def stay():
    """Run until a signal comes."""
    with Cluster(Path.cwd()) as cluster:
        click.echo(len(cluster.daemons))
        time.sleep(600)


@command.command()
def fork():
    """As `stay`, with a child that was forked and has all that is open here."""
    with Cluster(Path.cwd()):
        if not os.fork():
            time.sleep(120)
            os._exit(0)
        click.echo("forked")
        time.sleep(600)


@command.command()
def up():
    """Leave a cluster running."""
    make = lambda folder: Cluster(folder)  # noqa: E731
    with State.leave(make, lambda cluster: State(daemons=tuple(cluster.daemons))):
        time.sleep(PAUSE)


@command.command()
def down():
    """End it."""
    State.end()


def main():
    """Run the command line with one group more."""
    cli.BUILT_IN["stand-in"] = "stand_in"
    sys.argv.insert(1, "stand-in")
    cli.main()

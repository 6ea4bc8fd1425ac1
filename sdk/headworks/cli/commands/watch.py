"""`headworks watch`: the rounds of a journal on a page that follows it."""

from __future__ import annotations

import contextlib
import secrets
import sys
import threading
from pathlib import Path

import click

from headworks.cli.output import emit, json_option, say
from headworks.cli.parameters import Address
from headworks.errors import EngineError, how_to_install


@click.command("watch")
@click.argument("file", metavar="JOURNAL", type=click.Path(exists=True, dir_okay=False, path_type=Path))
@click.option(
    "--listen",
    type=Address(),
    default="127.0.0.1:0",
    show_default=True,
    metavar="HOST:PORT",
    help="Where to listen for a browser; port 0 is any free one.",
)
@json_option
def command(*, file: Path, listen: tuple[str, int], as_json: bool) -> None:
    """Show the rounds of JOURNAL in a browser while they are written, until Ctrl-C.

    The page shows where tasks are and would go, with reasons, and the promised and measured figures of each plan. It
    changes nothing.
    """
    try:
        # Starlette and uvicorn cost 0.2 s, which the list of commands does not need.
        from headworks.report.rounds.live import application
        from headworks.report.rounds.tail import JournalTail
        from headworks_local.http_server import HttpServer
    except ModuleNotFoundError as error:
        raise EngineError(f"{error.name} is not installed: {how_to_install('watch')}") from None
    token = secrets.token_urlsafe(24)
    with contextlib.closing(JournalTail(file)) as tail:
        hosts = list(dict.fromkeys([listen[0], "127.0.0.1", "localhost"]))
        with HttpServer(application(tail, token, hosts), listen) as server:
            say("Open this address in a browser; anyone who knows its token can look.")
            address = f"{server.url}/?token={token}"
            emit({"address": address}, address, as_json=as_json)
            sys.stdout.flush()
            threading.Event().wait()  # until a signal

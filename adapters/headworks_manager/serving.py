"""The command `headworks priority serve`: triggers and priorities from programs."""

from __future__ import annotations

import contextlib
import ipaddress
import json
import threading
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

import click
from platformdirs import user_state_path

from headworks.cli.output import json_option, log_json_option, say
from headworks.cli.parameters import Address, KafkaTopic, kafka_conf_option, with_settings
from headworks.errors import EngineError, HeadworksError, how_to_install
from headworks_local.private_files import SecretFile, read_or_make_secret
from headworks_manager.commands import database_option

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping
    from contextlib import AbstractContextManager

    from headworks.cli.parameters import TopicAddress
    from headworks_local.http_server import HttpServer
    from headworks_manager.database.store import Store

TOPIC = "headworks-triggers"
"""Default of the topic: one that programs can be told once."""
PORT = 7780
"""Default of the port: one that programs can be told once."""
KEPT = 100_000
"""Default of the changes that the history keeps."""
PRUNING = 60.0
"""Seconds between two looks at the length of the history. With more, it is longer meanwhile."""
SHOWN = 4096
"""Triggers that wait to be shown."""


@click.command()
@click.option(
    "--listen",
    type=Address(),
    default=f"127.0.0.1:{PORT}",
    show_default=True,
    metavar="HOST:PORT",
    help="Where to listen for HTTP; port 0 is any free one.",
)
@click.option(
    "--token",
    type=click.Path(dir_okay=False, path_type=Path),
    help="File with the secret of callers; made if it is not there, by default in the user's state folder.",
)
@click.option(
    "--kafka",
    type=KafkaTopic(TOPIC),
    metavar="BOOTSTRAP[/TOPIC]",
    help=f"Take triggers from a Kafka topic, too: HOST:PORT[,HOST:PORT...][/TOPIC], by default /{TOPIC}.",
)
@kafka_conf_option("librdkafka's")
@click.option(
    "--keep-history",
    type=click.IntRange(min=1),
    default=KEPT,
    show_default=True,
    metavar="ROWS",
    help="Changes that the history keeps; the oldest ones go, once a minute.",
)
@database_option
@log_json_option
@json_option
def serve(
    listen: tuple[str, int],
    token: Path | None,
    kafka: TopicAddress | None,
    kafka_conf: Path | None,
    keep_history: int,
    database: str | None,
    *,
    as_json: bool,
) -> None:
    """Serve triggers and priorities over HTTP, and take triggers from Kafka, until Ctrl-C."""
    # These cost some 0.1 s, which the list of commands does not need.
    from headworks.cli.rounds import BackgroundQueue
    from headworks_manager.opening import Stores

    stores = Stores()
    stores.get(database)  # one that is out of reach is said now
    with BackgroundQueue("headworks-screen", waiting=SHOWN) as screen:

        def tell(done: Mapping[str, Any]) -> None:
            screen.put(lambda: click.echo(json.dumps(done)) if as_json else say(_sentence(done)))

        def use() -> AbstractContextManager[Store]:
            return stores.use(database)

        with _http(use, listen, token or _own_token(), tell) as server:
            _introduce(server.url, token or _own_token(), as_json=as_json)
            with _kafka(use, kafka, kafka_conf, tell) as ended:
                _keep_short(use, keep_history, ended)  # until a signal
                raise EngineError("the thread that takes triggers from Kafka ended; start the manager again")


def _keep_short(use: Callable[[], AbstractContextManager[Store]], keep: int, ended: threading.Event) -> None:
    """Forget the oldest changes of the history, now and then, until something ends."""
    while True:
        with contextlib.suppress(HeadworksError), use() as store:
            store.prune(keep)
        if ended.wait(PRUNING):
            return


def _http(
    use: Callable[[], AbstractContextManager[Store]],
    listen: tuple[str, int],
    token: Path,
    tell: Callable[[Mapping[str, Any]], None],
) -> HttpServer:
    try:
        # Starlette and uvicorn cost 0.2 s, which the list of commands does not need.
        from headworks_local.http_server import HttpServer
        from headworks_manager.web import application
    except ModuleNotFoundError as error:
        raise EngineError(f"{error.name} is not installed: {how_to_install('manager')}") from None
    read_or_make_secret(token)  # one that is none is said now
    return HttpServer(application(use, SecretFile(token), tell), listen)


@contextlib.contextmanager
def _kafka(
    use: Callable[[], AbstractContextManager[Store]],
    where: TopicAddress | None,
    conf: Path | None,
    tell: Callable[[Mapping[str, Any]], None],
) -> Iterator[threading.Event]:
    """Take triggers from a topic, if one is named; yields what is set when that ends by itself."""
    if where is None:
        yield threading.Event()
        return
    try:
        # confluent-kafka costs 0.1 s, which the list of commands does not need.
        from headworks_manager.kafka.client import Topic
        from headworks_manager.kafka.intake import Intake
    except ModuleNotFoundError as error:
        raise EngineError(f"{error.name} is not installed: {how_to_install('kafka')}") from None
    topic = Topic(where.bootstrap, where.topic, with_settings(where, conf).settings)
    with Intake(topic, use, tell) as intake:
        say(f"triggers come from {where.topic} at {where.bootstrap}, too")
        yield intake.ended


def _own_token() -> Path:
    return Path(user_state_path("headworks", appauthor=False)) / "manager.token"


def _introduce(url: str, token: Path, *, as_json: bool) -> None:
    say(f"the manager listens on {url}, for callers with the token in {token}; {url}/openapi.json describes it")
    if not _is_loopback(urlsplit(url).hostname or ""):
        say("that is no loopback address, and tokens travel in clear: put a proxy with TLS before it")
    if as_json:
        click.echo(json.dumps({"url": url, "token": str(token)}))


def _is_loopback(host: str) -> bool:
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


def _sentence(done: Mapping[str, Any]) -> str:
    """A trigger or a change in words."""
    if "message" in done:
        return f"{done['verdict']}: {done['message']}"
    words = {"new": "registered", "changed": "changed", "removed": "removed", "forgotten": "less a source"}
    return f"{done['topology']} is {words[done['verdict']]} by {done['who']}"

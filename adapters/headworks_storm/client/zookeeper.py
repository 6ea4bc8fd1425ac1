"""The ZooKeeper of a cluster, through the JVM of a gateway to Nimbus: nodes of text, changed by compare-and-set."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Self, TypeVar

from headworks.errors import EngineError

if TYPE_CHECKING:
    from collections.abc import Callable

    from headworks_storm.client.gateway import NimbusGateway

T = TypeVar("T")
SESSION = 20.0
"""Seconds of silence after which ZooKeeper ends the session."""
PATIENCE = 1.5
"""Sessions' silences in which a call is tried again; one more may follow."""
PAUSE_MS = 100
"""Milliseconds from one try to the next."""


class ZooKeeper:
    """A connection from `start` to `stop`, or in a `with` block; it ends with the JVM of its gateway, too."""

    def __init__(self, gateway: NimbusGateway, servers: str, *, session: float = SESSION) -> None:
        """Take the way; nothing is connected yet.

        Args:
            gateway: Its JVM has Storm's own client.
            servers: HOST:PORT of each server, with commas between.
            session: Seconds of silence after which the session ends; a call takes at most two and a half times as many.
        """
        self.servers, self._session_ms = servers, round(1_000 * session)
        self._gateway = gateway
        self._client: Any = None

    def __enter__(self) -> Self:
        return self.start()

    def __exit__(self, *_error: object) -> None:
        self.stop()

    def start(self) -> Self:
        """Connect; whether a server is there is found out by the first call."""
        curator = self._gateway.jvm.org.apache.storm.shade.org.apache.curator
        session = self._session_ms
        retry = curator.retry.RetryUntilElapsed(round(PATIENCE * session), PAUSE_MS)
        self._client = curator.framework.CuratorFrameworkFactory.newClient(self.servers, session, session, retry)
        self._client.start()
        return self

    def stop(self) -> None:
        """End the session; without effect where there is none."""
        client, self._client = self._client, None
        if client is not None and self._gateway.alive:
            client.close()

    def children(self, path: str) -> list[str]:
        """Names of the children of a node; none of one that is not there.

        This and the other methods raise:

        Raises:
            EngineError: No server answers.
        """
        try:
            return [str(each) for each in self._call(lambda: self._client.getChildren().forPath(path))]
        except LookupError:
            return []

    def read(self, path: str) -> tuple[str, int]:
        """Text and version of a node; LookupError if it is not there."""
        stat = self._gateway.jvm.org.apache.storm.shade.org.apache.zookeeper.data.Stat()
        content = self._call(lambda: self._client.getData().storingStatIn(stat).forPath(path))
        return bytes(content).decode(), stat.getVersion()

    def write(self, path: str, text: str, version: int) -> bool:
        """Write a node; False if it has another version by now.

        Args:
            version: The version that was read.
        """
        content = bytearray(text.encode())
        try:
            self._call(lambda: self._client.setData().withVersion(version).forPath(path, content))
        except BlockingIOError:
            return False
        return True

    def _call(self, call: Callable[[], T]) -> T:
        """Call ZooKeeper: LookupError for a node that is not there, BlockingIOError for another version."""
        from py4j.protocol import Py4JError  # of the extra `storm`

        try:
            return call()
        except Py4JError as error:
            kind = _kind(error)
            if kind == "NoNodeException":
                raise LookupError from None
            if kind == "BadVersionException":
                raise BlockingIOError from None
            said = f"the ledger of seats cannot be reached at ZooKeeper {self.servers}: {kind}"
            raise EngineError(said) from None


def _kind(error: BaseException) -> str:
    """Class of the Java exception that an error tells of."""
    java = getattr(error, "java_exception", None)
    return str(error) if java is None else str(java.getClass().getSimpleName())

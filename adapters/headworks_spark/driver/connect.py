"""The driver of a Spark Connect session: two plugins of the Connect server, which the jar has, answer a few calls."""

from __future__ import annotations

import base64
import contextlib
import copy
import json
import logging
import re
import uuid
import weakref
from typing import TYPE_CHECKING, Any

import attrs

from headworks.errors import EngineEndedError, EngineError
from headworks_spark.driver.driver import Trigger
from headworks_spark.driver.leaders import Leader, leaders
from headworks_spark.driver.operators import PlanNode

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

LOG = logging.getLogger("headworks.spark")
CALL = "headworks.spark/call"
"""Type of the messages that are the jar's: words as a JSON list, a call's name before what it is given."""
ORDERS = frozenset({"PlacementTable.replace", "TableLease.clear", "TableLease.drop", "TableLease.grant"})
"""Calls that answer nothing: commands of Connect. All others are relations, whose one row is the answer as JSON."""
OLDEST = 4
"""Major version of the oldest Spark whose Connect server takes plugins in this form."""
MOST = 2_000
"""Events that are taken in one call."""
WAIT = 2.0
"""Seconds that a call waits for the first event: each is a query in the server's list."""
LINGER = 0.5
"""Seconds that it then waits for others, unless the end of a stage, a job or a micro-batch comes first."""
TRIES = 300
"""Times that a call is made again where the server is not reached: ten minutes, as PySpark's own."""
PAUSE = 2_000
"""Milliseconds between two of them at most: so long may one that is not to be made again any more take to end."""
LEFT: weakref.WeakSet[Any] = weakref.WeakSet()
"""Sessions whose calls are made once: a connection to them was closed, and none was made since."""
CUT_OFF = re.compile("CANCELED|Interrupted")
"""Said of a call that a client ended with all others, as `interruptAll` does."""
SAID = re.compile(r"Headworks: ([^\n]*)")
"""A sentence of the jar's in an error of Spark's."""
ENDED = re.compile("SESSION_CHANGED|SESSION_CLOSED|NO_ACTIVE_SESSION|stopped SparkContext")
"""Said of a session that the server does not have any more: it is ending, or another one answers there."""
STATUS = re.compile(r'StatusCode\.(\w+)\s+details = "([^\n]*)"')
"""What gRPC says of a call without an answer."""
NO_JAR = (
    "this Connect server has no jar of Headworks's: start it on a standalone cluster, YARN or Kubernetes with the two "
    "options that `headworks spark jar` prints"
)


def is_connect(spark: Any) -> bool:
    """True of a session of Spark Connect."""
    return type(spark).__module__.startswith("pyspark.sql.connect")


@attrs.frozen
class ConnectClasses:
    """The classes of the jar with static methods."""

    _driver: Connect

    def __getattr__(self, name: str) -> ConnectClass:
        return ConnectClass(self._driver, name)


@attrs.frozen
class ConnectClass:
    """A class of the jar, whose static methods are called by their names."""

    _driver: Connect
    _name: str

    def __getattr__(self, method: str) -> Any:
        return lambda *words: self._driver.call(f"{self._name}.{method}", *words)


@attrs.frozen
class ConnectExecutor:
    """An executor, as the server told of it."""

    id: str
    address: str
    cores: int
    attributes: dict[str, str]
    resources: dict[str, int]

    def attribute(self, name: str) -> str | None:
        """See `Executor.attribute`."""
        return self.attributes.get(name)

    def units(self, resource: str) -> int | None:
        """See `Executor.units`."""
        return self.resources.get(resource)


class ConnectEvents:
    """A queue in the server. Each take has a number, so that one that Connect repeats gives the same events again."""

    def __init__(self, driver: Connect, capacity: int) -> None:
        """Hear the events of this session's queries from now on."""
        self._driver, self._id, self._capacity = driver, str(uuid.uuid4()), capacity
        self._closed, self.dropped = False, 0
        self._listen()

    def _listen(self) -> None:
        self._takes = 0
        self._driver.call("ConnectSession.listen", self._id, self._capacity)

    def take(self) -> list[str]:
        """See `Events.take`."""
        words = (self._takes + 1, MOST, round(WAIT * 1000), round(LINGER * 1000))
        failures = self._driver.failures
        try:
            answer = self._driver.call("ConnectSession.take", self._id, *words)
        except failures as error:
            if CUT_OFF.search(str(error)):
                return []
            if not self._driver.left:
                LOG.warning("events of this Spark session are heard no more: %s", error)
            raise
        if answer is None:
            self._hear_again()
            return []
        self._takes += 1
        text, self.dropped = answer
        return list(text.splitlines())

    def _hear_again(self) -> None:
        """Listen anew: the server forgot the queue, as nobody took from it for minutes, or as it was closed."""
        if not self._closed:
            LOG.warning("the Connect server was not reached for minutes, whose events are lost: they are heard again")
            self._listen()

    def close(self) -> None:
        """See `Events.close`."""
        self._closed = True
        # Where the server is gone, the queue is, too.
        with contextlib.suppress(*self._driver.failures):
            self._driver.call("ConnectSession.deafen", self._id)


@attrs.frozen
class ConnectSizes:
    """The map output tracker of the server."""

    _driver: Connect

    def read(self, map_id: int, reduces: int) -> bytes:
        """See `Sizes.read`."""
        return base64.b64decode(self._driver.call("ConnectSession.sizes", map_id, reduces))


@attrs.frozen
class Connect:
    """See `Driver`."""

    _spark: Any

    @property
    def classes(self) -> ConnectClasses:
        """The classes of the jar that a client may call."""
        return ConnectClasses(self)

    @property
    def failures(self) -> tuple[type[Exception], ...]:
        """Errors of PySpark, as those of Connect are, and what the jar refuses."""
        # PySpark is optional and costs 0.3 s: a list of plugins imports this module, and asks for no session.
        from pyspark.errors import PySparkException

        return PySparkException, EngineError

    def call(self, name: str, *words: str | int | None) -> Any:
        """Call a method of the jar in the server.

        Raises:
            EngineError: The server has no jar of Headworks's, or the jar refuses.
            PySparkException: It was not reached.
        """
        message = json.dumps([name, *words])
        failures = self.failures
        try:
            return _order(self._spark, message) if name in ORDERS else json.loads(_ask(self._spark, message))
        except failures as error:
            if (refusal := _refusal(error)) is not None:
                raise refusal from None
            raise

    @property
    def left(self) -> bool:
        """True from `leave` to the next `listen`."""
        return self._spark in LEFT

    def leave(self) -> None:
        """See `Driver.leave`."""
        LEFT.add(self._spark)

    def answers(self) -> bool:
        """Ask the server for the level."""
        with contextlib.suppress(*self.failures):
            return bool(self.level())
        return False

    def level(self) -> str:
        """See `Driver.level`."""
        if self.stopped():
            raise EngineError("this Spark Connect session was stopped: connect to one that runs")
        if int(self._spark.version.split(".")[0]) < OLDEST:
            raise EngineError(
                f"this is a Spark Connect session of Spark {self._spark.version}, and queries of Connect are placed "
                f"from Spark {OLDEST}.0 on: make a classic session with headworks_spark.session('spark://HOST:PORT')"
            )
        return str(self.call("ConnectSession.level"))

    def stopped(self) -> bool:
        """See `Driver.stopped`."""
        return bool(self._spark.is_stopped)

    def setting(self, name: str, default: str) -> str:
        """See `Driver.setting`."""
        return self.settings(name).get(name, default)

    def settings(self, prefix: str) -> dict[str, str]:
        """See `Driver.settings`."""
        found: dict[str, str] = self.call("ConnectSession.settings", prefix)
        return found

    def heap(self) -> int:
        """See `Driver.heap`."""
        return int(self.call("ConnectSession.heap"))

    def executors(self, *, alive: bool) -> Iterator[ConnectExecutor]:
        """See `Driver.executors`."""
        return (ConnectExecutor(**each) for each in self.call("ConnectSession.executors", str(alive).lower()))

    def listen(self, capacity: int) -> ConnectEvents:
        """See `Driver.listen`."""
        LEFT.discard(self._spark)
        return ConnectEvents(self, capacity)

    def sizes(self) -> ConnectSizes:
        """See `Driver.sizes`."""
        return ConnectSizes(self)

    def usage(self) -> str:
        """See `Driver.usage`."""
        return str(self.call("UsagePlugin.read"))

    def trigger(self, query: Any) -> Trigger:
        """See `Driver.trigger`."""
        if query is None:
            return Trigger()
        kind, millis = self.call("ConnectSession.trigger", str(query.id))
        return Trigger(kind, millis / 1e3)

    def plan(self, query: Any) -> PlanNode | None:
        """See `Driver.plan`."""
        found = self.call("ConnectSession.plan", str(query.id))
        return None if found is None else _node(found, str(query.id))

    def leaders(self, scan: Any) -> tuple[Leader | None, ...]:
        """See `Driver.leaders`."""
        return leaders(self.call("ConnectSession.leaders", *scan))


def _node(found: Mapping[str, Any], query: str) -> PlanNode:
    number = found["scan"]
    children = tuple(_node(each, query) for each in found["children"])
    return PlanNode(found["name"], children, found["state"], None if number is None else (query, number))


def _refusal(error: Exception) -> EngineError | None:
    """What an error of Connect's means in one sentence, as the jar's own or the next step; None of other errors."""
    text = str(error)
    if ENDED.search(text):
        return EngineEndedError(
            "the session has ended, as where its Connect server was started anew, and its queries with it: "
            "stop it, make another session, start them there, and connect to it"
        )
    if said := SAID.search(text):
        return EngineError(said[1])
    if "NO_HANDLER_FOR_EXTENSION" in text or "No handler found for ext" in text:
        return EngineError(NO_JAR)
    if failed := STATUS.search(text):
        return EngineError(
            f"a call of the Connect server failed ({failed[1]}: {failed[2]}): "
            "look whether it runs, and at the address and the token, and connect again"
        )
    return None


def _message(text: str) -> Any:
    # PySpark's Connect is optional: who calls this has it.
    from google.protobuf.any_pb2 import Any as Message

    return Message(type_url=CALL, value=text.encode())


def _client(spark: Any) -> Any:
    """The client of a session, with tries of its own: those of the user's calls stay as they are."""
    # PySpark's Connect is optional: who calls this has it.
    from pyspark.sql.connect.client.retries import DefaultPolicy

    class Patience(DefaultPolicy):  # type: ignore[misc, unused-ignore]
        def can_retry(self, e: BaseException) -> bool:
            return spark not in LEFT and bool(super().can_retry(e))

    client = copy.copy(spark.client)
    client.set_retry_policies([Patience(max_retries=TRIES, max_backoff=PAUSE)])
    return client


def _order(spark: Any, text: str) -> None:
    # PySpark's Connect is optional: who calls this has it.
    from pyspark.sql.connect.proto import Command

    _client(spark).execute_command(Command(extension=_message(text)))


def _ask(spark: Any, text: str) -> str:
    # PySpark's Connect is optional: who calls this has it.
    from pyspark.sql.connect.proto import Plan, Relation

    table = _client(spark).to_table(Plan(root=Relation(extension=_message(text))), {})[0]
    answer: str = table.column(0)[0].as_py()
    return answer

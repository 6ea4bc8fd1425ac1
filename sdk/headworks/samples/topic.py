"""A Kafka topic for samples: each message is a file of a folder of samples, and its key the path of the file there.

`headworks pipeline receive` writes the files to a folder, from which the pipeline learns.
"""

from __future__ import annotations

import logging
import re
from typing import TYPE_CHECKING, Any, Self

import attrs

from headworks.errors import DocumentError, EngineError, how_to_install
from headworks.model import FrozenMap

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

SCHEME = "kafka://"
BROKER = re.compile(r"(\[[0-9A-Fa-f:]+\]|[^\s:/,\[\]]+):([0-9]{1,5})")
NAME = re.compile(r"[A-Za-z0-9._-]{1,240}")
"""Names that Kafka allows, with room for an end that the manager adds."""
ANSWER = 5.0
"""Seconds that the broker has to answer at the start, and to take what is left at the end."""
SETTINGS: dict[str, Any] = {
    "enable.idempotence": True,
    "compression.type": "zstd",
    # The broker's own bound is on what is compressed: a state in JSON may be large before.
    "message.max.bytes": 1 << 26,
    # For so long samples wait for a broker that is gone, in so many KB of memory.
    "message.timeout.ms": 3_600_000,
    "queue.buffering.max.kbytes": 1 << 16,
    "reconnect.backoff.max.ms": 2000,
}
LOG = logging.getLogger("headworks.samples.kafka")
"""Takes what librdkafka says of its connections; nobody reads it unless logging is set up."""
LOG.addHandler(logging.NullHandler())
LOG.propagate = False


@attrs.frozen
class TopicAddress:
    """Brokers to ask first, the name of a topic, and settings of Kafka's client."""

    bootstrap: str
    topic: str
    settings: FrozenMap[str, str] = FrozenMap()

    @classmethod
    def parse(cls, text: str, default: str = "") -> Self:
        """Read HOST:PORT[,HOST:PORT...][/TOPIC].

        Args:
            text: The text, without a scheme.
            default: The topic of a text that names none.

        Raises:
            ValueError: It is not an address of a topic.
        """
        bootstrap, slash, topic = text.partition("/")
        for each in bootstrap.split(","):
            if not (match := BROKER.fullmatch(each)) or int(match[2]) > 65535:
                raise ValueError(f"{each!r} is not a HOST:PORT of a broker")
        topic = topic if slash else default
        if not NAME.fullmatch(topic):
            raise ValueError(f"{topic!r} is not a name of a topic: 1 to 240 letters, digits, '.', '_' and '-'")
        return cls(bootstrap, topic)

    def __str__(self) -> str:
        return f"{SCHEME}{self.bootstrap}/{self.topic}"


def read_settings(file: Path) -> FrozenMap[str, str]:
    """Settings of Kafka's client.

    Args:
        file: A NAME=VALUE a line; empty lines and those that begin with # say nothing.

    Raises:
        DocumentError: It cannot be read, or a line is none of these.
    """
    try:
        lines = file.read_text().splitlines()
    except (OSError, UnicodeDecodeError) as error:
        raise DocumentError("", f"{file} cannot be read: {error}") from None
    settings = {}
    for number, line in enumerate(lines, start=1):
        name, equals, value = line.partition("=")
        if not line.strip() or line.lstrip().startswith("#"):
            continue
        if not equals or not name.strip():
            raise DocumentError("", f"line {number} of {file} is not a NAME=VALUE")
        settings[name.strip()] = value.strip()
    return FrozenMap(settings)


class SampleTopic:
    """A topic that takes files of samples; they are sent in the background."""

    def __init__(self, where: TopicAddress) -> None:
        """Connect, and look for the topic.

        Raises:
            EngineError: Kafka's client is missing, the broker does not answer, or it has no such topic.
            DocumentError: There is no such setting.
        """
        try:
            # Kafka's client is optional: where it is missing, the error says how to install it.
            from confluent_kafka import KafkaException, Producer
        except ImportError:
            raise EngineError(f"confluent-kafka is not installed: {how_to_install('kafka')}") from None
        self._where, self._errors = where, (KafkaException, BufferError)
        self._failed: list[str] = []
        try:
            own = {**SETTINGS, **where.settings, "bootstrap.servers": where.bootstrap}
            self._producer = Producer(own, logger=LOG)
        except (KafkaException, TypeError, ValueError) as error:
            raise DocumentError("", f"Kafka's client does not take its settings: {_said(error)}") from None
        try:
            found = self._producer.list_topics(timeout=ANSWER).topics
        except KafkaException as error:
            raise EngineError(f"no broker answers at {where.bootstrap}: {_said(error)}") from None
        if where.topic not in found:
            raise EngineError(f"{where.bootstrap} has no topic {where.topic}: make it first, by kafka-topics --create")

    def put(self, files: Sequence[tuple[str, bytes]]) -> None:
        """Send files; each waits if the broker is gone.

        Args:
            files: Path in a folder of samples, and content.

        Raises:
            EngineError: Some cannot be sent, or have not arrived in time since the last call.
        """
        for path, content in files:
            try:
                self._producer.produce(self._where.topic, content, key=path, on_delivery=self._done)
            except self._errors as error:
                self._failed.append(_said(error))
        self._producer.poll(0)
        self._complain()

    def close(self) -> None:
        """Wait for what is under way.

        Raises:
            EngineError: The broker has not taken all.
        """
        if left := self._producer.flush(ANSWER):
            self._failed += ["the broker does not answer"] * left
        self._complain()

    def _done(self, error: Any, _message: object) -> None:
        if error is not None:
            self._failed.append(error.str())

    def _complain(self) -> None:
        failed, self._failed = self._failed, []
        if failed:
            raise EngineError(f"{self._where} did not take {len(failed)} files of samples: {failed[0]}")


def _said(error: Exception) -> str:
    """Words of Kafka's client, without its codes."""
    first = error.args[0] if error.args else error
    return str(first.str() if hasattr(first, "str") else first)

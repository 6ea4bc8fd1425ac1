"""A Kafka topic with triggers, and the one beside it for messages that are none: what is asked of the broker."""

from __future__ import annotations

import contextlib
import logging
import time
from typing import TYPE_CHECKING, Any

from confluent_kafka import Consumer, KafkaError, KafkaException, Producer, TopicCollection, TopicPartition
from confluent_kafka.admin import AdminClient
from confluent_kafka.cimpl import NewTopic

from headworks.documents import loads
from headworks.errors import DocumentError, EngineError
from headworks_manager.database.history import Author
from headworks_manager.database.ledger import Sent
from headworks_manager.database.topics import Message, Partition
from headworks_manager.rules.indication import Trigger, check_trigger

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from headworks_manager.database.topics import Letter

LARGEST = 64 * 1024
"""Bytes that a message may have, as many as over HTTP: a trigger has a few hundred."""
DEAD = ".dead"
"""Ends the name of the topic for messages that are no triggers."""
ANSWER = 5.0
"""Seconds that the broker has to answer."""
AGAIN = 2000
"""Milliseconds after which a lost connection is tried again, at most."""
MADE = 0.1
"""Seconds between two looks for a topic that was made: all of a cluster's brokers hear of it a moment later."""
LOG = logging.getLogger("headworks.manager.kafka")
"""Takes what librdkafka says of its connections; nobody reads it unless logging is set up."""
LOG.addHandler(logging.NullHandler())
LOG.propagate = False


class Topic:
    """A topic with triggers. One thread uses it."""

    def __init__(self, bootstrap: str, name: str, settings: Mapping[str, str]) -> None:
        """Connect, in the background.

        Args:
            bootstrap: HOST:PORT of a broker, several with commas.
            name: Name of the topic.
            settings: Further settings of the client, by librdkafka's names.

        Raises:
            DocumentError: There is no such setting.
        """
        self._bootstrap, self._name = bootstrap, name
        own: dict[str, Any] = {"reconnect.backoff.max.ms": AGAIN, **settings, "bootstrap.servers": bootstrap}
        # The consumer is in no group: where it is, the database knows.
        reading = {"group.id": "headworks-manager", "enable.auto.commit": False, "auto.offset.reset": "earliest"}
        writing = {"message.timeout.ms": round(ANSWER * 1000), "acks": "all"}
        try:
            self._admin = AdminClient(own, logger=LOG)
            self._consumer = Consumer({**own, **reading}, logger=LOG)
            self._producer = Producer({**own, **writing}, logger=LOG)
        except (KafkaException, TypeError, ValueError) as error:
            raise DocumentError("", f"Kafka's client does not take its settings: {_reason(error)}") from None
        self._partitions: dict[int, Partition] = {}

    @property
    def name(self) -> str:
        """Name of the topic."""
        return self._name

    def partitions(self) -> list[Partition]:
        """The partitions that it has now; topics that are missing are made.

        Raises:
            EngineError: The broker does not answer, or does not allow it.
        """
        with self._asking():
            deadline = time.monotonic() + ANSWER
            while (found := self._described()) is None:
                self._make()
                if time.monotonic() > deadline:
                    raise EngineError(f"{self._name} at {self._bootstrap} was made, and is not there yet")
                time.sleep(MADE)
        return [Partition(*each) for each in found]

    def ends(self, partition: Partition) -> tuple[int, int]:
        """Offsets of its first message, and of the one that it will have next.

        Raises:
            EngineError: The broker does not answer.
        """
        with self._asking():
            return self._consumer.get_watermark_offsets(TopicPartition(self._name, partition.number), ANSWER)

    def begin(self, places: Mapping[Partition, int]) -> None:
        """Take messages from these partitions, each from an offset on.

        Args:
            places: Offset of the next message of each.
        """
        self._partitions = {each.number: each for each in places}
        with self._asking():
            self._consumer.assign([TopicPartition(self._name, each.number, at) for each, at in places.items()])

    def poll(self, limit: int, seconds: float) -> dict[Partition, list[Message]]:
        """The next messages, by offset.

        Args:
            limit: Messages at most.
            seconds: Time to wait for them.

        Raises:
            EngineError: The topic is not there any more.
        """
        found: dict[Partition, list[Message]] = {}
        with self._asking():
            for each in self._consumer.consume(limit, seconds):
                if (error := each.error()) is not None:
                    if error.code() == KafkaError.UNKNOWN_TOPIC_OR_PART:
                        raise KafkaException(error)
                    continue  # the client goes on by itself
                number, offset = each.partition() or 0, each.offset() or 0
                message = read_message(f"{self._name}/{number}", offset, _bytes(each.value()))
                found.setdefault(self._partitions[number], []).append(message)
        return found

    def deliver(self, letters: Sequence[Letter]) -> None:
        """Put messages into the dead-letter topic, each with its reason, and wait until it has all.

        Raises:
            EngineError: It does not take one of them.
        """
        failed: list[KafkaError] = []

        def done(error: KafkaError | None, _message: object) -> None:
            if error is not None:
                failed.append(error)

        with self._asking():
            for each in letters:
                self._producer.produce(
                    self._name + DEAD, value=each.content, headers=_headers(self._name, each), on_delivery=done
                )
            left = self._producer.flush(ANSWER * 2)
        if failed or left:
            said = failed[0].str() if failed else "it does not answer"
            raise EngineError(f"{self._name}{DEAD} at {self._bootstrap} takes no messages: {said}")

    def close(self) -> None:
        """Hang up."""
        self._consumer.close()

    @contextlib.contextmanager
    def _asking(self) -> Iterator[None]:
        try:
            yield
        except (KafkaException, BufferError) as error:  # the second one when too many letters wait to be sent
            raise EngineError(f"{self._name} at {self._bootstrap} cannot be read: {_reason(error)}") from None

    def _described(self) -> list[tuple[str, int]] | None:
        """UUID and number of each partition of the topic, None if it or the other one is not there."""
        names = [self._name, self._name + DEAD]
        asked = self._admin.describe_topics(TopicCollection(names), request_timeout=ANSWER)
        try:
            found = {name: future.result() for name, future in asked.items()}
        except KafkaException as error:
            if error.args[0].code() == KafkaError.UNKNOWN_TOPIC_OR_PART:
                return None
            raise
        own = found[self._name]
        return [(str(own.topic_id), number) for number in sorted(each.id for each in own.partitions)]

    def _make(self) -> None:
        made = self._admin.create_topics(
            [NewTopic(name, num_partitions=-1) for name in (self._name, self._name + DEAD)], request_timeout=ANSWER
        )
        for future in made.values():
            try:
                future.result()
            except KafkaException as error:
                if error.args[0].code() != KafkaError.TOPIC_ALREADY_EXISTS:
                    raise


def _headers(topic: str, letter: Letter) -> list[tuple[str, str | bytes | None]]:
    said = {
        "error": letter.error,
        "pointer": letter.pointer,
        "topic": topic,
        "partition": letter.partition.number,
        "offset": letter.offset,
        "size": letter.size,
    }
    return [(name, str(value)) for name, value in said.items()]


def _bytes(value: str | bytes | None) -> bytes | None:
    return value.encode() if isinstance(value, str) else value


def _reason(error: Exception) -> str:
    """Words of Kafka's client, without its codes."""
    first = error.args[0] if error.args else error
    return str(first.str() if isinstance(first, KafkaError) else first)


def read_message(where: str, offset: int, value: bytes | None) -> Message:
    """Read a message.

    Args:
        where: Its topic and partition, for the history.
        offset: Its offset there.
        value: Its value; None if it has none.
    """
    return Message(offset=offset, value=value or b"", meant=_meant(f"kafka {where}@{offset}", value))


def _meant(who: str, value: bytes | None) -> Sent | DocumentError:
    if value is None:
        return DocumentError("", "it has no value: send a trigger as JSON")
    if len(value) > LARGEST:
        return DocumentError("", f"it has {len(value)} bytes, more than {LARGEST}: send one trigger in a message")
    try:
        trigger = loads(value, Trigger)
        check_trigger(trigger)
    except DocumentError as error:
        return error
    except Exception as error:  # noqa: BLE001 - a fault of the reader, too, is a letter and not the end
        return DocumentError("", f"it cannot be read: {type(error).__name__}: {error}")
    return Sent(trigger=trigger, author=Author(who=who))

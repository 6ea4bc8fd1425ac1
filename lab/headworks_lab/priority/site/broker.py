"""The demo's topics on a broker: readings go in, and what topologies say of batches comes out."""

from __future__ import annotations

import contextlib
import logging
import time
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, Self

from headworks.errors import EngineError, how_to_install
from headworks_lab.priority.latency import Done, Key, read_done
from headworks_lab.priority.workload import GATEWAYS, TOPICS

if TYPE_CHECKING:
    from collections.abc import Mapping

    from headworks_lab.priority.workload import Workload

REPORTS = "headworks-batches"
"""Topic of what topologies say."""
LOG = logging.getLogger("headworks.demo.kafka")
"""Takes what librdkafka says of its connections, which end before it does; nobody reads it unless logging is set up."""
LOG.addHandler(logging.NullHandler())
LOG.propagate = False
ANSWER = 60.0
"""Seconds that the broker has to answer. With fewer, a busy machine fails the demo."""


class Broker:
    """Sends batches, and listens to topologies."""

    def __init__(self, bootstrap: str, producers: Mapping[str, int]) -> None:
        """Make the topics.

        Args:
            bootstrap: HOST:PORT of the broker.
            producers: Number of producers by topic, each of which has a partition.

        Raises:
            EngineError: confluent-kafka is missing, or the broker does not answer.
        """
        try:
            # Of the extra `kafka`: without it this is an error with a fix, not a failed import.
            from confluent_kafka import Consumer, KafkaException, Producer, TopicPartition
            from confluent_kafka.admin import AdminClient
            from confluent_kafka.cimpl import NewTopic
        except ImportError:
            message = f"confluent-kafka, which speaks to the broker, is not installed: {how_to_install('kafka')}"
            raise EngineError(message) from None
        own: dict[str, Any] = {"bootstrap.servers": bootstrap}
        topics = [*(NewTopic(name, count) for name, count in producers.items()), NewTopic(REPORTS, 1)]
        admin = AdminClient(own, logger=LOG)  # its answers end with it
        try:
            for made in admin.create_topics(topics).values():
                made.result(ANSWER)
        except KafkaException as error:
            raise EngineError(f"the broker at {bootstrap} does not make topics: {error}") from None
        self._producer = Producer({**own, "linger.ms": 0, "acks": "all"}, logger=LOG)
        self._consumer = Consumer({**own, "group.id": "headworks-demo", "enable.auto.commit": False}, logger=LOG)
        self._consumer.assign([TopicPartition(REPORTS, 0, 0)])

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_error: object) -> None:
        with contextlib.suppress(RuntimeError):
            self._consumer.close()

    def send(self, workload: Workload, scheduler: str, number: int) -> dict[Key, float]:
        """Send a batch of every gateway of every topic; the moments at which each was there.

        Args:
            workload: Parameters.
            scheduler: The scheduler under which it is sent.
            number: Number of the batch.

        Raises:
            EngineError: The broker does not take it.
        """
        sent, name = {}, workload.batch_name(scheduler, number)
        for topic in TOPICS:
            for partition, gateway in enumerate(GATEWAYS):
                moment = datetime.now(UTC).isoformat(timespec="milliseconds")
                for line in workload.readings(scheduler, number, gateway, moment):
                    self._producer.produce(topic, line.encode(), partition=partition)
                if self._producer.flush(ANSWER):
                    raise EngineError(f"the broker does not take batch {name} after {ANSWER:.0f} s")
                sent[Key(topic, gateway, name)] = time.time()
        return sent

    def put(self, topic: str, partition: int, line: str) -> None:
        """Send one tuple, and do not wait until the broker has it.

        Args:
            topic: The topic.
            partition: That of its producer.
            line: The tuple.
        """
        self._producer.produce(topic, line.encode(), partition=partition)
        self._producer.poll(0)

    def listen(self, seconds: float) -> list[tuple[Key, Done]]:
        """Take what topologies have said since, waiting for it so long.

        Args:
            seconds: Time to wait.
        """
        found = [each for each in self._consumer.consume(1000, seconds) if each.error() is None]
        return [read_done(each.value() or b"", each.timestamp()[1]) for each in found]

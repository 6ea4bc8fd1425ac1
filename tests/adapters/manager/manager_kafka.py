"""A broker's topics as somebody else sees them, by a client of the test's own."""

from __future__ import annotations

import json
import logging
import time
from contextlib import closing

from confluent_kafka import Consumer, Producer, TopicPartition
from confluent_kafka.admin import AdminClient

from patience import PATIENCE

SILENT = logging.getLogger("tests.kafka")
SILENT.addHandler(logging.NullHandler())
SILENT.propagate = False


def send(broker, topic, values, **more):
    """Put values, documents or bytes, into a topic; they are there when this returns."""
    # without idempotence a batch that is tried again, as the topic is made, comes after the next one
    conf = {"bootstrap.servers": broker.bootstrap, "linger.ms": 5, "enable.idempotence": True}
    producer = Producer(conf, logger=SILENT)
    failed = []
    for value in values:
        raw = value if isinstance(value, bytes | None) else json.dumps(value).encode()
        producer.produce(topic, raw, on_delivery=lambda error, _: error and failed.append(error), **more)
        producer.poll(0)
    assert (producer.flush(PATIENCE), failed) == (0, [])


def receive(broker, topic, count):
    """The first messages of the only partition of a topic, when there are so many."""
    conf = {"bootstrap.servers": broker.bootstrap, "group.id": "test", "enable.auto.commit": False}
    found, deadline = [], time.monotonic() + PATIENCE
    with closing(Consumer(conf, logger=SILENT)) as consumer:
        consumer.assign([TopicPartition(topic, 0, 0)])
        while len(found) < count:
            assert time.monotonic() < deadline, f"{len(found)} of {count} messages in {topic}"
            found += consumer.consume(count - len(found), 1.0)
    return found


def delete(broker, topic):
    admin = AdminClient({"bootstrap.servers": broker.bootstrap}, logger=SILENT)
    for future in admin.delete_topics([topic]).values():
        future.result(PATIENCE)

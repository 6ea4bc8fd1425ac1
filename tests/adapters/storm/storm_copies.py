"""Topologies that copy a topic of Kafka to another, and what somebody else sees of both topics, for tests."""

from __future__ import annotations

import json
import threading
import time
from collections import Counter
from pathlib import Path

from confluent_kafka import Consumer, Producer, TopicPartition
from confluent_kafka.admin import AdminClient
from confluent_kafka.cimpl import NewTopic

from headworks_lab.priority.site.broker import LOG
from headworks_lab.priority.site.topologies import spout_jars
from headworks_storm.install.submit import Submitter
from headworks_storm.release.artefacts import distribution
from headworks_storm.release.jar import compile_sources, own_jars
from patience import PATIENCE

PARTITIONS = 2
"""Of each topic."""
SOURCES = Path(__file__).with_name("java") / "copies"
STALE = 1.0
"""Seconds in which what is copied twice shows, once all is there."""


class Copies:
    """The topics of some topologies, `NAME.in` and `NAME.out`, fed while the context lasts; and who counts them."""

    def __init__(self, broker, names, rate):
        """`rate` tuples a second go to each topology, while nobody holds them."""
        self.broker, self.names, self.rate = broker, names, rate
        self.flowing, self._ended = threading.Event(), threading.Event()
        self._sent = 0
        self._thread = threading.Thread(target=self._feed, daemon=True)
        self._seen = {f"{name}.{end}": Counter() for name in names for end in ("in", "out")}
        own = {"bootstrap.servers": broker.bootstrap}
        topics = [NewTopic(topic, PARTITIONS) for topic in self._seen]
        admin = AdminClient(own, logger=LOG)  # its answers end with it
        for made in admin.create_topics(topics).values():
            made.result(PATIENCE)
        # One that waits for the broker as long as it is gone: what was sent is there, once.
        patient = {"enable.idempotence": True, "message.timeout.ms": int(1000 * PATIENCE)}
        self._producer = Producer({**own, **patient, "linger.ms": 5}, logger=LOG)
        self._consumer = Consumer({**own, "group.id": "witness", "enable.auto.commit": False}, logger=LOG)
        parts = [TopicPartition(topic, part, 0) for topic in self._seen for part in range(PARTITIONS)]
        self._consumer.assign(parts)

    def __enter__(self):
        self._thread.start()
        return self

    def __exit__(self, *_error):
        self._ended.set()
        self._thread.join(PATIENCE)
        self._consumer.close()

    def submit(self, storm, folder, name, *, passing, conf):
        """Submit the topology of this name."""
        jars = (own_jars().bridge, *spout_jars())
        jar = folder / "copies.jar"
        if not jar.exists():
            path = (*distribution().lib, *jars)
            compile_sources(jar, sorted(SOURCES.glob("*.java")), path, what="the topologies of the test")
        submitter = Submitter(distribution=distribution(), extlib=jars, conf=storm.client_conf)
        words = [name, self.broker.bootstrap, str(PARTITIONS), str(passing), json.dumps(conf)]
        submitter.jar(jar, "CopyTopology", words)

    def _feed(self):
        begin, since = time.monotonic(), 0
        while not self._ended.wait(0.02):
            if not self.flowing.is_set():
                begin, since = time.monotonic(), 0
                continue
            while since < (time.monotonic() - begin) * self.rate:
                for name in self.names:
                    self._producer.produce(f"{name}.in", str(self._sent), partition=self._sent % PARTITIONS)
                self._sent, since = self._sent + 1, since + 1
            self._producer.poll(0)

    def held(self):
        """Stop what goes in, until it is all in the broker."""
        self.flowing.clear()
        time.sleep(0.1)  # the feeder is past its look
        assert self._producer.flush(PATIENCE) == 0

    def look(self, seconds=0.2):
        """Read what has come into the topics since; ids by topic."""
        for each in self._consumer.consume(5000, seconds):
            if each.error() is None:
                self._seen[each.topic()][each.value()] += 1
        return self._seen

    def balance(self):
        """Tuples in, lost and copied twice, of all topologies, once nothing goes in and all has come out."""
        self.held()
        deadline, whole = time.monotonic() + PATIENCE, None
        while time.monotonic() < deadline and (whole is None or time.monotonic() < whole + STALE):
            seen = self.look()
            done = self._ends() == {topic: each.total() for topic, each in seen.items()} and not self._missing()
            whole = (whole or time.monotonic()) if done else None
        pairs = [(self._seen[f"{name}.in"], self._seen[f"{name}.out"]) for name in self.names]
        twice = sum((there - sent).total() for sent, there in pairs)
        return sum(sent.total() for sent, _ in pairs), self._missing(), twice

    def _missing(self):
        return sum((self._seen[f"{name}.in"] - self._seen[f"{name}.out"]).total() for name in self.names)

    def _ends(self):
        """Messages by topic, by the broker's own offsets."""
        ends = Counter()
        for each in self._consumer.assignment():
            low, high = self._consumer.get_watermark_offsets(each, timeout=30)
            ends[each.topic] += high - low
        return dict(ends)

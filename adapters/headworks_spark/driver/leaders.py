"""Leaders of the Kafka partitions that a scan reads, asked with the settings and the client that the query has."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import attrs

from headworks.model.topology import TUPLE_BYTES
from headworks_spark.driver.gateway import running_gateway

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

STREAM = "KafkaMicroBatchStream"
"""How the class of Spark's that reads Kafka is called."""
PATIENCE = {"default.api.timeout.ms": "5000", "request.timeout.ms": "5000"}
"""Milliseconds that a broker may take to answer, in which a round waits."""


@attrs.frozen(kw_only=True)
class Leader:
    """The broker from which a partition is read: its host, its rack if it says one, and bytes of a row as it has it."""

    host: str
    rack: str | None = None
    row: float = TUPLE_BYTES


def leaders(scan: Any) -> tuple[Leader | None, ...]:
    """The leader of what each task of a scan reads, None where there is none now; () of a scan of something else.

    Args:
        scan: An operator of Spark's that has planned its partitions.

    Raises:
        Py4JError: No broker answers, or it does not tell.
    """
    if not str(scan.stream().getClass().getName()).endswith(STREAM):
        return ()
    found = scan.inputPartitions()
    parts = [found.apply(index) for index in range(found.size())]
    if not parts:
        return ()
    topics = [each.offsetRange().topicPartition() for each in parts]
    admin = _admin(parts[0].executorKafkaParams())
    try:
        nodes = _nodes(admin, topics)
        rows = _rows(admin, topics, nodes)
    finally:
        admin.close()
    return tuple(
        None if node is None else Leader(host=str(node.host()), rack=node.rack(), row=row)
        for node, row in zip(nodes, rows, strict=True)
    )


def _admin(settings: Any) -> Any:
    """A client with those settings of a consumer that it has too."""
    kafka = running_gateway().jvm.org.apache.kafka.clients.admin
    known = _map(settings)
    known.keySet().retainAll(kafka.AdminClientConfig.configNames())
    known.putAll(_map(PATIENCE))
    return kafka.AdminClient.create(known)


def _nodes(admin: Any, topics: Sequence[Any]) -> list[Any]:
    """The leader of each partition as Kafka's client has it, None where there is none."""
    told = admin.describeTopics(_list({each.topic() for each in topics})).allTopicNames().get()
    found = {(name, part.partition()): part.leader() for name in told for part in told[name].partitions()}
    return [found.get((each.topic(), each.partition())) for each in topics]


def _rows(admin: Any, topics: Sequence[Any], nodes: Sequence[Any]) -> list[float]:
    """Bytes of a row of each partition, compressed as it is sent; a usual number where a broker does not tell."""
    # py4j is optional: a list of plugins imports this module without it.
    from py4j.protocol import Py4JJavaError

    kafka = running_gateway().jvm.org.apache.kafka.clients.admin
    try:
        folders = (
            admin.describeLogDirs(_list({each.id() for each in nodes if each is not None})).allDescriptions().get()
        )
        first, last = (
            admin.listOffsets(_map(dict.fromkeys(topics, spec))).all().get()
            for spec in (kafka.OffsetSpec.earliest(), kafka.OffsetSpec.latest())
        )
    except Py4JJavaError:  # it may not be allowed to ask
        return [TUPLE_BYTES] * len(topics)
    return [
        TUPLE_BYTES
        if node is None
        else _size(folders[node.id()], topic) / max(last[topic].offset() - first[topic].offset(), 1) or TUPLE_BYTES
        for topic, node in zip(topics, nodes, strict=True)
    ]


def _size(folders: Any, topic: Any) -> float:
    """Bytes of a partition in the folders of a broker."""
    found = (folders[path].replicaInfos().get(topic) for path in folders)
    return float(sum(each.size() for each in found if each is not None))


def _list(values: Iterable[Any]) -> Any:
    made = running_gateway().jvm.java.util.ArrayList()
    for each in values:
        made.add(each)
    return made


def _map(values: Mapping[Any, Any]) -> Any:
    made = running_gateway().jvm.java.util.HashMap()
    for key, value in values.items():
        made.put(key, value)
    return made

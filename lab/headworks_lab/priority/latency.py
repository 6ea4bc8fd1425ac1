"""Figures of the thesis's application Perf (section 4.1.4): latency of complex events and of tuples; no I/O."""

from __future__ import annotations

import json
from collections import Counter
from typing import TYPE_CHECKING

import attrs
import numpy as np

from headworks.model import FrozenMap
from headworks_lab.priority.workload import ARCHIVES, EVENTS, GATEWAYS, MEMBERS

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from headworks_lab.priority.workload import Workload

TOPIC_OF = {each.name: each.topic for each in MEMBERS}


@attrs.frozen
class Key:
    """A batch of a gateway in a topic, or as a topology had it."""

    where: str
    gateway: str
    batch: str


@attrs.frozen(kw_only=True)
class Done:
    """A topology's word that a batch is done.

    Attributes:
        at: Seconds since 1970.
        count: Readings in it.
        event: Whether it made a raw event.
    """

    at: float
    count: int
    event: bool


@attrs.frozen(kw_only=True)
class Latencies:
    """Latencies under one scheduler, in seconds.

    Attributes:
        complex_events: From a batch sent to both raw events detected, batch by batch (TE).
        high: For a tuple of a batch in an event topology (TT).
        low: For one in an archival topology.
    """

    complex_events: tuple[float, ...]
    high: tuple[float, ...]
    low: tuple[float, ...]


def read_done(raw: bytes, milliseconds: int) -> tuple[Key, Done]:
    """Read a word of a topology.

    Args:
        raw: The message.
        milliseconds: Its time.
    """
    told = json.loads(raw)
    key = Key(told["topology"], told["source"], told["batch"])
    return key, Done(at=milliseconds / 1000, count=told["count"], event=told["event"])


def expected(workload: Workload, scheduler: str) -> frozenset[Key]:
    """Every word that topologies will have said when all that was sent under a scheduler is done.

    Args:
        workload: Parameters.
        scheduler: The scheduler.
    """
    names = [workload.batch_name(scheduler, number) for number in range(workload.batches)]
    return frozenset(Key(each.name, gateway, name) for each in MEMBERS for gateway in GATEWAYS for name in names)


def latencies(workload: Workload, scheduler: str, sent: Mapping[Key, float], done: Mapping[Key, Done]) -> Latencies:
    """Latencies of all that was sent under a scheduler.

    Args:
        workload: Parameters.
        scheduler: The scheduler.
        sent: Time at which each batch of a topic was sent.
        done: The first word on each batch of a topology.
    """

    def seconds(topology: str, gateway: str, number: int) -> float:
        name = workload.batch_name(scheduler, number)
        return done[Key(topology, gateway, name)].at - sent[Key(TOPIC_OF[topology], gateway, name)]

    def each_tuple(topologies: Iterable[str]) -> tuple[float, ...]:
        return tuple(
            seconds(topology, gateway, number) / workload.length
            for topology in topologies
            for gateway in GATEWAYS
            for number in range(workload.batches)
        )

    return Latencies(
        complex_events=tuple(
            max(seconds(topology, gateway, number) for topology in EVENTS for gateway in GATEWAYS)
            for number in workload.eventful
        ),
        high=each_tuple(EVENTS),
        low=each_tuple(ARCHIVES),
    )


def wrong_events(workload: Workload, scheduler: str, done: Mapping[Key, Done]) -> tuple[Key, ...]:
    """Batches of which an event topology said what is not so.

    Args:
        workload: Parameters.
        scheduler: The scheduler under which they were sent.
        done: The first word on each batch of a topology.
    """
    truth = {workload.batch_name(scheduler, number): number in workload.eventful for number in range(workload.batches)}
    own = ((key, each) for key, each in done.items() if key.where in EVENTS and key.batch in truth)
    return tuple(key for key, each in own if each.event != truth[key.batch])


def percentile(values: Sequence[float], share: int) -> float | None:
    """The value below which so many of 100 are, None of none.

    Args:
        values: The values.
        share: How many of 100.
    """
    return float(np.percentile(values, share)) if values else None


@attrs.frozen(kw_only=True)
class Balance:
    """Tuples of a topology under one scheduler: those that its gateways sent, and those that it wrote down."""

    sent: int
    written: int
    lost: int
    twice: int

    @classmethod
    def of(cls, sent: Iterable[str], written: Iterable[str]) -> Balance:
        """Compare the ids that were sent with those in a topology's files.

        Args:
            sent: Ids.
            written: Ids.
        """
        there, found = Counter(sent), Counter(written)
        lost, twice = (there - found).total(), (found - there).total()
        return cls(sent=there.total(), written=found.total(), lost=lost, twice=twice)


def balances(
    workload: Workload, scheduler: str, written: Mapping[tuple[str, str], Sequence[str]]
) -> FrozenMap[str, Balance]:
    """The balance of each topology.

    Args:
        workload: Parameters.
        scheduler: The scheduler under which tuples were sent.
        written: Lines of each topology's file of each gateway.
    """
    found = {}
    for member in MEMBERS:
        sent, there = [], []
        for gateway in GATEWAYS:
            for number in range(workload.batches):
                name = workload.batch_name(scheduler, number)
                sent += [f"{gateway} {name}#{index}" for index in range(workload.length)]
            ids = (line.partition(" ")[0] for line in written[member.name, gateway])
            there += [f"{gateway} {each}" for each in ids if each.rpartition("-")[0] == scheduler]
        found[member.name] = Balance.of(sent, there)
    return FrozenMap(found)

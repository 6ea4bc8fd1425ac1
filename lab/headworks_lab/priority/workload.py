"""Use cases of the thesis, and the workload of the first (sections 4.1.1 to 4.1.5): batches of readings; no I/O."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Literal

import attrs

if TYPE_CHECKING:
    from collections.abc import Iterator

Kind = Literal["event", "archive", "feed"]
"""Kind of a topology: it detects raw events, archives, or works on a feed."""
GATEWAYS = ("g0", "g1")
"""Producers of each topic, each with a partition of its own (the thesis has 8). Their names are dealt one by one to the
tasks of a bolt that groups by them."""
ABOVE, BELOW = 60.0, 40.0
"""Readings above and below the threshold of the detectors, which is 50."""
CROSSING, QUIET = 0.9, 0.2
"""Shares of readings above it in a batch that makes a raw event, and in one that makes none; 80 % makes one."""


@attrs.frozen(kw_only=True)
class Member:
    """A topology of a use case (Tables 6 and 11, a quarter of it).

    Attributes:
        name: Its name.
        topic: The topic that it reads.
        kind: What it does; one that detects events, or works on a feed, sends triggers.
        tasks: Tasks of each of its components.
        workers: Its worker processes.
        desired: Nodes that it would like to have (sd).
        minimum: Nodes that it must have (sm).
    """

    name: str
    topic: str
    kind: Kind
    tasks: int
    workers: int
    desired: int
    minimum: int = 1

    @property
    def infers_events(self) -> bool:
        """True if it detects raw events."""
        return self.kind == "event"


@attrs.frozen(kw_only=True)
class Case:
    """A use case: its topologies, the number of producers of each topic, and the nodes of the cluster."""

    members: tuple[Member, ...]
    producers: Mapping[str, int]
    nodes: int

    def gateways(self, member: Member) -> tuple[str, ...]:
        """Names of those who send to the topic of a topology."""
        return tuple(f"g{number}" for number in range(self.producers[member.topic]))


MEMBERS = (
    Member(name="EventTP1", topic="Topic1", kind="event", tasks=2, workers=2, desired=2),
    Member(name="EventTP2", topic="Topic2", kind="event", tasks=2, workers=2, desired=2),
    Member(name="ArchivalTP1", topic="Topic1", kind="archive", tasks=1, workers=1, desired=1),
    Member(name="ArchivalTP2", topic="Topic2", kind="archive", tasks=1, workers=1, desired=1),
)
TOPICS = ("Topic1", "Topic2")
EVENTS = tuple(each.name for each in MEMBERS if each.infers_events)
ARCHIVES = tuple(each.name for each in MEMBERS if not each.infers_events)
CASE = Case(members=MEMBERS, producers=dict.fromkeys(TOPICS, len(GATEWAYS)), nodes=4)
"""Use case 1: four nodes, for six that are desired."""


@attrs.frozen(kw_only=True)
class Workload:
    """Parameters of an experiment, by the thesis's names.

    Attributes:
        gap: Seconds from one batch to the next (BG).
        length: Readings in a batch of one gateway (BL).
        batches: Batches of each gateway (BT).
        factor: Share of them that make raw events, which follow one another (EP).
        service: Seconds of a node's core that a reading takes in an event topology (Shigh); half of it in the others.
    """

    gap: float = 30.0
    length: int = 30
    batches: int = 6
    factor: float = 0.67
    service: float = 0.2

    @property
    def case(self) -> Case:
        """The topologies."""
        return CASE

    @property
    def eventful(self) -> range:
        """Numbers of the batches that make raw events, in the middle of the others; the last makes none."""
        count = min(round(self.factor * self.batches), self.batches - 1)
        first = (self.batches - count) // 2
        return range(first, first + count)

    def service_of(self, member: Member) -> float:
        """Seconds of a node's core that a reading takes in a topology."""
        return self.service if member.infers_events else self.service / 2

    def threshold_of(self, member: Member) -> float:  # noqa: ARG002 - no topology of batches looks at rates
        """Tuples a second above which a topology's trigger is on."""
        return 0.0

    def batch_name(self, scheduler: str, number: int) -> str:
        """Name of a batch, which says under which scheduler it was sent.

        Args:
            scheduler: The scheduler.
            number: Number of the batch.
        """
        return f"{scheduler}-{number}"

    def readings(self, scheduler: str, number: int, gateway: str, moment: str) -> Iterator[str]:
        """Lines of a batch: date and time, gateway, reading, batch and number.

        Args:
            scheduler: The scheduler under which it is sent.
            number: Number of the batch.
            gateway: Who sends it.
            moment: Date and time.
        """
        name = self.batch_name(scheduler, number)
        share = CROSSING if number in self.eventful else QUIET
        for index in range(self.length):
            value = ABOVE if index < share * self.length else BELOW
            yield f"{moment},{gateway},{value},{name}#{index}"

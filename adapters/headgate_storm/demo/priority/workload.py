"""The workload of use case 1 (thesis, sections 4.1.1 to 4.1.5): batches of readings, and who reads them; no I/O."""

from __future__ import annotations

from typing import TYPE_CHECKING

import attrs

if TYPE_CHECKING:
    from collections.abc import Iterator

GATEWAYS = ("g0", "g1")
"""Producers of each topic, each with a partition of its own (the thesis has 8). Their names are dealt one by one to the
tasks of a bolt that groups by them."""
ABOVE, BELOW = 60.0, 40.0
"""Readings above and below the threshold of the detectors, which is 50."""
CROSSING, QUIET = 0.9, 0.2
"""Shares of readings above it in a batch that makes a raw event, and in one that makes none; 80 % makes one."""


@attrs.frozen(kw_only=True)
class Member:
    """A topology of the use case (Table 6, a quarter of it).

    Attributes:
        name: Its name.
        topic: The topic that it reads.
        infers_events: Whether it detects raw events, and sends triggers; else it archives.
        tasks: Tasks of each of its components.
        workers: Its worker processes.
        desired: Nodes that it would like to have (sd).
        minimum: Nodes that it must have (sm).
    """

    name: str
    topic: str
    infers_events: bool
    tasks: int
    workers: int
    desired: int
    minimum: int = 1


MEMBERS = (
    Member(name="EventTP1", topic="Topic1", infers_events=True, tasks=2, workers=2, desired=2),
    Member(name="EventTP2", topic="Topic2", infers_events=True, tasks=2, workers=2, desired=2),
    Member(name="ArchivalTP1", topic="Topic1", infers_events=False, tasks=1, workers=1, desired=1),
    Member(name="ArchivalTP2", topic="Topic2", infers_events=False, tasks=1, workers=1, desired=1),
)
TOPICS = ("Topic1", "Topic2")
EVENTS = tuple(each.name for each in MEMBERS if each.infers_events)
ARCHIVES = tuple(each.name for each in MEMBERS if not each.infers_events)


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
    def eventful(self) -> range:
        """Numbers of the batches that make raw events, in the middle of the others; the last makes none."""
        count = min(round(self.factor * self.batches), self.batches - 1)
        first = (self.batches - count) // 2
        return range(first, first + count)

    def service_of(self, member: Member) -> float:
        """Seconds of a node's core that a reading takes in a topology."""
        return self.service if member.infers_events else self.service / 2

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

"""The workload of use case 2 (thesis, sections 4.2.1 to 4.2.5): tuples at a rate that rises and falls; no I/O."""

from __future__ import annotations

from itertools import accumulate
from typing import TYPE_CHECKING

import attrs

from headworks.model import FrozenMap
from headworks_lab.priority.latency import Balance, Key
from headworks_lab.priority.workload import Case, Member

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from headworks_lab.priority.latency import Done

FIRST, SECOND = "TP1", "TP2"
FEEDS = (
    Member(name=FIRST, topic="Feed1", kind="feed", tasks=4, workers=4, desired=4, minimum=2),
    Member(name=SECOND, topic="Feed2", kind="feed", tasks=2, workers=2, desired=2, minimum=1),
)
CASE = Case(members=FEEDS, producers={"Feed1": 4, "Feed2": 2}, nodes=5)
"""A quarter of Tables 11 and 12: five nodes, for six that are desired."""
SCALE = 8.0
"""The thesis's rates by those that are sent: there are a quarter of its nodes, each with one core for two."""
SECOND_RATE = 10 / SCALE
"""Tuples a second to the second topic."""
BETWEEN = 0.75
"""Part of the high rate above which the trigger is on: half way between the low rate and the high one."""
NEVER = 1e6
"""A rate that no topic has: the second topology's trigger stays off."""


@attrs.frozen(kw_only=True)
class FeedWorkload:
    """Parameters of an experiment, by the thesis's names; a rate is an eighth of its.

    Attributes:
        rate: Tuples a second to the first topic while the rate is high; half of it while it is low.
        proportion: Part of them that come at the high rate (r1).
        tuples: Tuples to the first topic (NT, of all producers).
        service: Seconds of a node's core that a tuple takes in the first topology (Shigh); half of it in the second.
    """

    rate: float = 6.67
    proportion: float = 0.5
    tuples: int = 800
    service: float = 0.4

    length: int = attrs.field(default=1, init=False)

    @property
    def case(self) -> Case:
        """The topologies."""
        return CASE

    def service_of(self, member: Member) -> float:
        """Seconds of a node's core that a tuple takes in a topology."""
        return self.service if member.name == FIRST else self.service / 2

    def threshold_of(self, member: Member) -> float:
        """Tuples a second above which a topology's trigger is on."""
        return BETWEEN * self.rate if member.name == FIRST else NEVER

    def moments(self) -> dict[str, tuple[float, ...]]:
        """Seconds after the begin at which tuples of each topic come: at the low rate, at the high, at the low."""
        high = round(self.proportion * self.tuples)
        before = (self.tuples - high) // 2
        gaps = [1 / self.rate if before <= number < before + high else 2 / self.rate for number in range(self.tuples)]
        first = tuple(accumulate(gaps, initial=0.0))[:-1]
        second = tuple(number / SECOND_RATE for number in range(int(first[-1] * SECOND_RATE) + 1))
        return {FEEDS[0].topic: first, FEEDS[1].topic: second}


@attrs.frozen(kw_only=True, order=True)
class Due:
    """A tuple to send: when, in seconds after the begin, to which topic, by which producer, and its number there."""

    at: float
    topic: str
    producer: int
    number: int

    def line(self, scheduler: str, moment: str) -> str:
        """The tuple: date and time, producer, content, and what identifies it.

        Args:
            scheduler: The scheduler under which it is sent.
            moment: Date and time.
        """
        return f"{moment},g{self.producer},1,{scheduler}-0#{self.number}"


def schedule(workload: FeedWorkload) -> tuple[Due, ...]:
    """All tuples of an experiment, the first ones first; producers of a topic take turns.

    Args:
        workload: Parameters.
    """
    found = [
        Due(at=at, topic=topic, producer=index % CASE.producers[topic], number=index // CASE.producers[topic])
        for topic, moments in workload.moments().items()
        for index, at in enumerate(moments)
    ]
    return tuple(sorted(found))


def result_key(due: Due, scheduler: str) -> Key:
    """The word of the topology that reads a tuple, when it is done.

    Args:
        due: The tuple.
        scheduler: The scheduler under which it is sent.
    """
    (name,) = (each.name for each in FEEDS if each.topic == due.topic)
    return Key(name, f"g{due.producer}", f"{scheduler}-0#{due.number}")


def latencies(sent: Mapping[Key, float], done: Mapping[Key, Done]) -> FrozenMap[str, tuple[float, ...]]:
    """Seconds of each tuple from sent to its result in Kafka (TT), by topology.

    Args:
        sent: Time at which each was sent.
        done: The first result of each.
    """
    return FrozenMap(
        {each.name: tuple(done[key].at - at for key, at in sent.items() if key.where == each.name) for each in FEEDS}
    )


def balances(
    sent: Mapping[Key, float], scheduler: str, written: Mapping[tuple[str, str], Sequence[str]]
) -> FrozenMap[str, Balance]:
    """Tuples of each topology that were sent, and those that it worked on.

    Args:
        sent: Time at which each was sent.
        scheduler: The scheduler under which it was.
        written: Lines of each topology's file of each producer.
    """
    return FrozenMap({each.name: Balance.of(*_ids(each, sent, scheduler, written)) for each in FEEDS})


def _ids(
    member: Member, sent: Mapping[Key, float], scheduler: str, written: Mapping[tuple[str, str], Sequence[str]]
) -> tuple[list[str], list[str]]:
    def there() -> Iterator[str]:
        for producer in CASE.gateways(member):
            ids = (line.partition(" ")[0] for line in written[member.name, producer])
            yield from (f"{producer} {each}" for each in ids if each.rpartition("-")[0] == scheduler)

    return [f"{key.gateway} {key.batch}" for key in sent if key.where == member.name], list(there())

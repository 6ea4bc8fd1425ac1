"""Profiles by the papers' rule: e, MET and alpha at the point of highest CPU use (section "CPU usage prediction").

Storm says how long a bolt takes to execute a tuple, the papers' e; what the CPU does beyond that is MET (Eq. 5). That
time is longer than the CPU works wherever a task waits, for a core or for a full queue, so that CPU time bounds it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import attrs

from headworks.model import Profile
from headworks.model.knowledge import Knowledge, ProfileFit

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

SOURCE = "profiling"
"""The `source` of profiles that this rule made."""
SECOND = 1000.0
"""Milliseconds."""
APART = 1.5
"""Times the lowest rate from which on the growth of CPU use tells e. With less, noise does; with more, few runs do."""


@attrs.frozen(kw_only=True)
class ProfilePoint:
    """One task, measured on a machine type at one rate of the spouts.

    Attributes:
        level: Times the declared rate at which spouts were to emit.
        spout: Whether it is one: it receives nothing, and Storm executes nothing in it.
        rate: Tuples/s that it processed: received by a bolt, emitted by a spout.
        emitted: Tuples/s that it emitted.
        used: Percent of the machine.
        latency: Milliseconds that Storm took to execute a tuple, a mean over the run; None of a spout.
        points: CPU points of the machine.
    """

    component: str
    machine_type: str
    level: float
    spout: bool = False
    rate: float
    emitted: float
    used: float
    latency: float | None = None
    points: float


def profile_at_highest(topology: str, points: Sequence[ProfilePoint]) -> Profile:
    """The profile of a component on a machine type.

    Args:
        topology: Id of the topology.
        points: Its points, at least one with a rate.
    """
    highest = max(points, key=lambda each: (each.used, each.rate))
    e = min(_costs(highest, min(points, key=lambda each: each.rate)))
    return Profile(
        topology=topology,
        component=highest.component,
        machine_type=highest.machine_type,
        e=_short(e),
        met=_short(max(highest.used - e * highest.rate, 0.0)),  # Eq. 5: MET = TCU - e * IR
        alpha=None if highest.spout else _short(highest.emitted / highest.rate),
    )


def _costs(highest: ProfilePoint, lowest: ProfilePoint) -> Iterator[float]:
    """Percent-seconds of a tuple that e does not pass: all CPU, Storm's latency, CPU that came with more tuples."""
    yield highest.used / highest.rate
    if highest.latency is not None:
        yield 100.0 * highest.latency / SECOND * 100.0 / highest.points
    # Two rates that are alike give any slope: noise over almost nothing.
    if highest.rate > APART * lowest.rate and highest.used > lowest.used:
        yield (highest.used - lowest.used) / (highest.rate - lowest.rate)


def knowledge_of(topology: str, points: Iterable[ProfilePoint]) -> Knowledge:
    """The profiles of all components and machine types, as the document that schedulers are given.

    Args:
        topology: Id of the topology.
        points: Those without a rate say nothing.
    """
    groups: dict[tuple[str, str], list[ProfilePoint]] = {}
    for each in points:
        if each.rate > 0:
            groups.setdefault((each.component, each.machine_type), []).append(each)
    fits = (
        ProfileFit(profile=profile_at_highest(topology, group), source=SOURCE, samples=len(group))
        for _, group in sorted(groups.items())
    )
    return Knowledge(samples=sum(map(len, groups.values())), profiles=tuple(fits))


def _short(value: float) -> float:
    return float(f"{value:.9g}")

"""Nexmark and sentiment on Storm: topologies to run on a real cluster, and the roles of their components."""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING, Any

from headworks.model import Component, FrozenMap, Stream, Topology
from headworks_lab.storm.lexicon import LEXICON
from headworks_storm.workload import catalogue
from headworks_storm.workload.catalogue import bolt, spout, tandem, workload
from headworks_storm.workload.find import contents

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from headworks.model import Workload

ROLES = FrozenMap(
    {
        "sentiment": FrozenMap({"lines": "text", "score": "score", "tally": "count"}),
        "nexmark-q1": FrozenMap({"bids": "bids", "euros": "euros"}),
        "nexmark-q2": FrozenMap({"bids": "bids", "selection": "selection"}),
        "nexmark-q3": FrozenMap({"people": "persons", "auctions": "auctions", "join": "near-sellers"}),
        "nexmark-q4": FrozenMap(
            {"auctions": "auctions", "bids": "bids", "highest": "winning-bids", "average": "average"}
        ),
        "nexmark-q5": FrozenMap({"bids": "bids", "count": "hot-items", "hottest": "hottest"}),
        "nexmark-q7": FrozenMap({"bids": "bids", "high": "high-bids", "highest": "highest-bid"}),
        "nexmark-q8": FrozenMap({"people": "persons", "auctions": "auctions", "join": "new-sellers"}),
        "nexmark-q11": FrozenMap({"bids": "bids", "sessions": "sessions"}),
    }
)
"""Role by component id of these topologies: a real task of the runner."""


def sentiment() -> Topology:
    """Lines of a text, scored by a word list (D-Storm's application has AFINN), and sentiments counted."""
    components = (spout("lines", 2, 1000, 10), bolt("score", 4, 20), bolt("tally", 2, 5))
    return tandem("sentiment", components, groupings=("shuffle", "fields"))


def nexmark_q1() -> Topology:
    """Nexmark query 1, currency conversion: a map over all bids."""
    return tandem("nexmark-q1", (_bids(), bolt("euros", 4, 15)), groupings=("shuffle",))


def nexmark_q2() -> Topology:
    """Nexmark query 2, selection: a filter of all bids."""
    return tandem("nexmark-q2", (_bids(), bolt("selection", 4, 15, 0.01)), groupings=("shuffle",))


def nexmark_q3() -> Topology:
    """Nexmark query 3, local item suggestion: people and auctions joined, without a window."""
    sources = (_people(), _auctions())
    return _joined("nexmark-q3", sources, (bolt("join", 4, 10, 0.08),), clocked=False)


def nexmark_q4() -> Topology:
    """Nexmark query 4, average price for a category: auctions joined with bids, the highest of each, their average."""
    bolts = (bolt("highest", 4, 25, 0.0001), bolt("average", 1, 5, 1.25))
    return _joined("nexmark-q4", (_auctions(), _bids()), bolts)


def nexmark_q5() -> Topology:
    """Nexmark query 5, hot items: bids of each auction counted in sliding windows, and the most of each window."""
    return _joined("nexmark-q5", (_bids(),), (bolt("count", 4, 20, 0.0005), bolt("hottest", 1, 5, 0.25)))


def nexmark_q7() -> Topology:
    """Nexmark query 7, highest bid: the highest of each task in a window, and of all of them."""
    bolts = (bolt("high", 4, 15, 0.0001), bolt("highest", 1, 5, 0.25))
    return _joined("nexmark-q7", (_bids(),), bolts, grouping="shuffle")


def nexmark_q8() -> Topology:
    """Nexmark query 8, monitor new users: people joined with the auctions of their window, each of them once."""
    return _joined("nexmark-q8", (_people(), _auctions()), (bolt("join", 4, 10, 0.25),))


def nexmark_q11() -> Topology:
    """Nexmark query 11, user sessions: bids of each bidder counted in sessions."""
    return _joined("nexmark-q11", (_bids(),), (bolt("sessions", 4, 20, 0.02),))


def _people() -> Component:
    return spout("people", 1, 100, 3)


def _auctions() -> Component:
    return spout("auctions", 1, 300, 5)


def _bids() -> Component:
    return spout("bids", 2, 4600, 15)


def _joined(
    name: str,
    sources: tuple[Component, ...],
    bolts: tuple[Component, ...],
    *,
    grouping: str = "fields",
    clocked: bool = True,
) -> Topology:
    """Sources with a stream each to the first of the bolts, which are in a row.

    Each task of a source tells each of the first bolt's every two seconds how far its events are, if it is clocked.
    """
    first = bolts[0].id
    clocks = (
        Stream(source=each.id, target=first, name="clock", grouping="all", rate=each.parallelism / 2)
        for each in sources
    )
    streams = (
        *(Stream(source=each.id, target=first, grouping=grouping) for each in sources),
        *(Stream(source=one.id, target=two.id, grouping="global") for one, two in pairwise(bolts)),
        *(clocks if clocked else ()),
    )
    return Topology(id=name, components=(*sources, *bolts), streams=streams, workers=3)


BUILDERS = (
    sentiment,
    nexmark_q1,
    nexmark_q2,
    nexmark_q3,
    nexmark_q4,
    nexmark_q5,
    nexmark_q7,
    nexmark_q8,
    nexmark_q11,
)
"""Makers of the topologies."""


def workloads() -> Sequence[Workload]:
    """The workloads of this catalogue, each a request with one topology on the local cluster."""
    return tuple(workload(build, ROLES, **({"lexicon": LEXICON} if build is sentiment else {})) for build in BUILDERS)


def roles_of(topology: Topology) -> Mapping[str, str]:
    """Roles of a topology's components; none if it is not one of this catalogue, whatever its name and its demands.

    Args:
        topology: The topology.
    """
    own = next((each for build in (*BUILDERS, *catalogue.BUILDERS) if (each := build()).id == topology.id), None)
    same = own is not None and _shape(own) == _shape(topology)
    roles = {**catalogue.ROLES, **ROLES}
    return roles.get(topology.id, FrozenMap[str, str]()) if same else FrozenMap[str, str]()


def details_of(topology: Topology) -> dict[str, Any]:
    """Further arguments of `describe` for a topology of this catalogue or of the adapter's: roles, text, lexicon."""
    roles = roles_of(topology)
    lexicon = {"lexicon": LEXICON} if "score" in roles.values() else {}
    return {"roles": roles, **contents(roles), **lexicon}


def _shape(topology: Topology) -> tuple[object, ...]:
    return {(each.id, each.kind, each.selectivity) for each in topology.components}, topology.streams

"""The catalogue of topologies to run on a real cluster: counts of words of a text, Nexmark, and shapes from papers."""

from __future__ import annotations

from functools import partial
from itertools import pairwise
from typing import TYPE_CHECKING

from headworks.model import Cluster, Component, FrozenMap, Kind, Node, Request, Resources, Stream, Topology
from headworks.model.evidence import Workload

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

ROLES = FrozenMap(
    {
        "word-count": FrozenMap({"lines": "text", "split": "split", "count": "count"}),
        "rolling-count": FrozenMap({"lines": "text", "split": "split", "rolling-count": "rolling-count"}),
        "unique-visitors": FrozenMap({"views": "page-views", "visitors": "unique-visitors"}),
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
"""Role by component id of these topologies: a real task of the runner. Components of all others use processor time and
send bytes."""

NODES = (("127.0.0.11", 400, 4096, 4), ("127.0.0.12", 200, 2048, 2), ("127.0.0.13", 100, 1024, 2))
"""Address, points, MB and slots of the local cluster's supervisors."""
HEAP = 64.0
"""MB of one task. With more, the small supervisors hold few of them; with less, a worker's heap may not suffice."""


def local_cluster() -> Cluster:
    """The three supervisors that `headworks storm up` starts."""
    return Cluster(
        nodes=tuple(
            Node(id=host, capacity=Resources(cpu=cpu, memory=memory), slots=tuple(range(6700, 6700 + slots)))
            for host, cpu, memory, slots in NODES
        )
    )


def _spout(name: str, tasks: int, rate: float, points: float) -> Component:
    return Component(id=name, kind=Kind.SPOUT, parallelism=tasks, rate=rate, demand=_task(points))


def _bolt(name: str, tasks: int, points: float, selectivity: float = 1.0) -> Component:
    return Component(id=name, parallelism=tasks, selectivity=selectivity, demand=_task(points))


def _task(points: float) -> Resources:
    return Resources(cpu=points, memory=HEAP)


def word_count() -> Topology:
    """Lines of a text, split into words, counted word by word."""
    components = (_spout("lines", 2, 1000, 10), _bolt("split", 4, 20, 9), _bolt("count", 4, 25, 1))
    return _tandem("word-count", components, groupings=("shuffle", "fields"))


def rolling_count() -> Topology:
    """Words of a text, counted over the last seconds (the count of the heterogeneity papers)."""
    components = (_spout("lines", 2, 1000, 10), _bolt("split", 4, 20, 9), _bolt("rolling-count", 4, 25, 0.01))
    return _tandem("rolling-count", components, groupings=("shuffle", "fields"))


def unique_visitors() -> Topology:
    """Views of pages, and how many different visitors each page had (the heterogeneity papers)."""
    components = (_spout("views", 2, 4000, 15), _bolt("visitors", 4, 25, 0.1))
    return _tandem("unique-visitors", components, groupings=("fields",))


def sentiment() -> Topology:
    """Lines of a text, scored by the lexicon AFINN (Nielsen 2011, as D-Storm's application), and sentiments counted."""
    components = (_spout("lines", 2, 1000, 10), _bolt("score", 4, 20), _bolt("tally", 2, 5))
    return _tandem("sentiment", components, groupings=("shuffle", "fields"))


def nexmark_q1() -> Topology:
    """Nexmark query 1, currency conversion: a map over all bids."""
    return _tandem("nexmark-q1", (_bids(), _bolt("euros", 4, 15)), groupings=("shuffle",))


def nexmark_q2() -> Topology:
    """Nexmark query 2, selection: a filter of all bids."""
    return _tandem("nexmark-q2", (_bids(), _bolt("selection", 4, 15, 0.01)), groupings=("shuffle",))


def nexmark_q3() -> Topology:
    """Nexmark query 3, local item suggestion: people and auctions joined, without a window."""
    sources = (_people(), _auctions())
    return _joined("nexmark-q3", sources, (_bolt("join", 4, 10, 0.08),), clocked=False)


def nexmark_q4() -> Topology:
    """Nexmark query 4, average price for a category: auctions joined with bids, the highest of each, their average."""
    bolts = (_bolt("highest", 4, 25, 0.0001), _bolt("average", 1, 5, 1.25))
    return _joined("nexmark-q4", (_auctions(), _bids()), bolts)


def nexmark_q5() -> Topology:
    """Nexmark query 5, hot items: bids of each auction counted in sliding windows, and the most of each window."""
    return _joined("nexmark-q5", (_bids(),), (_bolt("count", 4, 20, 0.0005), _bolt("hottest", 1, 5, 0.25)))


def nexmark_q7() -> Topology:
    """Nexmark query 7, highest bid: the highest of each task in a window, and of all of them."""
    bolts = (_bolt("high", 4, 15, 0.0001), _bolt("highest", 1, 5, 0.25))
    return _joined("nexmark-q7", (_bids(),), bolts, grouping="shuffle")


def nexmark_q8() -> Topology:
    """Nexmark query 8, monitor new users: people joined with the auctions of their window, each of them once."""
    return _joined("nexmark-q8", (_people(), _auctions()), (_bolt("join", 4, 10, 0.25),))


def nexmark_q11() -> Topology:
    """Nexmark query 11, user sessions: bids of each bidder counted in sessions."""
    return _joined("nexmark-q11", (_bids(),), (_bolt("sessions", 4, 20, 0.02),))


def _people() -> Component:
    return _spout("people", 1, 100, 3)


def _auctions() -> Component:
    return _spout("auctions", 1, 300, 5)


def _bids() -> Component:
    return _spout("bids", 2, 4600, 15)


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


def url_converter() -> Topology:
    """Four operators in a row; the last one holds a large map (Fig. 5.4b of D-Storm; costs are ours)."""
    components = (
        _spout("tweets", 2, 2000, 10),
        _bolt("parse", 4, 20),
        _bolt("filter", 4, 10, 0.5),
        _bolt("convert", 4, 20),
    )
    return _tandem("url-converter", components, groupings=("shuffle", "shuffle", "fields"))


def twitter_sentiment() -> Topology:
    """Eleven operators in a tree (Fig. 5.4c of D-Storm names their number; the tree and the costs are ours)."""
    parents = {
        "parse": "tweets",
        "language": "parse",
        "stem": "language",
        "hashtags": "language",
        "positive": "stem",
        "negative": "stem",
        "score": "stem",
        "trends": "hashtags",
        "join": "score",
        "store": "join",
    }
    bolts = tuple(_bolt(name, 2, 15, 0.6 if name == "language" else 1) for name in parents)
    streams = tuple(
        Stream(source=source, target=target, grouping="fields" if target in ("trends", "join") else "shuffle")
        for target, source in parents.items()
    )
    return Topology(
        id="twitter-sentiment", components=(_spout("tweets", 2, 2000, 10), *bolts), streams=streams, workers=3
    )


def _tandem(name: str, components: tuple[Component, ...], groupings: tuple[str, ...]) -> Topology:
    """Components in a row, each with one stream to the next; three workers, one for each node of the local cluster."""
    streams = tuple(
        Stream(source=source.id, target=target.id, grouping=grouping)
        for (source, target), grouping in zip(pairwise(components), groupings, strict=True)
    )
    return Topology(id=name, components=components, streams=streams, workers=3)


BUILDERS = (
    word_count,
    rolling_count,
    unique_visitors,
    sentiment,
    nexmark_q1,
    nexmark_q2,
    nexmark_q3,
    nexmark_q4,
    nexmark_q5,
    nexmark_q7,
    nexmark_q8,
    nexmark_q11,
    url_converter,
    twitter_sentiment,
)
"""Makers of the topologies."""


def roles_of(topology: Topology) -> Mapping[str, str]:
    """Roles of a topology's components; none if it is not one of this catalogue, whatever its name and its demands.

    Args:
        topology: The topology.
    """
    own = next((each for build in BUILDERS if (each := build()).id == topology.id), None)
    same = own is not None and _shape(own) == _shape(topology)
    return ROLES.get(topology.id, FrozenMap[str, str]()) if same else FrozenMap[str, str]()


def _shape(topology: Topology) -> tuple[object, ...]:
    return {(each.id, each.kind, each.selectivity) for each in topology.components}, topology.streams


def workloads() -> Sequence[Workload]:
    """The workloads of this catalogue, each a request with one topology on the local cluster."""
    return tuple(
        Workload(
            name=build.__name__.replace("_", "-"),
            summary=(build.__doc__ or "").partition("\n")[0],
            build=partial(_request, build()),
        )
        for build in BUILDERS
    )


def _request(topology: Topology) -> Request:
    return Request(cluster=local_cluster(), topologies=(topology,))

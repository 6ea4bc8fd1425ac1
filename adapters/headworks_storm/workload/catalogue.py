"""The catalogue of topologies to run on a real cluster: counts of words of a text, and shapes from papers."""

from __future__ import annotations

from functools import partial
from itertools import pairwise
from typing import TYPE_CHECKING, Any

from headworks.model import Cluster, Component, FrozenMap, Kind, Node, Request, Resources, Stream, Topology, Workload

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

ROLES = FrozenMap(
    {
        "word-count": FrozenMap({"lines": "text", "split": "split", "count": "count"}),
        "rolling-count": FrozenMap({"lines": "text", "split": "split", "rolling-count": "rolling-count"}),
        "unique-visitors": FrozenMap({"views": "page-views", "visitors": "unique-visitors"}),
    }
)
"""Role by component id of these topologies: a real task of the runner. Components of all others use processor time and
send bytes."""

NODES = (("127.0.0.11", 400, 4096, 4), ("127.0.0.12", 200, 2048, 2), ("127.0.0.13", 100, 1024, 2))
"""Address, points, MB and slots of the local cluster's supervisors."""
HEAP = 64.0
"""MB of one task."""


def local_cluster() -> Cluster:
    """The three supervisors that `headworks storm up` starts."""
    return Cluster(
        nodes=tuple(
            Node(id=host, capacity=Resources(cpu=cpu, memory=memory), slots=tuple(range(6700, 6700 + slots)))
            for host, cpu, memory, slots in NODES
        )
    )


def spout(name: str, tasks: int, rate: float, points: float) -> Component:
    """A spout that emits `rate` tuples per second, each of its tasks of so many CPU points."""
    return Component(id=name, kind=Kind.SPOUT, parallelism=tasks, rate=rate, demand=_task(points))


def bolt(name: str, tasks: int, points: float, selectivity: float = 1.0) -> Component:
    """A bolt, each of its tasks of so many CPU points."""
    return Component(id=name, parallelism=tasks, selectivity=selectivity, demand=_task(points))


def _task(points: float) -> Resources:
    return Resources(cpu=points, memory=HEAP)


def word_count() -> Topology:
    """Lines of a text, split into words, counted word by word."""
    components = (spout("lines", 2, 1000, 10), bolt("split", 4, 20, 9), bolt("count", 4, 25, 1))
    return tandem("word-count", components, groupings=("shuffle", "fields"))


def rolling_count() -> Topology:
    """Words of a text, counted over the last seconds (the count of the heterogeneity papers)."""
    components = (spout("lines", 2, 1000, 10), bolt("split", 4, 20, 9), bolt("rolling-count", 4, 25, 0.01))
    return tandem("rolling-count", components, groupings=("shuffle", "fields"))


def unique_visitors() -> Topology:
    """Views of pages, and how many different visitors each page had (the heterogeneity papers)."""
    components = (spout("views", 2, 4000, 15), bolt("visitors", 4, 25, 0.1))
    return tandem("unique-visitors", components, groupings=("fields",))


def url_converter() -> Topology:
    """Four operators in a row; the last one holds a large map (Fig. 5.4b of D-Storm; costs are ours)."""
    components = (
        spout("tweets", 2, 2000, 10),
        bolt("parse", 4, 20),
        bolt("filter", 4, 10, 0.5),
        bolt("convert", 4, 20),
    )
    return tandem("url-converter", components, groupings=("shuffle", "shuffle", "fields"))


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
    bolts = tuple(bolt(name, 2, 15, 0.6 if name == "language" else 1) for name in parents)
    streams = tuple(
        Stream(source=source, target=target, grouping="fields" if target in ("trends", "join") else "shuffle")
        for target, source in parents.items()
    )
    return Topology(
        id="twitter-sentiment", components=(spout("tweets", 2, 2000, 10), *bolts), streams=streams, workers=3
    )


def tandem(name: str, components: tuple[Component, ...], groupings: tuple[str, ...]) -> Topology:
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
    url_converter,
    twitter_sentiment,
)
"""Makers of the topologies."""


def workloads() -> Sequence[Workload]:
    """The workloads of this catalogue, each a request with one topology on the local cluster."""
    return tuple(workload(build, ROLES) for build in BUILDERS)


def workload(build: Callable[[], Topology], roles: Mapping[str, Mapping[str, str]], **details: Any) -> Workload:
    """A workload of one topology on the local cluster.

    Args:
        build: Makes the topology; its docstring is the summary.
        roles: Roles of components by the id of their topology.
        **details: Further arguments of `describe`.
    """
    topology = build()
    return Workload(
        name=topology.id,
        summary=(build.__doc__ or "").partition("\n")[0],
        build=partial(_request, topology),
        details={"roles": roles.get(topology.id, {}), **details},
    )


def _request(topology: Topology) -> Request:
    return Request(cluster=local_cluster(), topologies=(topology,))

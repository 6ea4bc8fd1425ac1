"""Seeded requests that every scheduler is tried on, without Hypothesis."""

from __future__ import annotations

import itertools
import random

import attrs

from headworks.model import Cluster, Component, Kind, Node, Profile, Request, Resources, Stream, Topology
from headworks.testing.instances.build import SMALL, SeededDice, Size, build_request, constrained, crowded
from headworks.testing.instances.edge_cases import edge_cases

COUNT = 40
"""Requests of each kind."""

BIG = Size(nodes=20, topologies=4, components=6, parallelism=12)


@attrs.frozen(kw_only=True)
class Cases:
    """Requests to judge a scheduler by.

    Attributes:
        mixed: Of every kind: what runs already, metrics, limits, the corners (nothing to place, nowhere to go),
            constraints, nodes without room for what runs there, and odd ones
            (`headworks.testing.instances.edge_cases`).
        small: At most 8 tasks on 3 nodes, nothing runs yet: every placement can be tried.
    """

    mixed: tuple[Request, ...]
    small: tuple[Request, ...]


def make_cases(seed: int = 0, count: int = COUNT) -> Cases:
    """The requests of a seed: the same ones on every machine."""
    dice = SeededDice(random.Random(seed))
    mixed = [build_request(dice) for _ in range(count)]
    bound = SeededDice(random.Random(f"constraints {seed}"))
    mixed += [constrained(bound, build_request(bound)) for _ in range(count)]
    tight = SeededDice(random.Random(f"crowded {seed}"))
    mixed += [crowded(tight, build_request(tight)) for _ in range(count)]
    small = [build_request(dice, SMALL, fresh=True) for _ in range(count)]
    return Cases(mixed=(*corners(), *edge_cases(), *mixed, build_request(dice, BIG), chain(50, 20)), small=tuple(small))


def corners() -> tuple[Request, ...]:
    """Requests at the edge of the model, without profiles and with: empty ones, a node without slots, no demand."""
    node = Node(id="n0", capacity=Resources(cpu=100.0, memory=1024.0), slots=(6700,))
    bare = Node(id="n0", capacity=Resources(cpu=100.0), slots=())
    spout = Component(id="c0", kind=Kind.SPOUT, demand=Resources(cpu=60.0))
    one = Topology(id="t0", components=(spout,))
    two = Topology(id="t1", components=(spout,))
    none = Topology(id="t0", components=(attrs.evolve(spout, parallelism=0),))
    idle = Topology(id="t0", components=(Component(id="c0", kind=Kind.SPOUT),))
    bare_ones = (
        Request(),
        Request(cluster=Cluster(nodes=(node,))),
        Request(topologies=(one,)),
        Request(cluster=Cluster(nodes=(node,)), topologies=(none,)),
        Request(cluster=Cluster(nodes=(node,)), topologies=(idle,)),
        Request(cluster=Cluster(nodes=(bare,)), topologies=(one,)),
        Request(cluster=Cluster(nodes=(node,)), topologies=(one,)),
        Request(cluster=Cluster(nodes=(node,)), topologies=(one, two)),
    )
    return (*bare_ones, *(_with_profiles(each) for each in bare_ones if each.topologies))


def _with_profiles(request: Request) -> Request:
    """The request with a profile of every component, on a machine of no named type."""
    profiles = tuple(
        Profile(topology=topology.id, component=part.id, machine_type="", e=0.1, met=5.0)
        for topology in request.topologies
        for part in topology.components
    )
    return attrs.evolve(request, profiles=profiles)


def chain(parallelism: int, nodes: int) -> Request:
    """A spout and three bolts of equal parallelism in a row, on equal nodes with room for a quarter more."""
    names = ("spout", "split", "count", "report")
    parts = tuple(
        Component(
            id=name,
            kind=Kind.BOLT if index else Kind.SPOUT,
            parallelism=parallelism,
            demand=Resources(cpu=10.0, memory=64.0),
            rate=None if index else 1000.0,
        )
        for index, name in enumerate(names)
    )
    streams = tuple(Stream(source=source, target=target) for source, target in itertools.pairwise(names))
    share = 1.25 * len(names) * parallelism / nodes
    capacity = Resources(cpu=10.0 * share, memory=64.0 * share)
    return Request(
        cluster=Cluster(
            nodes=tuple(Node(id=f"n{number:02}", capacity=capacity, slots=(6700, 6701)) for number in range(nodes))
        ),
        topologies=(Topology(id="chain", components=parts, streams=streams),),
    )

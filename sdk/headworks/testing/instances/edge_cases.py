"""Requests that are valid and odd, as clusters and profiles come to be: each of them broke some scheduler once."""

from __future__ import annotations

import attrs

from headworks.model import (
    Cluster,
    Component,
    Constraint,
    ConstraintKind,
    FrozenMap,
    Kind,
    Limits,
    Metrics,
    Node,
    Profile,
    Request,
    Resources,
    Scope,
    Slot,
    Stream,
    TaskSample,
    Topology,
)

PAIR = (Component(id="bolt", demand=Resources(cpu=40.0)), Component(id="spout", kind=Kind.SPOUT, rate=100.0))
ALONE = Constraint(kind=ConstraintKind.AT_MOST, scope=Scope.WORKER, limit=1)
ONE = FrozenMap({"t/spout/0": Slot("n0", 6700), "t/bolt/0": Slot("n0", 6700)})


def edge_cases() -> tuple[Request, ...]:
    """Nodes without slots or without room for what runs there, pinned tasks, move limits that bind, measurements that
    differ, profiles at their edges, numbers of tasks that cannot be.
    """
    return (*_clusters(), *_crowded(), *_limits(), *_profiles(), *_numbers())


def _clusters() -> tuple[Request, ...]:
    full = attrs.evolve(_node("n0", 1), capacity=Resources(cpu=60.0, memory=1024.0))
    pinned = Topology(id="pinned", components=(attrs.evolve(PAIR[0], id="db", movable=False),))
    return (
        # A large node without slots beside one that suffices.
        _request((attrs.evolve(_node("n1", 0), capacity=Resources(cpu=900.0, memory=9000.0)), _node("n0", 2))),
        # A supervisor that is blacklisted offers neither slots nor capacity, and the others do not suffice.
        _request((full, attrs.evolve(_node("n1", 0), capacity=Resources())), parallelism=2),
        # A topology that may not move has the only slot of a node.
        attrs.evolve(
            _request((_node("n0", 1), _node("n1", 2)), more=(pinned,)),
            assignment=FrozenMap({"pinned/db/0": Slot("n0", 6700)}),
        ),
        # Tasks that a constraint gives a worker each have all slots, and another topology has none.
        _request((_node("n0", 2),), more=(attrs.evolve(pinned, id="late"),), constraints=(ALONE,)),
    )


def _crowded() -> tuple[Request, ...]:
    """A task runs on a node that has room for none, beside a small node and a large one; more tasks wait."""
    names = (("n0", 1024.0), ("n1", 256.0), ("n2", 0.0))
    nodes = tuple(attrs.evolve(_node(name, 3), capacity=Resources(cpu=900.0, memory=size)) for name, size in names)
    light = Component(id="spout", kind=Kind.SPOUT, parallelism=2, demand=Resources(memory=64.0), rate=100.0)
    heavy = Component(id="bolt", parallelism=2, demand=Resources(memory=300.0))
    where = FrozenMap({"t/spout/0": Slot("n2", 6700)})
    return tuple(
        Request(
            cluster=Cluster(nodes=nodes),
            topologies=(Topology(id="t", components=parts, workers=3, desired_nodes=most),),
            assignment=where,
        )
        for parts, most in (((light,), None), ((light, heavy), None), ((light, heavy), 1))
    )


def _limits() -> tuple[Request, ...]:
    together = attrs.evolve(_request((_node("n0", 2), _node("n1", 2))), assignment=ONE)
    apart = attrs.evolve(together, assignment=FrozenMap({**ONE, "t/bolt/0": Slot("n1", 6700)}))
    lost = attrs.evolve(together, assignment=FrozenMap({"t/spout/0": Slot("n0", 6700)}))
    full = attrs.evolve(_request((_node("n0", 1), _node("n1", 1))), assignment=lost.assignment)
    return (
        *(attrs.evolve(each, limits=Limits(max_moves=most)) for each in (together, apart) for most in (0, 1, 2)),
        # Workers that run take no other task: it goes beside them, elsewhere, or nowhere.
        *(attrs.evolve(each, limits=Limits(restarts=False)) for each in (together, apart, lost, full)),
    )


def _profiles() -> tuple[Request, ...]:
    nodes = (attrs.evolve(_node("n0", 2), machine_type="old"), attrs.evolve(_node("n1", 2), machine_type="new"))
    running = FrozenMap({**ONE, "t/bolt/1": Slot("n0", 6700)})
    plain = attrs.evolve(_request(nodes, parallelism=2), assignment=running)
    known = tuple(_profile(part, kind, 0.2, 5.0) for part in ("bolt", "spout") for kind in ("old", "new"))
    samples = (TaskSample(task="t/bolt/0", memory=64.0), TaskSample(task="t/bolt/1", memory=900.0))
    bolts = attrs.evolve(PAIR[0], parallelism=2)
    stuck = Topology(id="t", components=tuple(attrs.evolve(part, movable=False) for part in (bolts, PAIR[1])))
    free = tuple(attrs.evolve(each, e=0.0) if each.machine_type == "new" else each for each in known)
    heavy = tuple(attrs.evolve(each, met=120.0) for each in known if each.component == "bolt")
    cores = tuple(attrs.evolve(each, capacity=Resources(cpu=400.0, memory=1024.0)) for each in nodes)
    pool = attrs.evolve(bolts, demand=Resources(cpu=250.0))
    return (
        *(attrs.evolve(plain, profiles=known, limits=Limits(max_moves=most)) for most in (0, 1)),
        # Tasks of one component whose measured memory differs.
        attrs.evolve(plain, profiles=known, metrics=Metrics(window=10.0, tasks=samples)),
        # Tasks that may not leave a machine of which they have no profile.
        attrs.evolve(plain, topologies=(stuck,), profiles=tuple(p for p in known if p.machine_type == "new")),
        # A machine on which no tuple costs anything, so that the rate there has no limit.
        attrs.evolve(plain, profiles=free),
        # Fixed costs beyond a whole machine, with a spout and without.
        attrs.evolve(plain, profiles=heavy),
        attrs.evolve(
            plain, profiles=heavy, topologies=(Topology(id="t", components=(bolts,)),), assignment=FrozenMap()
        ),
        # Threads that are full before their machines are, and more CPU declared than they can use.
        attrs.evolve(plain, profiles=known, cluster=Cluster(nodes=cores)),
        attrs.evolve(plain, cluster=Cluster(nodes=cores), topologies=(Topology(id="t", components=(pool, PAIR[1])),)),
    )


def _numbers() -> tuple[Request, ...]:
    """More tasks would take more tuples, and fewer would cost less, than a component can have while it runs."""
    nodes = (attrs.evolve(_node("n0", 2), machine_type="old"), attrs.evolve(_node("n1", 2), machine_type="new"))
    bolt, spout = (
        tuple(_profile(part, kind, e, met) for kind in ("old", "new"))
        for part, e, met in (("bolt", 0.2, 1.0), ("spout", 0.01, 20.0))
    )
    few = (_between(PAIR[0], 1, 1, 2), _between(PAIR[1], 2, 2, 3))
    free = attrs.evolve(_request(nodes), profiles=(*bolt, *spout))
    fresh = _with_parts(free, few)
    where = FrozenMap({"t/bolt/0": Slot("n0", 6700), **{f"t/spout/{at}": Slot("n1", 6700) for at in range(2)}})
    live = tuple(attrs.evolve(each, live=True) for each in fresh.topologies)
    running = attrs.evolve(fresh, topologies=live, assignment=where)
    return (fresh, running, attrs.evolve(running, limits=Limits(restarts=False)))


def _between(part: Component, least: int, count: int, most: int) -> Component:
    return attrs.evolve(part, min_parallelism=least, parallelism=count, max_parallelism=most)


def _with_parts(request: Request, parts: tuple[Component, ...]) -> Request:
    (topology,) = request.topologies
    return attrs.evolve(request, topologies=(attrs.evolve(topology, components=parts),))


def _profile(component: str, kind: str, e: float, met: float) -> Profile:
    return Profile(topology="t", component=component, machine_type=kind, e=e, met=met)


def _node(name: str, slots: int) -> Node:
    return Node(id=name, capacity=Resources(cpu=100.0, memory=1024.0), slots=tuple(range(6700, 6700 + slots)))


def _request(
    nodes: tuple[Node, ...],
    *,
    parallelism: int = 1,
    more: tuple[Topology, ...] = (),
    constraints: tuple[Constraint, ...] = (),
) -> Request:
    parts = (attrs.evolve(PAIR[0], parallelism=parallelism), PAIR[1])
    streams = (Stream(source="spout", target="bolt"),)
    pair = Topology(id="t", components=parts, streams=streams, constraints=constraints)
    return Request(cluster=Cluster(nodes=nodes), topologies=(pair, *more))

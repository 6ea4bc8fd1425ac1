"""Races between a plan, or its way back, and the moves, thousands of them: the engine changes after it was observed.

The engine is one in memory. It does what it is told, one move after the other, and notes what it should not be told.
"""

from __future__ import annotations

import random
from collections import Counter

import attrs
import pytest

from headworks.control.guards import Guards, Memory, remember
from headworks.control.loop import Control, Loop
from headworks.control.recheck import as_it_is
from headworks.hooks import Description, hookimpl
from headworks.model import (
    FrozenMap,
    Limits,
    Metrics,
    Node,
    Observation,
    Receipt,
    Request,
    Resources,
    Slot,
    Status,
    Topology,
    TopologySample,
)
from headworks.plugins.host import PluginHost
from headworks.problem import Problem
from headworks.testing.instances.build import SeededDice, constrained
from headworks.testing.reference import broken_constraints
from random_requests import random_request
from small_requests import component
from tiers import cases

RACES = 1000
"""Of each case."""
SLACK = 1e-3
"""Amounts are rounded to multiples of 2**-20."""


def need(part):
    """Amounts that a task needs; of CPU no more than its threads can use."""
    return {**part.demand, "cpu": min(part.demand.cpu, part.thread_points)}


class Places:
    """Places of tasks, and what they leave free, by sums that share nothing with the core."""

    def __init__(self, seen):
        self.at = dict(seen.assignment)
        self.nodes = {node.id: node for node in seen.cluster.nodes}
        parts = [(each, part) for each in seen.topologies for part in each.components]
        self.part = {f"{each.id}/{part.id}/{n}": (each, part) for each, part in parts for n in range(part.parallelism)}

    def used(self, node):
        """Amounts that the tasks on a node need."""
        found = Counter()
        for task, slot in self.at.items():
            if slot.node == node:
                found.update(need(self.part[task][1]))
        return found

    def heap(self, slot):
        """Heap of the tasks in a slot, and their topologies."""
        inside = [self.part[task] for task, place in self.at.items() if place == slot]
        return sum(part.task_heap for _, part in inside), {topology.id for topology, _ in inside}

    def exists(self, slot):
        return slot.node in self.nodes and slot.port in self.nodes[slot.node].slots

    def fits(self, task, slot):
        """Whether a task that runs nowhere has room in a slot."""
        topology, part = self.part[task]
        used, (heap, tenants) = self.used(slot.node), self.heap(slot)
        have = self.nodes[slot.node].capacity
        limit = float("inf") if topology.worker_heap is None else topology.worker_heap
        room = all(used[name] + amount <= have.get(name, 0.0) for name, amount in need(part).items())
        return room and tenants <= {topology.id} and heap + part.task_heap <= limit

    def slots(self, task):
        """Slots that have room for a task."""
        every = [Slot(node.id, port) for node in self.nodes.values() for port in node.slots]
        return [slot for slot in every if self.fits(task, slot)]

    def walk(self, plan):
        """Make the moves of a plan; sentences on what none of them should do."""
        first = {name: self.used(name) for name in self.nodes}
        for move in plan.moves:
            if move.task not in self.part:
                yield f"{move.task} is not a task"
                return
            if self.at.pop(move.task, None) != move.source:
                yield f"{move.task} does not run on {move.source}"
            if move.target is None:
                continue
            if not self.exists(move.target):
                yield f"there is no {move.target}"
                return
            self.at[move.task] = move.target
            yield from self._overloads(move.target, first[move.target.node])
        if self.at != plan.assignment:
            yield "the moves do not lead to the assignment"

    def put_back(self, undo):
        """Put tasks back; sentences on what none of them should do."""
        first = {name: self.used(name) for name in self.nodes}
        self.at |= undo
        missing = [f"there is no {slot} or no {task}" for task, slot in undo.items() if not self.knows(task, slot)]
        yield from missing
        for slot in () if missing else set(undo.values()):
            yield from self._overloads(slot, first[slot.node])

    def knows(self, task, slot):
        return task in self.part and self.exists(slot)

    def _overloads(self, slot, first):
        have = self.nodes[slot.node].capacity
        for name, amount in self.used(slot.node).items():
            if amount > max(have.get(name, 0.0), first[name]) + SLACK:
                yield f"{slot.node} is overloaded: {amount} {name}"
        if len(self.heap(slot)[1]) > 1:
            yield f"{slot} has tasks of two topologies"


@attrs.define
class World:
    """What the engine is, what happens once a plan is made, and what it was told."""

    seen: Observation
    meanwhile: object = None
    before: FrozenMap = FrozenMap()
    latency: float = 10.0
    undo: FrozenMap = FrozenMap()
    faults: list = attrs.Factory(list)
    told: int = 0


class Racing:
    """An engine that changes after it was observed."""

    @hookimpl
    def headworks_describe(self):
        return Description(summary="An engine that changes.")

    @hookimpl
    def headworks_observe(self, target, window):
        samples = tuple(TopologySample(topology=each.id, latency=target.latency) for each in target.seen.topologies)
        return attrs.evolve(target.seen, metrics=Metrics(window=window, topologies=samples))

    @hookimpl
    def headworks_preflight(self, target, plan):
        return ()

    @hookimpl
    def headworks_look(self, target):
        target.seen = target.meanwhile(target.seen)
        target.before = target.seen.assignment
        return target.seen

    @hookimpl
    def headworks_execute(self, target, plan):
        target.told += 1
        places, undo = Places(target.seen), target.seen.assignment
        target.faults += list(places.walk(plan))
        target.seen = attrs.evolve(target.seen, assignment=FrozenMap(places.at))
        target.undo = undo
        return Receipt(undo=undo)

    @hookimpl
    def headworks_rollback(self, target, receipt):
        target.told += 1
        places = Places(target.seen)
        target.faults += list(places.put_back(receipt.undo))
        target.seen = attrs.evolve(target.seen, assignment=FrozenMap(places.at))
        return Receipt()


class Decided:
    """A scheduler that has decided already."""

    def __init__(self):
        self.node_of = []

    @hookimpl
    def headworks_describe(self):
        return Description(summary="Decided.")

    @hookimpl
    def headworks_schedule(self, problem):
        return problem.plan(self.node_of)


def with_nodes(seen, nodes):
    """The engine with other nodes; tasks whose slot is gone run no more."""
    slots = {Slot(node.id, port) for node in nodes for port in node.slots}
    left = FrozenMap({task: slot for task, slot in seen.assignment.items() if slot in slots})
    return attrs.evolve(seen, cluster=attrs.evolve(seen.cluster, nodes=tuple(nodes)), assignment=left)


def with_place(dice, seen, task):
    """The engine with a task in some slot that has room for it; without one, it runs no more."""
    places = Places(seen)
    places.at.pop(task, None)
    slots = places.slots(task)
    if slots:
        places.at[task] = dice.choice(slots)
    return attrs.evolve(seen, assignment=FrozenMap(places.at))


def node_dies(dice, seen):
    """A node dies, and the engine starts some of its tasks elsewhere."""
    dead = dice.choice(seen.cluster.nodes).id
    found = with_nodes(seen, [node for node in seen.cluster.nodes if node.id != dead])
    for task in sorted(seen.assignment.keys() - found.assignment.keys()):
        found = with_place(dice, found, task) if dice.random() < 0.5 else found
    return found


def slot_goes(dice, seen):
    node = dice.choice(seen.cluster.nodes)
    left = attrs.evolve(node, slots=node.slots[1:])
    return with_nodes(seen, [left if each.id == node.id else each for each in seen.cluster.nodes])


def node_shrinks(dice, seen):
    node = dice.choice(seen.cluster.nodes)
    less = Resources({name: amount / 2 for name, amount in node.capacity.items()})
    nodes = [attrs.evolve(each, capacity=less) if each.id == node.id else each for each in seen.cluster.nodes]
    return with_nodes(seen, nodes)


def node_comes(dice, seen):
    new = Node(id="new", capacity=Resources(cpu=100.0, memory=2048.0), slots=(6700,))
    return (
        seen if any(each.id == "new" for each in seen.cluster.nodes) else with_nodes(seen, [*seen.cluster.nodes, new])
    )


def topology_ends(dice, seen):
    gone = dice.choice([each.id for each in seen.topologies] or [""])
    left = FrozenMap({task: slot for task, slot in seen.assignment.items() if task.partition("/")[0] != gone})
    return attrs.evolve(seen, topologies=tuple(each for each in seen.topologies if each.id != gone), assignment=left)


def topology_starts(dice, seen):
    """Somebody starts a topology, in slots that the plan may have counted on."""
    if any(each.id == "new" for each in seen.topologies):
        return seen
    new = Topology(id="new", components=(component("c", dice.randint(1, 4), 30.0),))
    found = attrs.evolve(seen, topologies=(*seen.topologies, new))
    for task in new.tasks():
        found = with_place(dice, found, task.id)
    return found


def topology_restarts(dice, seen):
    """A topology is there again, with other numbers of tasks."""
    found = topology_ends(dice, seen)
    for each in seen.topologies:
        if each not in found.topologies:
            parts = tuple(attrs.evolve(part, parallelism=dice.randint(1, 4)) for part in each.components)
            other = attrs.evolve(each, components=parts, constraints=())
            found = attrs.evolve(found, topologies=(*found.topologies, other))
            for task in other.tasks():
                found = with_place(dice, found, task.id)
    return found


def task_moves(dice, seen):
    """Somebody else moves a task; some are moved to nowhere."""
    return with_place(dice, seen, dice.choice(sorted(seen.assignment))) if seen.assignment else seen


def task_dies(dice, seen):
    gone = dice.choice(sorted(seen.assignment) or [""])
    left = FrozenMap({task: slot for task, slot in seen.assignment.items() if task != gone})
    return attrs.evolve(seen, assignment=left)


EVENTS = (
    *(node_dies, slot_goes, node_shrinks, node_comes),
    *(topology_ends, topology_starts, topology_restarts, task_moves, task_dies),
)


def started(dice, number):
    """An engine on which all tasks run, None where not all of them fit."""
    asked = random_request(number, "races")
    asked = constrained(SeededDice(dice), asked) if number % 2 else asked
    plan = Problem.of(asked).plan(somewhere(dice, asked))
    seen = Observation(cluster=asked.cluster, topologies=asked.topologies, assignment=plan.assignment)
    return seen if plan.status is Status.OK else None


def somewhere(dice, asked):
    """Nodes with room, one for each task, and -1 where there is none."""
    problem = Problem.of(asked)
    room = problem.room()
    for task in dice.sample(range(problem.n), problem.n):
        nodes = room.fits(task).nonzero()[0].tolist()
        if nodes:
            room.place(task, dice.choice(nodes))
    return room.node_of


def happens(dice):
    """What happens to an engine: one to three events."""
    events = dice.choices(EVENTS, k=dice.choice((1, 1, 2, 3)))

    def meanwhile(now):
        for event in events:
            now = event(dice, now) if now.cluster.nodes else now
        return now

    return meanwhile


def begun(dice, number, host, scheduler, **guards):
    """A loop on an engine, with a plan for it; None where not all tasks fit."""
    seen = started(dice, number)
    if seen is None:
        return None
    world = World(seen)
    scheduler.node_of = somewhere(dice, Request.of(seen))
    limits = Limits(slowdown=None, max_moves=dice.choice((None, None, 3)))
    guarded = Guards(cooldown=0.0, settle=1, **guards)
    control = Control(scheduler="decided", engine="racing", guards=guarded, limits=limits)
    return Loop(host, control, world), world


def raced(dice, *which):
    """A round in which the engine changes between plan and moves, and the engine; None where no plan is carried out."""
    found = begun(dice, *which, goal=None)
    if found is None:
        return None
    loop, world = found
    world.meanwhile = happens(dice)
    done = loop.round()
    return None if done.receipt is None else (done, world)


def raced_back(dice, *which):
    """The same of a round that undoes the plan of the round before."""
    found = begun(dice, *which, goal="latency")
    if found is None:
        return None
    loop, world = found
    world.meanwhile = lambda now: now
    if loop.round().outcome != "executed":
        return None
    world.meanwhile, world.latency, world.told = happens(dice), 1000.0, 0
    return loop.round(), world


def check_places(done, world, asked):
    """All that has to hold of places after a race."""
    after = world.seen.assignment
    assert world.faults == []
    assert (world.told == 0) == (done.outcome == "waiting")
    # Each place is there, or dropped by name, and then its task is where it was. A round that waits tells nothing.
    for task, slot in asked.items():
        stays = task in done.dropped or done.outcome == "waiting"
        assert after.get(task) == (world.before.get(task) if stays else slot)
    # Nobody else's task has moved or ended.
    assert all(after[task] == slot for task, slot in world.before.items() if task not in asked)
    assert world.before.keys() <= after.keys()
    now = as_it_is(done.request, attrs.evolve(world.seen, assignment=world.before))
    assert broken_constraints(now, after) == ()


def check_back(done, world):
    """All that has to hold after a race on the way back; nothing is insisted on."""
    assert done.outcome in ("undone", "waiting"), done.message
    check_places(done, world, world.undo)
    assert remember(Memory(), done, Guards(), now=0.0).asked == {}


def check(done, world):
    """All that has to hold after a race."""
    assert done.outcome in ("executed", "waiting"), done.message
    check_places(done, world, done.plan.assignment)
    # What is insisted on is there: no wish is left of a task or a slot that is gone.
    places = Places(world.seen)
    asked = remember(Memory(), done, Guards(goal=None), now=0.0).asked
    assert all(task in places.part and places.exists(slot) for task, slot in asked.items())
    assert asked.keys().isdisjoint(done.dropped)


@pytest.mark.slow
@pytest.mark.parametrize("case", cases(range(10), always=1))
@pytest.mark.parametrize(("race", "checked"), [(raced, check), (raced_back, check_back)], ids=["there", "back"])
def test_no_race_overloads_a_node_breaks_a_rule_or_leaves_a_wish(race, checked, case):
    scheduler = Decided()
    host = PluginHost().with_plugin("racing", Racing()).with_plugin("decided", scheduler)
    dice, number, made, ends = random.Random(case), 0, 0, Counter()
    while made < RACES:
        number += 1
        found = race(dice, number, host, scheduler)
        if found is not None:
            checked(*found)
            made += 1
            ends[found[0].outcome != "waiting", bool(found[0].dropped)] += 1
    assert min(ends[True, False], ends[True, True], ends[False, True]) > RACES / 100, ends

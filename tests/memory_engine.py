"""An engine in memory, for tests of the loop: it runs what it is told, or fails where a test asks it to."""

from __future__ import annotations

import contextlib

import attrs

from headworks.errors import EngineEndedError
from headworks.hooks import Description, Verdict, hookimpl
from headworks.model import FrozenMap, Observation, Receipt, Step
from headworks.problem import Problem


@attrs.define
class Machine:
    """What the engine runs; `broken` names hooks that raise, after those in
    `breaks_after` it cannot be observed, `deaf` lets it report moves that it does not make."""

    seen: Observation
    broken: set[str] = attrs.Factory(set)
    breaks_after: set[str] = attrs.Factory(set)
    refuses: bool = False
    deaf: bool = False
    stuck: bool = False
    over: bool = False
    calls: list[str] = attrs.Factory(list)
    opened: bool = False

    def call(self, name):
        self.calls.append(name)
        if name in self.broken:
            raise RuntimeError(f"{name} broke")
        if name in self.breaks_after:
            self.broken = {"observe"}

    def run(self, assignment):
        self.seen = attrs.evolve(self.seen, assignment=FrozenMap(assignment))


class Engine:
    """Watch and steer a machine in memory."""

    def __init__(self, machine=None):
        self.machine = machine

    @hookimpl
    def headworks_describe(self):
        return Description(summary="An engine in memory.")

    @hookimpl
    def headworks_open(self, application, address):
        @contextlib.contextmanager
        def opened():
            self.machine.opened = True
            yield self.machine
            self.machine.opened = False

        return opened()

    @hookimpl
    def headworks_observe(self, target, window):
        target.call("observe")
        if target.over:
            raise EngineEndedError("no query runs any more")
        return target.seen

    @hookimpl
    def headworks_preflight(self, target, plan):
        target.call("preflight")
        return ("slots are not enforced",)

    @hookimpl
    def headworks_execute(self, target, plan):
        target.call("execute")
        undo = target.seen.assignment
        if target.refuses:
            return Receipt(
                done=False, steps=(Step(action="move", subject="t", done=False, message="no worker"),), undo=undo
            )
        if not target.deaf:
            target.run(plan.assignment)
        return Receipt(undo=undo)

    @hookimpl
    def headworks_rollback(self, target, receipt):
        target.call("rollback")
        target.run(receipt.undo)
        return Receipt(done=not target.stuck)


class ElasticEngine(Engine):
    """The same, with nodes that come and go; a new one is named after the number of nodes."""

    @hookimpl
    def headworks_scale(self, target, add, drain):
        target.call("scale")
        nodes = [each for each in target.seen.cluster.nodes if each.id not in drain]
        nodes += [attrs.evolve(nodes[0], id=f"new{len(nodes) + number}") for number in range(add)]
        target.seen = attrs.evolve(target.seen, cluster=attrs.evolve(target.seen.cluster, nodes=tuple(nodes)))
        words = [("drain", node) for node in drain] + [("add", str(number + 1)) for number in range(add)]
        return Receipt(steps=tuple(Step(action=action, subject=subject) for action, subject in words))


class Judge:
    """A scheduler that replans when it is told to, and puts every task where it is told."""

    def __init__(self, node_of, *, replan=True, interval=0.0, why="all is well"):
        self.node_of, self.replan, self.interval = node_of, replan, interval
        self.reasons = (why,) if why else ()

    @hookimpl
    def headworks_describe(self):
        return Description(summary="Put tasks where a test wants them.")

    @hookimpl
    def headworks_analyse(self, observation):
        if self.replan is None:
            raise RuntimeError("analyse broke")
        return Verdict(replan=self.replan, state="normal", reasons=self.reasons, interval=self.interval)

    @hookimpl
    def headworks_schedule(self, request):
        return Problem.of(request).plan(self.node_of)


class AwareJudge(Judge):
    """The same, which promises less traffic."""

    @hookimpl
    def headworks_describe(self):
        return Description(summary="Put tasks where a test wants them.", capabilities=frozenset({"traffic-aware"}))


class Reviewer:
    """Object to every plan, or break."""

    def __init__(self, objection):
        self.objection = objection

    @hookimpl
    def headworks_describe(self):
        return Description(summary="Object.")

    @hookimpl
    def headworks_review(self, request, plan):
        if self.objection is None:
            raise RuntimeError("review broke")
        return (self.objection,)


class Listener:
    """Keep the records of rounds, or break."""

    def __init__(self, *, broken=False):
        self.records, self.broken = [], broken

    @hookimpl
    def headworks_describe(self):
        return Description(summary="Listen.")

    @hookimpl
    def headworks_on_round(self, record):
        if self.broken:
            raise RuntimeError("listener broke")
        self.records.append(record)

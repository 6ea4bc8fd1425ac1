"""The engine contract finds the fault of each of these engines, by the rule that is about it."""

from __future__ import annotations

import contextlib
import os
import socket
import subprocess
import sys
import threading

import attrs
import pytest

from headworks.errors import EngineEndedError, EngineError
from headworks.hooks import Description, hookimpl
from headworks.model import (
    Cluster,
    Component,
    FrozenMap,
    Kind,
    Node,
    Observation,
    Receipt,
    Resources,
    Slot,
    Step,
    Topology,
)
from headworks.plugins.host import PluginHost
from headworks.testing import ENGINE_RULES, EngineTrial
from headworks.testing.conform import Outcome
from headworks.testing.engines.conform import conform_engine


class Machine:
    """A cluster of three nodes, and three tasks that run where they are told to."""

    def __init__(self):
        self.nodes = {name: Node(id=name, capacity=Resources(cpu=200.0)) for name in ("a", "b", "c")}
        self.running, self.over = {}, False

    def fail_node(self, node):
        del self.nodes[node]
        self.running = {task: slot for task, slot in self.running.items() if slot.node != node}

    def end(self):
        self.over = True


class Good:
    """Run what it is told."""

    @hookimpl
    def headworks_describe(self):
        return Description(summary="An engine in memory.")

    @hookimpl
    def headworks_open(self, application, address):
        return contextlib.nullcontext(Machine())

    @hookimpl
    def headworks_observe(self, target, window):
        if target.over:
            raise EngineEndedError("the application has ended")
        spout = Component(id="spout", kind=Kind.SPOUT, parallelism=3, demand=Resources(cpu=50.0), rate=1.0)
        return Observation(
            cluster=Cluster(nodes=tuple(target.nodes.values())),
            topologies=(Topology(id="t", components=(spout,)),),
            assignment=FrozenMap(target.running),
        )

    @hookimpl
    def headworks_preflight(self, target, plan):
        return ()

    @hookimpl
    def headworks_execute(self, target, plan):
        undo = FrozenMap(target.running)
        good = {task: slot for task, slot in plan.assignment.items() if slot.node in target.nodes}
        steps = tuple(
            Step(action="place", subject=task, done=task in good, message=f"on {slot.node}")
            for task, slot in plan.assignment.items()
        )
        target.running = good
        return Receipt(done=good == dict(plan.assignment), steps=steps, undo=undo)

    @hookimpl
    def headworks_rollback(self, target, receipt):
        if receipt.steps:
            target.running = dict(receipt.undo)
        return Receipt()


class Deals(Good):
    """Deal tasks out anew in each look, unless they were asked to be somewhere; a rollback asks for what was before."""

    @hookimpl
    def headworks_observe(self, target, window):
        if asked := getattr(target, "asked", {}):
            target.running = {task: slot for task, slot in asked.items() if slot.node in target.nodes}
        else:
            target.turn, names = getattr(target, "turn", 0) + 1, sorted(target.nodes)
            target.running = {f"t/spout/{at}": Slot(names[(at + target.turn) % len(names)], 0) for at in range(3)}
        return Good.headworks_observe(self, target, window)

    @hookimpl
    def headworks_keeps(self, target, plan):
        return getattr(target, "asked", {}) == dict(plan.assignment)

    @hookimpl
    def headworks_execute(self, target, plan):
        undo = FrozenMap(getattr(target, "asked", {}))
        receipt = Good.headworks_execute(self, target, plan)
        target.asked = target.running
        return attrs.evolve(receipt, undo=undo)

    @hookimpl
    def headworks_rollback(self, target, receipt):
        if receipt.steps:
            target.asked = dict(receipt.undo)
        return Receipt()


class Idle(Good):
    @hookimpl
    def headworks_execute(self, target, plan):
        return Receipt(undo=FrozenMap(target.running))


class Forgets(Good):
    @hookimpl
    def headworks_rollback(self, target, receipt):
        return Receipt()


class StopsAll(Good):
    @hookimpl
    def headworks_rollback(self, target, receipt):
        target.running = dict(receipt.undo)
        return Receipt()


class Toggles(Good):
    @hookimpl
    def headworks_rollback(self, target, receipt):
        if receipt.steps:
            target.running = {} if target.running == dict(receipt.undo) else dict(receipt.undo)
        return Receipt()


class Acts(Good):
    @hookimpl
    def headworks_preflight(self, target, plan):
        target.running = dict(plan.assignment)
        return ()


class Claims(Good):
    @hookimpl
    def headworks_execute(self, target, plan):
        receipt = Good.headworks_execute(self, target, plan)
        return attrs.evolve(receipt, done=True, steps=tuple(attrs.evolve(each, done=True) for each in receipt.steps))


class Raises(Good):
    @hookimpl
    def headworks_execute(self, target, plan):
        for slot in plan.assignment.values():
            target.nodes[slot.node]
        return Good.headworks_execute(self, target, plan)


class Contradicts(Good):
    @hookimpl
    def headworks_observe(self, target, window):
        seen = Good.headworks_observe(self, target, window)
        return attrs.evolve(seen, topologies=seen.topologies * 2)


class OwnThread(Good):
    @hookimpl
    def headworks_observe(self, target, window):
        if threading.current_thread() is not threading.main_thread():
            raise EngineError("observed from a strange thread")
        return Good.headworks_observe(self, target, window)


class Slow(Good):
    @hookimpl
    def headworks_observe(self, target, window):
        target.now = getattr(target, "now", 0.0) + 1_000.0
        target.clock, target.wait = (lambda: target.now), (lambda _seconds: None)
        return Good.headworks_observe(self, target, window)


class Blind(Good):
    @hookimpl
    def headworks_open(self, application, address):
        machine = Machine()
        machine.fail_node = lambda _node: None
        return contextlib.nullcontext(machine)


class Endless(Good):
    @hookimpl
    def headworks_open(self, application, address):
        machine = Machine()
        machine.end = lambda: None
        return contextlib.nullcontext(machine)


class Prints(Good):
    @hookimpl
    def headworks_preflight(self, target, plan):
        os.write(1, b"native words\n")
        return ()


class LeavesProcess(Good):
    @hookimpl
    def headworks_open(self, application, address):
        LEFT.append(subprocess.Popen([sys.executable, "-c", "import time; time.sleep(600)"]))
        return contextlib.nullcontext(Machine())


class LeavesThread(Good):
    @hookimpl
    def headworks_open(self, application, address):
        threading.Thread(target=RELEASE.wait, name="left-over", daemon=True).start()
        return contextlib.nullcontext(Machine())


class LeavesPort(Good):
    @hookimpl
    def headworks_open(self, application, address):
        LEFT.append(socket.create_server(("127.0.0.1", 0)))
        return contextlib.nullcontext(Machine())


class Once(Good):
    opened = False

    @hookimpl
    def headworks_open(self, application, address):
        if self.opened:
            raise EngineError("the port is taken")
        self.opened = True
        return contextlib.nullcontext(Machine())


LEFT, RELEASE = [], threading.Event()


@pytest.fixture(autouse=True)
def nothing_is_left():
    yield
    RELEASE.set()
    for each in LEFT:
        if isinstance(each, socket.socket):
            each.close()
        else:
            each.kill()
            each.wait()
    LEFT.clear()
    RELEASE.clear()


def report(engine):
    host = PluginHost().with_plugin("engine", engine)
    return conform_engine(EngineTrial(engine="engine", window=0.01, patience=0.3), host)


@pytest.mark.parametrize("engine", [Good(), Deals()], ids=["keeps tasks", "deals them out anew"])
def test_a_good_engine_keeps_every_rule(engine):
    found = report(engine)
    assert [row.rule for row in found.rules] == [rule.id for rule in ENGINE_RULES]
    assert [(row.rule, row.detail) for row in found.rules if row.status is not Outcome.OK] == []
    assert found.passed


@pytest.mark.parametrize(
    ("engine", "rules", "said"),
    [
        (Idle, {"starts"}, "3 of 3 tasks"),
        (Forgets, {"executes", "rollback-twice", "impossible-step"}, "after the rollback"),
        (StopsAll, {"rollback-of-nothing"}, "receipt of nothing"),
        (Toggles, {"rollback-twice"}, "after two rollbacks"),
        (Acts, {"preflight"}, "which is to have no effect"),
        (Claims, {"impossible-step"}, "no step of the receipt"),
        (Raises, {"impossible-step"}, "raised KeyError"),
        (OwnThread, {"observes"}, "strange thread"),
        (Slow, {"window"}, "its budget is 30 s"),
        (Blind, {"node-lost"}, "is still observed"),
        (Endless, {"ended"}, "is still observed"),
        (Prints, {"quiet"}, "native words"),
        (LeavesProcess, {"closes", "opens-again"}, "process "),
        (LeavesThread, {"closes", "opens-again"}, "thread left-over"),
        (LeavesPort, {"closes", "opens-again"}, "port 127.0.0.1:"),
        (Once, {"opens-again"}, "the port is taken"),
        (Contradicts, {"observes"}, "'t'"),
    ],
)
def test_a_fault_is_found_by_the_rule_that_is_about_it(engine, rules, said):
    failed = {row.rule: row.detail for row in report(engine()).rules if row.status is Outcome.FAILED}
    assert rules <= set(failed)
    assert any(said in detail for detail in failed.values()), failed


def test_an_engine_without_a_way_to_fail_a_node_says_so():
    plain = attrs.make_class("Plain", ["nodes", "running", "over"])

    class Unable(Good):
        @hookimpl
        def headworks_open(self, application, address):
            machine = Machine()
            return contextlib.nullcontext(plain(machine.nodes, machine.running, over=False))

    rows = {row.rule: row for row in report(Unable()).rules}
    assert rows["node-lost"].status is rows["ended"].status is Outcome.SKIPPED
    assert "fail_node(node)" in rows["node-lost"].detail

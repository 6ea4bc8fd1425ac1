"""Trial of an engine: what is opened, and a session in which each hook is called as the control loop calls it."""

from __future__ import annotations

import contextlib
import os
import sys
import tempfile
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager
from typing import TYPE_CHECKING, Any, TypeVar

import attrs

from headworks.control.journal import compare_assignments
from headworks.model import FrozenMap, Request, Status
from headworks.model.validate import check_request
from headworks.problem import Problem
from headworks.testing.engines.footprint import Footprint
from headworks.testing.rule import SkipRule

if TYPE_CHECKING:
    from collections.abc import Iterator

    from headworks.model import Observation, Plan, Receipt, Slot
    from headworks.plugins.host import PluginHost

T = TypeVar("T")


@attrs.frozen(kw_only=True)
class EngineTrial:
    """One engine to try, and what its author knows of it.

    Attributes:
        engine: Name of the plugin.
        application: What runs on it: at least two nodes, and room for a task to move. It prints nothing.
        address: Address of a running engine; None starts one.
        window: Seconds that an observation measures.
        budget: Seconds that an observation may take beyond its window.
        patience: Seconds within which a node that is lost has to be missing in an observation, and within which what
            the engine started has to be gone.
        opener: Opens the engine, in place of the plugin's `headworks_open`, where it is reached in another way.
        fail_node: Ends a node, given the target and the node's id, as if its machine died; None takes the target's
            method `fail_node(node)`, where it has one.
        end: Ends the application, given the target; None takes the target's method `end()`, where it has one.
    """

    engine: str
    application: tuple[str, ...] = ()
    address: str | None = None
    window: float = 5.0
    budget: float = 30.0
    patience: float = 60.0
    opener: Callable[[], AbstractContextManager[Any]] | None = None
    fail_node: Callable[[Any, str], None] | None = None
    end: Callable[[Any], None] | None = None


class Session:
    """An open engine: its hooks, what they printed, how long they took and what was started meanwhile."""

    def __init__(self, host: PluginHost, trial: EngineTrial) -> None:
        """Remember what to open; nothing is called yet."""
        self.host = host
        self.trial = trial
        self.printed: list[str] = []
        self.before = self.seen = Footprint.now()
        self.target: Any = None
        self._stack = contextlib.ExitStack()

    def open(self) -> None:
        """Reach the engine."""
        self.before = self.seen = Footprint.now()
        trial = self.trial
        opened = (
            self.host.open(trial.engine, trial.application, trial.address) if trial.opener is None else trial.opener()
        )
        self.target = self._stack.enter_context(opened)
        self.look()

    def close(self) -> tuple[str, ...]:
        """Leave the engine; what of it is still there when patience is over, a sentence each."""
        self.look()
        self._stack.close()
        return self.seen.left(self.before, self.trial.patience)

    def look(self) -> None:
        """Remember which processes there are, for those that a parent's end takes out of sight."""
        self.seen = self.seen.joined(Footprint.now())

    def clock(self) -> float:
        """Seconds of the engine's own time, if it has one."""
        tell: Callable[[], float] = getattr(self.target, "clock", time.monotonic)
        return tell()

    def observe(self, window: float | None = None) -> Observation:
        """Look at the engine, from another thread than the one that opened it.

        Args:
            window: Seconds to measure; those of the trial by default.
        """
        window = self.trial.window if window is None else window
        host, trial = self.host, self.trial
        with ThreadPoolExecutor(1) as pool:
            return self._call("observe", pool.submit(host.observe, trial.engine, self.target, window).result)

    def request(self) -> Request:
        """The request that an observation makes, checked as the control loop checks it."""
        request = Request.of(self.observe())
        check_request(request)
        return request

    def preflight(self, plan: Plan) -> tuple[str, ...]:
        """Sentences on what the engine does not enforce of a plan."""
        host, trial = self.host, self.trial
        return tuple(self._call("preflight", lambda: host.preflight(trial.engine, self.target, plan)))

    def keeps(self, plan: Plan) -> bool:
        """True if tasks stay where a plan has them without being asked to."""
        host, trial = self.host, self.trial
        return self._call("keeps", lambda: host.keeps(trial.engine, self.target, plan))

    def execute(self, plan: Plan) -> Receipt:
        """Carry out a plan."""
        host, trial = self.host, self.trial
        return self._call("execute", lambda: host.execute(trial.engine, self.target, plan))

    def rollback(self, receipt: Receipt) -> Receipt:
        """Take back what a receipt says was done."""
        host, trial = self.host, self.trial
        return self._call("rollback", lambda: host.rollback(trial.engine, self.target, receipt))

    def astray(self, wanted: FrozenMap[str, Slot]) -> str:
        """The tasks that are seen elsewhere than on the nodes where they are wanted, as a sentence; "" if none is."""
        check = compare_assignments(wanted, self.request().assignment)
        some = ", ".join(check.missed[:3])
        return f"{len(check.missed)} of {check.asked} tasks ({some}) are not seen there" if check.missed else ""

    def fault(self) -> Callable[[str], None] | None:
        """Ends a node by its id; None where nothing can."""
        given, target = self.trial.fail_node, self.target
        if given is None:
            return getattr(target, "fail_node", None)
        return lambda node: given(target, node)

    def ending(self) -> Callable[[], None] | None:
        """Ends the application; None where nothing can."""
        given, target = self.trial.end, self.target
        return getattr(target, "end", None) if given is None else lambda: given(target)

    def pause(self) -> None:
        """Let a second of the engine's time pass."""
        getattr(self.target, "wait", time.sleep)(1.0)

    def _call(self, hook: str, call: Callable[[], T]) -> T:
        with _reading_descriptor() as read:
            try:
                return call()
            finally:
                if text := read():
                    self.printed.append(f"headworks_{hook} printed {text!r:.80}")
                if hook == "execute":  # a look costs milliseconds, and who starts processes later does so here
                    self.look()


@contextlib.contextmanager
def _reading_descriptor() -> Iterator[Callable[[], str]]:
    """Read what is written to descriptor 1 meanwhile, by native code and other processes too; it goes to stderr."""
    sys.stdout.flush()
    kept = os.dup(1)
    with tempfile.TemporaryFile() as file:

        def read() -> str:
            file.seek(0)
            return file.read(1_000).decode(errors="replace")

        os.dup2(file.fileno(), 1)
        try:
            yield read
        finally:
            os.dup2(kept, 1)
            os.close(kept)
            sys.stderr.write(read())


def placing(request: Request) -> Plan:
    """A plan that leaves what runs where it is, and puts each other task on the first node with room for it.

    Raises:
        SkipRule: A task has no room.
    """
    problem = Problem.of(request)
    room = problem.room(problem.current)
    for task in (room.node_of < 0).nonzero()[0].tolist():
        nodes = room.fits(task).nonzero()[0]
        if not nodes.size:
            raise SkipRule(f"no node has room for {problem.task_ids[task]}: give an application with room")
        room.place(task, int(nodes[0]))
    return problem.plan(room.node_of)


def moving(request: Request) -> Plan:
    """A plan that moves as many running tasks as there is room for to the next node, at least one.

    Raises:
        SkipRule: No task has room on another node.
    """
    problem = Problem.of(request)
    free = (problem.fixed < 0) & (problem.current >= 0)
    turned = problem.current.copy()
    turned[free] = (turned[free] + 1) % max(problem.m, 1)
    tries = [turned]
    for task in free.nonzero()[0].tolist():
        for node in range(problem.m):
            one = problem.current.copy()
            one[task] = node
            tries.append(one)
    for nodes in tries:
        plan = problem.plan(nodes)
        if plan.status is Status.OK and any(each.source is not None for each in plan.moves):
            return plan
    raise SkipRule(
        f"none of {int(free.sum())} tasks that run and may move has room on another of {problem.m} nodes: "
        "give an application with two nodes and room"
    )

"""An engine whose state is a file, so that it outlives a manager that is killed; faults where a test asks for them."""

from __future__ import annotations

import json

from headworks.errors import EngineError
from headworks.model import Backlog, FrozenMap, Receipt, Slot, Steering, Step

OLD = {"event-1-7/c/0": Slot("a", 1), "archive-2-7/c/0": Slot("b", 1), "asleep-3-7/c/0": Slot("b", 2)}
NEW = {"event-1-7/c/0": Slot("b", 1), "archive-2-7/c/0": Slot("a", 1), "asleep-3-7/c/0": Slot("a", 2)}
ASLEEP = "asleep-3-7"
"""A topology that a person has deactivated: it is to stay so."""
NAMES = ("archive-2-7", ASLEEP, "event-1-7")


class FileEngine:
    """The intake of three topologies, and their assignment.

    Attributes:
        path: The file.
        tick: Called before and after every effect.
        faults: Errors by method, each for so many calls.
        left: Tuples under way by topology, one fewer with each look.
        silent: Looks for which its workers do not report.
    """

    cluster = "file"

    def __init__(self, path, tick=lambda what: None, *, left=None):
        self.path, self.tick, self.faults, self.left = path, tick, {}, dict(left or {})
        self.silent = 0
        if not path.exists():
            self._write({"active": sorted({*NAMES} - {ASLEEP}), "slots": _plain(OLD), "calls": []})

    @property
    def state(self):
        return json.loads(self.path.read_text())

    @property
    def active(self):
        return set(self.state["active"])

    @property
    def slots(self):
        return {task: Slot(*slot) for task, slot in self.state["slots"].items()}

    def _write(self, state):
        self.path.with_suffix(".new").write_text(json.dumps(state))
        self.path.with_suffix(".new").replace(self.path)

    def _do(self, what, change):
        self.tick(f"before {what}")
        if self.faults.get(what, 0):
            self.faults[what] -= 1
            raise EngineError(f"{what} is refused")
        state = self.state
        change(state)
        state["calls"].append(what)
        self._write(state)
        self.tick(f"after {what}")

    def backlog(self, topologies):
        self.tick("before backlog")
        if self.faults.get("backlog", 0):
            self.faults["backlog"] -= 1
            raise EngineError("backlog is refused")
        left = {name: max(0, self.left.get(name, 0)) for name in topologies}
        self.left = {name: count - 1 for name, count in self.left.items()}
        gone = self.state.get("gone", [])
        if self.silent:
            self.silent -= 1
            return {name: Backlog(active=name in self.active, why="no report") for name in topologies}
        return {name: Backlog(active=name in self.active, tuples=left[name]) for name in topologies if name not in gone}

    def pause(self, topology):
        self._do("pause", lambda state: state.update(active=[each for each in state["active"] if each != topology]))

    def resume(self, topology):
        self._do("resume", lambda state: state.update(active=sorted({*state["active"], topology})))

    def execute(self):
        undo = FrozenMap(self.slots)
        assert not {*NAMES} & self.active, "tasks moved while their topology was active"
        self._do("execute", lambda state: state.update(slots=_plain(NEW)))
        steps = (Step(action="assign", subject="nimbus", message="stored"), Step(action="alive", subject="workers"))
        return Receipt(steps=steps, undo=undo)

    def rollback(self, receipt):
        assert not {*NAMES} & self.active or self.slots == receipt.undo, "tasks moved back while active"
        self._do("rollback", lambda state: state.update(slots=_plain(receipt.undo)))
        return Receipt()

    @property
    def steering(self):
        return Steering(intake=self, rollback=self.rollback)


def _plain(slots):
    return {task: [slot.node, slot.port] for task, slot in slots.items()}

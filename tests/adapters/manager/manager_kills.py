"""A manager that is killed at each of its moments in turn, each time in a process of its own."""

from __future__ import annotations

import json
import os
import signal
import sys
from pathlib import Path

from headworks.model import Change, Drain, FrozenMap
from headworks_manager.database.connection import opened
from headworks_manager.database.reschedulings import Reschedulings
from headworks_manager.database.store import Author, Store
from headworks_manager.reschedule import Rescheduler
from manager_engine import NAMES, OLD, FileEngine


class Ticking(Reschedulings):
    """The database, with a moment before each transaction and one after it."""

    def __init__(self, engine, tick):
        super().__init__(engine)
        self.tick = tick

    def begin(self, *arguments):
        self.tick("before begin")
        made = super().begin(*arguments)
        self.tick("after begin")
        return made

    def write(self, *arguments):
        self.tick("before write")
        made = super().write(*arguments)
        self.tick("after write")
        return made


def manage(url, file, kill, *, broken):
    """Carry one change out, and be killed at the moment of this number; the moment is written down before."""
    ticks = iter(range(10**6))

    def tick(what):
        if next(ticks) == kill:
            file.with_suffix(".killed").write_text(what)
            os.kill(os.getpid(), signal.SIGKILL)

    with opened(url) as engine:
        machine = FileEngine(file, tick, left={"event-1-7": 2})
        machine.faults = {"execute": 1} if broken else {}
        change = Change(topologies=NAMES, before=FrozenMap(OLD), execute=machine.execute)
        Rescheduler(Ticking(engine, tick), machine.steering).carry_out(change, Drain(60.0))


def moment(folder, kill, *, broken):
    """One manager that is killed, and what another one finds and leaves behind."""
    folder.mkdir()
    url, file = str(folder / "manager.sqlite"), folder / "engine.json"
    with opened(url) as engine:
        Store(engine).set("event", {}, Author(who="ann"))
    if (child := os.fork()) == 0:
        try:
            manage(url, file, kill, broken=broken)
        finally:
            os._exit(0)
    status = os.waitpid(child, 0)[1]
    machine = FileEngine(file)
    with opened(url) as engine:
        kept = Reschedulings(engine)
        said = Rescheduler(kept, machine.steering).recover()
        again = Rescheduler(kept, machine.steering).recover()
        verdicts = [each.verdict for each in Store(engine).history("event", limit=99) if each.action == "reschedule"]
    return {
        "killed": file.with_suffix(".killed").read_text() if os.WIFSIGNALED(status) else "",
        "said": said,
        "again": again,
        "active": sorted(machine.active),
        "slots": machine.state["slots"],
        "verdicts": verdicts[::-1],
    }


if __name__ == "__main__":
    for broken in (False, True):
        for number in range(99):
            found = moment(Path(sys.argv[1], f"{broken}-{number}"), number, broken=broken)
            sys.stdout.write(json.dumps({"broken": broken, **found}) + "\n")
            if not found["killed"]:
                break

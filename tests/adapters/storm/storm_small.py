"""A small Storm by hand: rounds as Nimbus writes them, workers that report over real sockets, each with a pid."""

from __future__ import annotations

import contextlib
import itertools
import json
import threading
import time
import zlib
from typing import TYPE_CHECKING, Any, Self

from headworks.model import Slot
from storm_reports import Worker, report_line
from storm_rounds import component, round_text, supervisor, topology

if TYPE_CHECKING:
    from headworks_storm.nimbus.rounds import Rounds

BEAT = 0.05
"""Seconds between two rounds, and between two reports."""


class SmallStorm:
    """Nimbus and its supervisors in a thread: a slot whose executors change has a new worker, with a new pid.

    Attributes:
        places: Slot by topology and executor (a task number), as Nimbus stores it.
        pids: Process by topology and slot; a restart gives another one.
        deaf: Topologies without hooks. `mute`: nodes on which no worker may report. `silent`: tasks without a report.
        broken: Nodes on which no worker starts.
        late: Nodes whose workers go on sending to where executors were before; `untold`: those that do not tell.
        status: Sentences by topology in the last answer.
        settings: Nimbus's own, in seconds.
    """

    def __init__(self, rounds: Rounds, collector: tuple[str, int], token: str, places: dict[str, list[Slot]]) -> None:
        self.rounds, self.collector, self.token = rounds, collector, token
        self.places = {(name, task): slot for name, slots in places.items() for task, slot in enumerate(slots, 1)}
        self.names = sorted(places)
        self.nodes = ("s1", "s2", "s3")
        self.pids: dict[tuple[str, Slot], int] = {}
        self.deaf: set[str] = set()
        self.mute: set[str] = set()
        self.silent: set[tuple[str, int]] = set()
        self.broken: set[str] = set()
        self.late: set[str] = set()
        self.untold: set[str] = set()
        self.settings = {"nimbus.monitor.freq.secs": 1, "nimbus.task.launch.secs": 1, "nimbus.task.timeout.secs": 1}
        self.settings["supervisor.worker.start.timeout.secs"] = 1
        self.moves = 0
        self._before: dict[tuple[str, Slot], frozenset[int]] = {}
        self._first = dict(self.places)
        self.asking = True
        self.status: dict[str, str] = {}
        self._numbers = itertools.count(1)
        self._pids = itertools.count(100)
        self._callers: dict[tuple[str, Slot], Worker] = {}
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._run, daemon=True)

    def __enter__(self) -> Self:
        self._supervise()
        self._thread.start()
        return self

    def __exit__(self, *_error: object) -> None:
        self._stop.set()
        self._thread.join()
        for worker in self._callers.values():
            worker.__exit__()

    def _run(self) -> None:
        while not self._stop.wait(BEAT):
            if self.asking:
                self._apply(json.loads(self.rounds.answer(self.text())))
            self._supervise()
            self._report()

    def text(self) -> str:
        """The round as Nimbus writes it."""
        made = []
        for name in self.names:
            tasks = [task for each, task in sorted(self.places) if each == name]
            slots = sorted({self.places[name, task] for task in tasks})
            parts = [component("x", [number for task in tasks for number in (task, task)], kind="spout")]
            at = [slots.index(self.places[name, task]) for task in tasks]
            made.append(topology(name, *parts, slots=[(each.node, each.port) for each in slots], assignment=at))
        offered = [supervisor(each, ports=(6700, 6701)) for each in self.nodes]
        return round_text(offered, made, number=next(self._numbers), settings=self.settings)

    def _apply(self, answer: dict[str, Any]) -> None:
        self.status = answer["status"]
        for name, workers in answer.get("topologies", {}).items():
            for node, port, flat in workers:
                for task in flat[::2]:
                    self.moves += self.places[name, task] != Slot(node, port)
                    self.places[name, task] = Slot(node, port)

    def workers(self) -> dict[tuple[str, Slot], frozenset[int]]:
        """Executors by topology and slot."""
        sets: dict[tuple[str, Slot], set[int]] = {}
        for (name, task), slot in self.places.items():
            sets.setdefault((name, slot), set()).add(task)
        return {worker: frozenset(tasks) for worker, tasks in sets.items()}

    def restart(self, name: str) -> None:
        """Let the supervisors start the workers of a topology once more."""
        self._before = {worker: tasks for worker, tasks in self._before.items() if worker[0] != name}

    def _routes(self, name: str, node: str) -> dict[str, Any] | None:
        if node in self.untold:
            return None
        places = self._first if node in self.late else self.places
        lines = [f"{task} {slot}" for (topology, task), slot in places.items() if topology == name]
        return {"to": [1], "digest": sum(zlib.crc32(line.encode()) for line in lines)}

    def _supervise(self) -> None:
        now = self.workers()
        before = self._before
        for worker in before.keys() | now.keys():
            if before.get(worker) != now.get(worker):
                self.pids.pop(worker, None)
                if (caller := self._callers.pop(worker, None)) is not None:
                    caller.__exit__()
                if worker in now and worker[1].node not in self.broken:
                    self.pids[worker] = next(self._pids)
        self._before = now

    def _report(self) -> None:
        for (name, slot), pid in self.pids.items():
            if name in self.deaf or slot.node in self.mute:
                continue
            tasks = sorted(self.workers()[name, slot])
            rows = [[task, 0, 1, 0, 0, 0, 0] for task in tasks if (name, task) not in self.silent]
            if (name, slot) not in self._callers:
                self._callers[name, slot] = Worker(self.collector, self.token, name)
            caller = self._callers[name, slot]
            head = {"topology": name, "supervisor": slot.node, "port": slot.port, "started": pid}
            with contextlib.suppress(OSError):
                caller.report(
                    report_line(
                        **head,
                        number=caller.number + 1,
                        time=int(1000 * time.time()),
                        tasks=rows,
                        flows=[],
                        executors=[],
                        routes=self._routes(name, slot.node),
                    )
                )

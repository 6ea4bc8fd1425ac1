"""The engine itself: worker processes, and the switch that hands numbers from one to another."""

from __future__ import annotations

import contextlib
import json
import subprocess
import sys
import threading
import time
from collections import Counter, defaultdict
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Mapping

    from headworks.model import Slot

PATIENCE = 10.0
"""Seconds that a worker may take to stop a task. If smaller, a busy machine makes steps fail."""


class Processes:
    """Worker processes by node.

    Attributes:
        running: Slot of each task that runs.
        state: State of each task when it last stopped.
        sent: Numbers that a task has sent to another one so far.
        workers: Process of each node.
    """

    def __init__(self, nodes: int) -> None:
        """Start one process a node."""
        self.running: dict[str, Slot] = {}
        self.sent: Counter[tuple[str, str]] = Counter()
        self.workers: dict[str, subprocess.Popen[str]] = {}
        self.state: dict[str, int] = {}
        self._waiting: defaultdict[str, list[Any]] = defaultdict(list)
        self._changed = threading.Condition()
        self._readers: list[threading.Thread] = []
        for number in range(nodes):
            self._start(f"n{number}")

    def move(self, task: str, slot: Slot | None) -> str:
        """Stop a task where it runs, and start it with its state at a slot; why not, "" if it did.

        Args:
            task: Id of the task.
            slot: The slot that it goes to; None stops it.
        """
        with self._changed:
            if slot is not None and slot.node not in self.workers:
                return f"there is no node {slot.node}"
            source = self.running.get(task)
            if source == slot:
                return ""
            if source is not None:
                self._order(source.node, {"stop": task})
                if not self._changed.wait_for(lambda: task not in self.running, PATIENCE):
                    return f"it does not stop on {source.node}"
            if slot is not None:
                self.running[task] = slot
                self._order(slot.node, {"start": task, "state": self.state.get(task, 0)})
                for waiting in self._waiting.pop(task, []):
                    self._order(slot.node, waiting)
            return ""

    def fail_node(self, node: str) -> None:
        """End a node as if its machine died; the engine contract calls this."""
        self.workers[node].kill()

    def end(self) -> None:
        """End every process, and wait for it. One whose engine is killed ends by itself: its stdin closes."""
        for worker in list(self.workers.values()):
            worker.kill()
        for reader in self._readers:
            reader.join()

    def rates(self, window: float) -> dict[tuple[str, str], float]:
        """Numbers a second between two tasks, counted for some seconds."""
        before = Counter(self.sent)
        time.sleep(window)
        return {pair: (count - before[pair]) / window for pair, count in dict(self.sent).items()}

    def _start(self, node: str) -> None:
        command = [sys.executable, "-m", "headworks_pool.worker"]
        worker = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        self.workers[node] = worker
        reader = threading.Thread(target=self._read, args=(node, worker), name=f"reader-{node}", daemon=True)
        self._readers.append(reader)
        reader.start()

    def _read(self, node: str, worker: subprocess.Popen[str]) -> None:
        assert worker.stdout is not None
        assert worker.stdin is not None
        for line in worker.stdout:
            with self._changed:
                self.hear(json.loads(line))
        with self._changed:  # it has ended, and what ran there with it
            del self.workers[node]
            self.running = {task: slot for task, slot in self.running.items() if slot.node != node}
            self._changed.notify_all()
        worker.stdout.close()
        worker.wait()
        with self._changed, contextlib.suppress(OSError):  # what it was not told any more
            worker.stdin.close()

    def hear(self, said: Mapping[str, Any]) -> None:
        """Take what a worker says: a task that stopped with its state, or a number on its way to another task."""
        if "stopped" in said:
            self.state[said["stopped"]] = said["state"]
            self.running.pop(said["stopped"], None)
            self._changed.notify_all()
            return
        self.sent[said["from"], said["to"]] += 1
        slot = self.running.get(said["to"])
        if slot is None:  # it is about to run elsewhere: nothing is lost
            self._waiting[said["to"]].append({"to": said["to"], "number": said["number"]})
        else:
            self._order(slot.node, {"to": said["to"], "number": said["number"]})

    def _order(self, node: str, order: Mapping[str, Any]) -> None:
        worker = self.workers.get(node)
        if worker is None or worker.stdin is None:
            return
        try:
            worker.stdin.write(json.dumps(order) + "\n")
            worker.stdin.flush()
        except OSError:  # it is ending: its reader notices
            return

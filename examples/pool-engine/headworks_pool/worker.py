"""One worker process: orders and numbers come as lines of JSON on stdin, what its tasks send leaves on stdout."""

from __future__ import annotations

import json
import queue
import sys
import threading
import time
from typing import Any

TICK = 0.02
"""Seconds between two numbers of a source. If larger, there is less to measure."""
NEXT = {"source": "double", "double": "total"}
"""The component to which each sends its numbers; `total` keeps its sum."""


def _read(orders: queue.SimpleQueue[Any]) -> None:
    for line in sys.stdin:
        orders.put(json.loads(line))
    orders.put(None)  # the engine has gone, however it ended


def _send(task: str, number: int) -> None:
    topology, component, _ = task.split("/")
    if component in NEXT:
        sent = {"from": task, "to": f"{topology}/{NEXT[component]}/{number % 2}", "number": number}
        print(json.dumps(sent), flush=True)


def main() -> None:
    """Run tasks until stdin is closed. The state of a task is a number, which moves with it."""
    orders: queue.SimpleQueue[Any] = queue.SimpleQueue()
    threading.Thread(target=_read, args=(orders,), daemon=True).start()
    state: dict[str, int] = {}
    due = time.monotonic()
    while True:
        try:
            order = orders.get(timeout=max(due - time.monotonic(), 0.0))
        except queue.Empty:
            due += TICK
            for task in [each for each in state if "/source/" in each]:
                state[task] += 1
                _send(task, state[task])
            continue
        if order is None:
            return
        if "start" in order:
            state[order["start"]] = order["state"]
        elif "stop" in order:
            print(json.dumps({"stopped": order["stop"], "state": state.pop(order["stop"], 0)}), flush=True)
        elif order["to"] in state:
            state[order["to"]] += order["number"]
            _send(order["to"], 2 * order["number"])


if __name__ == "__main__":
    main()

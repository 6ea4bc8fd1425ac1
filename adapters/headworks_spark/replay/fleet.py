"""The logs of a folder, each judged in a process of a pool: a pass that goes on where one before it was ended."""

from __future__ import annotations

import json
import multiprocessing
import os
import signal
import threading
from collections import deque
from concurrent.futures import FIRST_COMPLETED, ProcessPoolExecutor, wait
from concurrent.futures.process import BrokenProcessPool
from functools import cache, partial
from pathlib import Path
from typing import TYPE_CHECKING

import attrs

from headworks import PluginHost
from headworks.errors import DocumentError
from headworks_spark.events.logfiles import logs_below
from headworks_spark.replay.verdict import Verdict, judged

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence
    from concurrent.futures import Future
    from multiprocessing.process import BaseProcess

ROWS = "rows.jsonl"
"""File of the output to which each verdict is added at once."""


def cores() -> int:
    """Cores that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def judge_all(folder: str, output: Path, schedulers: Sequence[str], told: Callable[[int, int], None]) -> list[Verdict]:
    """A verdict on each log of a folder; those that an earlier pass wrote to the output, on logs as they are, stay.

    Args:
        folder: A path, or a URL such as `s3a://BUCKET/LOGS`.
        told: Called with the number of verdicts that are there, and of logs.

    Raises:
        DocumentError: There is no log, or the output cannot be written.
        EngineError: The object store cannot be reached, or refuses.
    """
    there = logs_below(folder)
    if not there:
        raise DocumentError("", f"{folder} holds no event log: expected files, or folders with files events_1_...")
    asked = ", ".join(schedulers)
    try:
        output.mkdir(parents=True, exist_ok=True)
        known = {
            each.log: each
            for each in _written(output / ROWS)
            if each.asked == asked and there.get(each.log) == (each.size, each.changed) and not _may_mend(each)
        }
        judge = partial(_judge, schedulers=tuple(schedulers))
        with (output / ROWS).open("a", encoding="utf-8") as rows:
            rows.write("\n" if rows.tell() else "")  # its last line may be cut off
            for verdict in _in_processes([log for log in there if log not in known], judge):
                size, changed = there[verdict.log]
                known[verdict.log] = attrs.evolve(verdict, size=size, changed=changed, asked=asked)
                rows.write(json.dumps(attrs.asdict(known[verdict.log])) + "\n")
                rows.flush()
                told(len(known), len(there))
    except OSError as error:
        raise DocumentError("", f"{output} cannot be written: {error}") from None
    return list(known.values())


def _may_mend(verdict: Verdict) -> bool:
    """True for a fault that the store may have been the reason of."""
    return bool(verdict.fault) and not Path(verdict.log).exists()


def _written(rows: Path) -> Iterator[Verdict]:
    """What an earlier pass wrote; its last line may be cut off."""
    lines = rows.read_text(encoding="utf-8", errors="replace").splitlines() if rows.is_file() else []
    for line in lines:
        try:
            document = json.loads(line)
            yield Verdict(**document | {"marks": tuple(document["marks"])})
        except (ValueError, TypeError, KeyError):
            continue


def _in_processes(waiting: Iterable[str], judge: Callable[[str], Verdict]) -> Iterator[Verdict]:
    """Verdicts in the order in which they come. A log at which a process dies is tried once more, alone."""
    left, suspects = deque(waiting), list[str]()
    while left:
        with _pool(cores()) as pool:
            running: dict[Future[Verdict], str] = {}
            try:
                while left or running:
                    while left and len(running) < 2 * cores():
                        # A broken pool refuses, and the log has to be there still.
                        running[pool.submit(judge, left[0])] = left[0]
                        left.popleft()
                    for done in wait(running, return_when=FIRST_COMPLETED).done:
                        verdict = done.result()
                        del running[done]
                        yield verdict
            except BrokenProcessPool:
                suspects += running.values()
    for log in suspects:
        yield _alone(log, judge)


def _alone(log: str, judge: Callable[[str], Verdict]) -> Verdict:
    with _pool(1) as pool:
        try:
            return pool.submit(judge, log).result()
        except BrokenProcessPool:
            return Verdict(log=log, fault="the process that read it died, as one does that needs too much memory")


def _pool(workers: int) -> ProcessPoolExecutor:
    # A fork would have the threads' locks of this process, and none of its threads.
    spawn = multiprocessing.get_context("spawn")
    return ProcessPoolExecutor(workers, mp_context=spawn, initializer=_begin)


def _begin() -> None:
    """A process ends with the one that started it, which may be killed, and leaves Ctrl-C to it."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    parent = multiprocessing.parent_process()
    if parent is not None:
        threading.Thread(target=_end_after, args=(parent,), daemon=True).start()


def _end_after(parent: BaseProcess) -> None:
    parent.join()
    os._exit(1)


def _judge(log: str, schedulers: tuple[str, ...]) -> Verdict:
    return judged(log, schedulers, _host())


@cache
def _host() -> PluginHost:
    return PluginHost.load()

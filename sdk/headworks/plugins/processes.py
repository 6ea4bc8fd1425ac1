"""Schedulers in processes of their own: native code that holds the interpreter, or crashes, ends there and alone.

A request goes out as a pickle, which this process alone writes; what comes back is JSON, read as any stranger's.
"""

from __future__ import annotations

import contextlib
import json
import logging
import os
import pickle
import select
import signal
import subprocess
import sys
import threading
from functools import partial
from typing import IO, TYPE_CHECKING, Any

from headworks.documents import restore
from headworks.documents.strict_json import parse
from headworks.errors import DocumentError
from headworks.interrupts import Terminated, dismiss
from headworks.model import Plan, Reason
from headworks.plugins.planning_time import STRETCH, PlanningTime, cpu_of
from headworks.plugins.sandbox import GRACE, Answer, no_answer, no_plan

if TYPE_CHECKING:
    from collections.abc import Mapping

    from headworks.model import Request


LOG = logging.getLogger("headworks.plugins")
PREPARED = 120.0
"""Seconds for the start of a process, the import of its scheduler and `headworks_prepare`."""
MARGIN = 0.5
"""Seconds after the deadline at which a process is ended; before, a scheduler that lets Python run is told to end."""
WRITTEN = 60.0
"""Seconds for a plan that is made to arrive."""
LARGEST = 2**30
"""Bytes of an answer at most."""
PIPE = 2**16
"""Bytes that are written at a time. With more, a write to a process that does not read may wait for ever."""
IDLE = 2
"""Processes of a scheduler that wait for the next round: that of the loop, and that of the engine's own rounds."""


class SchedulerProcesses:
    """Processes in which schedulers that are installed are asked; one that fails is ended, and another one started."""

    def __init__(self) -> None:
        """Start nothing yet."""
        self._idle: dict[str, list[_SchedulerProcess]] = {}
        self._lock = threading.Lock()
        self._closed = False

    def ask(
        self, name: str, request: Request, options: Mapping[str, Any], stretch: float = STRETCH, *, mind: bool = False
    ) -> Answer:
        """Answer of a scheduler.

        Args:
            name: Name of the scheduler, which its entry point has.
            stretch: Times the deadline that it may take by the clock.
            mind: Whether Ctrl-C asks it for its best plan so far.
        """
        try:
            process = self._take(name)
        except OSError as error:
            return _held("isolation", name, f"cannot be asked in a process of its own ({error})")
        try:
            answer = process.ask(request, options, stretch, mind=mind)
        except BaseException:
            process.end()
            raise
        if process.fit:
            self._give_back(name, process)
        else:
            process.end()
            with contextlib.suppress(OSError):  # the next round says so
                self._give_back(name, _SchedulerProcess(name))  # its imports are over when the next round comes
        return answer

    def close(self) -> None:
        """End the processes. Idempotent; one that is being asked ends with its answer."""
        with self._lock:
            self._closed = True
            idle = [process for each in self._idle.values() for process in each]
            self._idle.clear()
        for process in idle:
            process.end()

    def _take(self, name: str) -> _SchedulerProcess:
        with self._lock:
            waiting = self._idle.get(name)
            if waiting:
                return waiting.pop()
        return _SchedulerProcess(name)

    def _give_back(self, name: str, process: _SchedulerProcess) -> None:
        with self._lock:
            waiting = self._idle.setdefault(name, [])
            keep = not self._closed and len(waiting) < IDLE
            if keep:
                waiting.append(process)
        if not keep:
            process.end()


class _SchedulerProcess:
    """One process; `fit` unless an answer, or the lack of one, says that it cannot be asked again."""

    def __init__(self, name: str) -> None:
        self.name, self.fit = name, True
        self._buffer, self._step = b"", "asked"
        self._process = subprocess.Popen(
            [sys.executable, "-m", "headworks.plugins.worker", name],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            bufsize=0,
            env={**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))},
            start_new_session=True,  # Ctrl-C is for this process, and a group can be ended whole
        )
        os.set_blocking(_descriptor(self._process.stdin), False)

    def ask(self, request: Request, options: Mapping[str, Any], stretch: float, *, mind: bool) -> Answer:
        """Answer of the scheduler; whatever goes wrong is a reason."""
        self._step = "asked"
        steps = _steps(request.limits.deadline, stretch)
        try:
            self._send(pickle.dumps((request, dict(options), stretch), pickle.HIGHEST_PROTOCOL), PREPARED)
            try:
                said = self._said(stretch, {step: seconds for step, (seconds, _) in steps.items()})
            except KeyboardInterrupt as interrupt:
                if not mind or self._step != "prepared" or isinstance(interrupt, Terminated):
                    raise
                said = self._early(interrupt)
            return self._read(said)
        except TimeoutError:
            self.fit = False
            return _held("deadline", self.name, f"{steps[self._step][1]}; its process is ended")
        except (OSError, EOFError):
            self.fit = False
            return _held("crashed", self.name, f"ended its process ({self._how()})")
        except DocumentError as error:
            self.fit = False
            return _held("answer", self.name, f"answered something that is no plan ({error})")

    def _said(self, stretch: float, seconds: Mapping[str, float]) -> dict[str, Any]:
        """The line that is the answer, after those that tell of steps."""
        while (said := self._line(self._time(stretch), seconds[self._step])) and said.get("step") in seconds:
            self._step = said["step"]
        return said

    def _early(self, interrupt: KeyboardInterrupt) -> dict[str, Any]:
        """The answer of a search that Ctrl-C is to end; there is none of a scheduler that cannot be ended."""
        dismiss()
        self._process.send_signal(signal.SIGINT)
        try:
            return self._said(1.0, {"prepared": GRACE, "decided": WRITTEN})
        except (TimeoutError, OSError, EOFError):
            raise interrupt from None

    def end(self) -> None:
        """End the process and what it started; idempotent."""
        with contextlib.suppress(ProcessLookupError):
            if self._process.returncode is None:
                os.killpg(self._process.pid, signal.SIGKILL)
        self._process.wait()
        for pipe in (self._process.stdin, self._process.stdout):
            if pipe is not None:
                pipe.close()

    def __del__(self) -> None:
        """End with who asks."""
        with contextlib.suppress(Exception):  # it may not have begun, or Python may be half gone
            self.end()

    def _send(self, job: bytes, seconds: float) -> None:
        time, pipe = PlanningTime(stretch=1.0), _descriptor(self._process.stdin)
        data = memoryview(len(job).to_bytes(8, "big") + job)
        while data:
            _await(pipe, select.POLLOUT, time, seconds)
            data = data[os.write(pipe, data[:PIPE]) :]

    def _time(self, stretch: float) -> PlanningTime:
        """Time of a step that begins now: by the clock, but while the scheduler plans."""
        if self._step != "prepared":
            return PlanningTime(stretch=1.0)
        return PlanningTime(stretch=stretch, cpu=partial(cpu_of, self._process.pid))

    def _line(self, time: PlanningTime, seconds: float) -> dict[str, Any]:
        """The next line of the answer."""
        pipe = _descriptor(self._process.stdout)
        parts, size = [self._buffer], 0
        while b"\n" not in parts[-1]:
            _await(pipe, select.POLLIN, time, seconds)
            parts.append(os.read(pipe, 2**20))
            size += len(parts[-1])
            if not parts[-1]:
                raise EOFError
            if size > LARGEST:
                raise DocumentError("", f"more than {LARGEST} bytes")
        line, _, self._buffer = b"".join(parts).partition(b"\n")
        said = parse(line)
        if not isinstance(said, dict):
            raise DocumentError("", "it is not an object")
        return said

    def _read(self, said: Mapping[str, Any]) -> Answer:
        if said.get("unfit"):  # a run that was abandoned is still going there
            self.fit = False
        if trace := said.get("traceback"):
            LOG.debug("%s: headworks_schedule raised\n%s", self.name, trace)
        if reasons := said.get("reasons"):
            return Answer(reasons=tuple(restore(each, Reason) for each in reasons))
        return Answer(plan=restore(said.get("plan"), Plan), early=bool(said.get("early")))

    def _how(self) -> str:
        """The way in which the process ended, in words."""
        with contextlib.suppress(subprocess.TimeoutExpired):
            self._process.wait(5)
        code = self._process.returncode
        if code is None:
            return "it closed its output"
        return f"signal {signal.Signals(-code).name}" if code < 0 else f"exit code {code}"


def _steps(deadline: float, stretch: float) -> dict[str, tuple[float, str]]:
    """Seconds that follow each step of a run, and what is late if they are over."""
    return {
        "asked": (PREPARED, f"is not prepared after {PREPARED:g} s"),
        "prepared": (deadline + MARGIN, no_answer(deadline, stretch)),
        "decided": (WRITTEN, f"made a plan that did not arrive within {WRITTEN:g} s"),
    }


def _descriptor(pipe: IO[bytes] | None) -> int:
    if pipe is None:  # never: both ends of each are pipes
        raise EOFError
    return pipe.fileno()


def _await(pipe: int, event: int, time: PlanningTime, seconds: float) -> None:
    ready = select.poll()  # `select` knows no descriptors from 1024 on, which a process with many peers has
    ready.register(pipe, event)
    while not ready.poll(min(time.left(seconds) * 1000, 2**31 - 1)):
        if not time.left(seconds):
            raise TimeoutError


def _held(code: str, name: str, message: str) -> Answer:
    return Answer(reasons=(no_plan(code, name, message),))


def as_line(said: Mapping[str, Any]) -> bytes:
    """One line of an answer."""
    return json.dumps(said, separators=(",", ":"), allow_nan=False).encode() + b"\n"

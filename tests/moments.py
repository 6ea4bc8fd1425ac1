"""Signals at random moments of a command, and whether anything is left of it."""

from __future__ import annotations

import contextlib
import os
import random
import signal
import subprocess
import time

import attrs

from shell import gone, running

NUMBERS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGKILL)
TIMES = int(os.environ.get("HEADWORKS_SIGNALS", "0"))
"""Moments of each command and each signal; 0 is the small sample of a usual run."""
SECONDS = 15 if TIMES else 90
"""After the signal, nothing that the command started may run for longer; a usual run may share its machine."""


@attrs.frozen
class End:
    """How a command ended: its exit code, what it said, and what was left of it."""

    code: int
    messages: str
    left: list

    @property
    def early(self):
        """Python itself had yet to begin: no line of Headworks's was run."""
        return "Traceback" in self.messages and "headworks" not in self.messages

    @property
    def clean(self):
        """A command that had yet to begin is ended by Python, which shows where."""
        return not self.left and (self.code < 0 or self.early or "Traceback" not in self.messages)


def ended(*words, folder, number, moment, down=(), **more):
    """Run a command, and send a signal after so many seconds, if it still runs then.

    A terminal sends its signals to the whole foreground process group, `kill` to one process. A command may leave
    something whole when it comes to its end, which the command `down` ends.
    """
    with running(*words, folder=folder, **more) as (process, mark):
        try:
            process.wait(moment)
        except subprocess.TimeoutExpired:
            if number in (signal.SIGINT, signal.SIGHUP):
                os.killpg(process.pid, number)
            else:
                process.send_signal(number)
        begin = time.monotonic()
        with contextlib.suppress(subprocess.TimeoutExpired):
            process.wait(SECONDS)
        if down and any(folder.rglob("cluster.json")):
            with running(*down, folder=folder, **more) as (other, _):
                other.wait(SECONDS)
            begin = time.monotonic()
        left = gone(mark, begin + SECONDS - time.monotonic())
        return End(process.poll(), "" if left else process.communicate(timeout=SECONDS)[1], left)


def draw(name, number, count, most):
    """Moments of a command, the same ones each time."""
    lots = random.Random(f"{name} {number}")
    return [lots.uniform(0, most) for _ in range(count)]


def moments(commands):
    """Commands, signals and moments for `pytest.mark.parametrize`: by default one signal a command, soon.

    Args:
        commands: Seconds within which a signal may come to a command, by its name.
    """
    if TIMES:
        return [
            (name, number, moment)
            for name, most in commands.items()
            for number in NUMBERS
            for moment in draw(name, number, TIMES, most)
        ]
    kinds = dict(zip(commands, random.Random("sample").sample(NUMBERS, len(commands)), strict=True))
    return [(name, number, moment) for name, number in kinds.items() for moment in draw(name, number, 1, SAMPLE)]


SAMPLE = 6.0
"""Seconds within which the signals of a usual run come."""

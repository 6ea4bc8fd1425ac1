"""Signals at random moments of a command: how, and that nothing is left of it."""

from __future__ import annotations

import os
import random
import signal
import subprocess

import attrs

from shell import gone, running

NUMBERS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGKILL)
SECONDS = 15
"""After the signal, nothing that the command started may run for longer."""
TIMES = int(os.environ.get("HEADGATE_SIGNALS", "0"))
"""Moments of each command and each signal; 0 is the small sample of a usual run."""


@attrs.frozen
class End:
    """How a command ended: its exit code, what it said, and what was left of it."""

    code: int
    messages: str
    left: list

    @property
    def clean(self):
        """A command that had yet to begin is ended by Python, which shows where."""
        return not self.left and (self.code < 0 or "Traceback" not in self.messages)


def ended(*words, folder, number, moment, **more):
    """Run a command, and send a signal after so many seconds, if it still runs then.

    A terminal sends its signals to the whole foreground process group, `kill` to one process.
    """
    with running(*words, folder=folder, **more) as (process, mark):
        messages = ""
        try:
            _, messages = process.communicate(timeout=moment)
        except subprocess.TimeoutExpired:
            if number in (signal.SIGINT, signal.SIGHUP):
                os.killpg(process.pid, number)
            else:
                process.send_signal(number)
            left = gone(mark, SECONDS)
            if not left:
                _, messages = process.communicate(timeout=SECONDS)
            return End(process.poll(), messages, left)
        return End(process.returncode, messages, [] if process.returncode == 0 else gone(mark, SECONDS))


def draw(name, number, count, most):
    """Moments of a command, the same ones each time."""
    lots = random.Random(f"{name} {number}")
    return [lots.uniform(0, most) for _ in range(count)]

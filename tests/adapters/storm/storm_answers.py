"""What a process beside Nimbus does in the tests of its faults; a process that is started anew imports it from here."""

from __future__ import annotations

import os
import signal
import time

from headworks.plugins.host import PluginHost
from headworks_storm.nimbus.bridge import Bridge
from headworks_storm.nimbus.rounds import Rounds

PLANNING = 0.3
"""Seconds that a process takes to answer: so long that kills hit it in the middle of a round."""


def keep_answering(endpoint, asked):
    """Answer rounds as `headworks serve storm` does, but slowly; the file `asked` exists while a round is answered."""
    host = PluginHost.load()
    rounds = Rounds(lambda request: host.schedule("even", request, {}))

    def slowly(text):
        asked.touch()
        time.sleep(PLANNING)
        answered = rounds.answer(text)
        asked.unlink()
        return answered

    with Bridge(slowly, endpoint):
        signal.pause()


def die_when_asked(endpoint, asked):
    """Die in the middle of a round."""

    def die(_text):
        asked.touch()
        os.kill(os.getpid(), signal.SIGKILL)

    with Bridge(die, endpoint):
        signal.pause()

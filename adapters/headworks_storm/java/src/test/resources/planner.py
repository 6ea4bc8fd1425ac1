"""A Python process that answers rounds as the tests ask it to: planner.py ENDPOINT BEHAVIOUR [FILE]."""

import json
import os
import sys
import time
from pathlib import Path

from headworks_storm.nimbus.bridge import Bridge


class Planner:
    """Answers each round by one behaviour."""

    def __init__(self, behaviour, file):
        self.behaviour = getattr(self, behaviour)
        self.file = file

    def answer(self, text):
        return self.behaviour(text)

    def hold(self, text):
        return self._answer(text, mode="hold", reason=f"pid {os.getpid()}")

    def fail(self, text):
        raise ValueError("no such luck")

    def die(self, text):
        os._exit(1)

    def hang(self, text):
        time.sleep(600)

    def nothing(self, text):
        return None

    def number(self, text):
        return 17

    def echo(self, text):
        """The answer in a file, with the numbers of the round.

        A second file tells what that took: seconds, those of processor time, and those of the whole process so far.
        """
        start, cpu = time.perf_counter(), time.process_time()
        answer = self._answer(text, **json.loads(Path(self.file).read_text()))
        spent = time.perf_counter() - start, time.process_time() - cpu, time.process_time()
        Path(self.file).with_suffix(".seconds").write_text(" ".join(map(repr, spent)))
        return answer

    def _answer(self, text, **more):
        asked = json.loads(text)
        return json.dumps({"v": 1, "nimbus": asked["nimbus"], "round": asked["round"], **more})


endpoint, behaviour, *file = sys.argv[1:]
Bridge(Planner(behaviour, *(file or [None])).answer, Path(endpoint)).__enter__()
print("ready", flush=True)
sys.stdin.read()
os._exit(0)

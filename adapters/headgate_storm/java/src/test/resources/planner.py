"""A Python process that answers rounds as the tests ask it to: planner.py ENDPOINT BEHAVIOUR [FILE]."""

import json
import os
import sys
import time
from pathlib import Path

from py4j.clientserver import ClientServer, PythonParameters

TOKEN = "7f" * 32


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

    class Java:
        implements = ("headgate.storm.Planner",)


endpoint, behaviour, *file = sys.argv[1:]
server = ClientServer(
    python_parameters=PythonParameters(port=0, auth_token=TOKEN),
    python_server_entry_point=Planner(behaviour, *(file or [None])),
)
server.get_callback_server().server_socket.listen()  # py4j does so in its thread, some time after this
port = server.get_callback_server().get_listening_port()
with os.fdopen(os.open(endpoint, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "w") as out:
    json.dump({"port": port, "token": TOKEN}, out)
print("ready", flush=True)
sys.stdin.read()
os._exit(0)

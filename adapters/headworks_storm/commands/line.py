"""Commands that come to a running `headworks serve storm` by the port of Nimbus: a line of JSON in, one out.

{"command": NAME, "home": $STORM_HOME, "words": {...}}
{"done": DATA}, {"error": SENTENCE, "wrong_use": BOOL}, or {"elsewhere": SENTENCE} where the caller has to carry it out
"""

from __future__ import annotations

import contextlib
import json
import socket
from pathlib import Path
from typing import TYPE_CHECKING, Any

from headworks.errors import EngineError, EngineUseError
from headworks_storm.commands.carry_out import carry_out
from headworks_storm.nimbus.bridge import BOUNDS, HOST, Endpoint
from headworks_storm.peers.caller import prove_to, read_line

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from headworks_storm.client.connection import NimbusConnection

LET_IN = 5.0
"""Seconds that a process may take to let a command in. With more, a command waits longer for one that hangs; with less,
one on a busy machine starts a JVM for nothing."""
ANSWERED = 60.0
"""Seconds for an answer beside those that the command itself may wait: the first one waits for a JVM to start."""


def answers(nimbus: NimbusConnection | None, home: Path | None) -> Callable[[str], str]:
    """What a process says to a command.

    Args:
        nimbus: Its connection to Nimbus, if it has one.
        home: The $STORM_HOME whose `storm.yaml` names that Nimbus.
    """

    def answer(text: str) -> str:
        asked = json.loads(text)
        if nimbus is None or home is None or Path(asked["home"]) != home.resolve():
            return json.dumps({"elsewhere": f"its --home is {home}"})
        try:
            gateway = nimbus.gateway()
        except EngineError as error:
            return json.dumps({"elsewhere": str(error)})
        try:
            return json.dumps({"done": carry_out(gateway, asked["command"], asked["words"])})
        except EngineError as error:
            return json.dumps({"error": str(error), "wrong_use": isinstance(error, EngineUseError)})

    return answer


def ask(endpoint: Endpoint, home: Path, command: str, words: Mapping[str, Any]) -> dict[str, Any] | None:
    """Ask a running process; None if none lets the command in.

    Raises:
        EngineError: It was let in, and has no answer: whether it was carried out is not known.
    """
    from py4j import protocol  # the extra `storm`, which `headworks --help` works without

    line = json.dumps({"command": command, "home": str(home.resolve()), "words": dict(words)})
    with contextlib.ExitStack() as stack:
        try:
            caller = socket.create_connection((HOST, endpoint.port), timeout=LET_IN)
            stack.callback(caller.close)
            prove_to(caller, endpoint.token, str(endpoint.port), "command", seconds=LET_IN)
        except OSError:
            return None
        try:
            caller.sendall(f"c\nt\ncommand\n{protocol.get_command_part(line)}e\n".encode())
            said = read_line(caller, most=BOUNDS.line, seconds=ANSWERED + (words.get("wait") or 0))
        except OSError as error:
            raise EngineError(
                f"`headworks serve storm` ended before it answered ({error}): look whether it was done"
            ) from None
    if not said.startswith(f"{protocol.RETURN_MESSAGE}{protocol.SUCCESS}{protocol.STRING_TYPE}"):
        raise EngineError(f"`headworks serve storm` could not carry it out: {said[3:]}")
    answer: dict[str, Any] = json.loads(protocol.unescape_new_line(said[3:]))
    return answer

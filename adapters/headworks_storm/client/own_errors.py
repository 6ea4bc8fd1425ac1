"""The py4j client of a gateway that is not PySpark's, for a process in which PySpark has or had a session.

PySpark puts a function of its own in the place where py4j reads answers, for all gateways of the process: it looks each
Java exception up in Spark's JVM, by a number that means another object there, or fails where that JVM has ended.
"""

from __future__ import annotations

from typing import Any

from py4j import protocol
from py4j.java_gateway import GatewayClient

THROWN = protocol.ERROR + protocol.REFERENCE_TYPE
"""Begin of an answer that is a Java exception."""


class OwnErrors(GatewayClient):  # type: ignore[misc]
    """A client that raises the exceptions of its own JVM, before anybody else reads the answer."""

    def send_command(self, command: str, retry: bool = True, binary: bool = False) -> Any:  # noqa: FBT001, FBT002 - py4j's
        """Send a command to the JVM.

        Args:
            command: By the protocol of py4j.
            retry: Whether it is sent again over a new connection if the first one is lost.
            binary: Whether the connection is returned too.

        Raises:
            Py4JJavaError: Java threw an exception, which it holds.
            Py4JNetworkError: The JVM does not answer.
        """
        answer = super().send_command(command, retry, binary)
        if not binary and answer.startswith(THROWN):
            protocol.get_return_value(answer, self, "the JVM", "this")
        return answer

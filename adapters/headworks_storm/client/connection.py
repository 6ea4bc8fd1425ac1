"""Nimbus by a JVM that stays, and is started again if it died."""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Callable
from typing import TYPE_CHECKING

import attrs

from headworks_storm.client.gateway import NimbusGateway

if TYPE_CHECKING:
    from collections.abc import Iterator


@attrs.define(eq=False)
class NimbusConnection:
    """A connection that several parts of a process share.

    Attributes:
        connect: Reaches Nimbus; called when it is first needed, and again after that JVM has died.
    """

    connect: Callable[[], NimbusGateway]
    _gateway: NimbusGateway | None = attrs.field(init=False, default=None)
    _lock: threading.RLock = attrs.field(init=False, factory=threading.RLock)

    @contextlib.contextmanager
    def use(self) -> Iterator[NimbusGateway]:
        """The gateway, for one at a time."""
        with self._lock:
            yield self.gateway()

    def gateway(self) -> NimbusGateway:
        """The gateway, beside others: a call of it fails if its JVM is ended or dies meanwhile.

        Raises:
            EngineError: Its JVM does not start.
        """
        if (there := self._gateway) is not None and there.alive:
            return there  # without the lock, which a batch of moves holds for long
        with self._lock:
            if self._gateway is not None and not self._gateway.alive:
                self.stop()
            if self._gateway is None:
                self._gateway = self.connect().start()
            return self._gateway

    def stop(self) -> None:
        """End the JVM that reaches Nimbus."""
        with self._lock:
            if self._gateway is not None:
                self._gateway.stop()
                self._gateway = None

"""Cache of a scheduler's plans: most rules look at the same ones."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from headworks.plugins.host import PluginHost
from headworks.plugins.planning_time import STRETCH
from headworks.plugins.sandbox import ABANDONED

if TYPE_CHECKING:
    from collections.abc import Mapping

    from headworks.model import Plan, Request
    from headworks.testing.instances.cases import Cases
    from headworks.toolbox.cancel import Cancellation


class CachingHost(PluginHost):
    """A host that asks a scheduler once for each of the cases, and anew for any other request, an equal one too."""

    def __init__(self, host: PluginHost, cases: Cases, options: Mapping[str, Any] | None = None) -> None:
        """Take what is asked.

        Args:
            options: Options by name that a scheduler is asked with if no others are given; the defaults without.
        """
        super().__init__(host.registry)
        self.given = options
        self._host, self._cases = host, cases
        self._known = {id(request) for request in (*cases.mixed, *cases.small)}
        self._plans: dict[tuple[str, int], Plan] = {}
        self._late: list[Plan] = []

    def schedule(
        self,
        name: str,
        request: Request,
        options: Any = None,
        *,
        cancellation: Cancellation | None = None,
        stretch: float = STRETCH,
    ) -> Plan:
        """Ask with its own options, or look up what was answered; see `PluginHost.schedule`.

        Args:
            options: Its options; None for those that the host was given.
        """
        if options is not None or id(request) not in self._known:
            given = self.given if options is None else options
            return self._host.schedule(name, request, given, cancellation=cancellation, stretch=stretch)
        key = (name, id(request))
        if len(self._late) >= ABANDONED:  # as in threads, it is not waited for again and again
            return self._late[-1]
        if key not in self._plans:
            self._plans[key] = made = self._host.schedule(name, request, self.given)
            self._late += [made] if any(each.code == "deadline" for each in made.reasons) else []
        return self._plans[key]

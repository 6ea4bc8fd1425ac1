"""Changes in the control loop: at once, or step by step by a priority manager, while their topologies are empty."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from headworks.model import Change, Drain, FrozenMap, Steering

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from headworks.model import Intake, Receipt, Request, Slot
    from headworks.plugins.host import PluginHost


def changed_topologies(before: Mapping[str, Slot], after: Mapping[str, Slot]) -> tuple[str, ...]:
    """Ids of the topologies some running task of which has another slot afterwards, sorted.

    Those that lose all their slots are not among them: an engine that pauses topologies keeps their workers.

    Args:
        before: Slots of running tasks, by task id.
    """
    return tuple(sorted({task.partition("/")[0] for task, slot in before.items() if after.get(task, slot) != slot}))


def change_of(request: Request, after: Mapping[str, Slot], execute: Callable[[], Receipt]) -> Change:
    """The change from what runs to another assignment: the topologies to pause for it, and all old slots.

    Topologies whose tasks move while their workers run are not paused; their slots are among the old ones.
    """
    names = changed_topologies(request.assignment, after)
    own = {task: slot for task, slot in request.assignment.items() if task.partition("/")[0] in names}
    live = {each.id for each in request.topologies if each.live}
    paused = tuple(name for name in names if name not in live)
    return Change(topologies=paused, before=FrozenMap(own), execute=execute)


class Draining:
    """Carries changes out on one engine; without a `drain` at once, and nothing is ever to be recovered."""

    def __init__(self, host: PluginHost, engine: str, target: Any, priorities: str | None, drain: Drain | None) -> None:
        """Take the plugins; nothing is asked yet.

        Args:
            priorities: Name of the priority manager, and an address after a colon.
            drain: Patience with topologies that are paused; None pauses none.

        Raises:
            PluginError: A plugin that is needed is not there, or cannot.
        """
        self._host, self._engine, self._target, self._drain = host, engine, target, drain
        self._name, _, address = (priorities or "").partition(":")
        self._address = address or None
        if drain is not None:
            host.plugin(engine, "headworks_intake")
            host.plugin(self._name, "headworks_reschedule")
            host.plugin(self._name, "headworks_recover")

    @property
    def by_steps(self) -> bool:
        """True if topologies are paused for a change."""
        return self._drain is not None

    def recover(self) -> tuple[str, ...]:
        """Finish or undo what an earlier process began; sentences on what was done.

        Raises:
            HeadworksError: That is not possible now.
        """
        if self._drain is None:
            return ()
        said: tuple[str, ...] = self._host.call(
            self._name, "headworks_recover", steering=self._steering(), address=self._address
        )
        return said

    def execute(self, request: Request, after: Mapping[str, Slot], execute: Callable[[], Receipt]) -> Receipt:
        """Carry a change out.

        Raises:
            HeadworksError: The priority manager or the engine failed.
        """
        change = change_of(request, after, execute)
        if self._drain is None or not change.topologies:
            return execute()
        steering = self._steering()
        receipt: Receipt = self._host.call(
            self._name,
            "headworks_reschedule",
            change=change,
            steering=steering,
            drain=self._drain,
            address=self._address,
        )
        return receipt

    def _steering(self) -> Steering:
        host, engine, target = self._host, self._engine, self._target
        intake: Intake = host.call(engine, "headworks_intake", target=target)
        return Steering(intake=intake, rollback=lambda receipt: host.rollback(engine, target, receipt))

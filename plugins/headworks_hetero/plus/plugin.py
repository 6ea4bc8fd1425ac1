"""The plugin `hetero-plus`: several tasks at once where one finds no room, then refinement by the closed form."""

from __future__ import annotations

from typing import TYPE_CHECKING

from headworks.hooks import Description, hookimpl
from headworks_hetero.options import PlusOptions
from headworks_hetero.plus.improve import improved

if TYPE_CHECKING:
    from headworks.model import Plan, Request


class HeteroPlus:
    """Choose numbers of tasks, nodes and input rate as `hetero` does, several tasks at once, and refine the result."""

    @hookimpl
    def headworks_describe(self) -> Description:
        """Describe the scheduler."""
        return Description(
            summary=(self.__doc__ or "").partition("\n")[0],
            options=PlusOptions,
            paper="hetero, with the steps of the authors' own code, and a refinement that is ours",
        )

    @hookimpl
    def headworks_schedule(self, request: Request, options: PlusOptions) -> Plan:
        """Run it; the plan is never worse than that of `hetero`."""
        return improved(request, options)


hetero_plus = HeteroPlus()

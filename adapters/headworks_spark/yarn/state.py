"""The local YARN that `headworks yarn up` leaves running and `headworks yarn down` ends."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar

import attrs

from headworks.errors import EngineError
from headworks_local.local_cluster import ClusterState
from headworks_spark.yarn.cluster import GRACE, LocalYarn, client_environment, nodes
from headworks_spark.yarn.conf import MANAGER_HOST

if TYPE_CHECKING:
    from contextlib import AbstractContextManager

    from headworks_spark.yarn.conf import NodeSpec


@attrs.frozen(kw_only=True)
class YarnState(ClusterState):
    """State file of a YARN that was left running: where its ResourceManager is, and which processes are its own."""

    engine: ClassVar[str] = "yarn"
    title: ClassVar[str] = "YARN"
    grace: ClassVar[float] = GRACE

    ui_port: int

    @property
    def where(self) -> str:
        """URL of the ResourceManager's web page."""
        return f"http://{MANAGER_HOST}:{self.ui_port}"

    def describe(self) -> dict[str, Any]:
        """Its web page, the variables by which clients find it, and host, size, load and state of each node.

        Raises:
            EngineError: The ResourceManager is not there any more.
        """
        try:
            rows = nodes(self.ui_port)
        except OSError as error:
            raise EngineError(
                f"the ResourceManager at {self.where} does not answer ({error}): run `headworks yarn down`"
            ) from error
        return {"ui": self.where, "environment": client_environment(self.folder().resolve() / "conf"), "nodes": rows}


def up(specs: tuple[NodeSpec, ...]) -> AbstractContextManager[YarnState]:
    """Start a YARN that outlives this process, if the block comes to its end.

    Raises:
        EngineError: One runs already, or it does not start.
    """
    return YarnState.leave(lambda folder: LocalYarn(specs, folder=folder), note)


def note(cluster: LocalYarn) -> YarnState:
    """State of a cluster as it is now, for the state file."""
    return YarnState(ui_port=cluster.ui_port, daemons=cluster.daemons)

"""The local cluster that `headworks spark up` leaves running and `headworks spark down` ends."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar

import attrs

from headworks.errors import EngineError
from headworks_local.local_cluster import ClusterState
from headworks_spark.local.cluster import LocalSpark, master_host, master_state

if TYPE_CHECKING:
    from contextlib import AbstractContextManager

    from headworks_local.isolated.limits import NodeLimits
    from headworks_spark.local.cluster import WorkerSpec


@attrs.frozen(kw_only=True)
class SparkState(ClusterState):
    """State file of a cluster that was left running: where its Master is, and which processes are its own.

    Attributes:
        master_url: `spark://host:port`.
        ui_port: Port of the Master's web page.
    """

    engine: ClassVar[str] = "spark"
    title: ClassVar[str] = "Spark cluster"

    master_url: str
    ui_port: int

    @property
    def where(self) -> str:
        """URL of the Master."""
        return self.master_url

    def cluster(self) -> LocalSpark:
        """Its handle, for Workers that come and go; `note` says afterwards what there is.

        Raises:
            EngineError: The Master is not there any more.
        """
        try:
            found = LocalSpark.attach(self.folder(), self.master_url, self.ui_port, self.daemons)
        except OSError as error:
            raise self._lost(error) from error
        found.nodes = self.nodes()
        return found

    def describe(self) -> dict[str, Any]:
        """Its Master, the folder of settings for its applications, and each Worker: host, cores, memory, state, rack.

        Raises:
            EngineError: The Master is not there any more.
        """
        try:
            workers = master_state(self.ui_port, master_host(self.master_url))["workers"]
        except OSError as error:
            raise self._lost(error) from error
        keys = ("host", "cores", "coresused", "memory", "state")
        nodes = self.nodes()
        racks = nodes.racks if nodes else {}
        rows = [
            {key: each[key] for key in keys} | {"rack": racks.get(each["host"])}
            for each in sorted(workers, key=lambda each: str(each["host"]))
        ]
        return {
            "master_url": self.master_url,
            "ui": f"http://{master_host(self.master_url)}:{self.ui_port}",
            "conf_dir": str(self.folder() / "conf"),
            "workers": rows,
        }

    def _lost(self, error: OSError) -> EngineError:
        return EngineError(
            f"the Spark Master at {self.master_url} does not answer ({error}): run `headworks spark down`"
        )


def up(
    workers: tuple[WorkerSpec, ...], apart: tuple[NodeLimits, ...] | None = None
) -> AbstractContextManager[SparkState]:
    """Start a cluster that outlives this process, if the block comes to its end.

    Args:
        apart: Bounds of the node of each, if nodes are to be apart.

    Raises:
        EngineError: One runs already, or it does not start.
    """
    return SparkState.leave(lambda folder: LocalSpark(workers, folder=folder, apart=apart, secret=True), note)


def note(cluster: LocalSpark) -> SparkState:
    """State of a cluster as it is now, for the state file."""
    bridge = cluster.nodes.network.name.bridge if cluster.nodes else ""
    return SparkState(master_url=cluster.master_url, ui_port=cluster.ui_port, daemons=cluster.daemons, bridge=bridge)

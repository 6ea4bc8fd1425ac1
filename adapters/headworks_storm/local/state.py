"""The local cluster that `headworks storm up` leaves running and `headworks storm down` ends."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

import attrs

from headworks_local.java import find_java
from headworks_local.local_cluster import ClusterState
from headworks_storm.client.gateway import NimbusGateway
from headworks_storm.local.cluster import NIMBUS_HOST, LocalStorm

if TYPE_CHECKING:
    from contextlib import AbstractContextManager

    from headworks_storm.client.summary import ClusterSummary


@attrs.frozen(kw_only=True)
class StormState(ClusterState):
    """The state file of a cluster: its release, its home, the port of its Nimbus, and the processes that are its own.

    Attributes:
        version: Release of Storm.
        home: Its $STORM_HOME, with the jars and the `conf/storm.yaml` for clients.
        nimbus_port: Where Nimbus listens.
        nimbus_host: At which address.
    """

    engine: ClassVar[str] = "storm"
    title: ClassVar[str] = "Storm cluster"
    grace: ClassVar[float] = 0.0  # a supervisor that is asked to end leaves its workers, and no state is kept

    version: str
    home: str
    nimbus_port: int
    nimbus_host: str = NIMBUS_HOST

    @property
    def where(self) -> str:
        """Address of Nimbus."""
        return f"{self.nimbus_host}:{self.nimbus_port}"

    def gateway(self) -> NimbusGateway:
        """Its Nimbus, to be used in a `with` block."""
        conf = {"nimbus.seeds": [self.nimbus_host], "nimbus.thrift.port": self.nimbus_port}
        return NimbusGateway(Path(self.home, "lib"), conf, java=find_java(11).program)

    def describe(self) -> dict[str, Any]:
        """Describe the cluster: its Nimbus, its supervisors with what they offer and what is used, its topologies.

        Raises:
            EngineError: Nimbus does not answer.
        """
        with self.gateway() as gateway:
            return self._describe(gateway.cluster())

    def _describe(self, cluster: ClusterSummary) -> dict[str, Any]:
        nodes = self.nodes()
        racks = nodes.racks if nodes else {}
        return {
            "version": self.version,
            "nimbus": self.where,
            "conf": str(Path(self.home, "conf")),
            "supervisors": [attrs.asdict(each) | {"rack": racks.get(each.host)} for each in cluster.supervisors],
            "topologies": [attrs.asdict(each) for each in cluster.topologies],
        }


def up(cluster: LocalStorm) -> AbstractContextManager[StormState]:
    """Start a cluster that outlives this process, if the block comes to its end; its `folder` is set here.

    Raises:
        EngineError: One runs already, or it does not start.
    """

    def make(folder: Path) -> LocalStorm:
        cluster.folder = folder
        return cluster

    return StormState.leave(make, _note)


def _note(cluster: LocalStorm) -> StormState:
    cluster.gateway.stop()  # ends with this process, so it is none of the cluster's that stays
    return StormState(
        version=cluster.version,
        home=str(cluster.home),
        nimbus_port=cluster.client_conf["nimbus.thrift.port"],
        nimbus_host=cluster.nimbus_host,
        bridge=cluster.nodes.network.name.bridge if cluster.nodes else "",
        daemons=cluster.daemons,
    )

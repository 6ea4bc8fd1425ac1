"""A secured cluster with Headworks beside it, for tests: what has to work whatever secures it."""

from __future__ import annotations

import contextlib
from pathlib import Path
from typing import TYPE_CHECKING, Any

import attrs
import pytest

from headworks.errors import EngineError
from headworks.plugins.host import PluginHost
from headworks_storm.client.gateway import PLAIN, NimbusGateway
from headworks_storm.install.examine import examine
from headworks_storm.local.cluster import LocalStorm
from headworks_storm.release.jar import own_jars
from headworks_storm.service import Service, ServiceSettings, serve
from shell import headworks
from storm_cluster import RELEASE, SMALL, wait_for, word_count

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

NAME = "word-count"
AUTHORIZED = {
    "nimbus.authorizer": "org.apache.storm.security.auth.authorizer.SimpleACLAuthorizer",
    "nimbus.admins": ["ann"],
    "nimbus.supervisor.users": ["ann"],
    "supervisor.thrift.transport": PLAIN,
    "supervisor.authorizer": "org.apache.storm.security.auth.authorizer.NoopAuthorizer",
}
"""Only `ann` may do what Nimbus is asked for; supervisors are asked by Nimbus and workers alone, without a login."""


@attrs.frozen
class Secured:
    """The cluster, the service beside it, and a folder for logins."""

    storm: LocalStorm
    service: Service
    folder: Path

    def reports(self) -> None:
        """Nimbus asks Headworks, and the workers that it places report every task."""
        storm, collector = self.storm, self.service.collector
        assert collector
        wait_for("placed", lambda: "executors in" in storm.gateway.topology(NAME).scheduling)
        tasks = {first for first, _ in storm.gateway.assignment(NAME).slots}
        wait_for("reports", lambda: {row.task for each in collector.recent(60) for row in each.tasks} >= tasks)
        assert collector.tally.refused == collector.tally.foreign == collector.tally.invalid == 0

    def asked_by_commands(self, setting: str) -> None:
        """The doctor has asked Nimbus and finds a setting sound, and `headworks storm` shows the topology."""
        found = {each.subject: each for each in examine(self.storm.home)}
        assert found[setting] == attrs.evolve(found[setting], status="ok")
        assert "Nimbus" not in found
        assert NAME in headworks("storm", "show", NAME, "--home", self.storm.home).stdout

    def turns_away(self, conf: Mapping[str, Any], named: str) -> None:
        """A client with other settings is turned away, with the file to look at."""
        with self._as(conf) as gateway, pytest.raises(EngineError, match=named):
            gateway.cluster()

    def lets_look_and_not_kill(self, conf: Mapping[str, Any]) -> None:
        """A client with other settings sees the topology, and is told that it may not kill it."""
        with self._as(conf) as gateway:
            assert [each.name for each in gateway.cluster().topologies] == [NAME]
            with pytest.raises(EngineError, match="not authorized"):
                gateway.kill(NAME)

    def _as(self, conf: Mapping[str, Any]) -> NimbusGateway:
        return NimbusGateway(self.storm.home / "lib", {**self.storm.client_conf, **conf})


@contextlib.contextmanager
def secured_cluster(
    folder: Path,
    settings: Mapping[str, Any],
    *,
    options: Mapping[str, tuple[str, ...]] | None = None,
    extlib: tuple[Path, ...] = (),
    prepare: Callable[[LocalStorm], None] = lambda _: None,
) -> Iterator[Secured]:
    """A cluster of one supervisor with a word count.

    Args:
        folder: For the endpoint and the token.
        settings: What secures it.
        options: Further options of a daemon's JVM, by its name.
        extlib: Jars beside Headworks's, for daemons and workers.
        prepare: Is called before the topology is submitted.
    """
    own = ServiceSettings(endpoint=folder / "endpoint.json", collector=("127.0.0.1", 0))
    with serve(PluginHost.load(), "even", {}, own) as service:
        conf = {**service.nimbus_conf(), **service.worker_conf(), **settings}
        jars = (own_jars().bridge, *extlib)
        with LocalStorm(SMALL[:1], conf=conf, extlib=jars, version=RELEASE, options=options or {}) as storm:
            prepare(storm)
            word_count(storm)
            yield Secured(storm, service, folder)

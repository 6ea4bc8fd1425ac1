"""A cluster secured by digest, Thrift and ZooKeeper: Nimbus asks Headworks, workers report, commands log in."""

from __future__ import annotations

import base64
import hashlib
from typing import TYPE_CHECKING, Any

import pytest
from py4j.protocol import Py4JJavaError

from headworks_local.private_files import read_or_make_secret, write_private
from headworks_storm.install.security import DIGEST, JAAS, TRANSPORT
from storm_secured import AUTHORIZED, NAME, Secured, secured_cluster

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from headworks_storm.local.cluster import LocalStorm

pytestmark = [pytest.mark.storm, pytest.mark.slow, pytest.mark.network]

LOGIN = """
StormServer {{ org.apache.zookeeper.server.auth.DigestLoginModule required user_ann="right" user_eve="known"; }};
StormClient {{ org.apache.zookeeper.server.auth.DigestLoginModule required username="{user}" password="{password}"; }};
"""
ZOOKEEPER = "nimbus:of ZooKeeper"
HANDED_OUT = ["headworks.storm.monitor.TopologyToken"]


def login(file: Path, user: str = "ann", password: str = "right") -> dict[str, Any]:
    file.write_text(LOGIN.format(user=user, password=password))
    return {TRANSPORT: DIGEST, JAAS: str(file)}


def secured(folder: Path) -> dict[str, Any]:
    """Settings of the cluster: only `ann` may do what Nimbus is asked for, and Nimbus owns what is in ZooKeeper.

    Storm's digest transport takes logins from those alone who call its server `localhost`, so Nimbus goes by that name
    and supervisors, which others call, have none.
    """
    digest = base64.b64encode(hashlib.sha1(ZOOKEEPER.encode()).digest()).decode()  # ZooKeeper's scheme
    return {
        **AUTHORIZED,
        **login(folder / "jaas.conf"),
        "nimbus.seeds": ["localhost"],
        "storm.zookeeper.auth.scheme": "digest",
        "storm.zookeeper.auth.payload": ZOOKEEPER,
        "storm.zookeeper.superACL": f"digest:{ZOOKEEPER.partition(':')[0]}:{digest}",
        "nimbus.autocredential.plugins.classes": HANDED_OUT,
        "topology.auto-credentials": HANDED_OUT,
    }


def zookeeper_of(storm: LocalStorm) -> tuple[Any, Any]:
    """ZooKeeper's client package, and a client that is nobody yet."""
    package = storm.gateway.jvm.org.apache.storm.shade.org.apache.zookeeper
    return package, package.ZooKeeper(f"127.0.0.1:{storm.client_conf['storm.zookeeper.port']}", 10_000, None)


def open_to_workers(storm: LocalStorm) -> None:
    """Let everybody list Storm's folders in ZooKeeper, as its workers need since ZooKeeper 3.9.2.

    Nimbus makes them for itself alone, and workers ask whether they are there: which took no right before.
    """
    package, client = zookeeper_of(storm)
    try:
        client.addAuthInfo("digest", ZOOKEEPER.encode())
        for name in ["", *(f"/{each}" for each in client.getChildren("/storm", False))]:
            rights = client.getACL(f"/storm{name}", None)
            rights.add(package.data.ACL(package.ZooDefs.Perms.READ, package.data.Id("world", "anyone")))
            client.setACL(f"/storm{name}", rights, -1)
    finally:
        client.close()


@pytest.fixture(scope="module")
def cluster(java: None, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Secured]:
    folder = tmp_path_factory.mktemp("secured")
    named = {"nimbus": ("-Dstorm.options=storm.local.hostname=localhost",)}
    token = folder / "nimbus.token"  # beside Nimbus, as on a host of its own
    write_private(token, read_or_make_secret(folder / "collector.token"))
    settings = {**secured(folder), "headworks.collector.token.file": str(token)}
    with secured_cluster(folder, settings, options=named, prepare=open_to_workers) as found:
        token.unlink()  # Nimbus has read it, and no worker can
        yield found


def test_nimbus_asks_headworks_and_workers_without_a_token_file_report(cluster: Secured) -> None:
    cluster.reports()


def test_what_nimbus_stored_is_closed_to_strangers(cluster: Secured) -> None:
    """Without this the cluster would be none that is secured, whatever its settings say."""
    _, stranger = zookeeper_of(cluster.storm)
    try:
        identity = cluster.storm.gateway.topology(NAME).id
        for path in (f"/storm/assignments/{identity}", f"/storm/credentials/{identity}"):
            with pytest.raises(Py4JJavaError, match="NoAuth"):
                stranger.getData(path, False, None)
        stranger.addAuthInfo("digest", ZOOKEEPER.encode())
        assert stranger.getData(f"/storm/credentials/{identity}", False, None)
    finally:
        stranger.close()


def test_commands_log_in_by_the_file_that_storm_yaml_names(cluster: Secured) -> None:
    cluster.asked_by_commands(TRANSPORT)


@pytest.mark.parametrize(("user", "password"), [("ann", "wrong"), ("nobody", "right")])
def test_a_wrong_login_is_refused_with_the_file_to_look_at(cluster: Secured, user: str, password: str) -> None:
    cluster.turns_away(login(cluster.folder / "wrong", user, password), f"{cluster.folder / 'wrong'}")


def test_who_may_not_kill_is_told_so(cluster: Secured) -> None:
    cluster.lets_look_and_not_kill(login(cluster.folder / "eve", "eve", "known"))

"""A cluster whose Nimbus speaks TLS alone, and asks its clients for certificates.

The listener of Nimbus is one of the tests: Storm's own closes every connection since Java 15. All clients are Storm's.
"""

from __future__ import annotations

import os
import socket
import subprocess
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from headworks_local.java import find_java
from headworks_storm.client.gateway import TLS
from headworks_storm.release.artefacts import distribution
from storm_cluster import RELEASE
from storm_secured import AUTHORIZED, Secured, secured_cluster

if TYPE_CHECKING:
    from collections.abc import Iterator

    from headworks_local.ports import Ports

pytestmark = [pytest.mark.matrix, pytest.mark.storm, pytest.mark.slow, pytest.mark.network]

PASSWORD = "of the stores"
KEYS = "nimbus.thrift.tls.client.keystore.path"


LISTENER = "nimbus.thrift.tls.transport"
JAVA = Path(__file__).with_name("java") / "tls" / "TlsOfToday.java"


def listener(folder: Path) -> Path:
    """The jar with the transport that Nimbus listens by."""
    jars, classes, made = distribution(RELEASE), folder / "classes", folder / "listener.jar"
    compiler = find_java(jars.java).compiler
    if compiler is None:
        pytest.skip("needs a JDK")
    path = os.pathsep.join(map(str, jars.lib))
    subprocess.run([compiler, "-nowarn", "-d", classes, "-cp", path, JAVA], check=True)
    subprocess.run([compiler.with_name("jar"), "cf", made, "-C", classes, "."], check=True)
    return made


def keytool(*words: str | Path) -> None:
    program = Path(find_java(11).program).resolve().with_name("keytool")
    common = ("-storepass", PASSWORD, "-noprompt")
    subprocess.run([program, *words, *common], check=True, capture_output=True)


def make_key(folder: Path, name: str) -> Path:
    """A store with a key, and a certificate that it signs itself."""
    store = folder / f"{name}.p12"
    kind = ("-keyalg", "EC", "-validity", "2", "-storetype", "PKCS12", "-ext", "SAN=ip:127.0.0.1")
    keytool("-genkeypair", "-alias", name, "-dname", f"CN={name}", "-keystore", store, *kind)
    keytool("-exportcert", "-alias", name, "-keystore", store, "-file", folder / f"{name}.cer")
    return store


def trust(folder: Path, name: str, *names: str) -> Path:
    """A store with the certificates of some."""
    store = folder / f"{name}.p12"
    for each in names:
        keytool("-importcert", "-alias", each, "-file", folder / f"{each}.cer", "-keystore", store)
    return store


def secured(folder: Path, port: int) -> dict[str, Any]:
    keys = {name: make_key(folder, name) for name in ("nimbus", "ann", "eve", "stranger")}
    server, client = "nimbus.thrift.tls.server", "nimbus.thrift.tls.client"
    stores = {
        f"{server}.keystore": keys["nimbus"],
        f"{server}.truststore": trust(folder, "let-in", "ann", "eve"),
        f"{client}.keystore": keys["ann"],
        f"{client}.truststore": trust(folder, "trusted", "nimbus"),
    }
    return {
        **AUTHORIZED,
        **{f"{name}.path": str(store) for name, store in stores.items()},
        **{f"{name}.password": PASSWORD for name in stores},
        TLS: True,
        "topology.worker.nimbus.thrift.client.use.tls": True,
        "nimbus.thrift.tls.port": port,
        "nimbus.thrift.tls.server.only": True,
        "storm.principal.tolocal": "org.apache.storm.security.auth.X509CertPrincipalToLocal",
        "x509.cert.principal.to.local.regex": "(.*)",
    }


@pytest.fixture(scope="module")
def cluster(java: None, tmp_path_factory: pytest.TempPathFactory, ports: Ports) -> Iterator[Secured]:
    folder = tmp_path_factory.mktemp("tls")
    hosts = folder / "hosts"  # Storm's TLS server listens on the address of the machine's own name
    hosts.write_text(f"127.0.0.1 localhost {socket.gethostname()}\n")
    named = {"nimbus": (f"-Djdk.net.hosts.file={hosts}", f"-Dstorm.options={LISTENER}={JAVA.stem}")}
    (port,) = ports.take()
    with secured_cluster(folder, secured(folder, port), options=named, extlib=(listener(folder),)) as found:
        yield found


def test_nimbus_asks_headworks_and_workers_report(cluster: Secured) -> None:
    cluster.reports()


def test_nimbus_has_no_port_without_tls(cluster: Secured) -> None:
    """Without this the cluster would be none that is secured, whatever its settings say."""
    with pytest.raises(ConnectionRefusedError):
        socket.create_connection(("127.0.0.1", cluster.storm.client_conf["nimbus.thrift.port"]), timeout=5)


def test_commands_bring_the_certificate_that_storm_yaml_names(cluster: Secured) -> None:
    cluster.asked_by_commands(TLS)


def test_an_unknown_certificate_is_turned_away_with_the_store_to_look_at(cluster: Secured) -> None:
    port = cluster.storm.client_conf["nimbus.thrift.tls.port"]
    cluster.turns_away({KEYS: str(cluster.folder / "stranger.p12")}, f":{port}: .*{cluster.folder / 'trusted.p12'}")


def test_who_may_not_kill_is_told_so(cluster: Secured) -> None:
    cluster.lets_look_and_not_kill({KEYS: str(cluster.folder / "eve.p12")})

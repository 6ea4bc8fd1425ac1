"""A Kerberos key distribution centre on this machine, for tests: Apache Kerby's simple one, in a JVM of its own."""

from __future__ import annotations

import contextlib
import os
import subprocess
from pathlib import Path
from typing import TYPE_CHECKING, Any

import attrs

from headworks_local.java import find_java
from headworks_local.maven import Artefact, resolve
from headworks_storm.release.artefacts import distribution

if TYPE_CHECKING:
    from collections.abc import Iterator

    from headworks_local.ports import Ports

REALM = "HEADWORKS.TEST"
KERBY = "2.0.3"
"""The release of Kerby of which Storm brings the other half."""
PARTS = ("kerb-simplekdc", "kerb-server", "kerb-admin", "kerb-client", "kerb-common", "kerb-identity", "kerby-xdr")
CONF = """[libdefaults]
default_realm = {realm}
udp_preference_limit = 1
dns_lookup_kdc = false
rdns = false
[realms]
{realm} = {{
  kdc = 127.0.0.1:{port}
}}
"""


@attrs.frozen
class Kdc:
    """The centre in its JVM, its folder, and the `krb5.conf` by which programs find it."""

    gateway: Any
    server: Any
    folder: Path
    conf: Path

    def add(self, name: str) -> None:
        """Add a principal, whose key is in a file from then on."""
        names = self.gateway.new_array(self.gateway.jvm.String, 1)
        names[0] = f"{name}@{REALM}"
        self.server.createAndExportPrincipals(self.gateway.jvm.java.io.File(str(self.keytab_of(name))), names)

    def keytab_of(self, name: str) -> Path:
        """The file with the key of a principal."""
        return self.folder / f"{name.replace('/', '-')}.keytab"

    def change(self, name: str) -> None:
        """Change the key of a principal: the one in the file is of no use any more."""
        self.server.getKadmin().changePassword(f"{name}@{REALM}", "another")


def class_path() -> str:
    """Kerby's jars, and what they need of Storm's."""
    own = [resolve(Artefact("org.apache.kerby", name, KERBY)) for name in PARTS]
    return os.pathsep.join(map(str, (*own, *distribution().lib)))


@contextlib.contextmanager
def running_kdc(folder: Path, ports: Ports) -> Iterator[Kdc]:
    """The centre for as long as the block lasts.

    Args:
        folder: For its state, keytabs and `krb5.conf`.
        ports: Where its port comes from.
    """
    from py4j.java_gateway import GatewayParameters, JavaGateway, launch_gateway

    (number,) = ports.take()
    conf = folder / "krb5.conf"
    conf.write_text(CONF.format(realm=REALM, port=number))
    port, token, process = launch_gateway(
        classpath=class_path(),
        java_path=str(find_java(distribution().java).program),
        die_on_exit=True,
        enable_auth=True,
        return_proc=True,
        javaopts=["-Xmx128m", "-XX:+UseSerialGC"],
        redirect_stderr=subprocess.DEVNULL,
    )
    gateway = JavaGateway(gateway_parameters=GatewayParameters(port=port, auth_token=token, auto_convert=True))
    try:
        server = gateway.jvm.org.apache.kerby.kerberos.kerb.server.SimpleKdcServer()
        server.setWorkDir(gateway.jvm.java.io.File(str(folder)))
        server.setKdcRealm(REALM)
        server.setKdcHost("127.0.0.1")
        server.setAllowUdp(False)
        server.setKdcTcpPort(number)
        server.init()
        server.start()
        conf.write_text(CONF.format(realm=REALM, port=number))  # Kerby writes one of its own there
        yield Kdc(gateway, server, folder, conf)
        server.stop()
    finally:
        gateway.shutdown()
        process.stdin.close()
        process.wait(timeout=60)

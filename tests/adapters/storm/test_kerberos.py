"""A cluster whose Nimbus takes logins by Kerberos, from a key distribution centre on this machine."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from headworks_storm.client.gateway import JAAS, TRANSPORT
from headworks_storm.install.security import KERBEROS
from storm_kdc import REALM, Kdc, running_kdc
from storm_secured import AUTHORIZED, Secured, secured_cluster

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from headworks_local.ports import Ports

pytestmark = [pytest.mark.matrix, pytest.mark.storm, pytest.mark.slow, pytest.mark.network]

SECTION = """{name} {{
  com.sun.security.auth.module.Krb5LoginModule required useTicketCache=false useKeyTab=true storeKey=true
  keyTab="{keytab}" principal="{principal}@{realm}" serviceName="nimbus";
}};
"""
NIMBUS = "nimbus/127.0.0.1"


def login(kdc: Kdc, file: Path, **sections: str) -> dict[str, Any]:
    """Settings by which a client logs in as one of the principals that the centre knows."""
    principals = {**sections, "StormServer": NIMBUS}
    told = (
        SECTION.format(name=name, keytab=kdc.keytab_of(principal), principal=principal, realm=REALM)
        for name, principal in principals.items()
    )
    file.write_text("".join(told))
    return {JAAS: str(file)}


@pytest.fixture(scope="module")
def kdc(java: None, tmp_path_factory: pytest.TempPathFactory, ports: Ports) -> Iterator[Kdc]:
    with running_kdc(tmp_path_factory.mktemp("kdc"), ports) as centre:
        for name in (NIMBUS, "ann", "eve", "changed"):
            centre.add(name)
        yield centre


@pytest.fixture(scope="module")
def cluster(kdc: Kdc, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Secured]:
    folder = tmp_path_factory.mktemp("kerberos")
    settings = {
        **AUTHORIZED,
        **login(kdc, folder / "jaas.conf", StormClient="ann"),
        TRANSPORT: KERBEROS,
        "storm.principal.tolocal": "org.apache.storm.security.auth.KerberosPrincipalToLocal",
    }
    with pytest.MonkeyPatch.context() as patch:
        # every JVM reads this, those that Headworks starts for its commands too
        patch.setenv("JAVA_TOOL_OPTIONS", f"-Djava.security.krb5.conf={kdc.conf}")
        with secured_cluster(folder, settings) as found:
            yield found


def test_nimbus_asks_headworks_and_workers_report(cluster: Secured) -> None:
    cluster.reports()


def test_commands_log_in_by_the_file_that_storm_yaml_names(cluster: Secured) -> None:
    cluster.asked_by_commands(TRANSPORT)


def test_a_key_that_the_centre_does_not_know_is_turned_away_with_the_file_to_look_at(
    cluster: Secured, kdc: Kdc
) -> None:
    """Without this the cluster would be none that is secured, whatever its settings say."""
    wrong = cluster.folder / "wrong.conf"
    settings = login(kdc, wrong, StormClient="changed")
    kdc.change("changed")
    cluster.turns_away(settings, str(wrong))


def test_who_may_not_kill_is_told_so(cluster: Secured, kdc: Kdc) -> None:
    cluster.lets_look_and_not_kill(login(kdc, cluster.folder / "eve.conf", StormClient="eve"))

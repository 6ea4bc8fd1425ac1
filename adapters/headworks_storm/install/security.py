"""Settings of a secured cluster: which of them Headworks works with, and what it needs for that."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, Any

from headworks.hooks import Finding
from headworks_storm.client.gateway import JAAS, PLAIN, TLS, TLS_STORE, TRANSPORT, nimbus_addresses

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

SECRET = "headworks.collector.token"  # noqa: S105 - the name of a setting
SECRET_FILE = f"{SECRET}.file"
AS_USER = "supervisor.run.worker.as.user"
CREDENTIALS = "topology.auto-credentials"
CREDENTIAL = "headworks.storm.monitor.TopologyToken"
"""The plugin by which Nimbus hands each topology its token, so that workers read no file."""
DIGEST = "org.apache.storm.security.auth.digest.DigestSaslTransportPlugin"
KERBEROS = "org.apache.storm.security.auth.kerberos.KerberosSaslTransportPlugin"
TLS_TRANSPORT = "nimbus.thrift.tls.transport"
TLS_OF_STORM = "org.apache.storm.security.auth.tls.TlsTransportPlugin"
"""Storm's own, which asks a connection for its certificates in a way that Java has not had since 15."""
DIGEST_NAME = "localhost"
"""The name of its servers in Storm's digest transport: a login for another one is refused."""


def handed_out(conf: Mapping[str, Any]) -> bool:
    """Tell whether workers get the token of their topology from Nimbus, by its credentials."""
    found = conf.get(CREDENTIALS)
    return isinstance(found, list) and CREDENTIAL in found


def examine_security(conf: Mapping[str, Any], *, asked: bool = False) -> Iterator[Finding]:
    """Findings on settings of a secured cluster; none on a cluster without.

    Args:
        conf: The `storm.yaml` of this machine.
        asked: Whether Nimbus answered by them.
    """
    if conf.get(TRANSPORT, PLAIN) != PLAIN:
        yield _login(conf)
    if conf.get(TLS):
        yield _tls(conf, asked=asked)
    if conf.get(SECRET):
        yield Finding(
            subject=SECRET,
            status="broken",
            detail="a secret in storm.yaml of Nimbus is stored with every topology, and its UI and API show it",
            fix=f"a new secret, and its file named as {SECRET_FILE}",
        )
    if conf.get(AS_USER) is True and conf.get(SECRET_FILE) and not handed_out(conf):
        yield Finding(
            subject=AS_USER,
            status="broken",
            detail=f"workers run as those who submitted them, who cannot read {conf[SECRET_FILE]}: the collector "
            "refuses them, and nothing is measured",
            fix=f'storm.yaml of Nimbus: {CREDENTIALS} and nimbus.autocredential.plugins.classes: ["{CREDENTIAL}"]',
        )


def _login(conf: Mapping[str, Any]) -> Finding:
    """Storm's client logs in by a JAAS file; the one of `storm.yaml` is the only one that a command is given."""
    plugin = str(conf[TRANSPORT])
    named = conf.get(JAAS)
    if not named:
        detail = f"{plugin} without a login: `headworks storm` and this command cannot ask Nimbus"
        return Finding(subject=TRANSPORT, status="missing", detail=detail, fix=f'storm.yaml: {JAAS}: "/FILE"')
    file = Path(str(named))
    if not os.access(file, os.R_OK):
        detail = f"{file}, the login for {plugin}, cannot be read: `headworks storm` cannot ask Nimbus"
        return Finding(subject=TRANSPORT, status="missing", detail=detail, fix="ask again as a user who can read it")
    others = [host for host, _ in nimbus_addresses(conf) if host != DIGEST_NAME]
    if plugin == DIGEST and others:
        detail = f"{plugin} takes logins from those alone who call Nimbus {DIGEST_NAME}, not {', '.join(others)}"
        fix = f'storm.yaml: nimbus.seeds: ["{DIGEST_NAME}"], and storm.local.hostname of Nimbus likewise'
        return Finding(subject=TRANSPORT, status="broken", detail=detail, fix=fix)
    tested = "" if plugin in (DIGEST, KERBEROS) else "; Headworks is tested with digests and Kerberos alone"
    return Finding(subject=TRANSPORT, status="ok", detail=f"{plugin}, with {file}{tested}")


def _tls(conf: Mapping[str, Any], *, asked: bool) -> Finding:
    store = conf.get(TLS_STORE)
    if not store or not os.access(str(store), os.R_OK):
        detail = f"{store or 'no store of certificates'} cannot be read: `headworks storm` cannot ask Nimbus"
        return Finding(subject=TLS, status="missing", detail=detail, fix=f'storm.yaml: {TLS_STORE}: "/FILE", readable')
    if not asked and conf.get(TLS_TRANSPORT, TLS_OF_STORM) == TLS_OF_STORM:
        detail = f"Nimbus does not answer, and {TLS_OF_STORM} of Storm 2.8 closes every connection since Java 15"
        fix = f"storm.yaml of Nimbus: {TLS_TRANSPORT}: a class that asks for getPeerCertificates instead"
        return Finding(subject=TLS, status="missing", detail=detail, fix=fix)
    return Finding(subject=TLS, status="ok", detail=f"certificates in {store}")

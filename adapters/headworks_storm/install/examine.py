"""The examination of `headworks doctor --storm HOME`: jars, settings and addresses by which Storm asks Headworks."""

from __future__ import annotations

import contextlib
import json
import os
import socket
import zipfile
from pathlib import Path
from typing import TYPE_CHECKING, Any

from headworks.errors import EngineError
from headworks.hooks import Finding
from headworks_storm.client.gateway import NimbusGateway, nimbus_addresses
from headworks_storm.install.hooks import StoredSettings, examine_hooks, examine_workers
from headworks_storm.install.installation import Installation
from headworks_storm.install.security import SECRET, SECRET_FILE, examine_security, handed_out
from headworks_storm.nimbus.bridge import HOST, Endpoint
from headworks_storm.release.jar import own_jars
from headworks_storm.service import SCHEDULER
from headworks_storm.workers.collector import collector_addresses

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from headworks_local.java import Java

OLDEST, NEWEST = (2, 6), (2, 8)
"""Releases that the jar is tested with, the patch level left out."""
MEMBER, SEATS = "headworks/storm/HeadworksScheduler.class", "headworks/storm/seats/Validator.class"
"""The classes by which Headworks's jars for clusters are known, whatever their names."""
VALIDATOR = "nimbus.topology.validator"
"""The setting by which Nimbus has a class look at what is submitted; Headworks's rewrites it to have seats."""
LOCAL, LOCAL_DEFAULT = "storm.local.dir", "storm-local"
"""The setting for the folder of daemons' state, and Storm's default, below its home."""
OF_OTHERS = ("resource.aware.scheduler.user.pools", "multitenant.scheduler.user.pools")
"""Settings of Storm's schedulers that Headworks does not carry out."""
MACHINES = "topology.isolate.machines"
"""That of a topology for them: nodes of its own."""
SECONDS = 2.0
"""Seconds that a connection may take."""


def examine(home: Path) -> tuple[Finding, ...]:
    """Findings on an installation, in the order in which an operator best mends them."""
    try:
        installation = Installation.at(home)
    except EngineError as error:
        return (_bad("Storm", str(error), "name the folder that Storm was unpacked to, its $STORM_HOME"),)
    return (_release(installation), *_rest(installation))


def examine_settings(
    installation: Installation, conf: Mapping[str, Any], stored: StoredSettings | None
) -> Iterator[Finding]:
    """Findings on jars, on what a `storm.yaml` says, on what it names, and on what Nimbus has stored.

    Args:
        installation: The installation of this machine.
        conf: Its `storm.yaml`.
        stored: What Nimbus has, None where it was not asked.
    """
    if not _installed(installation, conf, stored):
        said = "no jar and no setting" if stored is None else "no jar, no setting and no topology"
        fix = "docs/storm-install.md has the steps; after its undo nothing is left to do"
        yield _lacking("Headworks", f"not installed: {said} names it", fix)
        yield from examine_security(conf, asked=stored is not None)
        return
    supervisor = _has_supervisor(installation.home, conf, stored.supervisors if stored is not None else None)
    nimbus = _has_nimbus(installation.home, conf)
    yield from examine_jars(installation, supervisor=supervisor, nimbus=nimbus)
    yield from examine_seats(installation, stored.nimbus if stored is not None else conf, supervisor=supervisor)
    yield from examine_conf(conf, stored.nimbus if stored is not None else None, asks=nimbus)
    yield from examine_topologies(stored.topologies if stored is not None else {})
    yield from examine_hooks(conf, stored)
    extlib, jar = installation.home / "extlib", bool(_with(MEMBER, installation, "extlib"))
    yield from examine_workers(extlib, conf, stored, jar=jar, supervisor=supervisor)
    yield from examine_security(conf, asked=stored is not None)


def _installed(installation: Installation, conf: Mapping[str, Any], stored: StoredSettings | None) -> bool:
    """Tell whether anything of Headworks is on this machine, or in Nimbus if that was asked."""
    folders = ("extlib", "extlib-daemon")
    jars = _with(MEMBER, installation, *folders) or _with(SEATS, installation, *folders)
    read = (conf,) if stored is None else (conf, stored.nimbus)
    named = any('"headworks.' in json.dumps(each, default=str) for each in read)
    return bool(jars or named or (stored is not None and stored.hooked()))


def _ok(subject: str, detail: str) -> Finding:
    return Finding(subject=subject, status="ok", detail=detail)


def _bad(subject: str, detail: str, fix: str) -> Finding:
    return Finding(subject=subject, status="broken", detail=detail, fix=fix)


def _lacking(subject: str, detail: str, fix: str) -> Finding:
    return Finding(subject=subject, status="missing", detail=detail, fix=fix)


def _release(installation: Installation) -> Finding:
    if OLDEST <= installation.release[:2] <= NEWEST:
        return _ok("Storm", installation.version)
    told = f"{installation.version}; Headworks's jar is tested with 2.6 to 2.8"
    if installation.release[:2] < (2, 2):
        return _bad("Storm", told, "use Storm 2.6 to 2.8")
    return _lacking("Storm", told, "try it in shadow first: headworks serve storm --shadow")


def examine_jars(installation: Installation, *, supervisor: bool = True, nimbus: bool = True) -> Iterator[Finding]:
    """The scheduler's jar on the classpath of Nimbus, and the hooks' on that of workers.

    Args:
        installation: The installation of this machine.
        supervisor: Whether a supervisor is on it: without one, no worker is.
        nimbus: Whether a Nimbus is on it.
    """
    everywhere, daemons = (_with(MEMBER, installation, folder) for folder in ("extlib", "extlib-daemon"))
    extlib, daemon = installation.home / "extlib", installation.home / "extlib-daemon"
    command = "headworks storm jar"
    if found := (*everywhere, *daemons):
        yield _jar("jar for Nimbus", found, f"{command} -O {daemon}")
    elif not nimbus:
        yield _ok("jar for Nimbus", "not needed here: nimbus.seeds names other machines")
    else:
        yield _bad("jar for Nimbus", f"no jar of Headworks is in {daemon}", f"{command} -O {daemon}")
    if everywhere:
        yield _jar("jar for workers", everywhere, f"{command} -O {extlib}")
    elif supervisor:
        said = f"no jar of Headworks is in {extlib}: nothing is measured"
        yield _lacking("jar for workers", said, f"{command} -O {extlib}")
    else:
        yield _ok("jar for workers", "not needed here: no supervisor of this machine is known")


def examine_seats(installation: Installation, conf: Mapping[str, Any], *, supervisor: bool) -> Iterator[Finding]:
    """The jar of seats, where there is one, or where Nimbus has topologies rewritten.

    Args:
        installation: The installation of this machine.
        conf: The settings of Nimbus.
        supervisor: Whether a supervisor is on it.
    """
    found = _with(SEATS, installation, "extlib", *(() if supervisor else ("extlib-daemon",)))
    extlib, named = installation.home / "extlib", "headworks.storm.seats" in str(conf.get(VALIDATOR))
    fix = f"headworks storm jar --seats -O {extlib}"
    if found:
        yield _jar("jar of seats", found, fix)
    elif named:
        said = f"none is in {extlib} and {VALIDATOR} names a class of it: neither Nimbus nor workers with seats start"
        yield _bad("jar of seats", said, fix)


def _with(member: str, installation: Installation, *folders: str) -> tuple[Path, ...]:
    """The jars in an installation's folders that hold a file."""
    return tuple(jar for jar in installation.additions(*folders) if _holds(jar, member))


def _holds(jar: Path, member: str) -> bool:
    try:
        with zipfile.ZipFile(jar) as archive:
            return member in archive.namelist()
    except (OSError, zipfile.BadZipFile):
        return False


def _jar(subject: str, found: tuple[Path, ...], command: str) -> Finding:
    # Two jars of one content do no harm; of two that differ, the order on the class path decides which classes load.
    contents = {jar.read_bytes() for jar in found}
    names = ", ".join(f"{jar.parent.name}/{jar.name}" for jar in found)
    if len(contents) > 1:
        return _bad(subject, f"{names} differ", f"{command}, and remove the others")
    if (own := _own_jars()) and not contents & own:
        return _bad(subject, f"{names} is not of this Headworks", f"{command}, and remove the others")
    return _ok(subject, names)


def _own_jars() -> frozenset[bytes]:
    """This Headworks's jars, none where they cannot be made."""
    try:
        return frozenset(each.read_bytes() for each in own_jars())
    except EngineError:
        return frozenset()


def _rest(installation: Installation) -> Iterator[Finding]:
    try:
        java = installation.java()
        conf = installation.conf()
        nimbus_addresses(conf)  # which every command needs
    except EngineError as error:
        yield from examine_jars(installation)
        yield _bad("storm.yaml", str(error), "mend it, then ask again")
        return
    yield _ok("Java", f"{java.version} ({java.program})")
    yield _ok("storm.yaml", str(installation.conf_file))
    try:
        stored = _stored(installation, conf, java)
    except EngineError as error:
        stored = None
        yield _lacking(
            "Nimbus", f"{error} The settings that it stored with topologies are not known", "ask again when it leads"
        )
    yield from examine_settings(installation, conf, stored)


def _stored(installation: Installation, conf: Mapping[str, Any], java: Java) -> StoredSettings:
    """Ask Nimbus, if anybody listens where it should: Storm's client would wait for minutes."""
    where = nimbus_addresses(conf)
    if not any(_listening("Nimbus", host, port, "").status == "ok" for host, port in where):
        raise EngineError(f"no Nimbus answers at {', '.join(f'{host}:{port}' for host, port in where)}.")
    with NimbusGateway(installation.home / "lib", conf, java=java.program) as nimbus:
        return StoredSettings.ask(nimbus)


def examine_conf(
    conf: Mapping[str, Any], nimbus: Mapping[str, Any] | None = None, *, asks: bool = True
) -> Iterator[Finding]:
    """Findings on what a `storm.yaml` says, and on the files and addresses that it names.

    Args:
        conf: The `storm.yaml` of this machine.
        nimbus: The settings of Nimbus, None where it was not asked.
        asks: Whether a Nimbus is on this machine, which asks Headworks.
    """
    if asks:
        yield _scheduler(conf)
    if nothing := [each for each in OF_OTHERS if conf.get(each) or (nimbus or {}).get(each)]:
        yield _lacking(
            "settings of another scheduler",
            f"{', '.join(nothing)}: guarantees of users and evictions by priority count for nothing",
            "give topologies priorities and the nodes that they must have (docs/manager.md), or take these out",
        )
    if asks:
        yield _endpoint(conf.get("headworks.endpoint"))
    yield from _collectors(conf.get("headworks.collector"))
    yield _token(conf, handed=handed_out(conf) or handed_out(nimbus or {}))


def examine_topologies(topologies: Mapping[str, Mapping[str, Any]]) -> Iterator[Finding]:
    """Findings on settings of topologies that count for nothing.

    Args:
        topologies: The settings of each, by its name.
    """
    if asking := sorted(name for name, conf in topologies.items() if conf.get(MACHINES)):
        yield _lacking(
            "settings of another scheduler",
            f"{MACHINES} of {', '.join(asking)}: it counts for nothing",
            "name the topology in Nimbus's isolation.scheduler.machines, or say topology.headworks.desired.nodes",
        )


def _scheduler(conf: Mapping[str, Any]) -> Finding:
    ((key, wanted),) = SCHEDULER.items()
    found = conf.get(key)
    if found == wanted:
        return _ok(key, wanted)
    fix = f'storm.yaml of Nimbus: {key}: "{wanted}"'
    if found:
        fix += f', and headworks.own.scheduler: "{found}" to keep it as the fallback'
    return _bad(key, str(found or "not set: Storm's own"), fix)


def _endpoint(named: Any) -> Finding:
    subject = "headworks.endpoint"
    if not named:
        return _bad(
            subject, "not set", 'storm.yaml of Nimbus: headworks.endpoint: "/FILE", that of `headworks serve storm`'
        )
    file = Path(str(named))
    start = f"start `headworks serve storm --endpoint {file}`"
    if not file.is_absolute():
        return _bad(subject, f"{file} is no absolute path", "write the whole path into storm.yaml")
    if not file.is_file():
        return _bad(subject, f"there is no {file}: nobody answers Nimbus", start)
    if others := _rights_of_others(file):
        return _bad(subject, others, f"chmod 600 {file}")
    if not os.access(file, os.R_OK):
        return _lacking(subject, f"{file} is not readable for you", "ask again as the user who runs Nimbus")
    endpoint = Endpoint.read(file)
    if endpoint is None:
        return _bad(subject, f"{file} has no port and token", start)
    return _listening(subject, HOST, endpoint.port, start)


def _rights_of_others(file: Path) -> str:
    mode = file.stat().st_mode & 0o777
    return f"others than its owner have rights to {file} ({mode:o})" if mode & 0o077 else ""


def _listening(subject: str, host: str, port: int, fix: str) -> Finding:
    try:
        socket.create_connection((host, port), timeout=SECONDS).close()
    except OSError as error:
        return _bad(subject, f"{host}:{port} does not answer: {error.strerror or error}", fix)
    except UnicodeError:
        return _bad(subject, f"{host!r} is not a name of a host", fix)
    return _ok(subject, f"{host}:{port} answers")


def _collectors(named: Any) -> Iterator[Finding]:
    subject = "headworks.collector"
    fix = "start `headworks serve storm --collector HOST:PORT`, and name that address in storm.yaml of supervisors"
    try:
        addresses = collector_addresses(named)
    except ValueError as error:
        yield _bad(subject, str(error), fix)
        return
    if not addresses:
        yield _lacking(subject, "not set: workers report nothing", fix)
    for host, port in addresses:  # one beside each Nimbus
        yield _listening(subject, host, port, fix)


def _token(conf: Mapping[str, Any], *, handed: bool) -> Finding:
    if conf.get(SECRET):
        return _ok(SECRET_FILE, "storm.yaml has the token itself")
    named = conf.get(SECRET_FILE)
    if handed:
        return _token_of_nimbus(conf, named)
    fix = "storm.yaml of supervisors: the file that `headworks serve storm` names, copied to each machine"
    if not named:
        return _lacking(SECRET_FILE, "not set: the collector refuses workers", fix)
    return _token_file(Path(str(named)), fix)


def _token_of_nimbus(conf: Mapping[str, Any], named: Any) -> Finding:
    """The finding where each topology is handed its own token: Nimbus, beside its endpoint, makes them of the file."""
    if not Path(str(conf.get("headworks.endpoint") or "")).is_file():
        return _ok(SECRET_FILE, "not needed here: Nimbus hands each topology its own")
    fix = "storm.yaml of Nimbus: the file that `headworks serve storm` names"
    if not named:
        return _bad(SECRET_FILE, "not set: Nimbus has nothing to make the tokens of topologies of", fix)
    return _token_file(Path(str(named)), fix)


def _token_file(file: Path, fix: str) -> Finding:
    if not file.is_file():
        return _bad(SECRET_FILE, f"there is no {file}", fix)
    return (
        _bad(SECRET_FILE, others, f"chmod 600 {file}")
        if (others := _rights_of_others(file))
        else _ok(SECRET_FILE, str(file))
    )


def _has_supervisor(home: Path, conf: Mapping[str, Any], known: Sequence[str] | None) -> bool:
    """Tell whether a supervisor is on this machine, as far as one can know; in doubt it is.

    Args:
        conf: Its `storm.yaml`.
        known: Hosts of the supervisors that Nimbus knows, None where it was not asked. Then what daemons left in their
            folder counts: Nimbus something, and a supervisor nothing.
    """
    if known is not None:
        return any(map(_of_this_machine, known))
    state = _state(home, conf)
    return (state / "supervisor").exists() or not (state / "nimbus").exists()


def _has_nimbus(home: Path, conf: Mapping[str, Any]) -> bool:
    """Tell whether a Nimbus is on this machine, or is to be; in doubt it is.

    Args:
        conf: Its `storm.yaml`, whose addresses of Nimbus are sound.
    """
    named = conf.get("headworks.endpoint") or any(_of_this_machine(host) for host, _ in nimbus_addresses(conf))
    return bool(named) or (_state(home, conf) / "nimbus").exists()


def _state(home: Path, conf: Mapping[str, Any]) -> Path:
    """The folder of the daemons' state; an absolute path stays what it is."""
    return home / str(conf.get(LOCAL) or LOCAL_DEFAULT)


def _of_this_machine(host: str) -> bool:
    """Tell whether a host name, or an address, is one of this machine: one can listen there."""
    with contextlib.suppress(OSError), socket.create_server((host, 0)):
        return True
    return False

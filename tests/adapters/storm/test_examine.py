"""`headworks doctor --storm HOME`: every finding, with its way out."""

from __future__ import annotations

import json
import shutil
import socket
import zipfile
from typing import TYPE_CHECKING, Any

import pytest

from headworks.plugins.host import PluginHost
from headworks_storm.client.gateway import TLS, TLS_STORE
from headworks_storm.install.examine import (
    LOCAL,
    MACHINES,
    MEMBER,
    OF_OTHERS,
    VALIDATOR,
    examine,
    examine_conf,
    examine_jars,
    examine_settings,
)
from headworks_storm.install.hooks import StoredSettings, examine_hooks
from headworks_storm.install.installation import Installation
from headworks_storm.install.security import (
    AS_USER,
    CREDENTIALS,
    DIGEST,
    JAAS,
    SECRET,
    SECRET_FILE,
    TLS_TRANSPORT,
    TRANSPORT,
)
from headworks_storm.local.cluster import LocalStorm
from headworks_storm.nimbus.bridge import Endpoint
from headworks_storm.release.jar import own_jars
from headworks_storm.service import HOOKS, SCHEDULER, ServiceSettings, serve
from shell import headworks
from storm_cluster import RELEASE, SMALL

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from headworks.hooks import Finding
    from headworks_local.ports import Ports


def conf_of(**more: Any) -> dict[str, Finding]:
    conf = {key.replace("_", "."): value for key, value in more.items()}
    return {each.subject: each for each in examine_conf(conf)}


@pytest.fixture
def home(tmp_path: Path) -> Path:
    (tmp_path / "lib").mkdir()
    (tmp_path / "lib" / "storm-client-2.8.3.jar").touch()
    return tmp_path


def put(jar: Path, content: str = "class") -> Path:
    jar.parent.mkdir(exist_ok=True)
    with zipfile.ZipFile(jar, "w") as archive:
        archive.writestr(MEMBER, content)
    return jar


HOOK, REPORTERS = HOOKS
SETTINGS = (
    *(*HOOKS, *SCHEDULER, *OF_OTHERS, VALIDATOR, LOCAL, MACHINES),
    *("headworks.endpoint", "headworks.collector", SECRET, SECRET_FILE, CREDENTIALS, AS_USER),
    *(TRANSPORT, JAAS, TLS, TLS_STORE, TLS_TRANSPORT),
)
"""Those that the doctor looks at."""
GRAPHITE = {"class": "org.acme.Graphite", "report.period": 10}


def settings_of(
    home: Path, conf: dict[str, Any], nimbus: dict[str, Any] | None = None, **topologies: dict[str, Any]
) -> dict[str, Finding]:
    stored = None if nimbus is None else StoredSettings(nimbus=nimbus, topologies=topologies)
    found = examine_settings(Installation.at(home), {"headworks.timeout.ms": 5000, **conf}, stored)
    return {each.subject: each for each in found}


def jars(home: Path) -> tuple[Finding, ...]:
    return tuple(examine_jars(Installation.at(home)))


@pytest.mark.parametrize(
    "value", [True, 7, -1, 2.5, "", "text", "a:b", "a..b:1", [], ["a"], [7], [["a"]], {"a": 1}, {"a": {}}]
)
def test_no_setting_of_another_form_is_more_than_a_finding(home: Path, value: Any) -> None:
    """As text, number, list or map: whatever YAML holds, of this machine, of Nimbus, and of a topology."""
    for key in SETTINGS:
        found = settings_of(home, {key: value}, {key: value}, wc={key: value})
        assert all(each.detail for each in found.values()), key


def test_a_list_that_is_text_is_told_as_such(home: Path) -> None:
    found = settings_of(home, {HOOK: "a.Hook"})[HOOK]
    assert (found.status, found.detail) == ("missing", "'a.Hook', and Storm takes a list")
    assert found.fix.endswith(f'{HOOK}: ["a.Hook", "headworks.storm.monitor.TaskHook"]')


def test_where_nothing_of_headworks_is_left_it_is_not_installed_and_that_is_all(home: Path) -> None:
    def found(conf: dict[str, Any], nimbus: dict[str, Any], **topologies: dict[str, Any]) -> list[str]:
        stored = StoredSettings(nimbus=nimbus, topologies=topologies)
        return [each.subject for each in examine_settings(Installation.at(home), conf, stored)]

    plain = {"storm.scheduler": "org.apache.storm.scheduler.DefaultScheduler", HOOK: ["a.Hook"]}
    assert found(plain, plain, wc=plain) == ["Headworks"]
    assert "Headworks" not in found({}, {}, wc=dict(HOOKS))
    assert "Headworks" not in found({"headworks.shadow": True}, {})
    assert "Headworks" not in found({}, dict(SCHEDULER))
    put(home / "extlib-daemon" / "a.jar")
    assert "Headworks" not in found({}, {})


def test_where_nimbus_is_away_this_machine_alone_says_whether_it_is_installed(home: Path) -> None:
    def found(conf: dict[str, Any]) -> list[Finding]:
        return list(examine_settings(Installation.at(home), conf, None))

    (only,) = found({"storm.scheduler": "org.acme.Mine"})
    assert (only.subject, only.status) == ("Headworks", "missing")
    assert "topology" not in only.detail
    assert len(found({"headworks.shadow": True})) > 1


def test_a_machine_without_nimbus_needs_nothing_by_which_nimbus_asks(home: Path) -> None:
    def wrong(**more: Any) -> set[str]:
        conf = {**HOOKS, "headworks.collector": "127.0.0.1:1", **more}
        found = settings_of(home, {key.replace("_", "."): value for key, value in conf.items()}, {})
        return {name for name, each in found.items() if each.status == "broken"}

    of_nimbus = {"jar for Nimbus", "storm.scheduler", "headworks.endpoint"}
    assert wrong() >= of_nimbus
    assert wrong(nimbus_seeds=["192.0.2.1", "127.0.0.1"]) >= of_nimbus
    assert not wrong(nimbus_seeds=["192.0.2.1"]) & of_nimbus
    assert wrong(nimbus_seeds=["192.0.2.1"], headworks_endpoint="/no/where") >= of_nimbus  # by another name of its own
    (home / "storm-local" / "nimbus").mkdir(parents=True)
    assert wrong(nimbus_seeds=["192.0.2.1"]) >= of_nimbus


def test_guarantees_that_count_for_nothing_are_named() -> None:
    key = "resource.aware.scheduler.user.pools"
    found = {each.subject: each for each in examine_conf({key: {"ann": {"cpu": 400}}})}
    assert found["settings of another scheduler"].detail.startswith(key)
    assert "settings of another scheduler" not in {each.subject for each in examine_conf({})}


def test_nodes_that_a_topology_asks_another_scheduler_for_are_named(home: Path) -> None:
    asking = {"topology.isolate.machines": 2}
    found = settings_of(home, {}, {}, wc=asking, plain={}, ads=asking)["settings of another scheduler"]
    assert found.detail == "topology.isolate.machines of ads, wc: it counts for nothing"
    assert "settings of another scheduler" not in settings_of(home, {}, {}, plain={})


def test_a_folder_that_is_no_installation_is_the_only_finding(tmp_path: Path) -> None:
    (found,) = examine(tmp_path)
    assert found.status == "broken"
    assert "storm-client" in found.detail
    assert "$STORM_HOME" in found.fix


def test_no_jar_is_broken_for_nimbus_and_missing_for_workers(home: Path) -> None:
    put(home / "extlib" / "other.jar").unlink()
    nimbus, workers = jars(home)
    assert (nimbus.status, workers.status) == ("broken", "missing")
    assert nimbus.fix == f"headworks storm jar -O {home / 'extlib-daemon'}"
    assert workers.fix == f"headworks storm jar -O {home / 'extlib'}"


def test_a_jar_of_another_headworks_and_two_that_differ_are_broken(home: Path) -> None:
    put(home / "extlib-daemon" / "a.jar")
    nimbus, workers = jars(home)
    assert (nimbus.status, workers.status) == ("broken", "missing")
    assert "extlib-daemon/a.jar is not of this Headworks" in nimbus.detail
    put(home / "extlib" / "b.jar", "another class")
    nimbus, _ = jars(home)
    assert "extlib/b.jar, extlib-daemon/a.jar differ" in nimbus.detail


def test_what_is_no_jar_is_passed_over(home: Path) -> None:
    (home / "extlib").mkdir()
    (home / "extlib" / "half.jar").write_text("no zip")
    assert [each.status for each in jars(home)] == ["broken", "missing"]


def test_a_nimbus_that_rewrites_topologies_needs_the_jar_of_seats(home: Path) -> None:
    named = {VALIDATOR: "headworks.storm.seats.Validator"}
    for conf, nimbus in ((named, None), ({}, named)):
        found = settings_of(home, conf, nimbus)["jar of seats"]
        assert (found.status, found.fix) == ("broken", f"headworks storm jar --seats -O {home / 'extlib'}")
    assert "jar of seats" not in settings_of(home, {VALIDATOR: "org.acme.Validator"}, {})
    (home / "extlib").mkdir()
    shutil.copy(own_jars().seats, home / "extlib" / "a.jar")
    assert settings_of(home, named)["jar of seats"].status == "ok"


def test_an_empty_configuration_lacks_everything() -> None:
    found = conf_of()
    assert {name: each.status for name, each in found.items()} == {
        "storm.scheduler": "broken",
        "headworks.endpoint": "broken",
        "headworks.collector": "missing",
        "headworks.collector.token.file": "missing",
    }
    assert all(each.fix for each in found.values())


def test_another_scheduler_is_kept_as_the_fallback() -> None:
    found = conf_of(storm_scheduler="org.acme.Mine")["storm.scheduler"]
    assert found.detail == "org.acme.Mine"
    assert 'headworks.own.scheduler: "org.acme.Mine"' in found.fix


def test_the_endpoint_is_followed_to_the_process_that_listens(tmp_path: Path) -> None:
    file = tmp_path / "endpoint.json"

    def found() -> Finding:
        return conf_of(headworks_endpoint=str(file))["headworks.endpoint"]

    assert "nobody answers" in found().detail
    assert f"headworks serve storm --endpoint {file}" in found().fix
    with socket.create_server(("127.0.0.1", 0)) as server:
        Endpoint(port=server.getsockname()[1], token="secret").write(file)
        assert found().status == "ok"
        assert "secret" not in str(found())
        file.chmod(0o644)
        assert found().fix == f"chmod 600 {file}"
        file.chmod(0o600)
    assert "does not answer" in found().detail
    file.write_text("{}")
    assert "has no port and token" in found().detail
    assert "no absolute path" in conf_of(headworks_endpoint="endpoint.json")["headworks.endpoint"].detail


@pytest.mark.parametrize("named", ["somewhere", "host:", ":1", "host:99999"])
def test_a_collector_that_is_no_address(named: str) -> None:
    assert conf_of(headworks_collector=named)["headworks.collector"].detail == f"{named!r} is not a HOST:PORT"


def test_each_of_several_collectors_is_called() -> None:
    with socket.create_server(("127.0.0.1", 0)) as up, socket.create_server(("127.0.0.1", 0)) as down:
        ports = [each.getsockname()[1] for each in (up, down)]
        down.close()
        named = ", ".join(f"127.0.0.1:{port}" for port in ports)
        found = [each for each in examine_conf({"headworks.collector": named}) if each.subject == "headworks.collector"]
    assert [each.status for each in found] == ["ok", "broken"]
    assert f"127.0.0.1:{ports[1]} does not answer" in found[1].detail


def test_the_monitors_keys(tmp_path: Path) -> None:
    token = tmp_path / "token"
    token.write_text("x")
    found = {each.subject: each for each in examine_conf({"headworks.collector.token.file": str(token)})}
    assert {each.status for each in examine_hooks(HOOKS, None)} == {"ok"}
    assert {each.status for each in examine_hooks({}, None)} == {"missing"}
    assert found["headworks.collector.token.file"].fix == f"chmod 600 {token}"
    token.chmod(0o600)
    assert conf_of(**{"headworks.collector.token.file": str(token)})["headworks.collector.token.file"].status == "ok"


def test_hooks_without_the_jar_are_broken_whoever_names_them(home: Path) -> None:
    for conf, nimbus in ((dict(HOOKS), None), ({}, dict(HOOKS)), (dict(HOOKS), {})):
        found = settings_of(home, conf, nimbus)["hooks"]
        assert found.status == "broken"
        assert "will not start here" in found.detail
        assert f"headworks storm jar -O {home / 'extlib'}" in found.fix
    assert "hooks" not in settings_of(home, {}, {})
    put(home / "extlib" / "a.jar")
    assert "hooks" not in settings_of(home, dict(HOOKS), dict(HOOKS))


def test_a_list_of_nimbuss_own_wins_and_is_kept_in_the_list_to_write(home: Path) -> None:
    found = settings_of(home, dict(HOOKS), {REPORTERS: [GRAPHITE]})
    assert found[HOOK].status == "ok"
    assert found[REPORTERS].status == "missing"
    assert "Nimbus has a list of its own, which wins" in found[REPORTERS].detail
    where, _, written = found[REPORTERS].fix.partition(f"{REPORTERS}: ")
    assert where == "storm.yaml of every Nimbus: "
    assert json.loads(written) == [GRAPHITE, *HOOKS[REPORTERS]]
    merged = settings_of(home, dict(HOOKS), {REPORTERS: json.loads(written)})
    assert merged[REPORTERS].status == "ok"


def test_a_list_of_the_supervisors_is_kept_too(home: Path) -> None:
    fix = settings_of(home, {HOOK: ["org.acme.Hook"]})[HOOK].fix
    assert fix == f'storm.yaml of supervisors: {HOOK}: ["org.acme.Hook", "{HOOKS[HOOK][0]}"]'


def test_topologies_that_lose_or_keep_the_hooks_are_named(home: Path) -> None:
    put(home / "extlib" / "a.jar")
    topologies: dict[str, dict[str, Any]] = {"own": {HOOK: ["org.acme.Hook"]}, "plain": {}, "hooked": dict(HOOKS)}
    found = settings_of(home, dict(HOOKS), {}, **topologies)
    assert found["topology own"].detail.startswith("reports nothing")
    assert '["org.acme.Hook", "headworks.storm.monitor.TaskHook"]' in found["topology own"].fix
    assert not {"topology plain", "topology hooked"} & set(found)
    assert found["topologies"].status == "ok"
    assert "stored with the hooks: hooked;" in found["topologies"].detail
    # the keys are gone from every storm.yaml: what is stored still names them
    assert "hooked" in settings_of(home, {}, {}, **topologies)["topologies"].detail
    (home / "extlib" / "a.jar").unlink()
    gone = settings_of(home, {}, {}, **topologies)["topologies"]
    assert (gone.status, "hooked" in gone.detail) == ("broken", True)


def test_settings_of_a_secured_cluster(home: Path, tmp_path: Path) -> None:
    jaas = tmp_path / "jaas.conf"
    digest = "org.apache.storm.security.auth.digest.DigestSaslTransportPlugin"
    conf: dict[str, Any] = {"storm.thrift.transport": digest}
    assert "java.security.auth.login.config" in settings_of(home, conf)["storm.thrift.transport"].fix
    conf["java.security.auth.login.config"] = str(jaas)
    assert "cannot be read" in settings_of(home, conf)["storm.thrift.transport"].detail
    jaas.touch()
    assert settings_of(home, conf)["storm.thrift.transport"].status == "ok"
    assert settings_of(home, {"nimbus.thrift.client.use.tls": True})["nimbus.thrift.client.use.tls"].status == "missing"
    shown = settings_of(home, {"headworks.collector.token": "hidden"})["headworks.collector.token"]
    assert (shown.status, "hidden" in str(shown)) == ("broken", False)
    as_user: dict[str, Any] = {"supervisor.run.worker.as.user": True, "headworks.collector.token.file": "/t"}
    assert settings_of(home, as_user)["supervisor.run.worker.as.user"].status == "broken"
    as_user["topology.auto-credentials"] = ["headworks.storm.monitor.TopologyToken"]
    assert "supervisor.run.worker.as.user" not in settings_of(home, as_user)


def test_tls_by_storm_s_own_listener_is_doubted_until_nimbus_answers(home: Path) -> None:
    (home / "trusted.p12").touch()
    conf = {TLS: True, TLS_STORE: str(home / "trusted.p12")}
    found = settings_of(home, conf)[TLS]
    assert (found.status, "since Java 15" in found.detail) == ("missing", True)
    assert settings_of(home, {**conf, TLS_TRANSPORT: "org.acme.Tls"})[TLS].status == "ok"
    assert settings_of(home, conf, {})[TLS].status == "ok"  # it answered


def test_a_login_by_digest_needs_a_nimbus_that_is_called_localhost(home: Path, tmp_path: Path) -> None:
    (tmp_path / "jaas.conf").touch()
    conf = {TRANSPORT: DIGEST, JAAS: str(tmp_path / "jaas.conf"), "nimbus.seeds": ["localhost", "nimbus2"]}
    found = settings_of(home, conf)[TRANSPORT]
    assert (found.status, "nimbus2" in found.detail, "localhost" in found.fix) == ("broken", True, True)
    assert settings_of(home, {**conf, "nimbus.seeds": ["localhost"]})[TRANSPORT].status == "ok"


JARS = {"jar for Nimbus", "jar for workers", "hooks", "topologies"}


@pytest.mark.parametrize(
    ("known", "needed"),
    [(("192.0.2.8", "192.0.2.7"), False), ((), False), (("127.0.0.21", "192.0.2.7"), True)],
    ids=["elsewhere", "none", "here"],
)
def test_a_machine_of_which_nimbus_knows_no_supervisor_needs_no_jar_for_workers(
    home: Path, known: tuple[str, ...], needed: bool
) -> None:
    (home / "extlib-daemon").mkdir()
    shutil.copy(own_jars().bridge, home / "extlib-daemon" / "a.jar")
    stored = StoredSettings(nimbus=HOOKS, topologies={"hooked": HOOKS}, supervisors=known)
    found = {each.subject: each for each in examine_settings(Installation.at(home), HOOKS, stored)}
    wrong = {name for name in JARS if name in found and found[name].status != "ok"}
    assert wrong == ({"jar for workers", "hooks", "topologies"} if needed else set())


@pytest.mark.parametrize("named", [None, "state", "absolute"])
def test_a_machine_with_nimbus_alone_is_known_by_its_folder_when_nimbus_is_not_asked(
    home: Path, tmp_path: Path, named: str | None
) -> None:
    folder = str(tmp_path / "elsewhere") if named == "absolute" else named
    conf = {**HOOKS, "storm.local.dir": folder}
    state = home / (folder or "storm-local")

    def found() -> set[str]:
        return {name for name, each in settings_of(home, conf).items() if name in JARS and each.status == "broken"}

    assert found() == {"jar for Nimbus", "hooks"}  # nothing ever ran here: it may be for a supervisor
    (state / "nimbus").mkdir(parents=True)
    assert found() == {"jar for Nimbus"}
    (state / "supervisor").mkdir()
    assert found() == {"jar for Nimbus", "hooks"}


@pytest.mark.parametrize("whose", ["own", "of Nimbus"])
def test_the_token_file_is_needed_beside_nimbus_alone_where_topologies_have_their_own(
    tmp_path: Path, whose: str
) -> None:
    handed = {"topology.auto-credentials": ["headworks.storm.monitor.TopologyToken"]}
    endpoint, token = tmp_path / "endpoint.json", tmp_path / "token"
    conf = {"headworks.endpoint": str(endpoint), **(handed if whose == "own" else {})}

    def found(**more: Any) -> str:
        subject = {each.subject: each for each in examine_conf({**conf, **more}, handed if whose != "own" else None)}
        return subject["headworks.collector.token.file"].status

    file = {"headworks.collector.token.file": str(token)}
    assert (found(), found(**file)) == ("ok", "ok")
    endpoint.touch()
    assert (found(), found(**file)) == ("broken", "broken")
    token.touch(mode=0o600)
    assert found(**file) == "ok"


def test_the_command_names_the_findings(tmp_path: Path) -> None:
    run = headworks("doctor", "--storm", tmp_path, "--json")
    assert run.returncode == 3
    assert [each["subject"] for each in json.loads(run.stdout)] == ["Storm"]


@pytest.fixture(scope="module")
def asked(
    java: None, tmp_path_factory: pytest.TempPathFactory, ports: Ports
) -> Iterator[tuple[LocalStorm, ServiceSettings]]:
    folder = tmp_path_factory.mktemp("examined")
    (port,) = ports.take()
    settings = ServiceSettings(endpoint=folder / "endpoint.json", collector=("127.0.0.1", port))
    with serve(PluginHost.load(), "even", {}, settings) as service:
        conf = {**service.nimbus_conf(), **service.worker_conf()}
        with LocalStorm(SMALL[:1], conf=conf, extlib=(own_jars().bridge,), version=RELEASE) as storm:
            yield storm, settings


@pytest.mark.storm
@pytest.mark.slow
@pytest.mark.network
def test_a_real_installation_that_is_served_is_sound(asked: tuple[LocalStorm, ServiceSettings]) -> None:
    storm, settings = asked
    found = examine(storm.home)
    assert [each for each in found if each.status != "ok"] == []
    assert {"Storm", "jar for Nimbus", "jar for workers", *SCHEDULER, *HOOKS} <= {each.subject for each in found}
    file = storm.home / "conf" / "storm.yaml"
    sound = file.read_text()
    try:
        file.write_text(sound.replace(str(settings.endpoint), "/no/where"))
        assert [each.subject for each in examine(storm.home) if each.status != "ok"] == ["headworks.endpoint"]
        file.write_text("a: [b\n")
        assert any("cannot be read as YAML" in each.detail for each in examine(storm.home))
        file.unlink()
        assert any("there is no" in each.detail for each in examine(storm.home))
    finally:
        file.write_text(sound)

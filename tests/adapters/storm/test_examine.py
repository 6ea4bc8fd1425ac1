"""`headgate doctor --storm HOME`: every finding, with its way out."""

from __future__ import annotations

import json
import socket
import zipfile
from typing import TYPE_CHECKING, Any

import pytest

from headgate.plugins.host import PluginHost
from headgate_storm.install.examine import MEMBER, examine, examine_conf, examine_jars
from headgate_storm.install.installation import Installation
from headgate_storm.local.cluster import LocalStorm
from headgate_storm.nimbus.bridge import Endpoint
from headgate_storm.release.jar import bridge_jar
from headgate_storm.service import HOOKS, SCHEDULER, ServiceSettings, serve
from shell import headgate
from storm_cluster import RELEASE, SMALL

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from headgate.hooks import Finding


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


def jars(home: Path) -> tuple[Finding, ...]:
    return tuple(examine_jars(Installation.at(home)))


def test_a_folder_that_is_no_installation_is_the_only_finding(tmp_path: Path) -> None:
    (found,) = examine(tmp_path)
    assert found.status == "broken"
    assert "storm-client" in found.detail
    assert "$STORM_HOME" in found.fix


def test_no_jar_is_broken_for_nimbus_and_missing_for_workers(home: Path) -> None:
    put(home / "extlib" / "other.jar").unlink()
    nimbus, workers = jars(home)
    assert (nimbus.status, workers.status) == ("broken", "missing")
    assert nimbus.fix == f"headgate storm jar -o {home / 'extlib-daemon'}"
    assert workers.fix == f"headgate storm jar -o {home / 'extlib'}"


def test_a_jar_of_another_headgate_and_two_that_differ_are_broken(home: Path) -> None:
    put(home / "extlib-daemon" / "a.jar")
    nimbus, workers = jars(home)
    assert (nimbus.status, workers.status) == ("broken", "missing")
    assert "extlib-daemon/a.jar is not of this Headgate" in nimbus.detail
    put(home / "extlib" / "b.jar", "another class")
    nimbus, _ = jars(home)
    assert "extlib/b.jar, extlib-daemon/a.jar differ" in nimbus.detail


def test_what_is_no_jar_is_passed_over(home: Path) -> None:
    (home / "extlib").mkdir()
    (home / "extlib" / "half.jar").write_text("no zip")
    assert [each.status for each in jars(home)] == ["broken", "missing"]


def test_an_empty_configuration_lacks_everything() -> None:
    found = conf_of()
    assert {name: each.status for name, each in found.items()} == {
        "storm.scheduler": "broken",
        "headgate.endpoint": "broken",
        "topology.auto.task.hooks": "missing",
        "topology.metrics.reporters": "missing",
        "headgate.collector": "missing",
        "headgate.collector.token.file": "missing",
    }
    assert all(each.fix for each in found.values())


def test_another_scheduler_is_kept_as_the_fallback() -> None:
    found = conf_of(storm_scheduler="org.acme.Mine")["storm.scheduler"]
    assert found.detail == "org.acme.Mine"
    assert 'headgate.own.scheduler: "org.acme.Mine"' in found.fix


def test_the_endpoint_is_followed_to_the_process_that_listens(tmp_path: Path) -> None:
    file = tmp_path / "endpoint.json"

    def found() -> Finding:
        return conf_of(headgate_endpoint=str(file))["headgate.endpoint"]

    assert "nobody answers" in found().detail
    assert f"headgate serve storm --endpoint {file}" in found().fix
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
    assert "no absolute path" in conf_of(headgate_endpoint="endpoint.json")["headgate.endpoint"].detail


@pytest.mark.parametrize("named", ["somewhere", "host:", ":1", "host:99999"])
def test_a_collector_that_is_no_address(named: str) -> None:
    assert conf_of(headgate_collector=named)["headgate.collector"].detail == f"{named!r} is no HOST:PORT"


def test_each_of_several_collectors_is_called() -> None:
    with socket.create_server(("127.0.0.1", 0)) as up, socket.create_server(("127.0.0.1", 0)) as down:
        ports = [each.getsockname()[1] for each in (up, down)]
        down.close()
        named = ", ".join(f"127.0.0.1:{port}" for port in ports)
        found = [each for each in examine_conf({"headgate.collector": named}) if each.subject == "headgate.collector"]
    assert [each.status for each in found] == ["ok", "broken"]
    assert f"127.0.0.1:{ports[1]} does not answer" in found[1].detail


def test_the_monitors_keys(tmp_path: Path) -> None:
    token = tmp_path / "token"
    token.write_text("x")
    found = {each.subject: each for each in examine_conf({**HOOKS, "headgate.collector.token.file": str(token)})}
    assert {found[name].status for name in HOOKS} == {"ok"}
    assert found["headgate.collector.token.file"].fix == f"chmod 600 {token}"
    token.chmod(0o600)
    assert conf_of(**{"headgate.collector.token.file": str(token)})["headgate.collector.token.file"].status == "ok"


def test_the_command_names_the_findings(tmp_path: Path) -> None:
    run = headgate("doctor", "--storm", tmp_path, "--json")
    assert run.returncode == 3
    assert [each["subject"] for each in json.loads(run.stdout)] == ["Storm"]


@pytest.fixture(scope="module")
def asked(java: None, tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[LocalStorm, ServiceSettings]]:
    folder = tmp_path_factory.mktemp("examined")
    with socket.create_server(("127.0.0.1", 0)) as free:
        address = ("127.0.0.1", free.getsockname()[1])
    settings = ServiceSettings(endpoint=folder / "endpoint.json", collector=address)
    with serve(PluginHost.load(), "even", {}, settings) as service:
        conf = {**service.nimbus_conf(), **service.worker_conf()}
        with LocalStorm(SMALL[:1], conf=conf, extlib=(bridge_jar(),), version=RELEASE) as storm:
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
        assert [each.subject for each in examine(storm.home) if each.status != "ok"] == ["headgate.endpoint"]
        file.write_text("a: [b\n")
        assert any("cannot be read as YAML" in each.detail for each in examine(storm.home))
        file.unlink()
        assert any("there is no" in each.detail for each in examine(storm.home))
    finally:
        file.write_text(sound)

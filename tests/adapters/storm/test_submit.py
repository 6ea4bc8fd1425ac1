"""`headworks storm submit` and the commands on topologies, on a real cluster; every workload runs."""

from __future__ import annotations

import json
import re
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from click.testing import CliRunner

from headworks import documents
from headworks.errors import DocumentError, EngineError, EngineUseError
from headworks.model import Component, Kind, Resources, Stream, Topology
from headworks.plugins.host import PluginHost
from headworks_storm.cli.group import KINDS
from headworks_storm.cli.group import storm as commands
from headworks_storm.install.installation import Installation
from headworks_storm.install.submit import RUNNER
from headworks_storm.local.state import StormState
from headworks_storm.release.artefacts import STORM
from headworks_storm.release.jar import own_jars
from headworks_storm.workload.catalogue import workloads
from headworks_storm.workload.describe import Load, describe
from headworks_storm.workload.find import default_text, find_submission, read_text
from storm_words import alive, eventually

if TYPE_CHECKING:
    from headworks_storm.local.cluster import LocalStorm

TOPOLOGY = Topology(
    id="tiny",
    components=(
        Component(id="in", kind=Kind.SPOUT, rate=10, demand=Resources(cpu=5, memory=64)),
        Component(id="out", parallelism=2, demand=Resources(cpu=5, memory=64)),
    ),
    streams=(Stream(source="in", target="out"),),
)
SHAPES = [f"dstorm:{shape}" for shape in ("linear", "star", "diamond")]
ALL = [*(f"storm:{each.name}" for each in workloads()), *SHAPES]
HALF = len(ALL) // 2


def run(*words: Any) -> Any:
    return CliRunner().invoke(commands, [str(word) for word in words])


def test_a_topology_document_a_request_and_a_workload_are_found(tmp_path: Path) -> None:
    host = PluginHost.load()
    documents.write(tmp_path / "t.json", TOPOLOGY)
    assert find_submission(str(tmp_path / "t.json"), host).topologies == (TOPOLOGY,)
    request = next(each for each in workloads() if each.name == "word-count").build()
    documents.write(tmp_path / "r.json", request)
    assert find_submission(str(tmp_path / "r.json"), host).topologies == request.topologies
    assert find_submission("storm:word-count", host).details["roles"]["count"] == "count"
    assert not find_submission("dstorm:linear", host).details


def test_words_are_counted_in_a_real_text(tmp_path: Path) -> None:
    wanted = find_submission("storm:word-count", PluginHost.load())
    (described,) = wanted.described(load=Load())
    assert len(described["text"].split()) > 5000
    file = tmp_path / "text"
    file.write_text("a b\n" * 3000)
    assert len(read_text(file).splitlines()) == 2000
    (described,) = wanted.described(load=Load(), text=read_text(file))
    assert described["text"].startswith("a b")
    (described,) = find_submission("storm:url-converter", PluginHost.load()).described(load=Load(), text=default_text())
    assert described["text"] == ""


def test_an_empty_text_and_a_request_without_topologies_are_refused(tmp_path: Path) -> None:
    (tmp_path / "empty").write_text("\n \n")
    with pytest.raises(DocumentError, match="has no words to count"):
        read_text(tmp_path / "empty")
    (tmp_path / "r.json").write_text('{"cluster": {"nodes": []}}')
    with pytest.raises(DocumentError, match="has no topology to submit"):
        find_submission(str(tmp_path / "r.json"), PluginHost.load())


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (["submit"], "name one DOCUMENT"),
        (["submit", "a", "b"], "name one DOCUMENT"),
        (["submit", "--class", "x"], "--jar and --class go together"),
        (["rebalance", "t", "-e", "count=many"], "is not a COMPONENT=NUMBER"),
    ],
)
def test_wrong_use_is_told(words: list[str], told: str) -> None:
    result = run(*words)
    assert result.exit_code == 2
    assert told in result.stderr


def test_without_a_cluster_the_ways_to_one_are_told(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    for words in (["submit", "storm:word-count"], ["show", "t"], ["kill", "t"]):
        result = run(*words)
        assert isinstance(result.exception, EngineError)
        assert "headworks storm up" in str(result.exception)
        assert "--home" in str(result.exception)
    with pytest.raises(EngineUseError, match="is not a Storm installation"):
        Installation.at(tmp_path)


def test_help_has_commands_by_kind() -> None:
    said = run("--help").stdout
    assert re.findall(r"^([A-Z][\w ]+):$", said, re.MULTILINE) == ["Options", *KINDS]
    assert re.findall(r"^  ([a-z]+)  ", said, re.MULTILINE) == [each.name for kind in KINDS.values() for each in kind]


def test_the_environment_names_an_installation_unless_a_local_cluster_runs(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("STORM_HOME", str(tmp_path))
    monkeypatch.setattr(StormState, "read", lambda: None)
    assert str(run("show", "t").exception).startswith(f"{tmp_path} is not a Storm installation")
    local = StormState(version=STORM, home=str(tmp_path / "local"), nimbus_port=1, daemons=())
    monkeypatch.setattr(StormState, "read", lambda: local)
    for words in (["show", "t"], ["kill", "t"], ["status"]):
        said = " ".join(run(*words).stderr.split())
        assert f"$STORM_HOME is {tmp_path}, and a local cluster runs in {local.home}" in said
    assert str(run("show", "t", "--home", tmp_path).exception).startswith(f"{tmp_path} is not a Storm installation")


def test_the_jar_is_handed_out(tmp_path: Path) -> None:
    pytest.importorskip("py4j")
    shown = json.loads(run("jar", "-O", tmp_path / "new", "--json").stdout)
    own = own_jars()
    assert [Path(each).read_bytes() for each in shown["jars"]] == [own.bridge.read_bytes()]
    assert [each.name for each in (tmp_path / "new").iterdir()] == [own.bridge.name]
    older, other = tmp_path / "new" / "headworks-storm-0123456789ab.jar", tmp_path / "new" / "headworks-storm-own.jar"
    older.write_text("older")
    other.write_text("an operator's")
    with older.open() as daemon:
        run("jar", "-O", tmp_path / "new")
        assert daemon.read() == "older"
    assert {each.name for each in (tmp_path / "new").iterdir()} == {own.bridge.name, other.name}
    seats = tmp_path / "new" / "headworks-storm-seats-0123456789ab.jar"
    for words in (["--seats"], []):  # where one of seats is, there it stays
        assert run("jar", "-O", tmp_path / "new", *words).stdout.splitlines() == [
            str(tmp_path / "new" / each.name) for each in (own.bridge, own.seats)
        ]
        seats.write_text("older")
    assert run("jar", "-O", tmp_path / "new").exit_code == 0
    assert not seats.exists()
    (tmp_path / "file").touch()
    refused = run("jar", "-O", tmp_path / "file" / "below")
    assert isinstance(refused.exception, EngineError)
    assert "cannot be written" in str(refused.exception)


@pytest.mark.storm
@pytest.mark.slow
@pytest.mark.network
@pytest.mark.xdist_group("storm")
class TestRealCluster:
    @pytest.mark.matrix
    @pytest.mark.parametrize("names", [ALL[:HALF], ALL[HALF:]], ids=" ".join)
    def test_every_workload_is_submitted_and_runs(self, empty: LocalStorm, names: list[str]) -> None:
        """Their workers start at once, half of them at a time."""
        cluster = empty
        at, settings = ("--home", cluster.home), ("--rate", 0.02, "--cpu", 0.1, "--workers", 1, "--json")
        submitted = {}
        for name in names:
            shown = run("submit", name, *at, *settings)
            assert shown.exit_code == 0, (shown.output, shown.exception)
            (topology,) = json.loads(shown.stdout)
            submitted[topology["name"]] = find_submission(name, PluginHost.load()).topologies[0]
        assert len(submitted) == len(names)
        for name, declared in submitted.items():
            alive(cluster, name)
            (topology,) = json.loads(run("show", name, *at, "--json").stdout)
            executors = Counter(each["component"] for each in topology["executors"])
            assert {each.id: each.parallelism for each in declared.components} == {
                name: count for name, count in executors.items() if not name.startswith("__")
            }
            assert topology["errors"] == []
        for name in submitted:
            assert run("kill", name, "--wait", 0, *at).exit_code == 0

    def test_a_topology_through_its_life(self, empty: LocalStorm, tmp_path: Path) -> None:
        cluster, at = empty, ("--home", empty.home)
        documents.write(tmp_path / "t.json", TOPOLOGY)
        shown = run("submit", tmp_path / "t.json", "--name", "life", "--wait", 600, *at)
        assert shown.exit_code == 0, (shown.output, shown.exception)
        assert "life  life-" in shown.stdout
        assert re.search(r"^  component  +tasks  worker  +runs for$", shown.stdout, re.MULTILINE)
        assert cluster.gateway.topology_conf("life")["topology.workers"] == 1
        again = run("submit", tmp_path / "t.json", "--name", "life", *at)
        assert isinstance(again.exception, EngineError)
        assert "life" in str(again.exception)
        assert run("deactivate", "life", *at).exit_code == 0
        assert cluster.gateway.topology("life").status == "INACTIVE"
        assert json.loads(run("activate", "life", "--json", *at).stdout) == {"topology": "life", "asked": "emits"}
        assert run("rebalance", "life", "--wait", 0, "-e", "out=1", *at).exit_code == 0
        eventually(lambda: [each.component for each in cluster.gateway.topology("life").executors].count("out") == 1)
        eventually(lambda: cluster.gateway.topology("life").status == "ACTIVE")
        assert json.loads(run("show", "life", "--json", *at).stdout)[0]["status"] == "ACTIVE"
        status = json.loads(run("status", "--json", *at).stdout)
        assert [each["name"] for each in status["topologies"]] == ["life"]
        assert status["nimbus"].endswith(f":{cluster.client_conf['nimbus.thrift.port']}")
        errors = run("errors", "life", *at)
        assert (errors.exit_code, errors.stdout) == (0, "")
        assert run("kill", "life", "--wait", 0, *at).exit_code == 0
        eventually(lambda: not cluster.gateway.cluster().topologies)
        gone = run("kill", "life", *at)
        assert "no topology 'life' runs" in str(gone.exception)

    def test_any_other_jar(self, cluster: LocalStorm, tmp_path: Path) -> None:
        file = tmp_path / "d.json"
        file.write_text(json.dumps({**describe(TOPOLOGY), "name": "jarred"}))
        shown = run(
            "submit", "--jar", own_jars().topologies, "--class", RUNNER, "--home", cluster.home, "--json", "--", file
        )
        assert shown.exit_code == 0, (shown.output, shown.exception)
        assert [each["name"] for each in json.loads(shown.stdout)] == ["jarred"]
        wrong = run("submit", "--jar", own_jars().topologies, "--class", "no.such.Main", "--home", cluster.home)
        assert "no.such.Main" in str(wrong.exception)
        cluster.gateway.kill("jarred", wait=0)
        eventually(lambda: not cluster.gateway.cluster().topologies)

"""`headworks storm up`, `status` and `down`, and the state file between them."""

from __future__ import annotations

import json
from pathlib import Path

import attrs
import psutil
import pytest
from click.testing import CliRunner

from headworks.errors import EngineError
from headworks_local.process import Daemon, end
from headworks_storm.cli.group import storm as commands
from headworks_storm.local.state import StormState
from headworks_storm.release.artefacts import STORM
from storm_cluster import RELEASE

pytestmark = pytest.mark.usefixtures("cache")


@pytest.mark.storm
@pytest.mark.slow
@pytest.mark.network
def test_up_status_down(java: None, tmp_path: Path) -> None:
    runner = CliRunner()
    settings = tmp_path / "settings.json"
    settings.write_text('{"topology.message.timeout.secs": 17}')
    options = ["--supervisors", "200:2048:2,100:1024:1", "--conf", str(settings), "--version", RELEASE, "--json"]
    try:
        shown = json.loads(runner.invoke(commands, ["up", *options], catch_exceptions=False).stdout)
        sizes = [(each["host"], each["cpu"], each["memory_mb"], each["slots"]) for each in shown["supervisors"]]
        assert sizes == [("127.0.0.11", 200.0, 2048.0, 2), ("127.0.0.12", 100.0, 1024.0, 1)]
        assert (shown["version"], shown["topologies"]) == (RELEASE, [])
        told = runner.invoke(commands, ["status"], catch_exceptions=False).stdout
        assert f"Nimbus at {shown['nimbus']}" in told
        assert "127.0.0.12  0 of 1 slots, 0 of 100 points, 0 of 1024 MB" in told
        again = runner.invoke(commands, ["up"])
        assert isinstance(again.exception, EngineError)
        assert "headworks storm down" in str(again.exception)
        state = StormState.read()
        assert state is not None
        settings = (Path(shown["conf"]) / "storm.yaml").read_text()
        assert "topology.message.timeout.secs: 17\n" in settings
        processes = [pid for each in state.daemons for pid in each.members()]
    finally:
        ended = runner.invoke(commands, ["down", "--json"])
    names = ["zookeeper", "nimbus", "supervisor-127.0.0.11", "supervisor-127.0.0.12"]
    assert json.loads(ended.stdout) == {"ended": names}
    assert len(processes) == 4
    assert not any(map(psutil.pid_exists, processes))
    assert runner.invoke(commands, ["status"]).exit_code == 1
    assert json.loads(runner.invoke(commands, ["down", "--json"]).stdout) == {"ended": []}


@pytest.mark.parametrize("sizes", ["", "400:4096", "400:4096:0", "a:b:c", "400:4096:4,", "-1:1:1"])
def test_a_list_of_sizes_that_is_none_is_refused(sizes: str) -> None:
    result = CliRunner().invoke(commands, ["up", "--supervisors", sizes])
    assert result.exit_code == 2
    assert "is not a list of CPU:MEMORY:SLOTS" in result.stderr


@pytest.mark.parametrize(("text", "told"), [("{", "is not JSON"), ("[]", "holds no object")])
def test_settings_that_are_none_are_refused(tmp_path: Path, text: str, told: str) -> None:
    (tmp_path / "conf.json").write_text(text)
    result = CliRunner().invoke(commands, ["up", "--conf", str(tmp_path / "conf.json")])
    assert result.exit_code == 2
    assert told in result.stderr


def test_a_stale_state_file_ends_nobody(cache: Path) -> None:
    """A pid that another process has by now is told apart by its start time."""
    stranger = Daemon.start("stranger", ["/bin/sleep", "300"], log=cache / "log", env={})
    try:
        StormState.folder().mkdir(parents=True)
        stale = attrs.evolve(stranger, born=stranger.born - 60)
        StormState(version=STORM, home="/nowhere", nimbus_port=1, daemons=(stale,)).write()
        assert StormState.read() is None
        assert StormState.end() is None
        assert stranger.alive
    finally:
        end([stranger])

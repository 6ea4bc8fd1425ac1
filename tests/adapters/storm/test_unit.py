"""The systemd unit of `headworks storm unit`: systemd itself reads it."""

from __future__ import annotations

import getpass
import shutil
import subprocess
from typing import TYPE_CHECKING

import pytest
from click.testing import CliRunner

from headworks_storm.cli.group import storm as commands
from headworks_storm.install.unit import DESCRIPTORS, systemd_unit

if TYPE_CHECKING:
    from pathlib import Path


def test_the_command_names_program_endpoint_limits_and_user() -> None:
    shown = CliRunner().invoke(commands, ["unit", "--user", "ann", "--", "-s", "even", "--shadow"]).stdout
    lines = dict(line.partition("=")[::2] for line in shown.splitlines() if "=" in line)
    assert lines["ExecStart"].endswith(
        "headworks serve storm --endpoint /var/lib/headworks/endpoint.json -s even --shadow"
    )
    assert (lines["User"], lines["LimitNOFILE"], lines["Restart"]) == ("ann", str(DESCRIPTORS), "always")
    assert lines["WorkingDirectory"] == f"%S/{lines['StateDirectory']}"  # where `--journal rounds.jsonl` is kept
    again = CliRunner().invoke(commands, ["unit", "--", "--endpoint=/e.json"]).stdout
    assert again.count("--endpoint") == 1


def test_systemd_accepts_it(tmp_path: Path) -> None:
    analyze = shutil.which("systemd-analyze")
    if analyze is None:
        pytest.skip("needs systemd-analyze")
    program = shutil.which("true") or "/bin/true"
    unit = tmp_path / "headworks.service"
    unit.write_text(systemd_unit(getpass.getuser(), (program, "--endpoint", "/a b/%h$HOME.json", 'q"q')))
    done = subprocess.run([analyze, "verify", str(unit)], capture_output=True, text=True, check=False)
    said = [line for line in (done.stdout + done.stderr).splitlines() if "headworks.service" in line]
    assert said == []
    unit.write_text(unit.read_text().replace("Restart=always", "Restart=perhaps"))
    done = subprocess.run([analyze, "verify", str(unit)], capture_output=True, text=True, check=False)
    assert "headworks.service" in done.stdout + done.stderr

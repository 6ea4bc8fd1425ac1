"""A stranger's package, in an environment of its own: the built wheel of Headgate, the plugin, and its own tests."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
import venv
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]

pytestmark = pytest.mark.slow


def run(*command, cwd=None, code=0):
    done = subprocess.run([str(part) for part in command], cwd=cwd, capture_output=True, text=True)
    assert done.returncode == code, f"{command}\n{done.stdout[-2000:]}\n{done.stderr[-2000:]}"
    return done.stdout


@pytest.fixture(scope="module")
def environment(tmp_path_factory):
    """Folder of a virtual environment with Headgate's wheel and acme; acme's source is beside it."""
    folder = tmp_path_factory.mktemp("stranger")
    acme = shutil.copytree(ROOT / "examples" / "acme-scheduler", folder / "acme-scheduler")
    run(sys.executable, "-m", "pip", "wheel", "--quiet", "--no-deps", "--wheel-dir", folder, ROOT)
    (wheel,) = folder.glob("headgate-*.whl")
    venv.create(folder / "env", with_pip=True)
    run(folder / "env" / "bin" / "python", "-m", "pip", "install", "--quiet", f"{wheel}[test]", acme)
    return folder


def test_its_own_tests_pass(environment):
    out = run(environment / "env" / "bin" / "python", "-m", "pytest", "-q", cwd=environment / "acme-scheduler")
    assert "failed" not in out
    assert " passed" in out


def test_headgate_lists_it_beside_the_built_in_ones(environment):
    listed = json.loads(run(environment / "env" / "bin" / "headgate", "plugins", "--json"))
    assert "acme" in json.dumps(listed)


def test_it_conforms(environment):
    found = json.loads(run(environment / "env" / "bin" / "headgate", "conform", "acme", "--json"))
    rows = {row["rule"]: row["status"] for row in found["rows"]}
    assert set(rows.values()) == {"ok", "skipped"}
    assert rows["processes"] == rows["capacity"] == rows["scale-free"] == "ok"

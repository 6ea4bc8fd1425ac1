"""Strangers' packages, in an environment of their own: the built wheel of Headworks, and their own tests."""

from __future__ import annotations

import json
import re
import shlex
import shutil

import pytest

from stranger import ROOT, install, make, run
from tiers import cases

pytestmark = [pytest.mark.slow, pytest.mark.network]

PACKAGES = {"acme": "acme-scheduler", "pool": "pool-engine", "my-own": "my-own-scheduler", "ring": "ring-engine"}
"""Packages by the name of the plugin: the examples, and those that `headworks new` makes of them."""


@pytest.fixture(scope="module")
def environment(tmp_path_factory):
    """Folder of a virtual environment with Headworks's wheel and the packages, whose source is beside it."""
    folder = make(tmp_path_factory.mktemp("stranger"))
    for name in ("acme-scheduler", "pool-engine"):
        install(folder, shutil.copytree(ROOT / "examples" / name, folder / name))
    headworks = folder / "env" / "bin" / "headworks"
    for kind, name in (("scheduler", "my-own"), ("engine", "ring")):
        run(headworks, "new", kind, name, cwd=folder)
        install(folder, folder / PACKAGES[name])
    return folder


@pytest.mark.matrix
def test_what_the_wheel_depends_on_suffices(tmp_path):
    folder = make(tmp_path, alone=True)
    install(folder, shutil.copytree(ROOT / "examples" / "acme-scheduler", folder / "acme-scheduler"))
    out = run(folder / "env" / "bin" / "python", "-m", "pytest", "-q", cwd=folder / "acme-scheduler")
    assert "failed" not in out
    assert " passed" in out


@pytest.mark.parametrize("name", cases(sorted(PACKAGES, key="acme".__eq__), 3))  # acme conforms by the command below
def test_its_own_tests_pass(environment, name):
    out = run(environment / "env" / "bin" / "python", "-m", "pytest", "-q", cwd=environment / PACKAGES[name])
    assert "failed" not in out
    assert " passed" in out


@pytest.mark.parametrize("name", PACKAGES)
def test_its_types_are_right(environment, name):
    out = run(environment / "env" / "bin" / "python", "-m", "mypy", "--strict", cwd=environment / PACKAGES[name])
    assert "Success: no issues found" in out


def blocks(page, language):
    """The blocks of a page in a language, in order."""
    return re.findall(rf"^```{language}\n(.*?)^```", page, re.MULTILINE | re.DOTALL)


GUIDE = {"scheduler": "writing-a-scheduler.md", "engine": "writing-an-engine.md"}


def test_the_guide_alone_leads_from_nothing_to_a_scheduler_that_conforms(environment):
    page = (ROOT / "docs" / GUIDE["scheduler"]).read_text()
    source, (entry,) = blocks(page, "python")[0], blocks(page, "toml")
    folder = environment / "guided"
    (folder / "headworks_acme").mkdir(parents=True)
    (folder / "headworks_acme" / "__init__.py").write_text(source)
    project = '[project]\nname = "guided"\nversion = "1"\n\n[build-system]\nrequires = ["hatchling"]\n'
    project += (
        'build-backend = "hatchling.build"\n\n[tool.hatch.build.targets.wheel]\npackages = ["headworks_acme"]\n\n'
    )
    (folder / "pyproject.toml").write_text(project + entry.replace("acme =", "guided ="))
    # Beside the environment, and not in it: the module has the name of the example's.
    python, headworks = (environment / "env" / "bin" / name for name in ("python", "headworks"))
    run(python, "-m", "pip", "install", "--quiet", "--no-deps", "--target", folder / "here", folder)
    guided = {"PYTHONPATH": str(folder / "here")}
    assert '"guided"' in run(headworks, "plugins", "--json", **guided)
    assert '"ok"' in run(headworks, "plan", "dstorm:linear", "--scheduler", "guided", "--json", **guided)
    rows = json.loads(run(headworks, "conform", "guided", "--json", **guided))["rules"]
    assert {row["status"] for row in rows} == {"ok", "skipped"}


def test_the_guide_alone_leads_from_nothing_to_an_engine_that_conforms(environment):
    page = (ROOT / "docs" / GUIDE["engine"]).read_text()
    assert blocks(page, "console") == ["$ headworks new engine ring\n"]
    told = re.search(
        r"After `(pip install [^`]*)`, `(headworks conform [^`]*)` checks it, and `(headworks run [^`]*)`", page
    )
    asked, conform, loop = map(shlex.split, told.groups())
    assert asked[-1] == "ring-engine[test]"
    headworks = environment / "env" / "bin" / "headworks"
    rows = json.loads(run(headworks, *conform[1:], "--window", "0.5", "--json"))["rules"]
    assert {row["status"] for row in rows} <= {"ok", "skipped"}
    pace = ("--rounds", "2", "--window", "0.5", "--interval", "0", "--json")
    rounds = [json.loads(line) for line in run(headworks, "run", *pace, *loop[2:]).splitlines()]
    assert rounds[0]["outcome"] == "executed"
    assert rounds[0]["check"]["hits"] == rounds[0]["check"]["asked"] > 0


def test_headworks_lists_them_beside_the_built_in_ones(environment):
    listed = run(environment / "env" / "bin" / "headworks", "plugins", "--json")
    assert all(f'"{name}"' in listed for name in PACKAGES)


def test_a_scheduler_conforms(environment):
    found = json.loads(run(environment / "env" / "bin" / "headworks", "conform", "acme", "--json"))
    rows = {row["rule"]: row["status"] for row in found["rules"]}
    assert set(rows.values()) == {"ok", "skipped"}
    assert rows["processes"] == rows["capacity"] == rows["scale-free"] == "ok"


def test_an_engine_conforms_and_is_scheduled(environment):
    headworks = environment / "env" / "bin" / "headworks"
    found = json.loads(run(headworks, "conform", "ring", "3", "--window", "0.5", "--json"))
    assert {row["status"] for row in found["rules"]} == {"ok"}
    command = ("run", "--engine", "pool", "-s", "acme", "--window", "0.5", "--interval", "0", "--rounds", "2", "--json")
    rounds = [json.loads(line) for line in run(headworks, *command, "2").splitlines()]
    assert rounds[0]["outcome"] == "executed"
    assert rounds[0]["check"]["hits"] == rounds[0]["check"]["asked"] == 6

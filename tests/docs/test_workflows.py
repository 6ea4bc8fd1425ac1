"""The workflows of a hosted repository: few rights, actions by their commit, and what they run is there."""

from __future__ import annotations

import configparser
import re
from pathlib import Path

import pytest
import yaml

ROOT = Path(__file__).parents[2]
FILES = sorted((ROOT / ".github" / "workflows").glob("*.yaml"))
FLOWS = {each.stem: yaml.safe_load(each.read_text()) for each in FILES}
ON = True
"""The key `on`, as YAML 1.1 reads it."""


def jobs():
    return [(f"{flow}-{name}", job) for flow, each in FLOWS.items() for name, job in each["jobs"].items()]


def steps():
    return [step for _, job in jobs() for step in job.get("steps", ())]


def test_there_are_one_that_checks_and_one_that_releases():
    assert FLOWS.keys() == {"check", "release"}
    assert FLOWS["check"][ON].keys() == {"push", "pull_request", "workflow_call"}
    assert FLOWS["release"][ON] == {"push": {"tags": ["v*"]}}
    assert FLOWS["release"]["jobs"]["build"]["needs"] == "check"
    assert FLOWS["release"]["jobs"]["publish"]["needs"] == "build"


@pytest.mark.parametrize("file", FILES, ids=lambda each: each.stem)
def test_an_action_is_named_by_its_commit_with_its_version_beside_it(file):
    named = re.findall(r"uses: (?!\./)(.*)$", file.read_text(), re.MULTILINE)
    assert named
    assert [each for each in named if not re.fullmatch(r"[\w.-]+/[\w.-]+@[0-9a-f]{40} # v\d+(\.\d+)*", each)] == []


@pytest.mark.parametrize(("name", "job"), jobs(), ids=[name for name, _ in jobs()])
def test_a_job_may_read_the_sources_or_prove_who_it_is_and_nothing_else(name, job):
    wanted = {"id-token": "write"} if name == "release-publish" else {"contents": "read"}
    assert job["permissions"] == wanted


def test_no_workflow_has_rights_by_default_or_a_secret():
    assert all(flow["permissions"] == {} for flow in FLOWS.values())
    assert not [file for file in FILES if re.search(r"secrets\.|pull_request_target", file.read_text())]


def test_the_job_that_publishes_runs_no_code_of_ours():
    used = [step.get("uses", "").partition("@")[0] for step in FLOWS["release"]["jobs"]["publish"]["steps"]]
    assert used == ["actions/download-artifact", "pypa/gh-action-pypi-publish"]


def test_a_checkout_keeps_no_token_and_no_script_is_made_of_others_texts():
    checkouts = [step for step in steps() if step.get("uses", "").startswith("actions/checkout@")]
    assert len(checkouts) == 2
    assert all(step["with"]["persist-credentials"] is False for step in checkouts)
    assert not [step["run"] for step in steps() if "${{" in step.get("run", "")]


def test_tox_has_the_environments_that_are_checked():
    tox = configparser.ConfigParser(interpolation=None)
    tox.read(ROOT / "tox.ini")
    matrix = tox["tox"]["labels"].partition("matrix = ")[2].split(", ")
    named = ",".join(FLOWS["check"]["jobs"]["tox"]["strategy"]["matrix"]["env"]).split(",")
    assert {*named} >= {"lint", "types", "arrows", "py", "engines"}
    assert [each for each in named if f"testenv:{each}" not in tox and each not in matrix] == []


def test_the_release_has_the_jar_for_storm():
    (built,) = (step for step in steps() if step.get("run") == "python -m build")
    assert built["env"] == {"HEADWORKS_RELEASE": "1"}

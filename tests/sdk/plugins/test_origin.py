"""Where a plugin comes from: versions, and commits of repositories."""

from __future__ import annotations

import json
import subprocess
from importlib.metadata import version

import pytest

from headworks.plugins import origin
from headworks.plugins.host import PluginHost


class Distribution:
    def __init__(self, told):
        self._told = told

    def read_text(self, name):
        assert name == "direct_url.json"
        return self._told


@pytest.fixture
def told(monkeypatch):
    origin.commit_of.cache_clear()
    yield lambda text: monkeypatch.setattr(origin, "distribution", lambda name: Distribution(text))
    origin.commit_of.cache_clear()


def git(folder, *words):
    identity = ("-c", "user.name=n", "-c", "user.email=e@example.org")
    subprocess.run(["git", *identity, *words], cwd=folder, check=True, capture_output=True)


def test_the_commit_of_a_folder_is_that_of_its_repository_and_says_when_files_were_changed(tmp_path, told):
    git(tmp_path, "init")
    (tmp_path / "file").write_text("one")
    git(tmp_path, "add", ".")
    git(tmp_path, "commit", "-m", "one")
    told(json.dumps({"url": tmp_path.as_uri(), "dir_info": {"editable": True}}))
    clean = origin.commit_of("acme")
    assert len(clean) == 40
    origin.commit_of.cache_clear()
    (tmp_path / "file").write_text("two")
    assert origin.commit_of("acme") == f"{clean}-dirty"


@pytest.mark.parametrize(
    ("text", "commit"),
    [
        ('{"url": "https://example.org/a.git", "vcs_info": {"vcs": "git", "commit_id": "abc"}}', "abc"),
        ('{"url": "https://example.org/a.whl", "archive_info": {}}', ""),
        (None, ""),
        ("no JSON", ""),
        ('{"url": "file:///nowhere/at/all", "dir_info": {}}', ""),
    ],
)
def test_the_commit_of_another_source_is_what_its_installer_wrote_down(text, commit, told):
    told(text)
    assert origin.commit_of("acme") == commit


def test_a_plugin_has_its_version_and_one_that_is_not_there_has_none():
    host = PluginHost.load()
    assert origin.origin(host, "even", "scheduler")["scheduler_version"] == version("headworks")
    assert origin.origin(host, "nobody", "engine") == {"engine_version": "", "engine_commit": ""}

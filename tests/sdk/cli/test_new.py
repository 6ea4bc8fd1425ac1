"""`headworks new`: packages of plugins, named as asked; that their tests pass is for `tests/examples` to show."""

from __future__ import annotations

import json
import tomllib
from pathlib import Path

import pytest
from click.testing import CliRunner

from headworks.cli.main import headworks


def new(*words):
    return CliRunner().invoke(headworks, ["new", *map(str, words)])


@pytest.mark.parametrize(("kind", "old"), [("scheduler", "acme"), ("engine", "pool")])
def test_a_package_has_the_name_that_was_asked_for_and_no_other(tmp_path, kind, old):
    folder = tmp_path / "made"
    done = new(kind, "my-own", "--folder", folder, "--json")
    assert done.exit_code == 0, done.output
    files = [path for path in folder.rglob("*") if path.is_file()]
    assert sorted(json.loads(done.stdout)["files"]) == sorted(str(path.relative_to(folder)) for path in files)
    for path in files:
        text = path.read_text()
        assert old not in text.lower(), path
        assert "licen" not in text.lower(), path
        assert "../" not in text, path
        if path.suffix == ".py":
            compile(text, str(path), "exec")
    project = tomllib.loads((folder / "pyproject.toml").read_text())["project"]
    assert project["name"] == f"my-own-{kind}"
    assert project["entry-points"]["headworks"] == {"my-own": "headworks_my_own:my_own"}


@pytest.mark.parametrize("name", ["dstorm", "storm", "Bad", "two words", "1st", "a_b", "class", "../x"])
def test_a_name_that_no_plugin_can_have_is_refused(tmp_path, monkeypatch, name):
    monkeypatch.chdir(tmp_path)
    assert new("scheduler", name).exit_code == 2
    assert list(tmp_path.iterdir()) == []


def test_what_is_there_is_left_alone_and_what_comes_next_is_told(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    done = new("engine", "ring")
    assert "pip install -e 'ring-engine[test]'" in done.output
    assert "headworks conform ring 3" in done.output
    Path("ring-engine", "mine.txt").write_text("kept")
    again = new("engine", "ring")
    assert "File exists" in str(again.exception)
    assert Path("ring-engine", "mine.txt").read_text() == "kept"

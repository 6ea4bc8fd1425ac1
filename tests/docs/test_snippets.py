"""Every snippet of the documentation runs: Python blocks in order, page by page; console blocks of `headworks`."""

from __future__ import annotations

import re
import shlex
from pathlib import Path

import pytest

from shell import called

ROOT = Path(__file__).parents[2]
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]
BLOCK = re.compile(r"^```(\w+)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
ENGINES = ("headworks demo", "headworks run", "headworks spark", "headworks import")
"""Commands that start engines or fetch artefacts: they have tests of their own."""


def blocks(page: Path, language: str) -> list[str]:
    return [text for kind, text in BLOCK.findall(page.read_text()) if kind == language]


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_python_blocks_run(page, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    names: dict[str, object] = {"__name__": "documentation"}
    for text in blocks(page, "python"):
        exec(compile(text, str(page), "exec"), names)


def commands() -> list[str]:
    lines = [line for page in PAGES for text in blocks(page, "console") for line in text.splitlines()]
    found = {line.removeprefix("$ ") for line in lines if line.startswith("$ headworks ")}
    return sorted(line for line in found if not line.startswith(ENGINES))


@pytest.mark.parametrize("line", commands())
def test_console_lines_run(line, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    done = called(*shlex.split(line)[1:])
    assert done.returncode == 0, done.stderr
    assert done.stdout


def test_every_command_has_a_heading():
    from headworks.cli.main import headworks

    headings = set(re.findall(r"^## headworks ([\w-]+)", (ROOT / "docs" / "commands.md").read_text(), re.MULTILINE))
    assert headings == set(headworks.list_commands(None))  # type: ignore[arg-type]


def test_readme_commands_are_one_line_each():
    text = (ROOT / "README.md").read_text()
    found = re.findall(r"<!-- command: (\w+) -->\n```(?:sh|console)\n(.*?)\n```", text, re.DOTALL)
    assert [name for name, _ in found] == ["demo", "tests"]
    assert all("\n" not in line for _, line in found)

"""A skip for want of a tool says what is missing, and is an error where `CI` is set."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

TESTS = {
    "test_alone.py": """
import pytest
def test_module(): pytest.importorskip("no_such_module")
def test_program(): pytest.skip("needs mvn")
def test_rule(): pytest.skip("total is not promised")
@pytest.mark.spark
def test_spark(): pass
@pytest.mark.storm
def test_storm(): pass
""",
    "test_whole_file.py": "import pytest\npytest.importorskip('no_such_module_either')",
    "test_plain_import.py": "raise ModuleNotFoundError(\"No module named 'ortools.sat'\")",
}


@pytest.mark.parametrize(("ci", "skipped", "failed", "errors"), [("", 7, 0, 0), ("true", 1, 2, 4)])
def test_what_is_missing_is_named_and_an_error_where_ci_is_set(tmp_path, ci, skipped, failed, errors):
    shutil.copy(Path(__file__).with_name("conftest.py"), tmp_path)
    for name, text in TESTS.items():
        (tmp_path / name).write_text(text)
    nowhere = {"PATH": "", "JAVA_HOME": str(tmp_path / "nowhere"), "CI": ci}
    command = [sys.executable, "-m", "pytest", "-rsfE", "-p", "no:cacheprovider", "-c", os.devnull, "--rootdir", "."]
    words = [*command, "--continue-on-collection-errors", "."]
    done = subprocess.run(
        words, cwd=tmp_path, env={**os.environ, **nowhere}, capture_output=True, text=True, check=False
    )
    assert done.returncode == (1 if ci else 0), done.stdout
    last = done.stdout.splitlines()[-1]
    counts = {word.rstrip("s"): int(number) for number, word in re.findall(r"(\d+) (skipped|failed|error)", last)}
    found = (counts.get("skipped", 0), counts.get("failed", 0), counts.get("error", 0))
    assert found == (skipped, failed, errors), done.stdout
    for reason in (
        "no_such_module",
        "no_such_module_either",
        "needs mvn",
        "needs ortools",
        "needs a Java runtime: Java is needed",
    ):
        assert reason in done.stdout

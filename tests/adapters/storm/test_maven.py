"""The JUnit tests on the jar, the scheduler contract of Nimbus among them, as `mvn verify` runs them."""

from __future__ import annotations

import shutil
import subprocess
import sys
from typing import TYPE_CHECKING

import pytest

from storm_cluster import RELEASE
from storm_jvm import PROJECT
from storm_schemas import valid

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

pytestmark = [pytest.mark.storm, pytest.mark.slow, pytest.mark.network]


@pytest.fixture
def maven(java: None, tmp_path: Path) -> Callable[..., list[Path]]:
    """Run a phase of the build with some options; gives the reports of the test classes."""
    program = shutil.which("mvn")
    if program is None:
        pytest.skip("needs mvn")
    project = shutil.copytree(PROJECT, tmp_path / "java", ignore=shutil.ignore_patterns("target"))

    def run(phase: str, *options: str) -> list[Path]:
        said = [f"-Dheadworks.python={sys.executable}", f"-Dstorm.version={RELEASE}", *options]
        done = subprocess.run(
            [program, "-B", "-q", phase, *said], cwd=project, capture_output=True, text=True, check=False
        )
        assert done.returncode == 0, done.stdout[-6000:]
        return list((project / "target" / "surefire-reports").glob("*.txt"))

    return run


def test_the_java_project_verifies(maven: Callable[..., list[Path]]) -> None:
    reports = maven("verify")
    assert len(reports) == len(list((PROJECT / "src" / "test").rglob("*Test.java")))
    pages = (reports[0].parents[1] / "ledger-pages").read_text().splitlines()
    documents = [valid("storm-ledger", each) for each in pages]
    assert all(any(each[part] for each in documents) for part in ("wanted", "refused", "lost"))


@pytest.mark.soak
@pytest.mark.timeout(3600)
def test_a_hundred_thousand_moves_in_random_order_are_exact(maven: Callable[..., list[Path]]) -> None:
    (report,) = maven("test", "-Dtest=HandoverWorldsTest", "-Dheadworks.handover.moves=100000")
    assert "Tests run: 8, Failures: 0, Errors: 0, Skipped: 0" in report.read_text()

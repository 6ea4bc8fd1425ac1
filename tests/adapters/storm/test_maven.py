"""The JUnit tests on the jar, the scheduler contract of Nimbus among them, as `mvn verify` runs them."""

from __future__ import annotations

import shutil
import subprocess
import sys

import pytest

from storm_cluster import RELEASE
from storm_jvm import PROJECT


@pytest.mark.storm
@pytest.mark.slow
@pytest.mark.network
def test_the_java_project_verifies(java: None, tmp_path) -> None:
    maven = shutil.which("mvn")
    if maven is None:
        pytest.skip("needs mvn")
    project = shutil.copytree(PROJECT, tmp_path / "java", ignore=shutil.ignore_patterns("target"))
    options = [f"-Dheadgate.python={sys.executable}", f"-Dstorm.version={RELEASE}"]
    done = subprocess.run(
        [maven, "-B", "-q", "verify", *options], cwd=project, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stdout[-6000:]
    reports = list((project / "target" / "surefire-reports").glob("*.txt"))
    assert len(reports) == len(list((PROJECT / "src" / "test").rglob("*Test.java")))

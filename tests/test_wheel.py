"""The wheel as it is built: what it fetches, and what is in it."""

from __future__ import annotations

import os
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

from headworks_local.java import find_java

ROOT = Path(__file__).parents[1]
JAR = "headworks_storm/headworks-storm.jar"


def build(folder, **variables):
    command = [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", folder]
    return subprocess.run(command, cwd=ROOT, env=os.environ | variables, capture_output=True, text=True, check=False)


def members(folder):
    (wheel,) = folder.glob("*.whl")
    with zipfile.ZipFile(wheel) as archive:
        return set(archive.namelist())


def test_a_plain_build_fetches_nothing_and_has_no_jar(tmp_path):
    repository = tmp_path / "repository"
    done = build(tmp_path, HEADWORKS_RELEASE="", M2_REPO=str(repository))
    assert done.returncode == 0, done.stderr
    found = members(tmp_path)
    assert not any(name.endswith((".jar", ".class")) for name in found)
    assert "headworks_storm/java/src/main/java/headworks/storm/HeadworksScheduler.java" in found
    assert "headworks_spark/demo/flights.parquet" in found
    assert "headworks_spark/demo/flights.txt" in found
    assert not repository.exists()


def test_a_release_without_a_jdk_fails_and_says_why(tmp_path):
    done = build(tmp_path, HEADWORKS_RELEASE="1", JAVA_HOME=str(tmp_path), PATH="")
    assert done.returncode != 0
    assert "HEADWORKS_RELEASE=1 asks for the jar for Storm" in done.stdout + done.stderr
    assert "Traceback" not in done.stderr
    assert not list(tmp_path.glob("*.whl"))


@pytest.mark.network
@pytest.mark.slow
def test_a_release_has_the_jar(tmp_path):
    if find_java().compiler is None:
        pytest.skip("needs a JDK")
    done = build(tmp_path, HEADWORKS_RELEASE="1")
    assert done.returncode == 0, done.stderr
    assert JAR in members(tmp_path)

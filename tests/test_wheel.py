"""The wheel as it is built: what it fetches, and what is in it."""

from __future__ import annotations

import hashlib
import json
import os
import re
import subprocess
import sys
import tomllib
import zipfile
from pathlib import Path

import pytest

from headworks_local.java import find_java

ROOT = Path(__file__).parents[1]
JAR = "headworks_storm/headworks-storm.jar"


def build(folder, **variables):
    command = [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", folder]
    return subprocess.run(command, cwd=ROOT, env=os.environ | variables, capture_output=True, text=True, check=False)


def opened(folder):
    (wheel,) = folder.glob("*.whl")
    return zipfile.ZipFile(wheel)


def members(folder):
    with opened(folder) as archive:
        return set(archive.namelist())


@pytest.fixture(scope="module")
def plain(tmp_path_factory):
    """Folder of a wheel that is no release's, and of a Maven repository that its build could fill."""
    folder = tmp_path_factory.mktemp("plain")
    done = build(folder, HEADWORKS_RELEASE="", M2_REPO=str(folder / "repository"))
    assert done.returncode == 0, done.stderr
    return folder


def test_a_plain_build_fetches_nothing_and_has_no_jar(plain):
    found = members(plain)
    assert not any(name.endswith((".jar", ".class")) for name in found)
    assert "headworks_storm/java/src/main/java/headworks/storm/HeadworksScheduler.java" in found
    assert "headworks_spark/demo/flights.parquet" in found
    assert "headworks_spark/demo/flights.txt" in found
    assert not (plain / "repository").exists()


def bill(folder):
    """The bill of materials in the wheel, and the bytes of each file that it names."""
    with opened(folder) as archive:
        (place,) = (name for name in archive.namelist() if name.endswith(".dist-info/sboms/headworks.cdx.json"))
        found = json.loads(archive.read(place))
        files = {each["name"]: archive.read(each["name"]) for each in found["components"] if each["type"] == "data"}
    return found, files


def test_the_bill_of_materials_names_what_is_of_others_with_its_licence(plain):
    found, files = bill(plain)
    (flights,) = (each for each in found["components"] if each["type"] == "data")
    assert flights["hashes"] == [{"alg": "SHA-256", "content": hashlib.sha256(files[flights["name"]]).hexdigest()}]
    assert flights["licenses"] == [{"license": {"id": "CC0-1.0"}}]
    with opened(plain) as archive:
        assert "CC0 1.0" in archive.read(flights["name"].replace(".parquet", ".txt")).decode()
    data = {name for name in members(plain) if name.endswith((".parquet", ".jar", ".so", ".js", ".css", ".csv"))}
    own = {f"headworks/report/rounds/assets/rounds.{kind}" for kind in ("css", "js")}
    assert data - own == set(files)


def test_the_bill_of_materials_names_each_package_that_is_asked_for(plain):
    found, _ = bill(plain)
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    itself = found["metadata"]["component"]
    assert (itself["version"], itself["purl"]) == (project["version"], f"pkg:pypi/headworks@{project['version']}")
    assert itself["licenses"] == [{"license": {"id": project["license"]}}]
    scopes = {each["name"]: each["scope"] for each in found["components"] if each["type"] == "library"}
    required = {re.match(r"[\w.-]+", each)[0] for each in project["dependencies"]}
    assert {name for name, scope in scopes.items() if scope == "required"} == required
    assert {"pyspark", "py4j", "ortools", "sqlalchemy"} <= scopes.keys() - required
    assert not {"headworks", "moto", "mkdocs"} & scopes.keys()
    (edges,) = found["dependencies"]
    assert edges["ref"] == itself["bom-ref"]
    assert set(edges["dependsOn"]) == {f"pkg:pypi/{name}" for name in scopes}


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

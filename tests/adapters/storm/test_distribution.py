"""The jars of a release are those of its lock file, whatever a cache holds."""

from __future__ import annotations

import hashlib
import zipfile
from typing import TYPE_CHECKING

import pytest

from headworks.errors import EngineError
from headworks_local.maven import Artefact, resolve
from headworks_storm.release import artefacts
from headworks_storm.release.artefacts import LOCKS, STORM, distribution, versions
from headworks_storm.release.lock import LEFT_OUT, LINE

if TYPE_CHECKING:
    from pathlib import Path

JAR = Artefact("org.example", "thing", "1.0", "linux")


def rows(version: str) -> list[list[str]]:
    return [line.split() for line in (LOCKS / f"storm-{version}.txt").read_text().splitlines()[1:]]


def test_the_release_that_headworks_is_built_against_is_the_newest() -> None:
    assert versions() == ("2.6.4", STORM)


@pytest.mark.parametrize("version", versions())
def test_a_lock_file_names_what_storm_needs_and_one_logger(version: str) -> None:
    locked = {coordinates: set(folders.split(",")) for folders, coordinates, _ in rows(version)}
    assert locked[f"org.apache.storm:storm-core:{version}"] == {"lib"}
    assert locked[f"org.apache.storm:storm-client:{version}"] == {"lib", "lib-worker"}
    names = [coordinates.rsplit(":", 1)[0] for coordinates in locked]
    assert not LEFT_OUT & set(names)
    assert "org.apache.storm:storm-clojure" not in names
    assert len(names) == len(set(names))
    assert all(len(bytes.fromhex(digest)) == 32 for _, _, digest in rows(version))


def test_maven_s_list_is_read_with_and_without_a_classifier() -> None:
    listed = "   org.a:b:jar:1.0:compile:/m/b.jar\n   org.a:c:jar:linux:2.0:runtime:/m/c.jar -- module c\n"
    assert LINE.findall(listed) == [("org.a", "b", "", "1.0", "/m/b.jar"), ("org.a", "c", "linux", "2.0", "/m/c.jar")]


def test_an_unknown_release_is_told_with_those_there_are(tmp_path: Path) -> None:
    with pytest.raises(EngineError, match=r"no lock file for Storm 9\.9\.9: choose one of 2\.6\.4, 2\.8\.3"):
        distribution("9.9.9", tmp_path)


@pytest.fixture
def release(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> tuple[Path, str]:
    """A cache with the one jar of a release 2.7.0, and the lock file of that release; the jar's digest."""
    content = b"a jar"
    digest = hashlib.sha256(content).hexdigest()
    (tmp_path / "cache" / JAR.path).parent.mkdir(parents=True)
    (tmp_path / "cache" / JAR.path).write_bytes(content)
    (tmp_path / "storm-2.7.0.txt").write_text(f"# a lock\nlib,lib-worker {JAR} {digest}\n")
    monkeypatch.setattr(artefacts, "LOCKS", tmp_path)
    return tmp_path / "cache", digest


def offline(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("http_proxy", "https_proxy", "HTTP_PROXY", "HTTPS_PROXY"):
        monkeypatch.setenv(name, "http://127.0.0.1:9")
    monkeypatch.setenv("no_proxy", "")


def test_a_cached_release_needs_no_network(release: tuple[Path, str], monkeypatch: pytest.MonkeyPatch) -> None:
    offline(monkeypatch)
    cache, _ = release
    found = distribution("2.7.0", cache)
    assert found.lib == found.lib_worker == (cache / "org/example/thing/1.0/thing-1.0-linux.jar",)
    assert found.java == 11


def test_a_cached_jar_that_differs_from_the_lock_is_not_used(
    release: tuple[Path, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    offline(monkeypatch)
    cache, _ = release
    (cache / JAR.path).write_bytes(b"half a j")
    with pytest.raises(EngineError, match=r"org\.example:thing:1\.0:linux cannot be downloaded"):
        distribution("2.7.0", cache)


@pytest.mark.network
def test_half_a_download_is_replaced(tmp_path: Path) -> None:
    folders, coordinates, digest = next(row for row in rows(STORM) if "slf4j-api" in row[1])
    artefact = Artefact(*coordinates.split(":"))
    place = tmp_path / artefact.path
    place.parent.mkdir(parents=True)
    place.write_bytes(b"PK")
    assert resolve(artefact, tmp_path, sha256=digest) == place
    assert zipfile.is_zipfile(place)
    assert sorted(place.parent.iterdir()) == [place]
    with pytest.raises(EngineError, match=r"slf4j-api.* was downloaded, but its SHA-256 is not 00"):
        resolve(artefact, tmp_path, sha256="00")
    assert folders == "lib,lib-worker"


@pytest.mark.network
@pytest.mark.parametrize("version", versions())
def test_all_jars_can_be_had(version: str) -> None:
    found = distribution(version)
    assert {f"storm-core-{version}.jar", f"storm-server-{version}.jar"} <= {each.name for each in found.lib}
    assert {f"storm-client-{version}.jar"} <= {each.name for each in found.lib_worker} < {x.name for x in found.lib}

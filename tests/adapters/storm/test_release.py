"""What the homes of one release share: made once, whole, at a place that tells its jars."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from headworks_storm.local.home import StormHome
from headworks_storm.release.artefacts import Distribution
from headworks_storm.release.cache import release_folder

if TYPE_CHECKING:
    from pathlib import Path


@pytest.fixture(autouse=True)
def cache(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    return tmp_path / "cache"


def jars(folder: Path, *names: str) -> Distribution:
    folder.mkdir()
    found = tuple(folder / f"{name}.jar" for name in names)
    for jar in found:
        jar.write_text(jar.name)
    return Distribution(version="2.8.3", lib=found, lib_worker=found[:1])


def test_a_release_has_one_place(tmp_path: Path) -> None:
    distribution = jars(tmp_path / "m2", "client", "server")
    folder = release_folder(distribution)
    assert {each.name: each.read_text() for each in (folder / "lib").iterdir()} == {
        "client.jar": "client.jar",
        "server.jar": "server.jar",
    }
    assert [each.name for each in (folder / "lib-worker").iterdir()] == ["client.jar"]
    before = folder.stat().st_mtime_ns
    backwards = Distribution(version="2.8.3", lib=distribution.lib[::-1], lib_worker=distribution.lib_worker)
    assert release_folder(backwards) == folder
    assert folder.stat().st_mtime_ns == before
    assert [each.name for each in folder.parent.iterdir()] == [folder.name]


def test_other_jars_have_another_place(tmp_path: Path) -> None:
    assert release_folder(jars(tmp_path / "a", "client")) != release_folder(jars(tmp_path / "b", "client"))


def test_a_home_shows_the_release_and_its_jars_lead_to_the_same_place(tmp_path: Path) -> None:
    distribution = jars(tmp_path / "m2", "client", "server")
    home = StormHome(path=tmp_path / "home", distribution=distribution, java=tmp_path / "java")
    home.lay_out(extlib=distribution.lib_worker)
    folders = {"conf", "public", "extlib", "extlib-daemon", "tmp", "lib", "lib-worker", "log4j2"}
    assert {each.name for each in home.path.iterdir()} == folders
    assert (home.path / "lib").resolve() == home.release / "lib"
    through = Distribution(
        version="2.8.3",
        lib=tuple((home.path / "lib").glob("*.jar")),
        lib_worker=tuple((home.path / "lib-worker").glob("*.jar")),
    )
    assert release_folder(through) == home.release


def test_the_jars_of_a_release_come_first_and_what_a_home_adds_behind(tmp_path: Path) -> None:
    home = StormHome(path=tmp_path / "home", distribution=jars(tmp_path / "m2", "a"), java=tmp_path / "java")
    command = home.command("a.Main", "word", conf=tmp_path / "storm.yaml", heap_mb=64, options=("-Xint",))
    path = f"{home.release}/lib/*:{home.path}/extlib/*:{home.path}/extlib-daemon/*"
    assert command[-4:] == ["-cp", path, "a.Main", "word"]
    assert {"-Xmx64m", "-Xint", f"-Dstorm.home={home.release}"} < set(command)
    assert home.environment()["STORM_EXT_CLASSPATH"] == f"{home.path}/extlib/*"

"""The home of a local cluster: laid out as Storm's own release is."""

from __future__ import annotations

from typing import TYPE_CHECKING

from headworks_storm.local.home import StormHome
from headworks_storm.release.artefacts import Distribution

if TYPE_CHECKING:
    from pathlib import Path


def jars(folder: Path, *names: str) -> Distribution:
    folder.mkdir()
    found = tuple(folder / f"{name}.jar" for name in names)
    for jar in found:
        jar.write_text(jar.name)
    return Distribution(version="2.8.3", lib=found, lib_worker=found[:1])


def test_a_home_is_laid_out_as_storm_s_own_release(tmp_path: Path) -> None:
    distribution = jars(tmp_path / "m2", "client", "server")
    home = StormHome(path=tmp_path / "home", distribution=distribution, java=tmp_path / "java")
    home.lay_out(extlib=distribution.lib_worker)
    folders = {"conf", "public", "extlib", "extlib-daemon", "tmp", "lib", "lib-worker", "log4j2"}
    assert {each.name for each in home.path.iterdir()} == folders
    files = {name: {each.name: each.read_text() for each in (home.path / name).iterdir()} for name in folders}
    assert files["lib"] == {"client.jar": "client.jar", "server.jar": "server.jar"}
    assert files["lib-worker"] == files["extlib"] == {"client.jar": "client.jar"}
    assert "cluster.xml" in files["log4j2"]


def test_the_jars_of_a_release_come_first_and_what_a_home_adds_behind(tmp_path: Path) -> None:
    home = StormHome(path=tmp_path / "home", distribution=jars(tmp_path / "m2", "a"), java=tmp_path / "java")
    command = home.command("a.Main", "word", conf=tmp_path / "storm.yaml", heap_mb=64, options=("-Xint",))
    path = f"{home.path}/lib/*:{home.path}/extlib/*:{home.path}/extlib-daemon/*"
    assert command[-4:] == ["-cp", path, "a.Main", "word"]
    assert {"-Xmx64m", "-Xint", f"-Dstorm.home={home.path}"} < set(command)
    assert home.environment()["STORM_EXT_CLASSPATH"] == f"{home.path}/extlib/*"

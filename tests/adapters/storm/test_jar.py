"""Headworks's jars: what is in them, who compiles them, and that a JVM loads the one for Nimbus."""

from __future__ import annotations

import struct
import subprocess
import sys
import zipfile
from importlib.metadata import files
from pathlib import Path

import attrs
import pytest

from headworks.errors import EngineError
from headworks_local.java import Java, find_java
from headworks_storm.release import jar as jars
from headworks_storm.release.artefacts import distribution
from headworks_storm.release.jar import BYTECODE, LICENCE, compile_classes, own_jars, py4j_jar, sources
from headworks_storm.release.relocate import SIZES, relocate

SCHEDULER = "headworks/storm/HeadworksScheduler.class"
needs_storm = [pytest.mark.network, pytest.mark.slow]


def names(jar: Path) -> set[str]:
    with zipfile.ZipFile(jar) as archive:
        return {name for name in archive.namelist() if not name.endswith("/")}


def bytecode(jar: Path) -> set[int]:
    """Java versions that the classes of a jar need at least."""
    with zipfile.ZipFile(jar) as archive:
        classes = (archive.read(name) for name in archive.namelist() if name.endswith(".class"))
        return {struct.unpack(">IHH", each[:8])[2] - 44 for each in classes}


def load(jar: Path, *others: Path) -> subprocess.CompletedProcess[str]:
    """Let a JVM load and link the scheduler, as a main class that it is not."""
    path = ":".join(str(each) for each in (jar, *others))
    command = [find_java().program, "-Xlog:class+init=info", "-cp", path, "headworks.storm.HeadworksScheduler"]
    return subprocess.run(command, capture_output=True, text=True, check=False)


@pytest.fixture(scope="module")
def javac_jar(tmp_path_factory: pytest.TempPathFactory) -> Path:
    java = find_java()
    if java.compiler is None:
        pytest.skip(f"needs a JDK: {java.program} has no javac")
    return compile_classes(tmp_path_factory.mktemp("javac") / "classes.jar", java=java)


@pytest.fixture(scope="module")
def ecj_jar(tmp_path_factory: pytest.TempPathFactory) -> Path:
    java = attrs.evolve(find_java(), compiler=None)
    return compile_classes(tmp_path_factory.mktemp("ecj") / "classes.jar", java=java)


@pytest.fixture(params=["javac_jar", "ecj_jar"])
def compiled(request: pytest.FixtureRequest) -> Path:
    return request.getfixturevalue(request.param)


class TestCompile:
    pytestmark = needs_storm

    def test_has_a_class_for_every_source_and_nothing_of_others(self, compiled: Path) -> None:
        # What describes a package is there to be read.
        classes = [source for source in sources() if source.stem != "package-info"]
        wanted = {f"{source.relative_to(jars.SOURCES).with_suffix('')}.class" for source in classes}
        assert wanted <= names(compiled)
        assert all(name.startswith(("headworks/storm/", "META-INF/MANIFEST.MF")) for name in names(compiled))

    def test_serves_the_oldest_java_that_a_supported_storm_runs_on(self, compiled: Path) -> None:
        assert bytecode(compiled) == {BYTECODE}

    def test_gives_the_same_bytes_again(self, javac_jar: Path, tmp_path: Path) -> None:
        again = compile_classes(tmp_path / "again.jar", java=find_java())
        assert again.read_bytes() == javac_jar.read_bytes()

    @pytest.mark.matrix
    def test_compiles_against_the_older_storm(self, javac_jar: Path, tmp_path: Path) -> None:
        assert names(compile_classes(tmp_path / "older.jar", "2.6.4", java=find_java())) == names(javac_jar)

    @pytest.mark.parametrize("version", ["2.8.3", pytest.param("2.6.4", marks=pytest.mark.matrix)])
    def test_is_loaded_beside_each_storm(self, compiled: Path, version: str) -> None:
        run = load(compiled, *distribution(version).lib)
        assert "Main method not found in class headworks.storm.HeadworksScheduler" in run.stderr

    def test_is_not_loaded_without_storm(self, compiled: Path) -> None:
        assert "org/apache/storm/scheduler/IScheduler" in load(compiled).stderr

    def test_says_what_does_not_compile(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        (tmp_path / "Broken.java").write_text("class Broken extends Missing {}")
        monkeypatch.setattr(jars, "SOURCES", tmp_path)
        with pytest.raises(EngineError, match=r"do not compile against Storm 2\.8\.3:\n(.*\n)*.*Missing"):
            compile_classes(tmp_path / "broken.jar")


class TestAnnouncement:
    """One line on stderr before a first use that takes long."""

    def test_says_what_is_fetched(self, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
        monkeypatch.setenv("M2_REPO", str(tmp_path))
        jre = Java(program=Path("java"), version=17)
        assert jars._announcement("2.8.3", jre) == (
            "compiling Headworks's classes for Storm 2.8.3, once: 78 jars of Storm 2.8.3 (all of them: 158 MB)"
            " and Eclipse's compiler (3 MB) are fetched from Maven Central first"
        )

    @pytest.mark.network
    @pytest.mark.slow
    def test_comes_before_the_first_compilation(
        self, javac_jar: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
    ) -> None:
        monkeypatch.setattr(jars, "BUILT", tmp_path / "none.jar")
        own_jars(cache=tmp_path)
        assert capsys.readouterr().err == "compiling Headworks's classes for Storm 2.8.3, once\n"
        own_jars(cache=tmp_path)
        assert capsys.readouterr().err == ""


def test_without_a_java_nothing_is_downloaded_least_of_all_a_jdk(tmp_path: Path) -> None:
    env = {"HOME": str(tmp_path), "PATH": "", "JAVA_HOME": "", "M2_REPO": str(tmp_path / "repository")}
    command = [sys.executable, "-m", "headworks", "storm", "jar", "-O", tmp_path / "extlib"]
    done = subprocess.run(command, env=env, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout) == (4, "")
    assert "Java 17" in done.stderr
    assert [each for each in tmp_path.rglob("*") if each.is_file()] == []


class TestOwnJars:
    pytestmark = needs_storm

    @pytest.fixture
    def built(self, javac_jar: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
        """The classes as an installed wheel has them."""
        monkeypatch.setattr(jars, "BUILT", javac_jar)
        return javac_jar

    def test_have_each_class_once_by_its_package(self, built: Path, tmp_path: Path) -> None:
        manifest = {"META-INF/MANIFEST.MF"}
        bridge, seats, topologies = (names(each) - manifest for each in own_jars(cache=tmp_path))
        assert {each for each in names(built) if each.startswith("headworks/storm/seats/")} == seats
        assert {each for each in names(built) if each.startswith("headworks/storm/workload/")} == topologies
        others = {"headworks/py4j/StringUtil.class", "META-INF/LICENSE.py4j"}
        assert bridge == names(built) - seats - topologies - manifest | others

    @pytest.mark.parametrize("jar", ["bridge", "seats"])
    def test_name_classes_of_no_jar_that_may_be_absent(self, built: Path, tmp_path: Path, jar: str) -> None:
        with zipfile.ZipFile(getattr(own_jars(cache=tmp_path), jar)) as archive:
            found = b"".join(archive.read(each) for each in archive.namelist())
        assert b"headworks/storm/workload/" not in found
        assert (b"headworks/storm/seats/" in found) is (jar == "seats")

    def test_name_py4j_by_no_other_package_than_its_own(self, built: Path, tmp_path: Path) -> None:
        with zipfile.ZipFile(own_jars(cache=tmp_path).bridge) as archive:
            found = b"".join(archive.read(each) for each in archive.namelist() if each.endswith(".class"))
        assert found.count(b"py4j/") == found.count(b"headworks/py4j/") > 0

    def test_are_made_once(self, built: Path, tmp_path: Path) -> None:
        first = own_jars(cache=tmp_path)
        made = [each.stat().st_mtime_ns for each in first]
        assert own_jars(cache=tmp_path) == first
        assert [each.stat().st_mtime_ns for each in first] == made
        assert sorted(tmp_path.rglob("*.jar")) == sorted(first)

    def test_need_no_java_in_an_installed_wheel(
        self, built: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setenv("JAVA_HOME", str(tmp_path))
        assert SCHEDULER in names(own_jars(cache=tmp_path).bridge)

    def test_are_compiled_from_a_checkout(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(jars, "BUILT", tmp_path / "absent.jar")
        jar = own_jars(cache=tmp_path).bridge
        assert {SCHEDULER, "headworks/py4j/StringUtil.class"} <= names(jar)
        run = load(jar, *distribution().lib)
        assert "Main method not found" in run.stderr

    def test_are_others_after_a_change(self, built: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        before = own_jars(cache=tmp_path)
        with zipfile.ZipFile(changed := tmp_path / "changed.jar", "w") as archive:
            archive.writestr("headworks/changed.txt", b"")
        monkeypatch.setattr(jars, "BUILT", changed)
        assert not set(own_jars(cache=tmp_path)) & set(before)


def test_the_py4j_jar_is_that_of_the_installed_package() -> None:
    from py4j.version import __version__

    assert __version__ in py4j_jar().name
    assert "py4j/ClientServer.class" in names(py4j_jar())


def test_the_licence_in_the_jar_is_that_of_the_installed_py4j() -> None:
    (theirs,) = (each.read_text() for each in files("py4j") or () if each.name.startswith("LICENSE"))
    # the years before it differ between releases
    assert LICENCE.read_text().partition("reserved.")[2] == theirs.partition("reserved.")[2] != ""


def test_every_kind_of_constant_is_passed_over_on_the_way_to_names() -> None:
    """A class file made by hand: header, each constant of the specification once, two names, and what follows."""
    others = b"".join(bytes([tag]) + bytes(size) for tag, size in sorted(SIZES.items()))
    texts = [b"py4j/Gateway", b"(ILpy4j/Gateway;[Lpy4j/a/B;)V", b"happy4j/Gateway", b"see py4j/Gateway"]
    moved = [b"own/py4j/Gateway", b"(ILown/py4j/Gateway;[Lown/py4j/a/B;)V", *texts[2:]]
    count = 1 + len(SIZES) + 2 + len(texts)  # from 1 on, and two for each wide constant

    def content(names: list[bytes]) -> bytes:
        head = struct.pack(">IHHH", 0xCAFEBABE, 0, 55, count)
        return head + others + b"".join(struct.pack(">BH", 1, len(each)) + each for each in names) + b"py4j/rest"

    assert relocate(content(texts), "py4j", "own/py4j") == content(moved)

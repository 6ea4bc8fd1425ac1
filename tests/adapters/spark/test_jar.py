"""The scheduler's jar compiles with and without a JDK, and either one places tasks on real Spark."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import zipfile
from pathlib import Path

import attrs
import pytest
from click.testing import CliRunner

from headworks.cli.main import headworks
from headworks.errors import EngineError
from headworks_local.java import Java, find_java
from headworks_local.private_files import cache_folder
from headworks_spark.driver.jar import (
    CONNECT,
    MANAGER,
    OPTIONAL_MANAGERS,
    SERVICE,
    SparkHome,
    scheduler_jar,
    spark_home,
)
from patience import PATIENCE

PLACE_THREE_STAGES = """
import os, subprocess, sys
from adapters.spark.spark_jobs import HOSTS, rotation, three_stages
from headworks_spark.local.cluster import LocalSpark, worker_specs
from headworks_spark.placement.table import PlacementTable
from headworks_spark.driver.jar import spark_home
from headworks_spark.driver.session import level_of, session
with LocalSpark(worker_specs((1, 1, 1))) as cluster:
    # Two tasks share the core of a node: on a busy machine the first takes longer than the usual bound.
    spark = session(cluster.master_url, hosts=HOSTS, **{"spark.headworks.wait": "600s"})
    PlacementTable.of(spark).push("group", rotation(1, 3))
    hits = three_stages(spark, "group") == rotation(1, 3)
    manager = spark.sparkContext._jvm.java.lang.Class.forName("headworks.spark.ClusterManager")
    place = manager.getProtectionDomain().getCodeSource().getLocation().getPath()
    print("jar:", place, "level:", level_of(spark), "hits:", hits, flush=True)
    spark.stop()
    program = spark_home().path / "bin" / "spark-submit"
    command = [str(program), "--master", cluster.master_url, "--executor-memory", "600m"]
    every = ("scheduler.minRegisteredResourcesRatio=1.0", "scheduler.maxRegisteredResourcesWaitingTime=300s")
    for each in ("driver.host=127.0.0.1", "driver.bindAddress=127.0.0.1", "headworks.wait=600s", *every):
        command += ["--conf", f"spark.{each}"]
    subprocess.run([*command, *sys.argv[1:]], env=os.environ | {"PYSPARK_PYTHON": sys.executable}, check=True)
"""
SUBMITTED = """
import time
import headworks_spark
from adapters.spark.spark_jobs import HOSTS, rotation, three_stages
from headworks_spark.driver.session import executors
from headworks_spark.placement.table import PlacementTable
from pyspark.sql import SparkSession
spark = SparkSession.builder.getOrCreate()
with headworks_spark.connect(spark) as connection:
    # Spark starts a job before any executor is there, and a task whose host has none goes elsewhere.
    while set(executors(spark).values()) < set(HOSTS):
        time.sleep(0.1)
    PlacementTable.of(spark).push("group", rotation(1, 3))
    hits = three_stages(spark, "group") == rotation(1, 3)
    master, memory = spark.sparkContext.master.partition(":")[0], spark.sparkContext._jsc.sc().executorMemory()
    print("submitted to:", master, "memory:", memory, "level:", connection.level, "hits:", hits)
spark.stop()
"""


@pytest.fixture(scope="module")
def home(java: None) -> SparkHome:
    return spark_home()


@pytest.fixture(scope="module", params=["javac", "janino"])
def compiler(request: pytest.FixtureRequest, java: None) -> Java:
    """The Java of this machine with its own compiler, and as a bare runtime, where Spark's Janino steps in."""
    found = find_java()
    if request.param == "janino":
        return attrs.evolve(found, compiler=None)
    if found.compiler is None:
        pytest.skip("needs a JDK: the Java of this machine has no javac")
    return found


@pytest.fixture(scope="module")
def jar(home: SparkHome, compiler: Java, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """What the compiler made, in a cache of its own."""
    return scheduler_jar(home, cache=tmp_path_factory.mktemp("cache") / "headworks", java=compiler)


@pytest.mark.spark
@pytest.mark.slow
@pytest.mark.matrix  # every session of the default tests places by a jar of the JDK, and both compilers make one below
@pytest.mark.parametrize("compiler", ["javac", "janino"], indirect=True)
def test_either_compiler_makes_a_jar_that_places_and_spark_submit_takes_it(jar: Path, tmp_path: Path) -> None:
    """All other tests on Spark place tasks by a jar that javac made."""
    (tmp_path / "submitted.py").write_text(SUBMITTED)
    cache = jar.parents[1]
    (cache / "classes").symlink_to(cache_folder() / "classes")  # as prepared as all tests
    tests = str(Path(__file__).parents[2])
    env = os.environ | {"XDG_CACHE_HOME": str(cache.parent), "PYTHONPATH": tests}
    made = CliRunner().invoke(headworks, ["spark", "jar", "-O", str(tmp_path / "jars"), "--json"], env=env)
    written = json.loads(made.stdout)
    assert Path(written["jar"]).read_bytes() == jar.read_bytes()
    submit = [
        "--jars",
        written["jar"],
        "--conf",
        f"spark.plugins={written['spark.plugins']}",
        tmp_path / "submitted.py",
    ]
    command = [sys.executable, "-c", PLACE_THREE_STAGES, *map(str, submit)]
    done = subprocess.run(command, env=env, capture_output=True, text=True, check=False, timeout=PATIENCE)
    assert f"jar: {jar} level: hard hits: True" in done.stdout, done.stderr
    assert "submitted to: spark memory: 600 level: hard hits: True" in done.stdout, done.stderr


@pytest.mark.spark
def test_a_jar_is_made_once_and_whole(home: SparkHome, compiler: Java, jar: Path) -> None:
    made = jar.stat()
    assert scheduler_jar(home, cache=jar.parents[1], java=compiler).stat() == made
    assert [entry.name for entry in jar.parent.iterdir()] == [jar.name]
    assert f"{home.scala}-{home.version}" in jar.name
    with zipfile.ZipFile(jar) as archive:
        assert archive.read(SERVICE).decode().split() == [MANAGER, *OPTIONAL_MANAGERS.values()]


@pytest.mark.spark
def test_another_build_that_is_called_the_same_has_another_jar(
    home: SparkHome, compiler: Java, jar: Path, tmp_path: Path
) -> None:
    (tmp_path / "jars").mkdir()
    for each in home.jars:
        (tmp_path / "jars" / each.name).symlink_to(each)
    core = next((tmp_path / "jars").glob("spark-core_*.jar"))
    other = shutil.copyfile(core, tmp_path / "core.jar")
    with zipfile.ZipFile(other, "a") as archive:
        archive.writestr("vendor.txt", "a vendor's")
    other.replace(core)
    made = scheduler_jar(attrs.evolve(home, path=tmp_path), cache=tmp_path / "cache", java=compiler)
    assert made.name != jar.name


@pytest.mark.spark
@pytest.mark.parametrize("part", [*OPTIONAL_MANAGERS, CONNECT])
def test_a_spark_that_was_built_without_a_part_has_a_jar_too(
    home: SparkHome, java: None, tmp_path: Path, part: str
) -> None:
    (tmp_path / "jars").mkdir()
    for each in home.jars:
        if not each.name.startswith(f"spark-{part}_"):
            (tmp_path / "jars" / each.name).symlink_to(each)
    bare = attrs.evolve(home, path=tmp_path)
    managers = [manager for name, manager in OPTIONAL_MANAGERS.items() if name != part]
    with zipfile.ZipFile(scheduler_jar(bare, cache=tmp_path / "cache")) as archive:
        assert archive.read(SERVICE).decode().split() == [MANAGER, *managers]
        folders = {each.split("/")[2] for each in archive.namelist() if each.count("/") == 3}
    assert folders == {*OPTIONAL_MANAGERS, CONNECT} - {part} - home.absent


@pytest.mark.spark
def test_a_spark_that_does_not_fit_is_named(compiler: Java, tmp_path: Path) -> None:
    (tmp_path / "jars").mkdir()
    empty = SparkHome(path=tmp_path, version="9.9.9", scala="2.13")
    with pytest.raises(EngineError, match=r"does not compile against Spark 9\.9\.9"):
        scheduler_jar(empty, cache=tmp_path, java=compiler)
    assert list((tmp_path / "spark").iterdir()) == []


def test_a_spark_home_without_spark_is_named(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    pytest.importorskip("pyspark")
    monkeypatch.setenv("SPARK_HOME", str(tmp_path))
    with pytest.raises(EngineError, match="has no jars/spark-core"):
        spark_home()

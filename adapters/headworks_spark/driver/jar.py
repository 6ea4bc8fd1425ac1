"""The jar with Headworks's task scheduler, compiled on first use against the user's own Spark.

The classes it extends are internal to Spark and differ between versions, so sources are shipped, not classes. A JDK
compiles them if there is one, else the Janino compiler that Spark has among its own jars.
"""

from __future__ import annotations

import hashlib
import os
import re
import subprocess
import tempfile
import zipfile
from pathlib import Path
from typing import TYPE_CHECKING

import attrs

from headworks.errors import EngineError, how_to_install
from headworks_local.java import BRIEF, find_java
from headworks_local.lifetime import environment
from headworks_local.private_files import cache_folder
from headworks_spark.driver import members as members_of

if TYPE_CHECKING:
    from headworks_local.java import Java

SOURCES = Path(__file__).parents[1] / "java"
"""Folder of the Java sources."""
SERVICE = "META-INF/services/org.apache.spark.scheduler.ExternalClusterManager"
"""Entry by which Java's ServiceLoader, and so Spark, finds the cluster manager in the jar."""
BUILT = "META-INF/headworks/spark"
"""Entry with the version of Spark that it was compiled against: under another one it places nothing, and says so."""
MEMBERS = "META-INF/headworks/members"
"""Entry with the classes and members of Spark that it needs: where one is missing, likewise."""
MANAGER = "headworks.spark.ClusterManager"
"""The class that Spark asks for the task scheduler of master URLs that begin with `local-cluster-hw://`."""
OPTIONAL_MANAGERS = {
    "kubernetes": "headworks.spark.kubernetes.KubernetesManager",
    "yarn": "headworks.spark.yarn.YarnManager",
}
"""The classes that it asks on other clusters, by Spark's name of that part; only in a jar for a Spark that has it."""
CONNECT = "connect"
"""Folder of the plugins for servers of Spark Connect, which from Spark 4 on is among its jars."""
PLACEMENT = "headworks.spark.PlacementPlugin"
"""Plugin of Spark that gives an application Headworks's task scheduler, its master URL being what it was."""
JANINO = "org.codehaus.commons.compiler.samples.CompilerDemo"
"""Main class of the compiler among Spark's own jars, for machines with a JRE and no JDK."""


@attrs.frozen(kw_only=True)
class SparkHome:
    """An installation of Spark, and the versions that its core jar names."""

    path: Path
    version: str
    scala: str

    @property
    def jars(self) -> tuple[Path, ...]:
        """Its jars, by name."""
        return tuple(sorted((self.path / "jars").glob("*.jar")))

    @property
    def own_jars(self) -> tuple[Path, ...]:
        """Those that are Spark's own, and not its dependencies'."""
        return tuple(jar for jar in self.jars if jar.name.startswith("spark-"))

    @property
    def parts(self) -> tuple[str, ...]:
        """Those of `OPTIONAL_MANAGERS` that it was built with, as releases and PySpark's package are with all."""
        names = [jar.name for jar in self.jars]
        return tuple(part for part in OPTIONAL_MANAGERS if any(name.startswith(f"spark-{part}_") for name in names))

    @property
    def absent(self) -> frozenset[str]:
        """Folders of sources for parts of Spark that it was built without; the Connect of Spark 3 is another."""
        connect = int(self.version.split(".")[0]) >= 4 and any(
            jar.name.startswith("spark-connect_") for jar in self.jars
        )
        return frozenset(OPTIONAL_MANAGERS.keys() - self.parts | ({CONNECT} if not connect else set()))

    @property
    def java(self) -> int:
        """Major version of Java that it needs."""
        return 17 if int(self.version.split(".")[0]) >= 4 else 8


def spark_home() -> SparkHome:
    """The installation that PySpark uses: SPARK_HOME, else the one inside the package.

    Raises:
        EngineError: PySpark is not installed, or there is no Spark where it looks.
    """
    try:
        # PySpark is optional: where it is missing, the error says how to install it.
        from pyspark.find_spark_home import _find_spark_home
    except ImportError:
        raise EngineError(f"PySpark is not installed: {how_to_install('spark')}") from None
    path = Path(_find_spark_home())
    # A file name tells both versions; asking Spark itself would start a JVM.
    for jar in (path / "jars").glob("spark-core_*.jar"):
        if match := re.fullmatch(r"spark-core_([\d.]+)-(.+)\.jar", jar.name):
            return SparkHome(path=path, scala=match[1], version=match[2])
    raise EngineError(f"{path} has no jars/spark-core_*.jar: point SPARK_HOME at a whole Spark, or unset it")


def scheduler_jar(home: SparkHome, *, cache: Path | None = None, java: Java | None = None) -> Path:
    """The jar for this Spark, compiled if the cache does not have it.

    Args:
        home: The Spark to compile against.
        cache: Folder to keep it in; the user's cache by default.
        java: What compiles it; what Spark would run on by default.

    Raises:
        EngineError: There is no Java, or the sources do not compile against this Spark.
    """
    sources = [each for each in sorted(SOURCES.rglob("*.java")) if each.parent.name not in home.absent]
    name = f"headworks-spark_{home.scala}-{home.version}-{_digest(home, sources)}.jar"
    jar = (cache or cache_folder()) / "spark" / name
    if not jar.is_file():
        jar.parent.mkdir(parents=True, exist_ok=True)
        # Compiled beside its place and renamed: two first runs at once leave one whole jar.
        with tempfile.TemporaryDirectory(dir=jar.parent) as folder:
            classes = Path(folder, "classes")
            classes.mkdir()
            _compile(home, java or find_java(home.java), sources, classes)
            managers = (MANAGER, *(OPTIONAL_MANAGERS[part] for part in home.parts))
            _pack(classes, managers, home, Path(folder, name)).replace(jar)
    return jar


def _digest(home: SparkHome, sources: list[Path]) -> str:
    """Of all that a jar is made from; a vendor's build may be called as Spark's own, and has other sizes."""
    code = [each.read_bytes() for each in (*sources, *map(Path, (__file__, members_of.__file__)))]
    against = [f"{each.name} {each.stat().st_size}".encode() for each in home.own_jars]
    return hashlib.sha256(b"\0".join(code + against)).hexdigest()[:12]


def _compile(home: SparkHome, java: Java, sources: list[Path], classes: Path) -> None:
    path = os.pathsep.join(str(jar) for jar in home.jars)
    command: list[str | Path]
    if java.compiler:
        command = [*java.javac(), "-nowarn", "-d", classes, "-cp", path]
    else:
        command = [java.program, *BRIEF, "-cp", path, JANINO, "-d", classes, "-classpath", path]
    env = os.environ | environment()
    # The return code of Janino's demo is not trusted alone: classes have to be there.
    done = subprocess.run([*command, *sources], capture_output=True, text=True, check=False, env=env)
    if done.returncode or not any(classes.rglob("*.class")):
        raise EngineError(
            f"Headworks's task scheduler does not compile against Spark {home.version} in {home.path} "
            f"(supported: 3.5 and 4.x):\n{(done.stderr or done.stdout).strip()[-2000:]}"
        )


def _pack(classes: Path, managers: tuple[str, ...], home: SparkHome, jar: Path) -> Path:
    with zipfile.ZipFile(jar, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr(SERVICE, "".join(f"{manager}\n" for manager in managers))
        archive.writestr(BUILT, f"{home.version}\n")
        compiled = sorted(classes.rglob("*.class"))
        needed = members_of.members((each.read_bytes() for each in compiled), home.own_jars)
        archive.writestr(MEMBERS, "".join(f"{each}\n" for each in needed))
        for each in compiled:
            archive.write(each, each.relative_to(classes).as_posix())
    return jar

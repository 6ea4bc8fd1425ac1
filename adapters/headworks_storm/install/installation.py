"""An installation of Storm on this machine: its jars, its `storm.yaml`, and the cluster that clients reach by them."""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING, Any

import attrs

from headworks.errors import EngineError, EngineUseError
from headworks_local.java import find_java
from headworks_storm.client.gateway import NimbusGateway
from headworks_storm.local.state import StormState
from headworks_storm.release.artefacts import Distribution

if TYPE_CHECKING:
    from headworks_local.java import Java

CLIENT_JAR = re.compile(r"storm-client-(\d+\.\d+.*)\.jar")
"""The jar that every installation has, whose name holds the release."""


@attrs.frozen(kw_only=True)
class Installation:
    """A $STORM_HOME: an operator's, or the one of the local cluster.

    Attributes:
        home: The folder, with `lib`, `extlib`, `extlib-daemon` and `conf/storm.yaml`.
        version: Release of Storm, by the name of its jar.
    """

    home: Path
    version: str

    @classmethod
    def at(cls, home: Path) -> Installation:
        """The installation in a folder.

        Raises:
            EngineError: The folder is none.
        """
        found = sorted(filter(None, (CLIENT_JAR.fullmatch(each.name) for each in home.glob("lib/*.jar"))), key=str)
        if not found:
            raise EngineUseError(f"{home} is not a Storm installation: it has no lib/storm-client-*.jar")
        return cls(home=home.absolute(), version=found[-1][1])

    @property
    def conf_file(self) -> Path:
        """The `storm.yaml` that daemons and clients read."""
        return self.home / "conf" / "storm.yaml"

    @property
    def release(self) -> tuple[int, ...]:
        """The leading numbers of the version."""
        return tuple(int(part) for part in re.findall(r"\d+", self.version)[:3])

    def jars(self) -> Distribution:
        """Its own jars, those for workers as far as they are there."""
        lib, worker = (tuple(sorted(self.home.glob(f"{name}/*.jar"))) for name in ("lib", "lib-worker"))
        return Distribution(version=self.version, lib=lib, lib_worker=worker)

    def additions(self, *folders: str) -> tuple[Path, ...]:
        """The jars in `extlib` or `extlib-daemon`."""
        return tuple(jar for folder in folders for jar in sorted((self.home / folder).glob("*.jar")))

    def java(self) -> Java:
        """The Java that its release needs; see `find_java`."""
        return find_java(self.jars().java)

    def conf(self) -> dict[str, Any]:
        """Settings of its `storm.yaml`, as Storm itself reads it: a JVM is started for that.

        Raises:
            EngineError: The file is not there or is not YAML; or see `NimbusGateway.start`.
        """
        with self.gateway() as jvm:
            return dict(jvm.conf)

    def gateway(self) -> NimbusGateway:
        """The Nimbus that `storm.yaml` names, to be used in a `with` block: its JVM reads the file.

        Raises:
            EngineError: The file is not there.
        """
        if not self.conf_file.is_file():
            raise EngineUseError(f"there is no {self.conf_file}")
        return NimbusGateway(self.home / "lib", {}, java=self.java().program, file=self.conf_file)


def standing_or_at(home: Path | None) -> Installation:
    """The installation in a folder, or that of the cluster which `headworks storm up` started.

    Raises:
        EngineError: The folder is none, or no local cluster runs.
    """
    if home is not None:
        return Installation.at(home)
    running = StormState.read()
    if running is None:
        raise EngineError(
            "no local Storm cluster runs: start one with `headworks storm up`, or name an installation with --home or "
            "$STORM_HOME"
        )
    return Installation.at(Path(running.home))

"""The submission of topologies to a cluster, by Storm's own submitter in a JVM of its own."""

from __future__ import annotations

import json
import os
import subprocess
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import attrs

from headworks.errors import EngineError
from headworks_local.java import BRIEF, find_java
from headworks_local.lifetime import environment
from headworks_storm.local.home import StormHome, write_conf
from headworks_storm.release.artefacts import STORM, Distribution, distribution
from headworks_storm.release.jar import own_jars

if TYPE_CHECKING:
    from collections.abc import Sequence

    from headworks_storm.install.installation import Installation

RUNNER = "headworks.storm.workload.Submit"
"""The Java class that builds what `headworks_storm.workload.describe.describe` describes, and submits it."""
PROXY, MOVABLE = "headworks.storm.seats.SubmitProxy", "headworks.seats.movable"
"""The Java class that runs another one and rewrites what it submits, and the property that tells it what has seats."""
NOTES, REFUSES = "headworks notes: ", "headworks refuses: "
"""Beginnings of the lines by which the program tells what became of seats (`headworks.storm.seats.Door`)."""
HEAP_MB = 256
"""MB of heap of the submitter. With less, a program that builds a large topology may fail."""
SECONDS = 300
"""Seconds that a submission may take."""


@attrs.frozen(kw_only=True)
class Submitter:
    """Storm's submitter, ready to run: the jars of a release, further jars, and the settings that name Nimbus.

    Attributes:
        distribution: Jars of the release that the cluster runs.
        extlib: Jars beside them.
        conf: Settings of a `storm.yaml` for clients, if there is no file.
        conf_file: The `storm.yaml` to read.
    """

    distribution: Distribution
    extlib: tuple[Path, ...] = ()
    conf: Mapping[str, Any] = attrs.field(factory=dict)
    conf_file: Path | None = None

    @classmethod
    def of(cls, installation: Installation) -> Submitter:
        """The submitter with an installation's own jars, to the Nimbus of its `storm.yaml`."""
        extlib = installation.additions("extlib")
        return cls(distribution=installation.jars(), extlib=extlib, conf_file=installation.conf_file)

    def description(self, description: Mapping[str, Any], *, seats: Mapping[str, str] | None = None) -> list[str]:
        """Build what `headworks_storm.workload.describe.describe` made, and submit it; see `jar`.

        Args:
            seats: State of the components whose tasks are to have seats; of all bolts if it is empty, of none if None.
        """
        asked = description if seats is None else {**description, "seats": dict(seats)}
        with tempfile.TemporaryDirectory(prefix="headworks-submit-") as folder:
            file = Path(folder, "topology.json")
            file.write_text(json.dumps(asked))
            return self._run(own_jars().topologies, RUNNER, [str(file)], seated=seats is not None)

    def jar(
        self, jar: Path, main: str, arguments: Sequence[str], *, seats: Mapping[str, str] | None = None
    ) -> list[str]:
        """Run the main class of a jar that submits a topology, as `storm jar` does.

        Args:
            jar: The jar, which is uploaded to Nimbus for the workers.
            main: Name of the class.
            seats: State of the components whose tasks are to have seats; the topology is not rewritten if it is None.

        Returns:
            What was noted of the seats of the topology: a sentence for each bolt without.

        Raises:
            EngineError: Nimbus cannot be reached, a topology of this name runs, or another reason that Storm gives.
        """
        return self._run(jar, main, arguments, seated=seats is not None, rewritten=seats)

    def _run(
        self,
        jar: Path,
        main: str,
        arguments: Sequence[str],
        *,
        seated: bool,
        rewritten: Mapping[str, str] | None = None,
    ) -> list[str]:
        """Run a main class; the topology is `rewritten` between it and Nimbus, or has seats as the class submits it."""
        java, own = find_java(self.distribution.java), own_jars()
        with tempfile.TemporaryDirectory(prefix="headworks-submit-") as folder:
            home = StormHome(path=Path(folder, "home"), distribution=self.distribution, java=java.program)
            # Headworks's own jar, whose classes a topology may name, may be in the installation's `extlib` too: one
            # link of a name.
            extlib = {each.name: each for each in (*self.extlib, own.bridge, own.seats, jar)}
            home.lay_out(extlib=list(extlib.values()))
            file = self.conf_file or write_conf(Path(folder, "storm.yaml"), {**self.conf, "storm.local.dir": folder})
            properties: dict[str, Any] = {"storm.jar": jar.absolute()}
            words = [main, *arguments]
            if seated:
                properties["storm.dependency.jars"] = f"{own.bridge},{own.seats}"
            if rewritten is not None:
                properties[MOVABLE], words = json.dumps(dict(rewritten)), [PROXY, *words]
            # A program of the user's, whose stacks may be deep.
            command = home.command(*words, conf=file, heap_mb=HEAP_MB, properties=properties, flags=BRIEF)
            try:
                env = os.environ | environment()
                done = subprocess.run(command, capture_output=True, text=True, timeout=SECONDS, check=False, env=env)
            except subprocess.TimeoutExpired:
                message = f"{main} has not submitted a topology after {SECONDS} s; does Nimbus answer?"
                raise EngineError(message) from None
        if done.returncode:
            raise EngineError(f"{main} did not submit its topology: {_reason(done.stdout + done.stderr)}")
        return _marked(done.stdout, NOTES)


def submit_description(
    description: Mapping[str, Any],
    conf: Mapping[str, Any],
    *,
    seats: Mapping[str, str] | None = None,
    version: str = STORM,
) -> list[str]:
    """Build a topology and submit it; see `Submitter`.

    Args:
        description: The topology, as `headworks_storm.workload.describe.describe` describes it.
        conf: Settings of `storm.yaml` for clients; at least `nimbus.seeds` and `nimbus.thrift.port`.
        seats: State of the components whose tasks are to have seats; of all bolts if it is empty, of none if None.
        version: Release of Storm that the cluster runs.

    Returns:
        What was noted of the seats of the topology.
    """
    return Submitter(distribution=distribution(version), conf=conf).description(description, seats=seats)


def _reason(output: str) -> str:
    """The reason that seats are refused for, else the innermost cause of the last exception, else the output's end."""
    if refused := _marked(output, REFUSES):
        return refused[0]
    causes = [line for line in output.splitlines() if "Exception" in line and not line.lstrip().startswith("at ")]
    return causes[-1].strip().removeprefix("Caused by: ") if causes else output.strip()[-500:]


def _marked(output: str, mark: str) -> list[str]:
    """The rests of the lines that begin with a mark."""
    return [line.removeprefix(mark).strip() for line in output.splitlines() if line.startswith(mark)]

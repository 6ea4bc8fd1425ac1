"""Sending a topology to a cluster, by Storm's own submitter in a JVM of its own."""

from __future__ import annotations

import json
import subprocess
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Any

from headgate.errors import EngineError
from headgate.java import find_java
from headgate_storm.artefacts import STORM, distribution
from headgate_storm.home import StormHome, write_conf
from headgate_storm.jar import bridge_jar

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

RUNNER = "headgate.storm.workload.Submit"
"""Builds what `headgate_storm.workload.describe` describes."""
HEAP_MB = 256
SECONDS = 120


def submit_description(description: Mapping[str, Any], conf: Mapping[str, Any], *, version: str = STORM) -> None:
    """Build a topology and submit it.

    Args:
        description: What `headgate_storm.workload.describe` made.
        conf: What `storm.yaml` says to clients; at least `nimbus.seeds` and `nimbus.thrift.port`.
        version: Release of Storm that the cluster runs.

    Raises:
        EngineError: Nimbus cannot be reached, a topology of this name runs, or another reason that Storm gives.
    """
    with tempfile.TemporaryDirectory(prefix="headgate-submit-") as folder:
        file = Path(folder, "topology.json")
        file.write_text(json.dumps(description))
        submit_jar(bridge_jar(version), RUNNER, [str(file)], conf, version=version)


def submit_jar(
    jar: Path, main: str, arguments: Sequence[str], conf: Mapping[str, Any], *, version: str = STORM
) -> None:
    """Run the main class of a jar that submits a topology, as `storm jar` does; see `submit_description`."""
    jars = distribution(version)
    java = find_java(jars.java)
    with tempfile.TemporaryDirectory(prefix="headgate-submit-") as folder:
        home = StormHome(path=Path(folder, "home"), distribution=jars, java=java.program)
        home.lay_out(extlib=[jar])
        file = write_conf(Path(folder, "storm.yaml"), {**conf, "storm.local.dir": folder})
        command = home.command(main, *arguments, conf=file, heap_mb=HEAP_MB, properties={"storm.jar": jar.absolute()})
        try:
            done = subprocess.run(command, capture_output=True, text=True, timeout=SECONDS, check=False)
        except subprocess.TimeoutExpired:
            raise EngineError(f"{main} has not submitted a topology after {SECONDS} s; does Nimbus answer?") from None
    if done.returncode:
        raise EngineError(f"{main} did not submit its topology: {_reason(done.stdout + done.stderr)}")


def _reason(output: str) -> str:
    """The innermost cause of the last exception, else the end of the output."""
    causes = [line for line in output.splitlines() if "Exception" in line and not line.lstrip().startswith("at ")]
    return causes[-1].strip().removeprefix("Caused by: ") if causes else output.strip()[-500:]

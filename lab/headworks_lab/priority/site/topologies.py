"""The topologies of a use case: their classes compiled, Kafka's spout fetched, each submitted."""

from __future__ import annotations

import json
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import TYPE_CHECKING, Any

import attrs

from headworks_lab.priority.site.broker import REPORTS
from headworks_local.maven import resolve_locked
from headworks_storm.install.submit import Submitter
from headworks_storm.release.artefacts import STORM, distribution
from headworks_storm.release.jar import compile_sources, own_jars

if TYPE_CHECKING:
    from collections.abc import Mapping

    from headworks_lab.priority.feeds.feeds import FeedWorkload
    from headworks_lab.priority.workload import Kind, Member, Workload

SPOUT = Path(__file__).with_name(f"kafka-spout-{STORM}.txt")
"""Lock file: coordinates and SHA-256 of each jar that workers need for Kafka."""
USE_CASE = Path(__file__).parents[1] / "java"
"""Java sources of the use case."""
MAIN = "headworks.storm.usecase.Submit"
HEAP = 48
"""MB of one task. With less, Kafka's clients may not fit; with more, four topologies need more memory than a laptop
has to spare."""
AT_ONCE = 2
"""Topologies that are submitted at a time, each by a JVM of its own. With more, a small machine is slower in all."""
COMPONENTS: dict[Kind, tuple[int, int]] = {"event": (4, 0), "archive": (3, 0), "feed": (3, 1)}
"""Components with a task for each producer, and those with one task, in each kind of topology."""
PENDING = 8
"""Tuples that a spout has under way. With more, a topology takes longer until it is empty."""


@attrs.frozen(kw_only=True)
class Places:
    """Addresses and folders that topologies are told.

    Attributes:
        broker: HOST:PORT of the broker.
        manager: URL of the manager, `token`: the file with its token.
        folder: Where topologies write, a folder each, and where the cores of nodes are.
    """

    broker: str
    manager: str
    token: Path
    folder: Path

    def written(self, name: str, gateway: str) -> list[str]:
        """Whole lines of what a topology wrote down of a gateway's readings.

        Args:
            name: The topology.
            gateway: The gateway.
        """
        file = self.folder / name / gateway
        return file.read_text().rpartition("\n")[0].splitlines() if file.exists() else []


def spout_jars() -> tuple[Path, ...]:
    """Kafka's spout and all that it needs beside the jars of a worker, downloaded where they are missing.

    Raises:
        EngineError: A jar cannot be had, or differs from the lock file.
    """
    return resolve_locked(SPOUT)


def use_case_jar(folder: Path) -> Path:
    """Compile the topologies' classes.

    Args:
        folder: Where the jar goes.

    Raises:
        EngineError: There is no Java, a jar cannot be had, or the sources do not compile.
    """
    path = (*distribution().lib, *spout_jars(), own_jars().bridge)
    return compile_sources(
        folder / "use-case.jar", sorted(USE_CASE.rglob("*.java")), path, what="the demo's topologies"
    )


def described(member: Member, workload: Workload | FeedWorkload, places: Places) -> dict[str, Any]:
    """A topology as plain data for `headworks.storm.usecase.Submit`.

    Args:
        member: The topology.
        workload: Parameters.
        places: Addresses and folders.
    """
    each, single = COMPONENTS[member.kind]
    tasks = member.tasks * each + single + member.workers
    conf = {
        "topology.workers": member.workers,
        "topology.max.spout.pending": PENDING,
        "topology.component.resources.onheap.memory.mb": HEAP,
        "topology.worker.max.heap.size.mb": tasks * HEAP,
        "topology.component.cpu.pcore.percent": 10.0,
    }
    return {
        "name": member.name,
        "kind": member.kind,
        "broker": places.broker,
        "topic": member.topic,
        "reports": REPORTS,
        "tasks": member.tasks,
        "length": workload.length,
        "threshold": workload.threshold_of(member),
        "service": workload.service_of(member),
        "folder": str(places.folder / member.name),
        "cores": str(places.folder / "cores"),
        "manager": places.manager,
        "token": str(places.token),
        "conf": conf,
    }


def submit_all(workload: Workload | FeedWorkload, places: Places, conf: Mapping[str, Any], folder: Path) -> None:
    """Compile the topologies, and submit them.

    Args:
        workload: Parameters.
        places: Addresses and folders.
        conf: Settings of `storm.yaml` for clients.
        folder: Scratch space.

    Raises:
        EngineError: They do not compile, or Nimbus does not take them.
    """
    jar = use_case_jar(folder)
    submitter = Submitter(distribution=distribution(), extlib=(own_jars().bridge, *spout_jars()), conf=conf)
    (places.folder / "cores").mkdir(parents=True)

    def submit(member: Member) -> None:
        (places.folder / member.name).mkdir()
        file = folder / f"{member.name}.json"
        file.write_text(json.dumps(described(member, workload, places)))
        submitter.jar(jar, MAIN, [str(file)])

    with ThreadPoolExecutor(AT_ONCE) as pool:
        list(pool.map(submit, workload.case.members))

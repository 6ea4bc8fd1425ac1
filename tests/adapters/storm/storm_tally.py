"""Topologies that count for themselves which task had how many tuples of which, on a real cluster, for tests."""

from __future__ import annotations

import functools
import json
import tempfile
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

import attrs

from headworks_storm.install.submit import Submitter
from headworks_storm.local.cluster import LocalStorm, SupervisorSpec
from headworks_storm.release.artefacts import distribution
from headworks_storm.release.jar import compile_sources, own_jars
from headworks_storm.service import HOOKS

if TYPE_CHECKING:
    from headworks_storm.workers.collector import Collector

TWO = tuple(SupervisorSpec(host=f"127.0.0.{last}", cpu=400.0, memory_mb=2048.0, slots=2) for last in (31, 32))


def hooked_storm(
    collector: Collector, token_file: Path, version: str, *, hooks: bool = True, seconds: int = 1, **more: Any
) -> LocalStorm:
    """Two supervisors whose workers report to a collector, if they have the hooks; `more` is said to all daemons."""
    where: dict[str, Any] = {
        "headworks.collector": "{}:{}".format(*collector.address),
        "headworks.collector.token.file": str(token_file),
        "headworks.monitor.seconds": seconds,
        "storm.messaging.netty.max_wait_ms": 200,
    }
    conf = {**where, **(HOOKS if hooks else {}), **more}
    own = own_jars()
    return LocalStorm(TWO, conf=conf, extlib=(own.bridge, own.seats), version=version)


@attrs.frozen
class Tally:
    """The topologies, and the folder in which its bolts write down their counts.

    Attributes:
        storm: Where they are submitted to.
        folder: Of its own.
        seats: State of the components whose tasks are to have seats; the topologies are not rewritten if it is None.
    """

    storm: LocalStorm
    folder: Path
    seats: dict[str, str] | None = None

    def submit(self, name: str, *, tuples: int = 0, rate: float = 0.0, acked: bool = True, **conf: Any) -> None:
        """Compile and submit it: so many tuples of each of two spouts (0: no end), and tuples per second (0: all)."""
        self._submit("TallyTopology", name, str(tuples), str(rate), str(acked).lower(), json.dumps(conf))

    def submit_words(self, name: str, text: str, **conf: Any) -> None:
        """Compile and submit WordCount over a text, acked, as fast as it can."""
        file = self.folder / "text"
        file.write_text(text)
        self._submit("WordTallyTopology", name, str(file), json.dumps(conf))

    def submit_view(self, name: str, text: str, **conf: Any) -> None:
        """Compile and submit WordCount over each line of a text once, whose tasks write down all that they see."""
        file = self.folder / "text"
        file.write_text(text)
        self._submit("ViewTopology", name, str(file), json.dumps(conf))

    def submit_numbers(self, name: str, *, tuples: int, rate: float, acked: bool, **conf: Any) -> None:
        """Compile and submit numbered tuples of two spouts, so many and so many in a second of each."""
        self._submit("NumbersTopology", name, str(tuples), str(rate), str(acked).lower(), json.dumps(conf))

    def submit_metrics(self, name: str, **conf: Any) -> None:
        """Compile and submit bolts with metrics, of which it writes down what Storm tells; it needs a `Movable`."""
        self._submit("MetricsTopology", name, json.dumps(conf))

    def submit_memory(self, name: str, **conf: Any) -> None:
        """Compile and submit bolts whose states are large, or take all memory when they are read; as above."""
        self._submit("MemoryTopology", name, json.dumps(conf))

    def submit_held(self, name: str, *, rate: float, **conf: Any) -> None:
        """Compile and submit numbers that are sent once, and held by sinks for seconds before they acknowledge them."""
        (self.counts_folder / name).mkdir(parents=True, exist_ok=True)
        once = {"durable.held": True, "topology.acker.executors": 1, "topology.message.timeout.secs": 900, **conf}
        self._submit("DurableTopology", name, str(rate), json.dumps(once), folder=self.counts_folder / name)

    def submit_durable(self, name: str, *, rate: float, **conf: Any) -> None:
        """Compile and submit numbers of two spouts that send again, in their next life too, what was not acked."""
        self._submit("DurableTopology", name, str(rate), json.dumps(conf))

    def numbers(self, kind: str) -> set[int]:
        """The numbers that were `sent`, `acked` or `written` by such a topology, in all its lives."""
        files = self.counts_folder.glob(f"{kind}-*")
        return {int(line) for file in files for line in file.read_text().rpartition("\n")[0].splitlines()}

    def lines(self, name: str, kind: str) -> list[str]:
        """The numbers that spouts (`sent`) or sinks (`written`) of a held one wrote down, as often as they did."""
        files = (self.counts_folder / name).glob(f"{kind}-*")
        return [line for file in files for line in file.read_text().rpartition("\n")[0].splitlines()]

    def written(self, kind: str) -> list[int]:
        """The three numbers that the spouts or sinks of numbered tuples wrote down, each summed up."""
        files = [each for each in self.counts_folder.glob(f"{kind}-*") if not each.suffix]
        rows = [list(map(int, each.read_text().split())) for each in files]
        return [sum(column) for column in zip(*rows, strict=True)] or [0, 0, 0]

    def all_acked(self) -> int | None:
        """Numbered tuples that were sent, once the spouts pause and all of them are acked."""
        earlier = self.written("spout")
        time.sleep(3)  # a spout that does not pause sends some
        sent, acked, failed = self.written("spout")
        return sent if (sent, 0) == (acked, failed) and [sent, acked, failed] == earlier else None

    def views(self) -> dict[int, list[str]]:
        """The lines that each task wrote down, by task."""
        return {
            int(file.name): file.read_text().splitlines()
            for file in self.counts_folder.glob("[0-9]*")
            if not file.suffix
        }

    def bolts_wrote_since(self, moment: float) -> bool:
        """Check that every bolt wrote down what it saw after a moment of the clock; spouts do so at their last ack."""
        files = [file for file in self.counts_folder.glob("[0-9]*") if not file.suffix]
        return all(file.stat().st_mtime > moment for file in files if "acked: " not in file.read_text())

    @property
    def counts_folder(self) -> Path:
        return self.folder / "counts"

    def counts(self) -> dict[tuple[int, int], int]:
        """Tuples by source task and receiving task."""
        found = {}
        for file in self.counts_folder.glob("[0-9]*"):
            if not file.suffix:
                for line in file.read_text().splitlines():
                    source, count = map(int, line.split())
                    found[source, int(file.name)] = count
        return found

    def _submit(self, main: str, name: str, *arguments: str, folder: Path | None = None) -> None:
        self.counts_folder.mkdir(exist_ok=True)
        words = [name, str(folder or self.counts_folder), *arguments]
        # A client without Headworks's jar, whose storm.yaml names no class of it.
        conf = {key: value for key, value in self.storm.client_conf.items() if "credential" not in key}
        submitter = Submitter(distribution=distribution(self.storm.version), conf=conf)
        submitter.jar(self._jar(), main, words, seats=self.seats)

    def _jar(self) -> Path:
        jar = self.folder / "tally.jar"
        if not jar.exists():
            jar.write_bytes(compiled(self.storm.version))
        return jar


@functools.cache
def compiled(version: str) -> bytes:
    """The jar of all these topologies, compiled once in a process."""
    jars = distribution(version)
    sources = sorted(Path(__file__).with_name("java").glob("*.java"))
    with tempfile.TemporaryDirectory() as folder:
        jar = Path(folder, "tally.jar")
        own = own_jars()
        path = (own.bridge, own.seats, *jars.lib)
        return compile_sources(jar, sources, path, what="topologies of tests", version=version).read_bytes()

"""A Storm as an operator has one: unpacked into a folder, with one `storm.yaml`, started by commands as of `bin/storm`.

Its supervisor has the id and the name that Storm gives it, all daemons share a folder for their state, and workers have
Storm's own options. Only its ports are those that are free.
"""

from __future__ import annotations

import contextlib
import json
import os
import re
import shutil
import signal
import subprocess
import textwrap
import time
import uuid
from pathlib import Path

import psutil

from headworks import documents
from headworks.errors import EngineError
from headworks.model import Component, Kind, Resources, Stream, Topology
from headworks_local.java import find_java
from headworks_storm.install.installation import Installation
from headworks_storm.local.home import LOG4J2
from headworks_storm.local.processes import WORKER, WRITER
from headworks_storm.release.artefacts import distribution, java_version
from patience import PATIENCE
from shell import HEADWORKS, MARK, end, headworks, marked, running

YAML = """\
########### These MUST be filled in for a storm configuration
storm.zookeeper.servers:
    - "localhost"
storm.zookeeper.port: {}
nimbus.seeds: ["localhost"]
nimbus.thrift.port: {}
supervisor.thrift.port: {}
supervisor.slots.ports:
    - {}
    - {}
    - {}
    - {}
storm.local.dir: "{folder}/state"
dev.zookeeper.path: "{folder}/zookeeper"
"""
MAINS = {
    "dev-zookeeper": "org.apache.storm.command.DevZookeeper",
    "nimbus": "org.apache.storm.daemon.nimbus.Nimbus",
    "supervisor": "org.apache.storm.daemon.supervisor.Supervisor",
}
TOPOLOGY = Topology(
    id="tiny",
    components=(
        Component(id="in", kind=Kind.SPOUT, rate=10, demand=Resources(cpu=5, memory=64)),
        Component(id="out", parallelism=2, demand=Resources(cpu=5, memory=64)),
    ),
    streams=(Stream(source="in", target="out"),),
)
PAGE = Path(__file__).parents[3] / "docs" / "storm-install.md"
FENCED = re.compile(r"^( *)```(\w+)\n(.*?)^\1```$", re.MULTILINE | re.DOTALL)


def read(file):
    """The text of a file, "" if it is not there."""
    return file.read_text() if file.exists() else ""


def blocks(section):
    """Kind and text of the blocks of a section of the page, in order."""
    text = PAGE.read_text().partition(f"\n## {section}\n")[2].partition("\n## ")[0]
    assert text, section
    return [(kind, textwrap.dedent(inside)) for _, kind, inside in FENCED.findall(text)]


def commands(section):
    """The commands of a section, in order."""
    return [line for kind, text in blocks(section) if kind == "text" for line in text.splitlines()]


class ByHand:
    """The folder, and the daemons that were started from it, which all end with the context."""

    def __init__(self, folder, ports, version):
        self.folder, self.home, self.mark = folder, folder / "apache-storm", uuid.uuid4().hex
        self.java = find_java(java_version(version)).program
        self.nimbus, self._running = None, {}
        jars = distribution(version)
        for name, files in (("lib", jars.lib), ("lib-worker", jars.lib_worker), ("extlib", ()), ("extlib-daemon", ())):
            (self.home / name).mkdir(parents=True)
            for file in files:
                (self.home / name / file.name).symlink_to(file.resolve())
        shutil.copytree(LOG4J2, self.home / "log4j2")
        self.yaml = self.home / "conf" / "storm.yaml"
        self.yaml.parent.mkdir()
        self.yaml.write_text(YAML.format(*ports.take(7), folder=folder))

    def __enter__(self):
        try:
            for name in MAINS:
                self.start(name)
            self.nimbus = Installation.at(self.home).gateway().start()
            self.until("the supervisor is known", lambda: self.nimbus.cluster().supervisors)
        except BaseException:
            self.__exit__()
            raise
        return self

    def __exit__(self, *_error):
        if self.nimbus is not None:
            self.nimbus.stop()
        end(self.mark)
        for process in self._running.values():
            process.wait(PATIENCE)

    def start(self, name):
        """Start a daemon as `storm NAME` does."""
        classpath = [self.home / each / "*" for each in ("lib", "extlib", "extlib-daemon")] + [self.yaml.parent]
        properties = {
            "daemon.name": name.replace("-", "_"),
            "storm.options": "",
            "storm.home": self.home,
            "storm.log.dir": self.home / "logs",
            "storm.conf.file": "",
            "logfile.name": f"{name}.log",
            "log4j.configurationFile": self.home / "log4j2" / "cluster.xml",
        }
        command = [self.java, "-server", *(f"-D{key}={value}" for key, value in properties.items())]
        command += ["-Xmx256m", "-cp", os.pathsep.join(map(str, classpath)), MAINS[name]]
        kept = {key: value for key, value in os.environ.items() if not key.startswith("STORM_")}
        env = {**kept, "JAVA_HOME": str(Path(self.java).resolve().parents[1]), MARK: self.mark}
        with (self.folder / f"{name}.out").open("ab") as log:
            self._running[name] = subprocess.Popen(
                [*map(str, command)], cwd=self.home, env=env, stdout=log, stderr=log, start_new_session=True
            )

    def restart(self, name):
        """End a daemon alone, and start it again, a Nimbus until it leads: workers are processes of their own."""
        self._running[name].terminate()
        self._running[name].wait(PATIENCE)
        self.start(name)
        if name == "nimbus":
            self.until("Nimbus leads", lambda: self.nimbus.cluster().leader)

    def write(self, lines, *, instead=()):
        """Add lines to `storm.yaml`, in place of those of some keys."""
        kept = [line for line in self.yaml.read_text().splitlines() if line.partition(":")[0] not in instead]
        self.yaml.write_text("\n".join([*kept, *lines.splitlines(), ""]))

    def fill(self, words):
        """The words of a command of the page, with the folders of this machine."""
        filled = words.replace("$STORM_HOME", str(self.home)).replace("/var/lib/headworks", str(self.folder))
        return filled.split()

    def told(self):
        """The ends of the daemons' logs, and what the process beside Nimbus said, for a test that failed."""
        files = [*sorted(self.folder.glob("*.out")), *sorted(self.folder.glob("said-*"))]
        return "\n".join(f"{each.name}: {each.read_text(errors='replace')[-2000:]}" for each in files)

    def until(self, what, condition):
        """What a condition returns once that is true; until then Nimbus may be away."""
        deadline = time.monotonic() + PATIENCE
        while time.monotonic() < deadline:
            with contextlib.suppress(EngineError):
                if found := condition():
                    return found
            time.sleep(0.5)
        raise AssertionError(f"{what}: not within {PATIENCE:.0f} s\n{self.told()}")

    def submit(self, name):
        """Submit a small topology of one worker, and wait until all of it runs."""
        documents.write(self.folder / "topology.json", TOPOLOGY)
        words = ("--name", name, "--rate", 0.1, "--cpu", 0.1, "--workers", 1)
        done = headworks("storm", "submit", self.folder / "topology.json", *words, STORM_HOME=str(self.home))
        assert done.returncode == 0, f"{done.stderr}\n{self.told()}"
        self.until(f"{name} runs", lambda: self.runs(name))

    def runs(self, name):
        """Whether all executors of a topology report that they run."""
        found = self.nimbus.topology(name).executors
        return bool(found) and all(each.uptime for each in found)

    @contextlib.contextmanager
    def serving(self, words):
        """The process beside Nimbus, in the folder, and the file of what it says; it ends as by Ctrl-C."""
        said = self.folder / f"said-{uuid.uuid4().hex[:6]}"
        to_file = ("sh", "-c", f'exec "$@" >>{said.name} 2>&1', "sh", HEADWORKS)
        with running(*words, folder=self.folder, program=to_file) as (process, _):
            self.until("it serves", lambda: process.poll() is not None or "storm.scheduler" in read(said))
            yield said
            process.send_signal(signal.SIGINT)
            assert process.wait(PATIENCE) in (0, 130), self.told()

    def run(self, command):
        """What a command of the page prints."""
        done = headworks(*self.fill(command)[1:], STORM_HOME=str(self.home))
        assert done.returncode == 0, f"{done.stderr}\n{self.told()}"
        return done.stdout

    def doctor(self, words):
        """Status and detail of each finding of the doctor."""
        done = headworks(*words[1:], "--json")
        return {each["subject"]: (each["status"], each["detail"]) for each in json.loads(done.stdout)}

    def workers(self):
        """Pid of each worker by topology and port, with the moment it started."""
        found = {}
        for process in marked(self.mark):
            try:
                words, born = process.cmdline(), process.create_time()
            except psutil.Error:
                continue
            if WORKER in words and WRITER not in words:
                topology, _, _, port, _ = words[words.index(WORKER) + 1 :][:5]
                found[topology.rsplit("-", 2)[0], int(port)] = (process.pid, born)
        return found

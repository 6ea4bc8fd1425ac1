"""A NameNode and a DataNode of HDFS as processes of their own, and a client that is not ours, of its REST API."""

from __future__ import annotations

import contextlib
import http.client
import json
import os
import subprocess
import urllib.parse
from typing import TYPE_CHECKING

from headworks.errors import EngineError
from headworks_local.java import find_java
from headworks_local.lifetime import lifetime
from headworks_local.maven import resolve_locked
from headworks_local.ports import Ports
from headworks_local.process import Daemon, end, end_group, patience
from headworks_spark.yarn.cluster import JAVA, JVM, LOCK
from headworks_spark.yarn.conf import LOG, xml_text

if TYPE_CHECKING:
    from pathlib import Path

HOST = "127.0.0.1"
PACKAGE = "org.apache.hadoop.hdfs.server"


class WebHdfs:
    """Files of an HDFS by its REST API."""

    def __init__(self, port: int, rpc: int, daemons: Daemons) -> None:
        self.port, self.rpc, self.daemons = port, rpc, daemons

    def url(self, path: str) -> str:
        return f"hdfs://{HOST}:{self.rpc}/{path}"

    def files(self, path: str = "") -> dict[str, dict]:
        found = {}
        for each in json.loads(self._ask("GET", path, "LISTSTATUS"))["FileStatuses"]["FileStatus"]:
            below = f"{path}/{each['pathSuffix']}".strip("/")
            found |= {below: each} if each["type"] == "FILE" else self.files(below)
        return found

    def read(self, path: str) -> bytes:
        return self._ask("GET", path, "OPEN")

    def write(self, path: str, data: bytes) -> None:
        self._ask("PUT", path, "CREATE", data, overwrite="true")

    def delete(self, path: str) -> None:
        self._ask("DELETE", path, "DELETE", recursive="true")

    def age(self, path: str, milliseconds: int) -> None:
        moment = self.files(path.rpartition("/")[0])[path]["modificationTime"] - milliseconds
        self._ask("PUT", path, "SETTIMES", modificationtime=moment)

    def safe_mode(self) -> bool:
        answer = json.loads(self._get("/jmx?qry=Hadoop:service=NameNode,name=NameNodeInfo"))["beans"]
        return not answer or bool(answer[0]["Safemode"]) or not json.loads(answer[0]["LiveNodes"])

    def _get(self, path: str) -> bytes:
        return self._request(self.port, "GET", path)[1]

    def _ask(self, method: str, path: str, operation: str, data: bytes = b"", **words: object) -> bytes:
        query = urllib.parse.urlencode({"op": operation, **words})
        place, answer = self._request(self.port, method, f"/webhdfs/v1/{urllib.parse.quote(path)}?{query}")
        if place:  # what has contents is asked of the DataNode
            parts = urllib.parse.urlsplit(place)
            _, answer = self._request(parts.port, method, f"{parts.path}?{parts.query}", data)
        return answer

    def _request(self, port: int, method: str, path: str, data: bytes = b"") -> tuple[str | None, bytes]:
        connection = http.client.HTTPConnection(HOST, port, timeout=60)
        with contextlib.closing(connection):
            connection.request(method, path, body=data)
            response = connection.getresponse()
            answer = response.read()
            assert response.status < 400, answer
            return response.headers.get("Location"), answer


class Daemons:
    """Daemons of HDFS by name, each with settings of its own; what is dead can be started again on its folders."""

    def __init__(self, work: Path, group: str) -> None:
        self.work, self.group, self.running, self.confs = work, group, {}, {}
        self.java, self.jars = find_java(JAVA).program, resolve_locked(LOCK)

    def configure(self, name: str, settings: dict, filesystem: str) -> None:
        conf = self.confs[name] = self.work / f"{name}-conf"
        conf.mkdir(parents=True)
        (conf / "hdfs-site.xml").write_text(xml_text(settings))
        core = {"fs.defaultFS": filesystem, "hadoop.tmp.dir": self.work / f"{name}-tmp"}
        (conf / "core-site.xml").write_text(xml_text(core))
        (conf / "log4j.properties").write_text(LOG)

    def command(self, name: str, program: str) -> list[str]:
        path = os.pathsep.join(map(str, (self.confs[name], *self.jars)))
        return [str(self.java), *JVM, "-cp", path, program]

    def run(self, name: str, program: str, *words: str) -> None:
        command = [*self.command(name, program), *words]
        done = subprocess.run(command, check=False, capture_output=True, text=True, timeout=300)
        assert done.returncode == 0, done.stderr

    def start(self, name: str) -> None:
        program = f"{PACKAGE}.{'datanode.DataNode' if name == 'datanode' else 'namenode.NameNode'}"
        log = self.work / f"{name}.log"
        command = self.command(name, program)
        self.running[name] = Daemon.start(name, command, log=log, env=dict(os.environ), group=self.group)

    def kill(self, name: str) -> None:
        end([self.running.pop(name)], grace=0)


def until_it_serves(client: WebHdfs) -> None:
    """Wait until a NameNode serves, and has a DataNode with room."""
    running, last = client.daemons.running, "it is in its safe mode"
    try:
        for _ in patience(lambda: tuple(running.values()), 600, f"no HDFS is up at {HOST}:{client.rpc}"):
            try:
                if not client.safe_mode():
                    client.write("probe", b"1")  # the first report of the DataNode's room may come later still
                    client.delete("probe")
                    break
            except (OSError, AssertionError) as failure:  # it serves some time after it was started
                last = failure
    except EngineError as late:
        raise EngineError(f"{late}: {last}") from None


def data_node(ports: Ports, work: Path) -> dict:
    """Settings of the DataNode, and what all daemons have in common."""
    data, web, ipc = ports.take(3)
    return {
        "dfs.replication": 1,
        "dfs.datanode.hostname": HOST,
        "dfs.datanode.address": f"{HOST}:{data}",
        "dfs.datanode.http.address": f"{HOST}:{web}",
        "dfs.datanode.ipc.address": f"{HOST}:{ipc}",
        "dfs.datanode.data.dir": (work / "data").as_uri(),
        "dfs.blocksize": 2**20,  # what a DataNode has to have free for each file that is written
        "dfs.permissions.enabled": "false",
        "dfs.heartbeat.interval": 1,
        "dfs.namenode.redundancy.considerLoad": "false",  # there is no other DataNode, however busy this one is
    }


@contextlib.contextmanager
def hdfs_daemons(work: Path):
    """Daemons that end with the block, and ports for them."""
    ports, group = Ports(), lifetime().group()
    daemons = Daemons(work, group)
    try:
        yield daemons, ports
    finally:
        end(daemons.running.values(), grace=0)
        end_group(group)
        ports.release()


@contextlib.contextmanager
def local_hdfs(work: Path):
    """An HDFS with one DataNode."""
    with hdfs_daemons(work) as (daemons, ports):
        rpc, web = ports.take(2)
        name_node = {
            "dfs.namenode.http-address": f"{HOST}:{web}",
            "dfs.namenode.name.dir": (work / "name").as_uri(),
        }
        settings = data_node(ports, work) | name_node
        for name in ("namenode", "datanode"):
            daemons.configure(name, settings, f"hdfs://{HOST}:{rpc}")
        daemons.run("namenode", f"{PACKAGE}.namenode.NameNode", "-format", "-nonInteractive")
        for name in ("namenode", "datanode"):
            daemons.start(name)
        client = WebHdfs(web, rpc, daemons)
        until_it_serves(client)
        yield client

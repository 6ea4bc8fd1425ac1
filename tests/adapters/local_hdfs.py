"""A NameNode and a DataNode of HDFS as processes of their own, and a client that is not ours, of its REST API."""

from __future__ import annotations

import contextlib
import http.client
import json
import os
import subprocess
import urllib.parse
from typing import TYPE_CHECKING

from headgate.engines.java import find_java
from headgate.engines.lifetime import lifetime
from headgate.engines.maven import resolve_locked
from headgate.engines.ports import Ports
from headgate.engines.process import Daemon, end, end_group, patience
from headgate_spark.yarn.cluster import JAVA, JVM, LOCK
from headgate_spark.yarn.conf import LOG, xml_text

if TYPE_CHECKING:
    from pathlib import Path

HOST = "127.0.0.1"
PACKAGE = "org.apache.hadoop.hdfs.server"


class WebHdfs:
    """Files of an HDFS by its REST API."""

    def __init__(self, port: int, rpc: int) -> None:
        self.port, self.rpc = port, rpc

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


@contextlib.contextmanager
def local_hdfs(work: Path):
    """An HDFS with one DataNode."""
    java, jars, ports, group = find_java(JAVA).program, resolve_locked(LOCK), Ports(), lifetime().group()
    rpc, web, data, data_web, data_ipc = ports.take(5)
    conf = work / "conf"
    conf.mkdir(parents=True)
    own = {
        "dfs.replication": 1,
        "dfs.namenode.http-address": f"{HOST}:{web}",
        "dfs.datanode.hostname": HOST,
        "dfs.datanode.address": f"{HOST}:{data}",
        "dfs.datanode.http.address": f"{HOST}:{data_web}",
        "dfs.datanode.ipc.address": f"{HOST}:{data_ipc}",
        "dfs.namenode.name.dir": (work / "name").as_uri(),
        "dfs.datanode.data.dir": (work / "data").as_uri(),
        "dfs.permissions.enabled": "false",
        "dfs.heartbeat.interval": 1,
        "dfs.namenode.redundancy.considerLoad": "false",  # there is no other DataNode, however busy this one is
    }
    (conf / "hdfs-site.xml").write_text(xml_text(own))
    (conf / "core-site.xml").write_text(
        xml_text({"fs.defaultFS": f"hdfs://{HOST}:{rpc}", "hadoop.tmp.dir": work / "tmp"})
    )
    (conf / "log4j.properties").write_text(LOG)
    command = [str(java), *JVM, "-cp", os.pathsep.join(map(str, (conf, *jars)))]
    format_it = [*command, f"{PACKAGE}.namenode.NameNode", "-format", "-nonInteractive"]
    subprocess.run(format_it, check=True, capture_output=True, timeout=300)
    daemons = []
    try:
        for name in ("namenode.NameNode", "datanode.DataNode"):
            log = work / f"{name}.log"
            full = [*command, f"{PACKAGE}.{name}"]
            daemons.append(Daemon.start(name, full, log=log, env=dict(os.environ), group=group))
        client = WebHdfs(web, rpc)
        for _ in patience(lambda: daemons, 600, f"no HDFS is up at {HOST}:{rpc}"):
            with contextlib.suppress(OSError, AssertionError):  # it serves some time after it was started
                if not client.safe_mode():
                    client.write("probe", b"1")  # the first report of the DataNode's room may come later still
                    client.delete("probe")
                    break
        yield client
    finally:
        end(daemons, grace=0)
        end_group(group)
        ports.release()

"""Production clusters from Storm's own test data, as requests.

`clusterconf/NAME/` in the test jar of storm-server holds a pair of files for each topology: `*code.ser`, the
compressed Thrift struct StormTopology, and `*conf.ser`, its compressed JSON configuration.
"""

from __future__ import annotations

import gzip
import json
import zipfile
import zlib
from typing import TYPE_CHECKING, Any

from headworks.errors import DocumentError
from headworks.model import Request
from headworks_storm.client.racks import BATCHES, cluster_of
from headworks_storm.client.thrift import read_struct
from headworks_storm.client.topology import topology_of

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

    from headworks.model import Topology

NAMES = tuple(BATCHES)
"""The clusters that can be imported."""
CODE, CONF = "code.ser", "conf.ser"
"""Ends of the names of a topology's two files."""
MAX_BYTES = 16 << 20
"""Bytes to which a file may unpack. With more, a broken jar may fill the memory; the largest of Storm has 6 MB."""


def read_request(jar: Path, name: str) -> Request:
    """Read one of the clusters `NAMES`.

    Topologies without executors are left out, as Storm's test does. Settings that the model has no word for
    (favoured nodes, constraints, one component a worker) are dropped. Acker executors are in no file.

    Args:
        jar: The test jar of storm-server.
        name: One of `NAMES`, the folder in the jar.

    Returns:
        A request with the supervisors of that test, and nothing running.

    Raises:
        DocumentError: The jar, or a file in it, is not what it should be.
    """
    try:
        with zipfile.ZipFile(jar) as archive:
            topologies = tuple(_topologies(archive, name))
    except (OSError, zipfile.BadZipFile) as error:
        raise DocumentError(
            "", f"{jar} is not a readable jar ({error}); delete it and let it be fetched again"
        ) from None
    if not topologies:
        raise DocumentError("", f"{jar} holds no topology under clusterconf/{name}; is it storm-server's test jar?")
    return Request(cluster=cluster_of(name), topologies=topologies)


def _topologies(archive: zipfile.ZipFile, name: str) -> Iterable[Topology]:
    members = set(archive.namelist())
    for code in sorted(each for each in members if each.startswith(f"clusterconf/{name}/") and each.endswith(CODE)):
        conf = code.removesuffix(CODE) + CONF
        if conf not in members:
            raise DocumentError("", f"{code} has no configuration beside it: {conf} is missing")
        topology = _topology(code, _unpack(archive, code), _unpack(archive, conf))
        if any(component.parallelism for component in topology.components):
            yield topology


def _topology(path: str, code: bytes, conf: bytes) -> Topology:
    name = path.rpartition("/")[2].rpartition("-")[0]  # clusterconf/CLUSTER/NAME-stormcode.ser
    try:
        settings: Any = json.loads(conf)
    except ValueError as error:
        raise DocumentError("", f"the configuration beside {path} is not JSON: {error}") from None
    return topology_of(name, read_struct(code), settings)


def _unpack(archive: zipfile.ZipFile, member: str) -> bytes:
    try:
        with archive.open(member) as packed, gzip.GzipFile(fileobj=packed) as file:
            data = file.read(MAX_BYTES + 1)  # one byte more tells a file of that size from a longer one
    except (OSError, EOFError, zlib.error) as error:
        raise DocumentError("", f"{member} is not compressed with gzip: {error}") from None
    if len(data) > MAX_BYTES:
        raise DocumentError("", f"{member} unpacks to more than {MAX_BYTES} bytes")
    return data

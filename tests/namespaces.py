"""Network namespaces by the process that made them, and programs on nodes: tests that run meanwhile have their own."""

from __future__ import annotations

import contextlib
import json
import subprocess
import sys
from typing import NamedTuple

import psutil

from headworks_local.isolated.groups import find_groups
from headworks_local.isolated.names import ClusterName
from headworks_local.isolated.netlink import interfaces, namespaces, netlink
from patience import PATIENCE

LISTEN = """
import json, socket, sys, time
server = socket.create_server((sys.argv[1], 0))
print(server.getsockname()[1], flush=True)
while True:
    caller, _ = server.accept()
    with caller:
        begun = float(caller.recv(32, socket.MSG_WAITALL))
        got, now = 32, time.monotonic()
        while now < begun + float(sys.argv[2]) and (part := caller.recv(65536)):
            got, now = got + len(part), time.monotonic()
        print(json.dumps([got, begun, now]), flush=True)
"""
"""Listens at an address, and tells of each caller the bytes that came until he left, or so many seconds long, and when
he began and ended, by the one clock of all processes: what waited in a buffer meanwhile makes no rate higher."""
SEND = """
import socket, sys, time
caller = socket.create_connection((sys.argv[1], int(sys.argv[2])), timeout=5)
begun, sent = time.monotonic(), 0
caller.sendall(b"%32.6f" % begun)
try:
    while time.monotonic() < begun + float(sys.argv[3]):
        sent += caller.send(b"x" * 65536)
except ConnectionError:
    pass
print(sent)
"""
"""Sends to an address and port for so many seconds, or until the other end has heard enough."""


class Heard(NamedTuple):
    """Bytes that came, and when the first left and the last came, in seconds."""

    got: int
    begun: float
    ended: float


def bits(*heard: Heard) -> float:
    """Bits per second of one or several that passed one link."""
    return 8 * sum(each.got for each in heard) / (max(each.ended for each in heard) - min(each.begun for each in heard))


def namespaces_of(pid: int) -> set[str]:
    """Names of the network namespaces that a process made, and that are there."""
    return {each for each in namespaces() if (name := ClusterName.parse(each)) and name.pid == pid}


def racks_of(pid: int) -> set[str]:
    """Racks that a process made, as the kernel knows their bridges."""
    with netlink() as system:
        links = list(system.get_links())
    told = {link.get_attr("IFLA_IFNAME"): link.get_attr("IFLA_IFALIAS") for link in links}
    return {rack for each, rack in told.items() if rack and (name := ClusterName.parse(each)) and name.pid == pid}


def made_of(name):
    """Namespaces, control groups and interfaces of one cluster: others may run meanwhile."""
    with netlink() as system:
        names = [*namespaces(), *find_groups().names(), *interfaces(system)]
    return [each for each in names if ClusterName.parse(each) == name]


def children_of(process):
    """What a process has started, and that in turn, and still runs."""
    try:
        return psutil.Process(process.pid).children(recursive=True)
    except psutil.NoSuchProcess:
        return []


@contextlib.contextmanager
def programs(nodes):
    """A function that starts Python on a node; what it started has ended after the block."""
    started = []

    def start(host, text, *arguments):
        process = None

        def spawn():
            nonlocal process
            command = [sys.executable, "-c", text, *map(str, arguments)]
            process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
            return process.pid

        nodes.start(host, spawn)
        started.append(process)
        return process

    try:
        yield start
    finally:
        for process in started:
            # Its children first: they hold its output open.
            for each in children_of(process):
                with contextlib.suppress(psutil.NoSuchProcess):
                    each.kill()
            process.kill()
            process.communicate()


def heard(start, *pairs, seconds=1.5):
    """What came from the first node of each pair to the second, all pairs at once, by their sockets.

    Args:
        start: From `programs`.
        pairs: Addresses.
        seconds: How long to listen.
    """
    servers = [start(target, LISTEN, target, seconds) for _, target in pairs]
    ports = [each.stdout.readline().strip() for each in servers]
    for (source, target), port in zip(pairs, ports, strict=True):
        start(source, SEND, target, port, PATIENCE)
    return [Heard(*json.loads(each.stdout.readline())) for each in servers]


def rate(start, source, target):
    """Bits per second that came from one node to another."""
    return bits(*heard(start, (source, target)))

"""Nodes that are apart, on this machine's own kernel: what they reach, what bounds them, and what is left of them."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import psutil
import pytest

from headworks.errors import EngineError
from headworks_local.isolated.ability import bounds, network_problem
from headworks_local.isolated.groups import Groups, find_groups
from headworks_local.isolated.limits import NodeLimits, parse_cores, parse_rate
from headworks_local.isolated.names import ClusterName
from headworks_local.isolated.netlink import NAMESPACES, namespaces, netlink
from headworks_local.isolated.network import NodeNetwork
from headworks_local.isolated.nodes import ApartNodes, trial_problem
from headworks_local.isolated.sweep import sweep
from namespaces import LISTEN, SEND, made_of, namespaces_of, programs
from patience import PATIENCE

MBIT = 1e6
SWAP = ("memory.swap.max", "memory.memsw.limit_in_bytes")
OWNER = """
import sys, time
from headworks_local.isolated.limits import NodeLimits
from headworks_local.isolated.nodes import ApartNodes
nodes = ApartNodes.make([NodeLimits(rate=2e7)])
print(nodes.network.name.bridge, nodes.hosts[0], flush=True)
time.sleep(600)
"""
SWEEP = "from headworks_local.isolated.sweep import sweep; sweep()"


@pytest.fixture(scope="module")
def able():
    if problem := network_problem():
        pytest.skip(f"needs network namespaces: {problem}")
    if len(bounds()) < 2:
        pytest.skip(f"needs control groups for processor time and memory: there are {bounds()}")


@pytest.fixture
def two(able):
    nodes = ApartNodes.make([NodeLimits(cores=0.2, memory_mb=300, rate=20 * MBIT), NodeLimits(rate=20 * MBIT)])
    yield nodes
    nodes.remove()


@pytest.fixture
def run(two):
    with programs(two) as start:
        yield start


def test_rates_and_cores_are_read_as_people_write_them():
    assert (parse_rate("20mbit"), parse_rate(" 1.5Gbit "), parse_rate("64000bit")) == (2e7, 1.5e9, 64e3)
    assert parse_cores("1.0, 0.5,2") == (1.0, 0.5, 2.0)
    for wrong in ("20", "mbit", "20mbps", "-1mbit", "nanmbit", ""):
        with pytest.raises(ValueError, match="not a rate such as 20mbit"):
            parse_rate(wrong)
    for wrong in ("1,,2", "0.01", "-1", "inf", "1;2", ""):
        with pytest.raises(ValueError, match="not a list of cores"):
            parse_cores(wrong)


@pytest.mark.parametrize("limits", [{"cores": 0.01}, {"cores": float("nan")}, {"rate": 10.0}, {"memory_mb": 0.5}])
def test_bounds_with_which_nothing_runs_are_refused(limits):
    with pytest.raises(EngineError, match="at least"):
        NodeLimits(**limits)


def test_a_trial_tells_what_is_missing_and_leaves_nothing(able, monkeypatch):
    left = namespaces_of(os.getpid())
    assert trial_problem() == ""
    assert namespaces_of(os.getpid()) == left

    def refused(*_arguments):
        raise EngineError("the bridge cannot be made: operation not supported")

    monkeypatch.setattr(NodeNetwork, "make", refused)
    assert trial_problem() == "the bridge cannot be made: operation not supported"
    assert namespaces_of(os.getpid()) == left


def test_a_name_tells_its_owner_and_fits_an_interface():
    name = ClusterName.new()
    assert name.owned
    assert {ClusterName.parse(each) for each in (name.bridge, name.node(1), name.node(199))} == {name}
    assert len(name.node(1295)) <= 15
    assert ClusterName.parse("eth0") is ClusterName.parse("hw") is ClusterName.parse("hw-000000000000") is None
    with subprocess.Popen([sys.executable, "-c", ""]) as gone:
        gone.wait()
    assert not ClusterName(gone.pid, name.born, 0).owned
    assert not ClusterName(os.getpid(), (name.born + 500) % 36**4, 0).owned  # an earlier process with this pid


def test_what_goes_from_node_to_node_is_bounded(two, run):
    first, second = two.hosts
    server = run(first, LISTEN, first, PATIENCE)
    port = server.stdout.readline().strip()
    begun = time.monotonic()
    sent, error = run(second, SEND, first, port, 3).communicate(timeout=PATIENCE)
    assert (error, sent != "") == ("", True)
    # The buffers of both ends, which are not yet across, come on top.
    most = 20 * MBIT / 8 * (time.monotonic() - begun) + 8e6
    assert 1e5 < int(sent) < most
    within, _ = run(first, SEND, first, port, 3).communicate(timeout=PATIENCE)
    assert int(within) > int(sent)


def test_a_node_that_is_cut_off_is_not_reached_until_it_is_joined(two, run):
    first, second = two.hosts
    server = run(first, LISTEN, first, PATIENCE)
    port = server.stdout.readline().strip()
    two.set_up(first, up=False)
    _, error = run(second, SEND, first, port, 0.1).communicate(timeout=PATIENCE)
    assert "timed out" in error or "No route to host" in error
    assert server.poll() is None
    two.set_up(first, up=True)
    two.set_rate(first, None)
    sent, error = run(second, SEND, first, port, 0.1).communicate(timeout=PATIENCE)
    assert (int(sent) > 0, error) == (True, "")


def test_what_a_process_starts_before_it_is_in_its_group_is_put_there_too(two, run, monkeypatch):
    waits = "import time; time.sleep(600)"
    fork = f"import subprocess, sys; subprocess.run([sys.executable, '-c', {waits!r}])"
    other = run(two.hosts[0], waits)
    join, children = Groups.join, []

    def late(groups, name, pid):
        while not children:
            children.extend(psutil.Process(pid).children())
        join(groups, name, pid)

    monkeypatch.setattr(Groups, "join", late)
    parent = run(two.hosts[1], fork)
    groups = find_groups()
    assert groups.common(two.name(2)) == {parent.pid, children[0].pid}
    assert groups.common(two.name(1)) == {other.pid}


def test_processes_and_their_children_get_no_more_than_their_node(two, run):
    burn = "import subprocess, sys; subprocess.run([sys.executable, '-c', 'while True: pass'])"
    parent = run(two.hosts[0], burn)
    two.limit()
    child = None
    while child is None:
        child = next(iter(psutil.Process(parent.pid).children()), None)
    groups = Path(f"/proc/{child.pid}/cgroup").read_text()
    assert two.name(1) in groups
    begun, before = time.monotonic(), sum(child.cpu_times()[:2])
    time.sleep(3)  # in which a bound is to be seen
    used, passed = sum(child.cpu_times()[:2]) - before, time.monotonic() - begun
    assert used < 0.2 * passed + 0.3
    child.kill()
    greedy, _ = run(two.hosts[0], "x = bytearray(2**30); print(len(x))").communicate(timeout=PATIENCE)
    assert greedy == ""


def memory_bounds(groups, name):
    """What the kernel says that a node may take: memory, and swap or both together."""
    swap = SWAP[0] if groups.unified else SWAP[1]
    memory = "memory.max" if groups.unified else "memory.limit_in_bytes"
    return [(groups.memory / name / each).read_text().strip() for each in (memory, swap)]


def test_a_node_has_no_swap_beside_its_memory(two):
    groups, name = find_groups(), two.name(1)
    if not any((groups.memory / name / each).exists() for each in SWAP):
        pytest.skip("needs a kernel that accounts for swap")
    unbounded = memory_bounds(groups, two.name(2))

    def told(memory_mb):
        size = str(memory_mb * 2**20)
        return [size, "0" if groups.unified else size]

    assert memory_bounds(groups, name) == told(300)
    for memory_mb in (500, 200):
        groups.limit_memory(name, memory_mb)
        assert memory_bounds(groups, name) == told(memory_mb)
    groups.limit_memory(name, None)
    assert memory_bounds(groups, name) == unbounded


def test_in_control_groups_of_version_2_a_node_has_no_swap_either(tmp_path):
    groups = Groups(cpu=tmp_path, memory=tmp_path, unified=True)
    groups.make("without-swap")
    groups.limit_memory("without-swap", 300)
    assert [each.name for each in (tmp_path / "without-swap").iterdir()] == ["memory.max"]
    groups.make("node")
    (tmp_path / "node" / "memory.swap.max").write_text("max")
    groups.limit_memory("node", 300)
    assert memory_bounds(groups, "node") == [str(300 * 2**20), "0"]
    groups.limit_memory("node", None)
    assert memory_bounds(groups, "node") == ["max", "max"]


def test_nothing_is_left_and_nothing_of_anybody_else_is_touched(able):
    nodes = ApartNodes.make([NodeLimits(cores=1.0), NodeLimits()])
    other = ApartNodes.make([NodeLimits()])
    first, second = nodes.network.name, other.network.name
    try:
        assert nodes.network.subnet != other.network.subnet
        assert not {first.bridge, second.bridge} & {*sweep()}  # both have an owner
        there = made_of(second)
        nodes.remove()
        nodes.remove()  # twice does no harm
        assert made_of(first) == []
        assert made_of(second) == there != []
    finally:
        other.remove()
    assert made_of(second) == []


def owner():
    process = subprocess.Popen([sys.executable, "-c", OWNER], stdout=subprocess.PIPE, text=True)
    bridge, host = process.stdout.readline().split()
    return process, bridge, host


def end(process):
    process.send_signal(signal.SIGKILL)
    process.communicate()


def test_what_a_killed_owner_left_is_removed_by_the_next_start(able):
    process, bridge, _ = owner()
    left = {each for each in namespaces() if each.startswith(bridge[:-2])}
    assert left
    end(process)
    assert left <= {*namespaces()}
    ApartNodes.make([NodeLimits()]).remove()
    assert not left & {*namespaces()}
    assert not left & {*find_groups().names()}
    with netlink() as system:
        assert not system.link_lookup(ifname=bridge)


def test_what_several_killed_owners_left_is_removed_though_several_remove_it_at_once(able):
    owners = [owner() for _ in range(3)]
    left = {each for each in namespaces() if each.startswith(tuple(bridge[:-2] for _, bridge, _ in owners))}
    assert len(left) == len(owners)
    for process, _, _ in owners:
        end(process)
    sweeps = [subprocess.Popen([sys.executable, "-c", SWEEP]) for _ in range(4)]
    assert [each.wait(PATIENCE) for each in sweeps] == [0] * len(sweeps)
    assert not left & {*namespaces()}
    assert not left & {*find_groups().names()}


def test_nodes_in_which_a_process_lives_stay_when_their_owner_is_gone(able):
    process, bridge, host = owner()
    nodes = ApartNodes.find(bridge)
    assert nodes.hosts == (host,)
    daemon = None  # as `up` leaves one running

    def spawn():
        nonlocal daemon
        daemon = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(600)"])
        return daemon.pid

    nodes.start(host, spawn)
    end(process)
    try:
        assert bridge not in sweep()
        assert (NAMESPACES / nodes.name(1)).exists()
    finally:
        daemon.kill()
        daemon.wait()
    assert bridge in sweep()
    assert not (NAMESPACES / nodes.name(1)).exists()


def test_a_machine_that_cannot_do_it_says_why_and_makes_nothing(monkeypatch):
    monkeypatch.setattr("headworks_local.isolated.ability.importlib.util.find_spec", lambda name: None)
    before = namespaces_of(os.getpid())
    with pytest.raises(EngineError, match=r"nodes cannot be apart: .*; without --apart the cluster starts as ever"):
        ApartNodes.make([NodeLimits()])
    assert namespaces_of(os.getpid()) == before


def test_a_host_that_is_no_node_is_named(two):
    with pytest.raises(EngineError, match=r"198\.51\.100\.1 is not a node that is apart: 198\.18\."):
        two.set_rate("198.51.100.1", 1e6)
    with pytest.raises(EngineError, match="not a name of a bridge"):
        ApartNodes.find("eth0")

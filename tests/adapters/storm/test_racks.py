"""A Storm cluster in two racks: Nimbus and Headworks know them, and a plan that a rack bounds is carried out."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import threading

import attrs
import psutil
import pytest
from click.testing import CliRunner

from headworks.model import Component, Constraint, ConstraintKind, FrozenMap, Kind, Resources, Stream, Topology
from headworks.plugins.host import PluginHost
from headworks_local.isolated.ability import SHELL, network_problem
from headworks_local.isolated.limits import NodeLimits, Rack
from headworks_local.isolated.names import ClusterName
from headworks_local.isolated.netlink import namespaces, received
from headworks_local.isolated.nodes import ApartNodes
from headworks_storm.cli.group import storm as commands
from headworks_storm.demo.experiment import experiment
from headworks_storm.local.cluster import supervisor_specs
from headworks_storm.local.state import StormState
from headworks_storm.workload.describe import describe
from namespaces import made_of
from shell import HEADWORKS
from storm_cluster import PATIENCE, RELEASE, wait_for

pytestmark = [pytest.mark.storm, pytest.mark.slow, pytest.mark.network, pytest.mark.matrix]

NEAR, FAR = Rack("rack-1", 20e6), Rack("rack-2", 20e6)
NODES = tuple(NodeLimits(rate=50e6, rack=rack) for rack in (NEAR, NEAR, FAR))
TASK = Resources(cpu=10, memory=64)
TOPOLOGY = Topology(
    id="racked",
    components=(
        Component(id="in", kind=Kind.SPOUT, parallelism=3, rate=500, demand=TASK),
        Component(id="out", parallelism=3, demand=TASK),
    ),
    streams=(Stream(source="in", target="out"),),
    workers=3,
)
OTHER = """
import sys, time
from headworks_local.isolated.limits import NodeLimits, Rack
from headworks_storm.local.cluster import LocalStorm, SupervisorSpec
one = SupervisorSpec(host="127.0.0.9", cpu=100.0, memory_mb=1024.0, slots=1)
with LocalStorm((one,), version=sys.argv[1], apart=(NodeLimits(rack=Rack("rack-1", 20e6)),), timeout=600.0) as storm:
    print(storm.nodes.network.name.bridge, *(each.pid for each in storm.daemons), flush=True)
    time.sleep(3600)
"""
"""Another cluster in a rack, that of a process of its own."""
HERE = Constraint(kind=ConstraintKind.ONLY_ON, labels=FrozenMap(rack=("rack-1",)))


@pytest.fixture(autouse=True)
def able(java):
    if problem := network_problem():
        pytest.skip(f"needs network namespaces: {problem}")


def plan_for_one_rack(cluster, seen):
    """A plan that leaves one rack, what it was asked, and its seconds."""
    request = cluster.question(seen, seen, None)
    bounded = tuple(attrs.evolve(each, constraints=(HERE,)) for each in request.topologies)
    request = attrs.evolve(request, topologies=bounded)
    plan, seconds = cluster.plan("dstorm", request, {})
    return plan, request, seconds


def test_what_is_seen_has_racks_and_a_plan_for_one_of_them_leaves_the_other(tmp_path):
    specs = supervisor_specs(((200.0, 2048.0, 2),) * 3)
    conf = {"nimbus.monitor.freq.secs": 1}
    with experiment(
        PluginHost.load(), specs, tmp_path, scheduler="even", conf=conf, version=RELEASE, apart=NODES
    ) as cluster:
        link = cluster.storm.nodes.network.link("rack-2").outer
        near, far = cluster.storm.nodes.hosts[:2], cluster.storm.nodes.hosts[2:]

        def from_far(seconds):
            before = received(link)
            measured = cluster.measure(seconds)
            return received(link) - before, measured

        cluster.run(describe(TOPOLOGY), shadow=False)
        spread, seen = from_far(5)
        racks = {node.hostname: node.rack for node in seen.seen.cluster.nodes}
        assert racks == {near[0]: "rack-1", near[1]: "rack-1", far[0]: "rack-2"}
        assert {each.host for each in cluster.storm.workers()} == {*near, *far}
        plan, request, seconds = plan_for_one_rack(cluster, seen)
        cluster.change(plan, request, seconds)
        assert wait_for("workers to leave the rack", lambda: {each.host for each in cluster.storm.workers()} <= {*near})
        within, seen = from_far(5)
        places = {node.id: node.rack for node in seen.seen.cluster.nodes}
        assert {places[slot.node] for slot in seen.seen.assignment.values()} == {"rack-1"}
        assert within < spread / 2  # what a supervisor tells Nimbus goes on
        logs = [*cluster.storm.home.parent.rglob("*.log")]
        assert {"nimbus.log", "worker.log"} <= {each.name for each in logs}
        assert not any("is no map of racks" in each.read_text(errors="replace") for each in logs)


def test_a_cluster_that_is_killed_while_another_moves_tasks_takes_nothing_of_it_along(tmp_path):
    specs = supervisor_specs(((200.0, 2048.0, 2),) * 3)
    conf = {"nimbus.monitor.freq.secs": 1}
    with experiment(
        PluginHost.load(), specs, tmp_path, scheduler="even", conf=conf, version=RELEASE, apart=NODES
    ) as cluster:
        cluster.run(describe(TOPOLOGY), shadow=False)
        seen = cluster.measure(5)
        plan, request, seconds = plan_for_one_rack(cluster, seen)
        mine = cluster.storm.nodes.network.name
        nodes, daemons = made_of(mine), [(each.name, each.pid) for each in cluster.storm.daemons]
        with subprocess.Popen([sys.executable, "-c", OTHER, RELEASE], stdout=subprocess.PIPE, text=True) as other:
            try:
                bridge, *pids = other.stdout.readline().split()
                theirs = ClusterName.parse(bridge)
                assert made_of(theirs)
                assert len(pids) == 3
            finally:
                timer = threading.Timer(1.0, other.kill)
                timer.start()
            cluster.change(plan, request, seconds)  # meanwhile the other one dies
            assert other.wait(PATIENCE) == -signal.SIGKILL
        near = cluster.storm.nodes.hosts[:2]
        wait_for("workers to leave the rack", lambda: {each.host for each in cluster.storm.workers()} <= {*near})
        wait_for("the end of the other", lambda: not any(psutil.pid_exists(int(each)) for each in pids))
        again = cluster.measure(5)
        assert again.throughput > 0
        assert made_of(mine) == nodes
        assert [(each.name, each.pid) for each in cluster.storm.daemons if each.alive] == daemons
    ApartNodes.make([NodeLimits()]).remove()  # whoever makes nodes removes what nobody owns
    assert made_of(theirs) == []


def test_racks_of_a_cluster_left_running_are_shown_cut_off_and_removed(cache):
    runner = CliRunner()
    options = ["--supervisors", "100:1024:1,100:1024:1", "--version", RELEASE, "--json"]
    racks = ["--apart", "--racks", "1,1", "--rack-network", "20mbit"]
    try:
        shown = json.loads(runner.invoke(commands, ["up", *options, *racks], catch_exceptions=False).stdout)
        assert sorted(each["rack"] for each in shown["supervisors"]) == ["rack-1", "rack-2"]
        name = ClusterName.parse(StormState.read().bridge)
        assert set(name.rack(1)) < set(made_of(name))
        cut = runner.invoke(commands, ["fault", "rack-2", "--cut", "--json"], catch_exceptions=False)
        assert json.loads(cut.stdout) == {"host": "rack-2", "cut": True, "network": None, "cores": None}
        assert "in rack-2" in runner.invoke(commands, ["status"], catch_exceptions=False).stdout
    finally:
        runner.invoke(commands, ["down"])
    assert made_of(name) == []


def test_a_cluster_of_a_user_without_root_is_ended_from_outside_too(cache, tmp_path):
    if subprocess.run(["unshare", "-Urnm", "true"], check=False, capture_output=True).returncode:
        pytest.skip("needs user namespaces")
    options = "--supervisors 100:1024:1,100:1024:1 --apart --racks 1,1 --network 20mbit"
    words = f"{HEADWORKS} storm up --version {RELEASE} {options} --json && {HEADWORKS} storm status"
    env = os.environ | {"SHELL": "/bin/sh"}
    try:
        done = subprocess.run(["sh", "-c", SHELL], input=words, env=env, capture_output=True, text=True, check=False)
        state = StormState.read()
        assert done.stdout.count("rack-2") == 2, done.stderr
        processes = [pid for each in state.daemons for pid in each.members()]
        assert len(processes) == 4
        name = ClusterName.parse(state.bridge)
        assert not {name.node(1), name.node(2)} & {*namespaces()}  # they are in the user's own namespace
    finally:
        CliRunner().invoke(commands, ["down"], catch_exceptions=False)
    assert not any(map(psutil.pid_exists, processes))
    assert made_of(name) == []

"""A Spark cluster whose nodes are apart, as commands start it, disturb it and end it."""

from __future__ import annotations

import json
import os
import subprocess
import sys

import psutil
import pytest
from click.testing import CliRunner

from headworks_local.isolated.ability import network_problem
from headworks_local.isolated.names import ClusterName
from headworks_local.isolated.netlink import NAMESPACES, namespaces
from headworks_spark.commands import spark as commands
from headworks_spark.local.state import SparkState
from namespaces import made_of
from patience import PATIENCE

pytestmark = [pytest.mark.spark, pytest.mark.slow]

APPLICATION = """
import json, os, sys
import headworks_spark
from headworks_spark.nodes import nodes

def place(rows):
    return [(os.stat("/proc/self/ns/net").st_ino, sum(1 for _ in rows))]

spark = headworks_spark.session(sys.argv[1], hosts=sys.argv[2:], timeout=300)
racks = {node.id: node.rack for node in nodes(spark)}
pairs = spark.sparkContext.parallelize(range(1000), 4).map(lambda row: (row % 6, row)).groupByKey(4)
print(json.dumps([racks, pairs.mapPartitions(place).collect()]))
spark.stop()
"""


@pytest.fixture(autouse=True)
def networks(cache):
    if problem := network_problem():
        pytest.skip(f"needs network namespaces: {problem}")


def own_namespaces(bridge):
    """Those of one cluster: others may run meanwhile."""
    return {each for each in namespaces() if ClusterName.parse(each) == ClusterName.parse(bridge)}


def test_workers_are_on_networks_of_their_own_and_a_job_spans_them(tmp_path):
    runner = CliRunner()
    try:
        options = ["--workers", "2,1", "--apart", "--nodes", "1.0,0.5", "--network", "50mbit", "--json"]
        options += ["--racks", "1,1", "--rack-network", "40mbit"]
        shown = json.loads(runner.invoke(commands, ["up", *options], catch_exceptions=False).stdout)
        hosts = [each["host"] for each in shown["workers"]]
        state = SparkState.read()
        made = own_namespaces(state.bridge)
        assert len(made) == len({*hosts}) == 2
        program = tmp_path / "application.py"
        program.write_text(APPLICATION)
        command = [sys.executable, str(program), shown["master_url"], *hosts]
        done = subprocess.run(command, capture_output=True, text=True, timeout=PATIENCE, env=dict(os.environ))
        racks, places = json.loads(done.stdout.splitlines()[-1])
        assert racks == {each["host"]: each["rack"] for each in shown["workers"]}
        assert sorted(racks.values()) == ["rack-1", "rack-2"]
        inodes = {(NAMESPACES / each).stat().st_ino for each in made}
        assert {inode for inode, _ in places} == inodes  # tasks ran in both, and nowhere else
        assert sum(count for _, count in places) == 6
        missing = runner.invoke(commands, ["fault", "127.0.0.1", "--cut"])
        assert "127.0.0.1 is not a node that is apart: 198.1" in str(missing.exception)
        cut = runner.invoke(commands, ["fault", hosts[1], "--cut", "--json"], catch_exceptions=False)
        assert json.loads(cut.stdout) == {"host": hosts[1], "cut": True, "network": None, "cores": None}
        processes = [pid for each in state.daemons for pid in each.members()]
        assert all(map(psutil.pid_exists, processes))  # a node that is cut off runs on
        more = runner.invoke(commands, ["add"])
        assert "a Worker more needs a node more" in str(more.exception)
        runner.invoke(commands, ["drain", hosts[0], "--timeout", "1"], catch_exceptions=False)
        assert SparkState.read().bridge == state.bridge  # what is left is still known to be apart
    finally:
        runner.invoke(commands, ["down"])
    assert not any(map(psutil.pid_exists, processes))
    assert made_of(ClusterName.parse(state.bridge)) == []


@pytest.mark.parametrize(
    ("options", "complaint"),
    [
        (["--nodes", "1,1,1"], "add --apart"),
        (["--network", "1mbit"], "add --apart"),
        (["--apart", "--nodes", "1,1"], "2 numbers for 3 nodes"),
        (["--apart", "--network", "fast"], "not a rate such as 20mbit"),
        (["--apart", "--nodes", "1,0,1"], "not a list of cores"),
        (["--apart", "--racks", "2,2"], "--racks has room for 4 nodes, and there are 3"),
    ],
)
def test_options_that_do_not_go_together_are_refused(options, complaint):
    refused = CliRunner().invoke(commands, ["up", *options])
    assert refused.exit_code == 2
    assert complaint in refused.stderr
    assert SparkState.read() is None

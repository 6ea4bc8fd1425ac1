"""Nodes that are apart without root: in the shell that messages and documentation name."""

from __future__ import annotations

import json
import os
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

from headworks_local.isolated.ability import SHELL, network_problem
from headworks_local.isolated.limits import NodeLimits
from headworks_local.isolated.names import ClusterName
from headworks_local.isolated.nodes import ApartNodes
from headworks_local.isolated.sweep import end_nodes
from namespaces import made_of
from patience import PATIENCE

TESTS = Path(__file__).parents[2]
NOBODY = 65534
RACKS = """
import json, os, sys
sys.path.insert(0, sys.argv[1])
from headworks_local.isolated.limits import NodeLimits, Rack
from headworks_local.isolated.nodes import ApartNodes
from namespaces import made_of, programs, rate
nodes = ApartNodes.make([NodeLimits(rate=4e7, rack=Rack(name, 4e6)) for name in "aab"])
with programs(nodes) as start:
    one, two, three = nodes.hosts
    found = [rate(start, one, two), rate(start, one, three), made_of(nodes.network.name), os.getuid()]
print(json.dumps(found))
nodes.remove()
"""


def user():
    """Somebody without root who can run this Python: who runs the tests, or nobody; root if it cannot be had."""
    if os.geteuid():
        return None
    try:
        subprocess.run([sys.executable, "-c", "import headworks"], user=NOBODY, check=True, capture_output=True)
    except (OSError, subprocess.CalledProcessError):
        return None
    return NOBODY


def test_the_shell_has_racks_of_its_own_and_nothing_of_them_is_outside():
    who = user()
    if subprocess.run(["unshare", "-Urnm", "true"], user=who, check=False, capture_output=True).returncode:
        pytest.skip("needs user namespaces")
    command = shlex.join([sys.executable, "-c", RACKS, str(TESTS)])
    env = os.environ | {"SHELL": "/bin/sh"}
    done = subprocess.run(
        ["sh", "-c", SHELL], input=command, user=who, env=env, capture_output=True, text=True, timeout=PATIENCE
    )
    assert (done.returncode, done.stderr) == (0, "")
    within, between, names, uid = json.loads(done.stdout)
    assert uid == 0  # of the namespace
    assert 8e6 < within < 52e6
    assert 1e6 < between < 5.2e6
    assert made_of(ClusterName.parse(names[0])) == []


def test_the_shell_is_the_documented_one():
    assert f"\n{SHELL}\n" in (TESTS.parent / "docs" / "local-clusters.md").read_text()


@pytest.fixture
def able():
    if problem := network_problem():
        pytest.skip(f"needs network namespaces: {problem}")


def test_who_may_not_write_where_names_are_is_told_of_the_shell(able, monkeypatch):
    monkeypatch.setattr("headworks_local.isolated.ability.os.access", lambda *_: False)
    assert network_problem() == f"/run may not be written: in a user namespace, mount one of its own, as does: {SHELL}"


def test_who_may_not_remove_what_others_left_does_not_try(able, monkeypatch):
    nodes = ApartNodes.make([NodeLimits()])
    swept = []
    monkeypatch.setattr("headworks_local.isolated.sweep.sweep", lambda: swept.append(True))
    try:
        with monkeypatch.context() as patch:
            patch.setattr("headworks_local.isolated.sweep.network_problem", lambda: "no right to")
            end_nodes("")
        assert swept == []
        end_nodes("")
        assert swept == [True]
    finally:
        nodes.remove()

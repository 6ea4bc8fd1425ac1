"""Racks of nodes that are apart, on this machine's own kernel: what goes within them and between them."""

from __future__ import annotations

import json
import signal
import subprocess
import sys

import click
import pytest
from click.testing import CliRunner

from headworks.errors import EngineError
from headworks_local.isolated import nodes
from headworks_local.isolated.ability import network_problem
from headworks_local.isolated.limits import NodeLimits, Rack, parse_racks, racks_of
from headworks_local.isolated.names import ClusterName
from headworks_local.isolated.nodes import ApartNodes
from headworks_local.isolated.options import apart_options, demo_apart_options, disturb
from namespaces import LISTEN, SEND, Heard, bits, heard, made_of, programs, rate
from patience import PATIENCE

MBIT = 1e6
NODE, LINK = 40 * MBIT, 4 * MBIT
FIRST, SECOND = Rack("rack-1", LINK), Rack("rack-2", LINK)
MORE = 1.3
"""What two buckets let pass at once, and what two clocks differ, come on top of a rate that is measured for 1.5 s."""
OWNER = """
import time
from headworks_local.isolated.limits import NodeLimits, Rack
from headworks_local.isolated.nodes import ApartNodes
nodes = ApartNodes.make([NodeLimits(rack=Rack("a", 1e6)), NodeLimits(rack=Rack("b", 1e6)), NodeLimits()])
print(nodes.network.name.bridge, flush=True)
time.sleep(600)
"""


@pytest.fixture(scope="module")
def able():
    if problem := network_problem():
        pytest.skip(f"needs network namespaces: {problem}")


@pytest.fixture(scope="module")
def racks(able):
    """Two nodes in each of two racks, and one at the core; tests leave it as it is."""
    inside = [NodeLimits(rate=NODE, rack=rack) for rack in (FIRST, FIRST, SECOND, SECOND)]
    nodes = ApartNodes.make([*inside, NodeLimits(rate=NODE)])
    yield nodes
    nodes.remove()


@pytest.fixture
def run(racks):
    with programs(racks) as start:
        yield start


def test_nodes_of_a_rack_have_their_own_rate_and_racks_that_of_the_link(racks, run):
    one, two, three, _, core = racks.hosts
    within = rate(run, one, two)
    between = rate(run, one, three)
    to_core = rate(run, three, core)
    assert 2 * LINK < within < MORE * NODE
    assert LINK / 4 < between < MORE * LINK
    assert LINK / 4 < to_core < MORE * LINK


def test_all_nodes_of_a_rack_share_its_link_and_what_is_within_passes_by_it(racks, run):
    one, two, three, four, _ = racks.hosts
    first, second, within = heard(run, (one, three), (two, four), (one, two))
    assert 0 < bits(first, second) < MORE * LINK
    assert min(first.got, second.got) > 0
    assert bits(within) > 2 * LINK


def test_a_link_has_the_rate_that_is_set_anew(racks, run):
    one, _, three, _, _ = racks.hosts
    try:
        racks.set_rate("rack-1", None)
        racks.set_rate("rack-2", None)
        freed = rate(run, one, three)
        racks.set_rate("rack-2", LINK / 4)
        slower = rate(run, one, three)
    finally:
        racks.set_rate("rack-1", LINK)
        racks.set_rate("rack-2", LINK)
    assert 2 * LINK < freed < MORE * NODE
    assert 0 < slower < MORE * LINK / 4


def test_a_rack_that_is_cut_off_is_whole_within_until_it_is_joined(racks, run):
    one, two, three, _, _ = racks.hosts
    bridge = racks.network.name.bridge
    disturb(bridge, "rack-1", joined=False, network=None, cores=None)
    port = run(one, LISTEN, one, PATIENCE).stdout.readline().strip()
    near, _ = run(two, SEND, one, port, 0.1).communicate(timeout=PATIENCE)
    assert int(near) > 0
    _, error = run(three, SEND, one, port, 0.1).communicate(timeout=PATIENCE)
    assert "timed out" in error or "No route to host" in error
    disturb(bridge, "rack-1", joined=True, network=None, cores=None)
    far, error = run(three, SEND, one, port, 0.1).communicate(timeout=PATIENCE)
    assert (int(far) > 0, error) == (True, "")
    with pytest.raises(EngineError, match=r"rack-3 is not a node that is apart: .*, and racks are rack-1, rack-2"):
        disturb(bridge, "rack-3", joined=False, network=None, cores=None)


def test_what_goes_to_the_core_passes_the_link_and_is_not_from_node_to_node(racks, run):
    one, _, three, _, _ = racks.hosts
    gateway = racks.gateways[0]
    with subprocess.Popen([sys.executable, "-c", LISTEN, gateway, "9"], stdout=subprocess.PIPE, text=True) as server:
        port = server.stdout.readline().strip()

        def to_gateway():
            run(one, SEND, gateway, port, 0.5)
            return Heard(*json.loads(server.stdout.readline()))

        assert bits(to_gateway()) < 2 * LINK  # of half a second the buckets pass a part at once
        try:
            racks.set_rate("rack-1", None)  # a full queue drops nothing then, which would count as sent
            before, all_of_it = racks.between(), to_gateway().got
            assert racks.between() - before < all_of_it / 2
        finally:
            racks.set_rate("rack-1", LINK)
            server.kill()
    before, (came,) = racks.between(), heard(run, (one, three))
    assert racks.between() - before >= came.got


def test_a_network_that_is_found_again_has_its_racks(racks):
    found = ApartNodes.find(racks.network.name.bridge)
    assert found.hosts == racks.hosts
    wanted = ("rack-1", "rack-1", "rack-2", "rack-2")
    assert found.racks == racks.racks == dict(zip(racks.hosts, wanted, strict=False))


def test_what_a_killed_owner_of_racks_left_is_removed_by_the_next_start(able):
    with subprocess.Popen([sys.executable, "-c", OWNER], stdout=subprocess.PIPE, text=True) as owner:
        name = ClusterName.parse(owner.stdout.readline().strip())
        assert {*name.rack(1), *name.rack(2)} < set(made_of(name))
        owner.send_signal(signal.SIGKILL)
    ApartNodes.make([NodeLimits()]).remove()
    assert made_of(name) == []


def test_two_clusters_with_racks_do_not_touch_each_other(racks, run):
    other = ApartNodes.make([NodeLimits(rack=FIRST), NodeLimits(rack=SECOND)])
    before = made_of(racks.network.name)
    try:
        other.set_up("rack-1", up=False)
        one, _, three, _, _ = racks.hosts
        between = rate(run, one, three)
        assert between > LINK / 4
    finally:
        other.remove()
    assert made_of(other.network.name) == []
    assert made_of(racks.network.name) == before


def test_racks_are_read_as_people_write_them():
    assert parse_racks("2, 1,10") == (2, 1, 10)
    for wrong in ("2,,1", "0,3", "-1", "1.5", "", "a"):
        with pytest.raises(ValueError, match="not a list of nodes in each rack such as 2,1"):
            parse_racks(wrong)


def test_a_rack_has_a_name_and_one_rate_with_which_something_runs():
    assert racks_of([NodeLimits(rack=SECOND), NodeLimits(), NodeLimits(rack=FIRST)]) == (SECOND, FIRST)
    with pytest.raises(EngineError, match=r"rack-1 has one link, and its nodes say 4000000\.0 and None"):
        racks_of([NodeLimits(rack=FIRST), NodeLimits(rack=Rack("rack-1"))])
    with pytest.raises(EngineError, match="a link of a of 10 bit/s: at least 64000 are needed"):
        Rack("a", 10.0)
    assert len(Rack(254 * "a").name) == 254
    with pytest.raises(EngineError, match=r"^a{20}\.\.\. is a rack's name of 255 bytes: at most 254 are kept$"):
        Rack(255 * "a")
    with pytest.raises(EngineError, match="a rack without a name"):
        Rack("")


@click.command()
@apart_options
def three(apart):
    """Print the limits of three nodes."""
    click.echo(str(apart.limits(3)))


def test_options_put_nodes_into_racks_in_their_order():
    def limits(*options):
        done = CliRunner().invoke(three, ["--apart", *options], catch_exceptions=False)
        return done.stdout.strip()

    first, second = Rack("rack-1", 5e6), Rack("rack-2", 5e6)
    wanted = tuple(NodeLimits(rate=2e7, rack=rack) for rack in (first, first, second))
    assert limits("--network", "20mbit", "--racks", "2,1", "--rack-network", "5mbit") == str(wanted)
    assert limits("--racks", "3") == str((NodeLimits(rack=Rack("rack-1")),) * 3)
    assert limits() == str((NodeLimits(),) * 3)
    assert CliRunner().invoke(three, []).stdout.strip() == "None"


@click.command()
@demo_apart_options
def shown(apart):
    """Print the limits of two nodes of a demo."""
    click.echo(str(apart.limits(2, 2e6)))


def test_nodes_of_a_demo_are_apart_where_this_machine_can_do_that(monkeypatch):
    def limits(*options):
        done = CliRunner().invoke(shown, options, catch_exceptions=False)
        return done.stdout.strip(), done.stderr.strip()

    apart = str((NodeLimits(rate=2e6),) * 2)
    monkeypatch.setattr(nodes, "trial_problem", lambda: "")
    assert limits() == (apart, "")
    monkeypatch.setattr(nodes, "trial_problem", lambda: "no bridge can be made")
    assert limits() == ("None", "nodes share this machine, so that times do not compare: no bridge can be made")
    assert limits("--shared") == ("None", "")
    # Who asks for it is told by the start of the cluster that it cannot be.
    assert limits("--apart") == (apart, "")
    assert limits("--network", "5mbit") == (str((NodeLimits(rate=5e6),) * 2), "")
    done = CliRunner().invoke(shown, ["--shared", "--network", "5mbit"])
    assert (done.exit_code, "add --apart" in done.stderr) == (2, True)


@pytest.mark.parametrize(
    ("options", "complaint"),
    [
        (["--racks", "2,1"], "add --apart"),
        (["--rack-network", "5mbit"], "add --apart"),
        (["--apart", "--rack-network", "5mbit"], "--rack-network bounds the links of racks: add --racks"),
        (["--apart", "--racks", "2,2"], "--racks has room for 4 nodes, and there are 3"),
        (["--apart", "--racks", "3,0"], "not a list of nodes in each rack"),
        (["--apart", "--racks", "2,1", "--rack-network", "slow"], "not a rate such as 20mbit"),
        (["--apart", "--racks", "2,1", "--rack-network", "1kbit"], "at least 64000 are needed"),
        (["--apart", "--network", "1kbit"], "at least 64000 are needed"),
    ],
)
def test_options_that_do_not_go_together_are_refused(options, complaint):
    refused = CliRunner().invoke(three, options)
    assert refused.exit_code == 2
    assert complaint in refused.stderr

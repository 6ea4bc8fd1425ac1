"""A Nimbus that asks no more is an error and not an old picture; one process answers it; and it says how slow it is."""

from __future__ import annotations

import os
import signal

import attrs
import pytest

from headworks.errors import EngineError
from headworks.model import FrozenMap, Plan
from headworks.plugins.host import PluginHost
from headworks_storm.executor import execute
from headworks_storm.monitor import observe
from headworks_storm.nimbus.bridge import Endpoint
from headworks_storm.nimbus.rounds import Rounds
from headworks_storm.nimbus.snapshot import read_snapshot
from headworks_storm.nimbus.timing import Timing
from headworks_storm.peers.claim import claim
from headworks_storm.service import ServiceSettings, serve
from headworks_storm.target import StormTarget
from patience import PATIENCE
from shell import running
from storm_cluster import wait_for
from storm_rounds import round_text, supervisor, word_count

RUNNING = word_count(slots=[("a", 6700)], assignment=[0] * 4)
FAST = {"nimbus.monitor.freq.secs": 20, "nimbus.task.launch.secs": 300, "nimbus.task.timeout.secs": 40}


@attrs.define
class Clock:
    now: float = 0.0

    def __call__(self):
        return self.now


def asked(clock, **more):
    host = PluginHost.load()
    rounds = Rounds(lambda request: host.schedule("even", request, {}), clock=clock)
    rounds.answer(round_text([supervisor("a")], [RUNNING], number=7, **more))
    return StormTarget(rounds=rounds)


def test_an_observation_says_how_old_it_is():
    clock = Clock()
    target = asked(clock)
    clock.now = 4.0
    assert observe(target, 0.0).notes == ("round 7 of Nimbus is 4 s old",)


@pytest.mark.parametrize(("settings", "last"), [({}, 30.0), ({"nimbus.monitor.freq.secs": 20}, 60.0)])
def test_after_three_rounds_without_nimbus_nothing_is_observed_nor_carried_out(settings, last):
    clock = Clock()
    target = asked(clock, settings=settings)
    clock.now = last
    observe(target, 0.0)
    clock.now = last + 1
    with pytest.raises(EngineError, match=rf"Nimbus n asks no more, its round 7 is {last + 1:.0f} s old: has it lost"):
        observe(target, 0.0)
    with pytest.raises(EngineError, match="asks no more"):
        execute(target, Plan(assignment=FrozenMap({"wc/lines/0": target.rounds.newest.assignment["wc/count/0"]})))
    target.rounds.answer(round_text([supervisor("a")], [RUNNING], number=8))
    assert observe(target, 0.0).notes == ("round 8 of Nimbus is 0 s old",)


def test_patience_follows_nimbus_s_own_settings_unless_it_is_named():
    target = asked(Clock(), settings=FAST)
    snapshot = target.latest()
    assert snapshot.timing == Timing(monitor=20.0, launch=300.0, timeout=40.0)
    # Longer than a supervisor gives a worker to start, and than Nimbus believes in it unheard.
    assert target.starting(snapshot, []) == 300 + 40 + 2 * 20
    assert target.storing(snapshot) == 60 + 3 * 20
    assert asked(Clock()).starting(asked(Clock()).latest(), []) == 120 + 30 + 2 * 10
    named = attrs.evolve(target, patience=5.0)
    assert (named.starting(snapshot, []), named.storing(snapshot)) == (5.0, 5.0)


def test_executors_of_a_topology_with_a_time_out_of_its_own_are_waited_for_that_long_and_no_others():
    own = {"long": 400, "short": 5, "none": "400"}
    made = [word_count(name=name, conf={"topology.worker.timeout.secs": each}) for name, each in own.items()]
    snapshot = read_snapshot(round_text([supervisor("a")], made))
    usual = 120 + 30 + 2 * 10
    assert snapshot.starting(["long/count/0", "none/count/0"]) == 400 + 400 + 2 * 10
    assert [snapshot.starting([f"{name}/count/0"]) for name in ("short", "none", "gone")] == [usual] * 3


@pytest.mark.parametrize("value", [None, "10", 0, -5, True, [], 1.5, 10**400])
def test_a_setting_that_is_no_number_of_seconds_is_storm_s_default(value):
    assert Timing.of({"nimbus.monitor.freq.secs": value}) == Timing()


def settings(folder):
    return ServiceSettings(endpoint=folder / "endpoint.json")


def test_a_second_process_on_one_endpoint_is_refused_and_the_first_goes_on(tmp_path):
    pytest.importorskip("py4j")
    with running("serve", "storm", "--endpoint", settings(tmp_path).endpoint, folder=tmp_path) as (process, _):
        wait_for("its endpoint", settings(tmp_path).endpoint.exists)
        before = Endpoint.read(settings(tmp_path).endpoint)
        with (
            pytest.raises(
                EngineError, match=rf"process {process.pid} answers Nimbus by .*endpoint.json already: end it"
            ),
            serve(PluginHost.load(), "even", {}, settings(tmp_path)),
        ):
            pass
        assert Endpoint.read(settings(tmp_path).endpoint) == before
        process.send_signal(signal.SIGKILL)
        process.wait(PATIENCE)
        assert settings(tmp_path).endpoint.exists()  # stale: nobody could remove it
        with serve(PluginHost.load(), "even", {}, settings(tmp_path)):
            after = Endpoint.read(settings(tmp_path).endpoint)
            assert after != before
    assert list(tmp_path.glob("endpoint*")) == []


def test_the_lock_is_this_process_s_and_goes_with_it(tmp_path):
    file = tmp_path / "deep" / "endpoint.json"
    with claim(file):
        assert file.with_name("endpoint.json.lock").read_text() == str(os.getpid())
        with pytest.raises(EngineError, match=f"process {os.getpid()} answers"), claim(file):
            pass
        with claim(file.with_name("other.json")):
            pass
    with claim(file):
        pass
    assert list(file.parent.iterdir()) == []


def test_a_lock_that_cannot_be_written_is_told(tmp_path):
    (tmp_path / "file").touch()
    with (
        pytest.raises(EngineError, match=r"endpoint.json.lock cannot be written"),
        claim(tmp_path / "file" / "endpoint.json"),
    ):
        pass
    (tmp_path / "endpoint.json.lock").symlink_to(tmp_path / "elsewhere")
    with pytest.raises(EngineError, match="cannot be written"), claim(tmp_path / "endpoint.json"):
        pass

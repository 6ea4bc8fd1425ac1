"""When the intake of a cluster pauses a topology: not before all workers can have seen that it was active."""

from __future__ import annotations

import contextlib
from types import SimpleNamespace

import pytest

from headworks_storm.intake import SEEN, SLOWEST, StormIntake


class Nimbus:
    """Topologies whose status changes as asked, and a clock that goes on where somebody waits."""

    def __init__(self, poll=None):
        self.conf = {} if poll is None else {"task.refresh.poll.secs": poll}
        self.status = {"a-1": "ACTIVE", "b-2": "ACTIVE"}
        self.now, self.said = 100.0, []

    @contextlib.contextmanager
    def use(self):
        yield self

    def nimbus_conf(self):
        return self.conf

    def cluster(self):
        topologies = [SimpleNamespace(id=key, name=key[0], status=status) for key, status in self.status.items()]
        return SimpleNamespace(topologies=topologies)

    def deactivate(self, name):
        self._become(name, "INACTIVE")

    def activate(self, name):
        self._become(name, "ACTIVE")

    def _become(self, name, status):
        self.said.append((name, status, self.now))
        self.status = {key: status if key[0] == name else old for key, old in self.status.items()}

    def sleep(self, seconds):
        self.now += seconds


def intake(nimbus):
    return StormIntake("storm", None, None, nimbus, clock=lambda: nimbus.now, sleep=nimbus.sleep)


@pytest.mark.parametrize(("poll", "seconds"), [(None, SLOWEST), (1, 1.0), (10, 10.0)])
def test_a_topology_is_active_for_a_look_of_its_workers_and_more_before_it_is_paused_again(poll, seconds):
    nimbus = Nimbus(poll)
    found = intake(nimbus)
    nimbus.now += 1000
    found.pause("a-1")
    assert nimbus.said == [("a", "INACTIVE", 1100.0)]
    found.resume("a-1")
    nimbus.now += 0.3
    found.pause("b-2")  # nobody resumed this one
    found.pause("a-1")
    assert nimbus.said[2:] == [("b", "INACTIVE", 1100.3), ("a", "INACTIVE", 1100.0 + seconds + SEEN)]


def test_a_process_that_begins_takes_topologies_to_be_active_since_then():
    nimbus = Nimbus(poll=3)
    found = intake(nimbus)
    nimbus.now += 1
    found.pause("a-1")
    found.pause("b-2")
    at = 100.0 + 3 + SEEN
    assert nimbus.said == [("a", "INACTIVE", at), ("b", "INACTIVE", at)]


def test_one_that_pauses_already_is_not_waited_for():
    nimbus = Nimbus()
    nimbus.status["a-1"] = "INACTIVE"
    intake(nimbus).pause("a-1")
    assert (nimbus.said, nimbus.now) == ([], 100.0)

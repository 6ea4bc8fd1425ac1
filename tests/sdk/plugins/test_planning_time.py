"""Time to plan: CPU on a busy machine, the clock on an idle one, and never more than a multiple by the clock."""

from __future__ import annotations

import math
import os
import subprocess
import sys
import threading
import time

import attrs
import pytest

from headworks import Description, PluginHost, hookimpl
from headworks.model import Limits
from headworks.plugins.planning_time import LOOK, STRETCH, PlanningTime, cpu_of
from headworks.testing import FirstFit
from patience import PATIENCE
from small_requests import word_count


@attrs.define
class Machine:
    """A clock, and the CPU that a process gets of it."""

    now: float = 100.0
    cpu: float = 7.0

    def passes(self, seconds, share):
        self.now += seconds
        self.cpu += share * seconds

    def time(self, stretch=STRETCH):
        return PlanningTime(stretch=stretch, cpu=lambda: self.cpu, clock=lambda: self.now)


def ends(share, seconds=5.0, stretch=STRETCH):
    """Seconds of the clock after which the time is over for a process that gets a share of a core."""
    machine = Machine()
    planning = machine.time(stretch)
    while left := planning.left(seconds):
        machine.passes(left, share)
    return machine.now - 100.0


def test_on_an_idle_machine_it_is_over_by_the_clock():
    assert ends(1.0) == pytest.approx(5.0)
    assert ends(8.0) == pytest.approx(5.0), "threads beside each other make it no shorter"


@pytest.mark.parametrize("share", [0.9, 0.5, 0.34])
def test_on_a_busy_machine_it_lasts_until_its_cpu_is_used(share):
    assert ends(share) == pytest.approx(5.0 / share, abs=2 * LOOK)


@pytest.mark.parametrize("share", [0.3, 0.05, 0.0])
def test_it_never_lasts_longer_than_a_multiple_by_the_clock(share):
    assert ends(share) == pytest.approx(STRETCH * 5.0, abs=LOOK)


def test_without_a_stretch_the_clock_alone_counts():
    assert ends(0.0, stretch=1.0) == pytest.approx(5.0)


def test_an_event_ends_the_wait():
    event = threading.Event()
    event.set()
    assert PlanningTime().wait(event, math.inf)


def test_the_cpu_of_another_process_is_read_and_one_that_is_gone_has_no_time_left():
    burns = "import time\nwhile time.process_time() < 0.3: pass\nprint(flush=True)\ninput()"
    with subprocess.Popen([sys.executable, "-c", burns], stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        process.stdout.readline()
        assert cpu_of(process.pid) >= 0.25
        process.stdin.write(b"\n")
    assert cpu_of(process.pid) == math.inf
    assert cpu_of(os.getpid()) <= time.process_time() + 1.0


class Scheduler:
    """Acts, then plans."""

    def __init__(self, act):
        self.act = act

    @hookimpl
    def headworks_describe(self):
        return Description(summary="Act.")

    @hookimpl
    def headworks_schedule(self, problem):
        self.act()
        return FirstFit().headworks_schedule(problem)


def asked(act, deadline, **more):
    request = attrs.evolve(word_count(), limits=Limits(deadline=deadline))
    return PluginHost().with_plugin("act", Scheduler(act)).schedule("act", request, **more)


def test_one_that_burns_its_cpu_is_held():
    over = threading.Event()

    def burns():
        while not over.is_set():
            pass

    begin = time.process_time()
    plan = asked(burns, 0.5)
    over.set()
    assert [each.code for each in plan.reasons] == ["deadline"]
    assert time.process_time() - begin >= 0.45


@pytest.mark.parametrize("stretch", [1.0, STRETCH])
def test_one_that_sleeps_is_held_all_the_same(stretch):
    over = threading.Event()
    plan = asked(lambda: over.wait(PATIENCE), 0.05, stretch=stretch)
    over.set()
    assert f"has no plan after 0.05 s of CPU, or {stretch * 0.05:g} s (limits.deadline)" in plan.reasons[0].message

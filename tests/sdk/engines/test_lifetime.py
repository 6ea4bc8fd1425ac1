"""Whatever ends a command ends what it started: seen from outside, by a mark in the environment of its processes."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import psutil
import pytest

from headworks_local import reaper
from headworks_local.lifetime import bound, environment, lifetime
from headworks_local.reaper import MARK
from moments import NUMBERS, SECONDS, TIMES, draw, ended
from patience import PATIENCE
from shell import gone, marked, running, told

STAND_IN = (sys.executable, Path(__file__).with_name("start_stand_in.py"))
AT_ONCE = 4
"""Commands at a time: they wait for most of theirs."""
DAEMONS = 3


def ready(process):
    return process.stdout.readline()


def reapers(mark):
    return [process for process in marked(mark) if "reaper.py" in told(process)]


def engines(mark):
    """What the stand-in started: each daemon and its child."""
    return [process for process in marked(mark) if " -S -c " in told(process)]


def wait_for(true, seconds=PATIENCE):
    end = time.monotonic() + seconds
    while not true() and time.monotonic() < end:
        time.sleep(0.05)
    assert true()


@pytest.mark.parametrize("number", NUMBERS)
def test_nothing_is_left_whenever_a_signal_comes(tmp_path, number):
    def one(moment):
        folder = tmp_path / str(moment)
        folder.mkdir()
        return ended("stay", folder=folder, number=number, moment=moment, program=STAND_IN)

    moments = draw("stay", number, TIMES or 4, 1.5)
    with ThreadPoolExecutor(AT_ONCE) as pool:
        found = dict(zip(moments, pool.map(one, moments), strict=True))
    assert {moment: end for moment, end in found.items() if not end.clean} == {}
    assert {end.code for end in found.values() if not end.early} <= {128 + number, -number}


@pytest.mark.parametrize("number", NUMBERS)
def test_a_cluster_stands_whole_or_not_at_all(tmp_path, number):
    """Killed half way, `up` leaves nothing; what it leaves at its end, `down` ends."""

    def one(moment):
        folder = tmp_path / str(moment)
        folder.mkdir()
        here = {"folder": folder, "program": STAND_IN, "XDG_CACHE_HOME": str(folder)}
        with running("up", **here) as (process, mark):
            try:
                process.wait(moment)
            except subprocess.TimeoutExpired:
                process.send_signal(number)
                process.wait(SECONDS)
            wait_for(lambda: not reapers(mark), SECONDS)
            if stands := engines(mark):  # the signal came too late, or between the last step and the end
                with running("down", **here) as (down, _):
                    down.wait(SECONDS)
            return len(stands) in (0, 2 * DAEMONS) and gone(mark, SECONDS) == []

    moments = draw("up", number, TIMES or 3, 1.5)
    with ThreadPoolExecutor(AT_ONCE) as pool:
        found = dict(zip(moments, pool.map(one, moments), strict=True))
    assert [moment for moment, good in found.items() if not good] == []


def test_up_leaves_what_down_ends(tmp_path):
    here = {"folder": tmp_path, "program": STAND_IN, "XDG_CACHE_HOME": str(tmp_path)}
    with running("up", **here) as (process, mark):
        assert process.wait(PATIENCE) == 0
        wait_for(lambda: not reapers(mark))
        time.sleep(1)
        assert len(engines(mark)) == 2 * DAEMONS
        with running("down", **here) as (down, _):
            assert down.wait(PATIENCE) == 0
        assert gone(mark, SECONDS) == []


def test_a_reaper_that_dies_takes_nobody_with_it_and_is_replaced(tmp_path):
    with running("stay", folder=tmp_path, program=STAND_IN) as (process, mark):
        ready(process)
        time.sleep(1.5)  # it is no accident if one dies at once
        (first,) = reapers(mark)
        first.kill()
        wait_for(lambda: reapers(mark) not in ([], [first]))
        assert len(engines(mark)) == 2 * DAEMONS
        assert process.poll() is None
        process.kill()
        assert gone(mark, SECONDS) == []


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_no_signal_but_the_last_one_ends_a_reaper(tmp_path, number):
    with running("stay", folder=tmp_path, program=STAND_IN) as (process, mark):
        ready(process)
        (found,) = reapers(mark)
        found.send_signal(number)
        time.sleep(0.5)
        assert reapers(mark) == [found]
        assert os.getsid(found.pid) == found.pid  # where no Ctrl-C of a terminal comes


def test_a_second_ctrl_c_leaves_nothing_either(tmp_path):
    with running("stay", folder=tmp_path, program=STAND_IN) as (process, mark):
        ready(process)
        for _ in range(20):
            os.killpg(process.pid, signal.SIGINT)
            time.sleep(0.02)
        assert gone(mark, SECONDS) == []
        assert process.wait(SECONDS) == 130
        assert "Traceback" not in process.stderr.read()


def test_a_forked_child_that_holds_the_pipe_hides_no_death(tmp_path):
    with running("fork", folder=tmp_path, program=STAND_IN) as (process, mark):
        ready(process)
        process.kill()
        wait_for(lambda: not engines(mark), seconds=90)  # the child lives for longer


def test_what_was_released_before_the_reaper_had_begun_stays(tmp_path):
    """On a busy machine the owner may have ended by then."""
    env = {MARK: "token.1"}, {MARK: "token.2"}
    released, other = [subprocess.Popen(["/bin/sleep", "600"], env=each) for each in env]
    with released, other:
        try:
            program = [sys.executable, "-P", reaper.__file__, "1", "token"]
            subprocess.run(program, input=b"release token.1\n", timeout=PATIENCE, check=True)
            assert other.wait(PATIENCE) == -signal.SIGKILL
            assert released.poll() is None
        finally:
            released.kill()
            other.kill()


SCRATCH = """
import os, signal, sys
from headworks_local.lifetime import lifetime
folder = lifetime().scratch("headworks-test-")
(folder / "file").write_text("full")
print(folder, flush=True)
sys.stdin.readline()
if sys.argv[1:]:
    os.kill(os.getpid(), signal.SIGKILL)
"""


@pytest.mark.parametrize("killed", [True, False])
def test_a_temporary_folder_goes_with_its_owner(tmp_path, killed):
    temporary = tmp_path / "with a space"
    (temporary / "of a stranger").mkdir(parents=True)
    command = [sys.executable, "-c", SCRATCH, *(["killed"] if killed else [])]
    env = {**os.environ, "TMPDIR": str(temporary)}
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env=env) as owner:
        folder = Path(owner.stdout.readline().rstrip("\n"))
        assert (folder / "file").read_text() == "full"
        assert folder.parent == temporary
        owner.stdin.write("\n")
    wait_for(lambda: not folder.exists())
    assert [each.name for each in temporary.iterdir()] == ["of a stranger"]


def test_who_has_another_mark_is_a_stranger(tmp_path):
    with running("stay", folder=tmp_path, program=STAND_IN) as (process, mark):
        ready(process)
        found = engines(mark)[0].environ()[MARK]
        token = found.partition(".")[0]
        strange = [f"{token}1", f"x{token}.1", f"{token[:-1]}", ""]
        strangers = [subprocess.Popen(["/bin/sleep", "600"], env={MARK: each}) for each in strange]
        try:
            process.kill()
            assert gone(mark, SECONDS) == []
            assert [each.poll() for each in strangers] == [None] * len(strange)
        finally:
            for each in strangers:
                with each:
                    each.kill()


def test_a_mark_is_lent_to_what_is_started_in_a_block():
    with bound():
        assert os.environ[MARK] == environment()[MARK] == lifetime().token
        child = subprocess.run(["/usr/bin/env"], capture_output=True, text=True, check=True).stdout
    assert f"{MARK}={lifetime().token}" in child.splitlines()
    assert MARK not in os.environ


def test_groups_have_marks_of_their_own():
    first, second = lifetime().group(), lifetime().group()
    assert first != second
    assert {each.partition(".")[0] for each in (first, second)} == {lifetime().token}


def test_the_reaper_is_small():
    lifetime()
    own = [each for each in psutil.Process().children() if "reaper.py" in " ".join(each.cmdline())]
    assert len(own) == 1
    assert own[0].memory_info().rss < 50 * 2**20

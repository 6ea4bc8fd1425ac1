"""Signals as exceptions: none is lost, none cuts off what is held, and a program's own handlers stay its own."""

from __future__ import annotations

import gc
import os
import random
import signal
import subprocess
import sys
import threading
import time
import weakref

import pytest

from headworks.interrupts import ENDINGS, Terminated, answered, arrived, handled, held, keep
from patience import PATIENCE
from tiers import THOROUGH, cases

LONG = 300.0
"""Seconds of a wait that a signal has to end."""
SOON = 60.0
"""Seconds after which a wait was not ended by the signal, on a machine that does much else."""


class Cycle:
    """Garbage that only the collector finds."""

    def __init__(self):
        self.me = self


def storm(seconds):
    """Run finalizers, of weak references in cycles, nearly all of the time."""
    end, references = time.monotonic() + seconds, []
    while time.monotonic() < end:
        references.append(weakref.ref(Cycle(), lambda _: sum(range(300))))
        if len(references) > 50:
            gc.collect()
            references.clear()


def send(number):
    os.kill(os.getpid(), number)


def came(act, *arguments):
    """The signal whose exception ended an act."""
    with pytest.raises(KeyboardInterrupt) as caught, handled():
        act(*arguments)
    return caught.value.code - 128 if isinstance(caught.value, Terminated) else signal.SIGINT


@pytest.mark.parametrize("seed", cases(range(2), 1))
@pytest.mark.parametrize("number", ENDINGS)
def test_a_signal_in_a_storm_of_finalizers_is_not_lost(number, seed):
    draw = random.Random(f"{number} {seed}")

    def act():
        threading.Timer(draw.uniform(0.0, 0.02), send, [number]).start()
        storm(LONG)

    for _ in range(10 if THOROUGH else 4):
        begin = time.monotonic()
        assert came(act) == number
        assert time.monotonic() - begin < SOON


def test_python_alone_loses_it():
    """The defect is one of the interpreter: the exception of a handler does not arrive."""
    run, _ = python("""
import os, signal, weakref
class Thing: pass
def handle(*_): raise SystemExit(3)
signal.signal(signal.SIGTERM, handle)
thing = Thing()
reference = weakref.ref(thing, lambda _: os.kill(os.getpid(), signal.SIGTERM))
del thing
print("goes on")
""")
    assert (run.returncode, run.stdout) == (0, "goes on\n")


def test_what_is_dropped_arrives_at_the_next_line_and_is_not_reported(capfd):
    class Thing:
        def __del__(self):
            send(signal.SIGTERM)

    lines = []

    def act():
        Thing()
        lines.append("next")

    assert came(act) == signal.SIGTERM
    assert lines == []
    assert capfd.readouterr().err == ""


def test_what_is_dropped_of_a_finalizer_in_a_finalizer_arrives():
    class Inner:
        def __del__(self):
            send(signal.SIGTERM)

    class Outer:
        def __del__(self):
            Inner()
            sum(range(10))

    def act():
        Outer()
        time.sleep(LONG)

    begin = time.monotonic()
    assert came(act) == signal.SIGTERM
    assert time.monotonic() - begin < SOON


@pytest.mark.parametrize("wait", [time.sleep, threading.Event().wait])
def test_a_wait_that_the_signal_does_not_cut_short_is_cut_short_soon(wait):
    """Another thread takes the signal, as when it comes right before the system call of the main thread."""

    def take():
        signal.pthread_kill(threading.get_ident(), signal.SIGTERM)

    def act():
        threading.Timer(0.2, take).start()
        wait(LONG)

    begin = time.monotonic()
    assert came(act) == signal.SIGTERM
    assert time.monotonic() - begin < SOON


def test_what_is_held_is_whole():
    done = []

    def act():
        with held():
            send(signal.SIGTERM)
            with held():
                time.sleep(0.2)
            done.append("held")
        done.append("more")

    assert came(act) == signal.SIGTERM
    assert done == ["held"]


def test_a_clean_up_that_is_held_survives_the_second_signal():
    done = []

    def act():
        try:
            send(signal.SIGTERM)
            time.sleep(LONG)
        finally:
            with held():
                send(signal.SIGINT)
                time.sleep(0.2)
                done.append("cleaned up")

    assert came(act) == signal.SIGINT
    assert done == ["cleaned up"]


def test_held_alone_is_enough():
    done = []

    def act():
        with held():
            send(signal.SIGINT)
            done.append("held")

    with pytest.raises(KeyboardInterrupt):
        act()
    assert done == ["held"]


def test_one_block_in_another_changes_nothing():
    def act():
        with handled():
            pass
        send(signal.SIGHUP)
        time.sleep(LONG)

    assert came(act) == signal.SIGHUP


def test_everything_is_put_back():
    def state():
        return [signal.getsignal(number) for number in (*ENDINGS, signal.SIGURG)], sys.unraisablehook

    before, threads = state(), threading.active_count()
    with handled():
        assert state() != before
    assert state() == before
    assert signal.set_wakeup_fd(-1) == -1
    assert threading.active_count() == threads


def test_a_program_s_own_handlers_are_left_alone():
    heard = []
    before = signal.signal(signal.SIGTERM, lambda number, _frame: heard.append(number))
    ignored = signal.signal(signal.SIGHUP, signal.SIG_IGN)  # as under nohup
    try:
        with handled():
            send(signal.SIGTERM)
            send(signal.SIGHUP)
            time.sleep(0.1)
        assert heard == [signal.SIGTERM]
    finally:
        signal.signal(signal.SIGTERM, before)
        signal.signal(signal.SIGHUP, ignored)


def test_a_handler_that_a_library_sets_is_replaced():
    def act():
        signal.signal(signal.SIGINT, signal.SIG_IGN)
        keep()
        send(signal.SIGINT)
        time.sleep(LONG)

    assert came(act) == signal.SIGINT


def test_what_was_ignored_stays_ignored_whatever_a_library_sets():
    before = signal.signal(signal.SIGINT, signal.SIG_IGN)  # as of a process that a shell starts in the background
    try:
        with handled():
            signal.signal(signal.SIGINT, signal.default_int_handler)
            keep()
            send(signal.SIGINT)
    finally:
        signal.signal(signal.SIGINT, before)


def test_one_that_was_answered_is_over():
    with handled():
        with pytest.raises(KeyboardInterrupt):
            send(signal.SIGINT)
        assert arrived() == signal.SIGINT
        answered()
        assert arrived() == 0


def test_other_threads_have_no_part_in_it():
    found = []

    def work():
        with handled() as signals, held():
            found.append(signals)

    thread = threading.Thread(target=work)
    thread.start()
    thread.join()
    assert found == [None]


def python(script):
    begin = time.monotonic()
    run = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, timeout=PATIENCE)
    return run, time.monotonic() - begin


def test_the_limit_ends_what_does_not_end():
    run, seconds = python("""
import os, signal, time
from headworks.interrupts import handled
with handled(limit=0.5):
    while True:
        try:
            os.kill(os.getpid(), signal.SIGTERM)
            time.sleep(600)
        except KeyboardInterrupt:
            pass
""")
    assert run.returncode == 128 + signal.SIGTERM
    assert seconds < SOON


def test_the_limit_holds_for_threads_that_the_interpreter_waits_for():
    run, seconds = python("""
import os, signal, threading, time
from headworks.interrupts import handled
with handled(limit=0.5):
    threading.Thread(target=time.sleep, args=[600]).start()
    os.kill(os.getpid(), signal.SIGHUP)
    time.sleep(600)
""")
    assert run.returncode == 128 + signal.SIGHUP
    assert seconds < SOON


def test_an_answered_signal_has_no_limit():
    run, _ = python("""
import os, signal, time
from headworks.interrupts import answered, handled
with handled(limit=0.3):
    try:
        os.kill(os.getpid(), signal.SIGINT)
        time.sleep(600)
    except KeyboardInterrupt:
        answered()
    time.sleep(1)
    print("goes on")
""")
    assert (run.returncode, run.stdout) == (0, "goes on\n")


def test_a_loop_that_lives_through_errors_ends():
    """A library put another error in the place of the exception."""
    run, _ = python("""
import os, signal
from headworks.interrupts import check, handled
with handled(limit=60):
    for number in range(3):
        check()
        try:
            os.kill(os.getpid(), signal.SIGTERM)
        except KeyboardInterrupt:
            print("lost", flush=True)
""")
    assert (run.returncode, run.stdout) == (128 + signal.SIGTERM, "lost\n")


def test_a_forked_process_has_handlers_of_its_own():
    """A signal to it is no signal to its parent, with which it shares the pipe."""
    run, _ = python("""
import os, signal, time, warnings
warnings.simplefilter("ignore")  # of newer Pythons: a process with threads is forked
from headworks.interrupts import arrived, handled
with handled(limit=0.3):
    reader, writer = os.pipe()
    child = os.fork()
    if not child:
        os.write(writer, b"ready")
        time.sleep(600)
    os.read(reader, 5)
    os.kill(child, signal.SIGTERM)
    print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
    time.sleep(1)
    print("goes on")
""")
    assert (run.returncode, run.stdout) == (0, f"{-signal.SIGTERM}\ngoes on\n")

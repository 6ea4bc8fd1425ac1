"""Signals as exceptions: none is lost, none cuts off what is held, and a program's own handlers stay its own."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
import time

import pytest

from headworks.interrupts import ENDINGS, Terminated, dismiss, handled, held, lent, pending_signal, reinstall
from patience import PATIENCE

LONG = 300.0
"""Seconds of a wait that a signal has to end."""
SOON = 60.0
"""Seconds after which a wait was not ended by the signal, on a machine that does much else."""


def send(number):
    os.kill(os.getpid(), number)


def came(act, *arguments):
    """The signal whose exception ended an act."""
    with pytest.raises(KeyboardInterrupt) as caught, handled():
        act(*arguments)
    return caught.value.code - 128 if isinstance(caught.value, Terminated) else signal.SIGINT


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
        return [signal.getsignal(number) for number in ENDINGS]

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
        reinstall()
        send(signal.SIGINT)
        time.sleep(LONG)

    assert came(act) == signal.SIGINT


def test_what_was_ignored_stays_ignored_whatever_a_library_sets():
    before = signal.signal(signal.SIGINT, signal.SIG_IGN)  # as of a process that a shell starts in the background
    try:
        with handled():
            signal.signal(signal.SIGINT, signal.default_int_handler)
            reinstall()
            send(signal.SIGINT)
    finally:
        signal.signal(signal.SIGINT, before)


def test_one_that_was_answered_is_over():
    with handled():
        with pytest.raises(KeyboardInterrupt):
            send(signal.SIGINT)
        assert pending_signal() == signal.SIGINT
        dismiss()
        assert pending_signal() == 0


def test_a_program_that_signals_are_lent_to_catches_one_and_goes_on():
    with handled(SOON):
        ours = signal.getsignal(signal.SIGTERM)
        with lent():
            with pytest.raises(KeyboardInterrupt):
                send(signal.SIGINT)
            heard = []
            signal.signal(signal.SIGTERM, lambda number, _frame: heard.append(number))
            send(signal.SIGTERM)
        assert (heard, pending_signal(), signal.getsignal(signal.SIGTERM)) == ([signal.SIGTERM], 0, ours)


LENT = """
import os, signal, sys, time
from headworks.interrupts import handled, lent
with handled(0.5):
    with lent():
        try:
            os.kill(os.getpid(), signal.SIGTERM)
        except KeyboardInterrupt:
            time.sleep(2)
            print("in order", flush=True)
            if sys.argv[1] == "raises":
                raise
    print("dealt with", flush=True)
    sys.exit(3)
"""


@pytest.mark.parametrize(
    ("what", "code", "said"), [("catches", 3, ["in order", "dealt with"]), ("raises", 143, ["in order"])]
)
def test_a_signal_has_no_limit_before_it_leaves_the_program(what, code, said):
    """What leaves it is a signal of the process again."""
    done = subprocess.run([sys.executable, "-c", LENT, what], capture_output=True, text=True, timeout=PATIENCE)
    assert (done.returncode, done.stdout.splitlines()) == (code, said)


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


FINALIZER = """
import os, signal, time
from headworks.interrupts import handled, raise_pending
class Thing:
    def __del__(self):
        os.kill(os.getpid(), signal.SIGTERM)
        sum(range(10))
with handled(limit=LIMIT):
    Thing()
    print("goes on", flush=True)
    raise_pending()
    time.sleep(600)
"""


def test_a_signal_that_python_drops_in_a_finalizer_ends_the_process_at_its_limit():
    run, seconds = python(FINALIZER.replace("raise_pending()\n", "\n").replace("LIMIT", "0.5"))
    assert (run.returncode, run.stdout) == (128 + signal.SIGTERM, "goes on\n")
    assert seconds < SOON


def test_a_loop_that_checks_ends_before_the_limit():
    run, seconds = python(FINALIZER.replace("LIMIT", "600"))
    assert run.returncode == 128 + signal.SIGTERM
    assert seconds < SOON


def test_a_signal_that_another_thread_takes_ends_the_process_at_its_limit():
    """As when it comes right before the system call of the main thread."""
    run, seconds = python("""
import signal, threading, time
from headworks.interrupts import handled
with handled(limit=0.5):
    take = lambda: signal.pthread_kill(threading.get_ident(), signal.SIGTERM)
    threading.Timer(0.2, take).start()
    time.sleep(600)
""")
    assert run.returncode == 128 + signal.SIGTERM
    assert seconds < SOON


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
from headworks.interrupts import dismiss, handled
with handled(limit=0.3):
    try:
        os.kill(os.getpid(), signal.SIGINT)
        time.sleep(600)
    except KeyboardInterrupt:
        dismiss()
    time.sleep(1)
    print("goes on")
""")
    assert (run.returncode, run.stdout) == (0, "goes on\n")


def test_a_loop_that_lives_through_errors_ends():
    """A library put another error in the place of the exception."""
    run, _ = python("""
import os, signal
from headworks.interrupts import handled, raise_pending
with handled(limit=60):
    for number in range(3):
        raise_pending()
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
from headworks.interrupts import handled
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

"""The command line as a shell sees it, here or in a process of its own, and the processes that a command leaves."""

from __future__ import annotations

import contextlib
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time
import uuid
from pathlib import Path
from unittest import mock

import psutil
from click.testing import CliRunner

from headworks.cli import main as cli
from patience import PATIENCE

HEADWORKS = shutil.which("headworks", path=str(Path(sys.executable).parent)) or "headworks"
MARK = "HEADWORKS_TEST_MARK"


class _Script:
    """The console script without what it does to its process: signals, descriptors and its end."""

    name = "headworks"

    def main(self, args, prog_name):
        main = sys.modules["__main__"]  # click tells from its package how it was called: as pytest here
        with (
            mock.patch.object(sys, "argv", [prog_name, *args]),
            mock.patch.object(main, "__package__", "", create=True),
        ):
            sys.exit(cli._run())


def called(*words, stdin="", **environment):
    """Run the command line in this process; it prints as in one of its own, which costs half a second more."""
    done = CliRunner(env={"COLUMNS": "80", **environment}).invoke(_Script(), [*map(str, words)], input=stdin)
    if done.exc_info and not issubclass(done.exc_info[0], SystemExit):
        raise done.exc_info[1]
    return subprocess.CompletedProcess(words, done.exit_code, done.stdout, done.stderr)


def headworks(*words, stdin="", timeout=PATIENCE, **environment):
    """Run the console script; no run may end in a traceback."""
    run = subprocess.run(
        [HEADWORKS, *map(str, words)],
        input=stdin,
        env={**os.environ, **environment},
        capture_output=True,
        text=True,
        timeout=timeout,
    )
    assert "Traceback" not in run.stderr, run.stderr
    return run


@contextlib.contextmanager
def running(*words, folder, program=(HEADWORKS,), stderr=subprocess.PIPE, **environment):
    """The console script, or another program, in a session of its own, and a mark that all it starts bears.

    Whatever happens in the block, all of that is ended and waited for, and the pipes are closed.
    """
    mark = uuid.uuid4().hex
    process = subprocess.Popen(
        [*map(str, program), *map(str, words)],
        cwd=folder,
        env={**os.environ, MARK: mark, **environment},
        stdout=subprocess.PIPE,
        stderr=stderr,
        text=True,
        start_new_session=True,
    )
    with process:
        try:
            yield process, mark
        finally:
            end(mark)


def marked(mark):
    """Processes that inherited the mark and still run."""
    found = []
    for process in psutil.process_iter():
        with contextlib.suppress(psutil.Error, OSError):
            if process.environ().get(MARK) == mark:
                found.append(process)
    return found


def end(mark):
    """Kill what bears the mark, until nothing does."""
    while left := marked(mark):
        for process in left:
            with contextlib.suppress(psutil.Error):
                process.kill()
        time.sleep(0.05)


def gone(mark, seconds=60):
    """The command lines of the marked processes that are left after some seconds."""
    deadline = time.monotonic() + seconds
    while marked(mark) and time.monotonic() < deadline:
        time.sleep(0.1)
    return [told(process) for process in marked(mark)]


def told(process):
    """The beginning of a command line."""
    with contextlib.suppress(psutil.Error):
        return " ".join(process.cmdline())[:120]
    return "ended"


def interrupted(*words, folder, number, at):
    """Send a signal to a command once a message says `at`; it has to end with an error, and all it started too."""
    with running(*words, folder=folder) as (process, mark):
        for line in process.stderr:
            if at in line:
                break
        assert len(marked(mark)) > 4
        process.send_signal(number)
        _, messages = process.communicate(timeout=PATIENCE)
        assert process.returncode == 128 + number
        assert "Traceback" not in messages
        assert gone(mark) == []


def followed(*words, journal, rounds, folder, number=signal.SIGINT, tracebacks=False, **environment):
    """Run a command until its journal has so many rounds, then send a signal; nothing that it started may be left.

    An application that is called back, as by `foreachBatch`, may have tracebacks of its own.
    """
    with tempfile.TemporaryFile("w+") as said, running(*words, folder=folder, stderr=said, **environment) as made:
        process, mark = made
        reader = threading.Thread(target=process.stdout.read, daemon=True)
        reader.start()
        deadline = time.monotonic() + PATIENCE
        while not journal.exists() or len(journal.read_text().splitlines()) < rounds:
            assert process.poll() is None, read(said)
            assert time.monotonic() < deadline, read(said)
            time.sleep(0.1)
        process.send_signal(number)
        process.wait(PATIENCE)
        messages = read(said)
        assert tracebacks or "Traceback" not in messages, messages
        assert gone(mark) == []
        return subprocess.CompletedProcess(words, process.returncode, "", messages)


def read(file):
    """The text of a file from its beginning."""
    file.seek(0)
    return file.read()

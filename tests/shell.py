"""The command line as a shell sees it."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import time
import uuid
from pathlib import Path

HEADGATE = shutil.which("headgate", path=str(Path(sys.executable).parent)) or "headgate"
MARK = "HEADGATE_TEST_MARK"


def headgate(*words, stdin="", timeout=60, **environment):
    """Run the console script; no run may end in a traceback."""
    run = subprocess.run(
        [HEADGATE, *map(str, words)],
        input=stdin,
        env={**os.environ, **environment},
        capture_output=True,
        text=True,
        timeout=timeout,
    )
    assert "Traceback" not in run.stderr, run.stderr
    return run


def start(*words, folder, **environment):
    """Start the console script in a session of its own; the process, and a mark that all it starts will bear."""
    mark = uuid.uuid4().hex
    process = subprocess.Popen(
        [HEADGATE, *words],
        cwd=folder,
        env={**os.environ, MARK: mark, **environment},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )
    return process, mark


def marked(mark):
    """Processes that inherited the mark and still run."""
    found = []
    for folder in Path("/proc").glob("[0-9]*"):
        try:
            if f"{MARK}={mark}".encode() in (folder / "environ").read_bytes():
                found.append((folder / "cmdline").read_bytes().replace(b"\0", b" ")[:120])
        except OSError:
            continue
    return found


def gone(mark):
    """The marked processes that are left after some seconds."""
    deadline = time.monotonic() + 20
    while marked(mark) and time.monotonic() < deadline:
        time.sleep(0.2)
    return marked(mark)


def interrupted(*words, folder, number, at):
    """Send a signal to a command once a message says `at`; it has to end with an error, and all it started too."""
    process, mark = start(*words, folder=folder)
    for line in process.stderr:
        if at in line:
            break
    assert len(marked(mark)) > 4
    process.send_signal(number)
    try:
        _, messages = process.communicate(timeout=120)
    finally:
        process.kill()
    assert process.returncode not in (0, None)
    assert "Traceback" not in messages
    assert gone(mark) == []

"""The script from its first line on: a Ctrl-C that comes while it imports is not lost."""

from __future__ import annotations

import os
import signal
import subprocess
import sys

from shell import HEADWORKS

INTERRUPTING = """
import os, signal, sys, weakref


class Module:
    '''Dies as the lock of an import does: the callback of its weak reference runs, and drops what is raised in it.'''


def interrupt(_reference):
    os.kill(os.getpid(), signal.SIGINT)
    for _ in range(10):  # the interpreter looks for signals
        pass


class Finder:
    def find_spec(self, name, path=None, target=None):
        if name == "click":
            module = Module()
            reference = weakref.ref(module, interrupt)
            del module


sys.meta_path.insert(0, Finder())
"""


def test_a_ctrl_c_in_the_callback_of_an_import_ends_it(tmp_path):
    (tmp_path / "sitecustomize.py").write_text(INTERRUPTING)
    for program in ([HEADWORKS], [sys.executable, "-m", "headworks"]):
        run = subprocess.run(
            [*program, "plugins"], env={**os.environ, "PYTHONPATH": str(tmp_path)}, capture_output=True, text=True
        )
        assert (run.returncode, run.stdout, run.stderr) == (-signal.SIGINT, "", "")

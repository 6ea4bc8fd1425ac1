"""The command line as a module."""

from __future__ import annotations

import subprocess
import sys


def test_python_runs_the_package():
    done = subprocess.run([sys.executable, "-m", "headworks", "plan", "-s"], capture_output=True, text=True)
    assert done.returncode == 2
    assert "requires an argument" in done.stderr

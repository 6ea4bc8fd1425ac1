"""Cycles are searched seldom where a process is Headworks's own, and a library leaves its host's setting alone."""

from __future__ import annotations

import subprocess
import sys

import pytest

COMMAND = """
import sys
from headworks.cli.main import main
sys.argv = ["headworks", "--version"]
try:
    main()
except SystemExit:
    pass
"""
LIBRARY = "import headworks\nheadworks.plan(headworks.workload('dstorm:linear'), 'even')"


@pytest.mark.parametrize(("code", "seldom"), [(COMMAND, True), (LIBRARY, False)])
def test_cycles_are_searched_seldom_in_a_program_of_headworks_s_own(code, seldom):
    told = "import gc\nbefore = gc.get_threshold()\n" + code + "\nprint(gc.get_threshold() == before)"
    done = subprocess.run([sys.executable, "-c", told], capture_output=True, text=True, timeout=60, check=True)
    assert done.stdout.splitlines()[-1] == str(not seldom)

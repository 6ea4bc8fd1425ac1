"""The command line as a shell sees it."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

HEADGATE = shutil.which("headgate", path=str(Path(sys.executable).parent)) or "headgate"


def headgate(*words, stdin="", **environment):
    """Run the console script; no run may end in a traceback."""
    run = subprocess.run(
        [HEADGATE, *map(str, words)],
        input=stdin,
        env={**os.environ, **environment},
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert "Traceback" not in run.stderr, run.stderr
    return run

"""An environment of a stranger's: the built wheel of Headgate, and packages that know nothing else of it."""

from __future__ import annotations

import os
import subprocess
import sys
import venv
from pathlib import Path

ROOT = Path(__file__).parents[2]


def run(*command, cwd=None, code=0, **environment):
    """Run a command; its output."""
    words = [str(part) for part in command]
    done = subprocess.run(words, cwd=cwd, env={**os.environ, **environment}, capture_output=True, text=True)
    assert done.returncode == code, f"{command}\n{done.stdout[-3000:]}\n{done.stderr[-2000:]}"
    return done.stdout


def make(folder):
    """Make the environment in a folder; its programs are in `folder/env/bin`."""
    run(sys.executable, "-m", "pip", "wheel", "--quiet", "--no-deps", "--wheel-dir", folder, ROOT)
    (wheel,) = folder.glob("headgate-*.whl")
    venv.create(folder / "env", with_pip=True)
    run(folder / "env" / "bin" / "python", "-m", "pip", "install", "--quiet", f"{wheel}[test]", "mypy", "types-psutil")
    return folder


def install(folder, package):
    """Install a stranger's package from its folder, as a wheel."""
    run(folder / "env" / "bin" / "python", "-m", "pip", "install", "--quiet", "--no-deps", package)

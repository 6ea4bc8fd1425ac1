"""An environment of a stranger's: the built wheel of Headworks, and packages that know nothing else of it."""

from __future__ import annotations

import os
import subprocess
import sys
import venv
from pathlib import Path

ROOT = Path(__file__).parents[2]
SITE = "import sysconfig; print(sysconfig.get_path('purelib'))"


def run(*command, cwd=None, code=0, **environment):
    """Run a command; its output."""
    words = [str(part) for part in command]
    done = subprocess.run(words, cwd=cwd, env={**os.environ, **environment}, capture_output=True, text=True)
    assert done.returncode == code, f"{command}\n{done.stdout[-3000:]}\n{done.stderr[-2000:]}"
    return done.stdout


def make(folder, *, alone=False):
    """Make the environment in a folder; its programs are in `folder/env/bin`.

    What Headworks depends on is that of this environment, behind its own, unless it is alone.
    """
    run(sys.executable, "-m", "pip", "wheel", "--quiet", "--no-deps", "--wheel-dir", folder, ROOT)
    (wheel,) = folder.glob("headworks-*.whl")
    venv.create(folder / "env", with_pip=True)
    python = folder / "env" / "bin" / "python"
    if alone:
        run(python, "-m", "pip", "install", "--quiet", f"{wheel}[testing]")
        return folder
    own, ours = (run(each, "-c", SITE).strip() for each in (python, sys.executable))
    Path(own, "dependencies.pth").write_text(ours + "\n")
    run(python, "-m", "pip", "install", "--quiet", "--no-deps", "--ignore-installed", wheel)
    run(python, "-m", "pip", "install", "--quiet", "mypy", "types-psutil")
    return folder


def install(folder, package):
    """Install a stranger's package from its folder, as a wheel."""
    run(folder / "env" / "bin" / "python", "-m", "pip", "install", "--quiet", "--no-deps", package)

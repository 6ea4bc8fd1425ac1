"""How long a user waits before anything happens: imports and the first command, beside a bare Python, in one run."""

from __future__ import annotations

import shutil
import subprocess
import sys
import time
from pathlib import Path

from headworks.cli.output import console, table

HEADWORKS = shutil.which("headworks", path=str(Path(sys.executable).parent)) or "headworks"
CASES = {
    "python -c pass": [sys.executable, "-c", "pass"],
    "import headworks": [sys.executable, "-c", "import headworks"],
    "import headworks, all names": [sys.executable, "-c", "from headworks import *"],
    "headworks --help": [HEADWORKS, "--help"],
}
HEAVY = ("numpy", "pyspark", "py4j", "pandas", "jsonschema", "rich")
RUNS = 15


def best(command: list[str]) -> float:
    """The fastest of some runs, in seconds: the others waited for something else."""
    seconds = []
    for _ in range(RUNS):
        begin = time.perf_counter()
        subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
        seconds.append(time.perf_counter() - begin)
    return min(seconds)


def heavy(statement: str) -> str:
    """Heavy packages that a statement loads."""
    code = f"{statement}; import sys; print(*(name for name in {HEAVY!r} if name in sys.modules))"
    return subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True).stdout.strip()


def main() -> None:
    """Print the table."""
    seconds = {name: best(command) for name, command in CASES.items()}
    bare = seconds["python -c pass"]
    loads = {
        "import headworks": heavy("import headworks"),
        "import headworks, all names": heavy("from headworks import *"),
    }
    rows = [
        (name, f"{took * 1000:.0f}", f"{took / bare:.1f}", loads.get(name, "") or "-") for name, took in seconds.items()
    ]
    console().print(table("", ("start", "ms", "times bare", "heavy packages"), rows, numbers=("ms", "times bare")))


if __name__ == "__main__":
    main()

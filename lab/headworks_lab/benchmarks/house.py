"""Counts of the source tree that tell whether it is growing: sizes, walks, private imports.

`python -m headworks_lab.benchmarks.house` prints them for the clone that it is run from.
"""

from __future__ import annotations

import argparse
import ast
import subprocess
import sys
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from types import FrameType

CORE = (
    "control",
    "api.py",
    "plugins",
    "toolbox",
    "hooks",
    "documents",
    "problem",
    "model",
    "errors.py",
    "interrupts.py",
)
"""Rooms of the core, from the control loop down."""
PUBLIC = ("documents", "errors", "hooks", "model", "problem", "testing", "toolbox")
"""What a stranger may import of `headworks`, beside its root."""
PARTS = ("sdk", "adapters", "plugins", "lab", "schemas")
SMALL, MANY = 45, 12
"""Lines below which a module is small; files above which a folder is crowded."""
WALK = ("plan", "dstorm:linear", "-s", "even")
"""The command whose walk is counted."""


def modules(root: Path, parts: Iterable[str] = PARTS) -> list[Path]:
    """Python files below some folders, in order."""
    found = (file for part in parts for file in (root / part).rglob("*.py") if "java" not in file.parts)
    return sorted(file for file in found if not any(each.startswith(".") or each == "build" for each in file.parts))


def lines(files: Iterable[Path]) -> int:
    """Lines of all files."""
    return sum(len(file.read_text().splitlines()) for file in files)


def core(root: Path) -> list[Path]:
    """Modules of the core's rooms; a room may be a file."""
    home = root / "sdk" / "headworks"
    return [file for file in modules(home, ["."]) if file.relative_to(home).parts[0] in CORE]


def small(root: Path) -> list[Path]:
    """Modules below `SMALL` lines, packages' heads apart."""
    return [file for file in modules(root) if file.name != "__init__.py" and lines([file]) < SMALL]


def crowded(root: Path) -> dict[str, int]:
    """Folders with more than `MANY` Python files, and their number; the laboratory's are its own concern."""
    files = modules(root, ("sdk", "adapters", "plugins", "schemas"))
    folders = Counter(str(file.parent.relative_to(root)) for file in files)
    return {folder: count for folder, count in sorted(folders.items()) if count > MANY}


def hooks() -> int:
    """Hooks that a plugin may implement."""
    # The command whose walk is counted starts in this module, and is to find nothing imported.
    from headworks.hooks import SPECS

    return len({name for spec in SPECS for name in vars(spec) if name.startswith("headworks_")})


def private_imports(root: Path) -> list[str]:
    """Modules of `headworks` that are not public, for each adapter that imports them."""
    found = {
        f"{file.relative_to(root / 'adapters').parts[0]}: {module}"
        for file in modules(root, ["adapters"])
        for module in _imported(file)
        if module.startswith("headworks.") and module.split(".")[1] not in PUBLIC
    }
    return sorted(found)


def _imported(file: Path) -> Iterator[str]:
    for node in ast.walk(ast.parse(file.read_text())):
        if isinstance(node, ast.ImportFrom) and node.module:
            yield node.module
        elif isinstance(node, ast.Import):
            yield from (each.name for each in node.names)


def walk() -> None:
    """Run the command, and print the number of our modules whose code ran."""
    entered: set[str] = set()

    def note(frame: FrameType, event: str, _value: object) -> None:
        if event == "call" and (name := frame.f_globals.get("__name__", "")).startswith("headworks"):
            entered.add(name)

    # Imported here: the modules that it loads at its import are those that every command loads.
    from headworks.cli.main import main as command

    sys.argv = ["headworks", *WALK]
    sys.setprofile(note)
    try:
        command()
    except SystemExit:
        sys.setprofile(None)
    sys.stderr.write(f"{len(entered - {__name__})}\n")


def walked() -> int:
    """Modules that the command enters, in a process of its own."""
    ran = subprocess.run([sys.executable, "-m", __spec__.name, "--walk"], capture_output=True, text=True, check=True)
    return int(ran.stderr.splitlines()[-1])


def counts(root: Path) -> Iterator[tuple[str, str]]:
    """Each count with its name."""
    home = root / "sdk" / "headworks"
    folders = ", ".join(f"{folder} {count}" for folder, count in crowded(root).items())
    yield "lines of sdk/headworks", f"{lines(modules(home, ['.'])):,}"
    yield "lines of the core's rooms", f"{lines(core(root)):,}"
    yield f"modules below {SMALL} lines", str(len(small(root)))
    yield f"folders over {MANY} files", folders or "none"
    yield f"modules that `headworks {' '.join(WALK)}` enters", str(walked())
    yield "hooks", str(hooks())
    for file in sorted((home / "hooks").glob("*.py")):
        yield f"lines of hooks/{file.name}", str(lines([file]))
    yield "imports of private rooms by adapters", str(len(private_imports(root)))


def main() -> None:
    """Print the counts, or the names that are counted."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--names", action="store_true", help="also print small modules and private imports")
    parser.add_argument("--walk", action="store_true", help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.walk:
        walk()
        return
    root = Path.cwd()
    for name, count in counts(root):
        print(f"{name}: {count}")
    if given.names:
        print(*(file.relative_to(root) for file in small(root)), *private_imports(root), sep="\n")


if __name__ == "__main__":
    main()

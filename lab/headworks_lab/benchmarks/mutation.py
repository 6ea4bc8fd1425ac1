"""What the tests notice: small changes of the code (mutants), and how many of them make a test fail, by mutmut.

    python -m headworks_lab.benchmarks.mutation --part core --sample 300 --seed 1

mutmut finds packages below `src` alone, so the tree is copied there. Its mutants are within functions: constants of
modules and decorated functions stay as they are. A sample is drawn by a seed, which is printed; without `--sample` all
mutants of a part are tried, which takes hours. A folder that is given is used again: mutants that were tried before and
whose function has not changed are not tried again.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

import attrs

ROOT = Path(__file__).parents[3]
LEAST = 85.0
"""Percent of the mutants that have to be killed, without those that `EQUAL` says."""
NEEDLESS = "spark or storm or network or slow"
"""Tests that are not asked: they start engines, or take long."""
EQUAL = (
    (r",? ?strict=(True|False|None)", "lengths are equal: `strict` says so, and never raises"),
    (r"\"(utf-8|UTF-8)\"", "one encoding"),
    (r"cast\((\"[^\"]*\"|None), ", "a type for the checker alone"),
    (r",? ?(kw_only|eq|repr)=(True|False|None)", "a convenience of a value"),
)
"""Mutants that no test can notice, by what differs in the changed line, and why."""
PRELOADED = ("pytest", "numpy", "attrs", "cattrs", "jsonschema", "click", "rich")
"""Imported once for all mutants. Nothing of Headworks is: what runs as it is imported has to be mutated as well.
Nothing that has a pytest plugin is either: pytest warns that it cannot rewrite it, and warnings are errors."""
IMPORTED = "addopts=--import-mode=importlib"
"""Setting of pytest by which tests are imported, and nothing else is added."""
ABORTED = 255
"""Exit code of a worker whose tests could not even begin: a mutant may cause that, most of them do not."""
EVIDENCE = ("*/claims.py", "*/workloads.py", "*/improvements.py", "*/evidence/*", "*/plugin.py")
"""Figures of papers, requests to try, and descriptions: no algorithms."""
UNSEEN = 33
"""Exit code of mutants that no test reaches in the process of the tests."""
ELSEWHERE = {
    "headworks.plugins.worker.": ("__main__.", "tests/sdk/plugins/test_isolation.py"),
    "headworks.plugins.own_process.": ("headworks.plugins.own_process.", "tests/sdk/cli/test_streams.py"),
}
"""Modules that run in processes which tests start, where mutmut does not see them, their names there, and the tests."""
KILLED = {1, 3, 24, -24, 36, 152, 255, -9, -11}
"""Exit codes of a worker whose tests failed, ran out of time, or crashed."""


@attrs.frozen
class Part:
    """Code that is mutated, and the tests that have to notice; patterns of files, below `src`, and of tests."""

    code: tuple[str, ...]
    tests: tuple[str, ...]


def package(name: str, *code: str, tests: str) -> Part:
    """Folders or files of one import package."""
    return Part(tuple(f"src/{name}/{each}" for each in code or ("*",)), (tests,))


ROOMS = ("model", "documents", "problem", "toolbox", "plugins", "control")
PARTS = {
    "core": Part(
        tuple(f"src/headworks/{each}/*" for each in ROOMS),
        (*(f"tests/sdk/{each}" for each in ROOMS), "tests/sdk/test_api.py"),
    ),
    "baselines": package("headworks_baselines", tests="tests/plugins/baselines"),
    "dstorm": package("headworks_dstorm", tests="tests/plugins/dstorm"),
    "exact": package("headworks_exact", tests="tests/plugins/exact"),
    "hetero": package("headworks_hetero", tests="tests/plugins/hetero"),
    "nstorm": package("headworks_nstorm", tests="tests/plugins/nstorm"),
    "priority": package("headworks_priority", tests="tests/plugins/priority"),
    "storm": package("headworks_storm", "nimbus/[!b]*", "workers/*", tests="tests/adapters/storm"),
    "spark": package("headworks_spark", "events/[!r]*", tests="tests/adapters/spark"),
    "pipeline": package(
        "headworks_pipeline", "learning/fit.py", "learning/drift.py", "tables/clean.py", tests="tests/adapters/pipeline"
    ),
    "sim": package("headworks_sim", "steady.py", "streams.py", "migration.py", "stalls.py", tests="tests/adapters/sim"),
}


def lay_out(folder: Path, part: Part) -> None:
    """Packages in `src`, the tests, the documents that some of them read, and mutmut's configuration."""
    for root in ("sdk", "plugins", "adapters", "schemas"):
        shutil.copytree(ROOT / root, folder / "src", dirs_exist_ok=True, ignore=shutil.ignore_patterns("__pycache__"))
    for root in ("tests", "docs"):
        shutil.copytree(ROOT / root, folder / root, dirs_exist_ok=True)
    shutil.rmtree(folder / "mutants" / "tests", ignore_errors=True)
    # Python forgets a folder of its path that is not there when it starts, and would import the code that is installed
    (folder / "mutants" / "src").mkdir(parents=True, exist_ok=True)
    table = f"""
[tool.mutmut]
source_paths = ["src"]
only_mutate = {json.dumps(part.code)}
do_not_mutate = {json.dumps(EVIDENCE)}
pytest_add_cli_args_test_selection = {json.dumps(part.tests)}
pytest_add_cli_args = ["-m", "not ({NEEDLESS})", "-p", "no:cacheprovider", "-o", "{IMPORTED}"]
process_isolation = "forkserver"
forkserver_warmup = "import"
preload_modules_file = "preload.txt"
also_copy = ["docs"]
use_git_change_detection = false
on_dependency_change = "ignore"
timeout_multiplier = 3.0
timeout_constant = 10.0
"""
    (folder / "preload.txt").write_text("\n".join(PRELOADED))
    (folder / "pyproject.toml").write_text((ROOT / "pyproject.toml").read_text() + table)


def mutmut(folder: Path, *words: str) -> subprocess.CompletedProcess[str]:
    """Run mutmut in the folder."""
    # processes that a test starts have to find the mutated packages too
    environment = {**os.environ, "PYTHONPATH": str(folder / "mutants" / "src")}
    command = [str(Path(sys.executable).with_name("mutmut")), *words]
    return subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, check=False)


def words(done: subprocess.CompletedProcess[str]) -> str:
    """The end of what mutmut said, without its spinner."""
    lines = re.split(r"[\r\n]+", done.stdout + done.stderr)
    return "\n".join([each for each in lines if not re.match(r"[\u2800-\u28ff] ", each)][-100:])


def results(folder: Path) -> dict[str, int | None]:
    """Exit code by mutant, None for those that were not tried."""
    files = sorted((folder / "mutants" / "src").rglob("*.py.meta"))
    return {name: code for each in files for name, code in json.loads(each.read_text())["exit_code_by_key"].items()}


def run(folder: Path, part: Part, sample: int, seed: int, children: int) -> dict[str, int | None]:
    """Try mutants; the exit codes of those that were to be tried."""
    lay_out(folder, part)
    first = mutmut(folder, "run", "--max-children", str(children), "no mutant has this name")
    names = sorted(results(folder))
    if "nothing matches" not in first.stderr + first.stdout or not names:
        sys.exit(f"mutmut could not begin:\n{words(first)}")
    chosen = random.Random(seed).sample(names, min(sample, len(names))) if sample else names
    done = mutmut(folder, "run", "--max-children", str(children), *(chosen if sample else ()))
    found = {name: code for name, code in results(folder).items() if name in set(chosen)}
    if list(found.values()).count(ABORTED) > len(found) / 2:
        sys.exit(f"most tests could not begin:\n{words(done)}")
    if None in found.values():
        sys.exit(f"mutmut did not end:\n{words(done)}")
    return {name: tried_elsewhere(folder, name) if code == UNSEEN else code for name, code in found.items()}


def tried_elsewhere(folder: Path, name: str) -> int:
    """Exit code of the tests that start the process in which a mutant runs."""
    module = next((each for each in ELSEWHERE if name.startswith(each)), None)
    if module is None:
        return UNSEEN
    there, tests = ELSEWHERE[module]
    mutant = there + name.removeprefix(module)
    environment = {**os.environ, "PYTHONPATH": str(folder / "mutants" / "src"), "MUTANT_UNDER_TEST": mutant}
    command = [sys.executable, "-m", "pytest", "-q", "-x", "-p", "no:cacheprovider", "-o", IMPORTED, tests]
    done = subprocess.run(command, cwd=folder / "mutants", env=environment, capture_output=True, check=False)
    return done.returncode


def difference(folder: Path, name: str) -> list[str]:
    """The lines that differ."""
    lines = mutmut(folder, "show", name).stdout.splitlines()
    return [each for each in lines if re.match(r"[-+](?![-+])", each)]


def reason(lines: list[str]) -> str:
    """Why a mutant is equal to the code, "" if it is not known to be."""
    for pattern, why in EQUAL:
        before, after = (
            [re.sub(pattern, "", each[1:]).replace(", )", ")") for each in lines if each[0] == sign] for sign in "-+"
        )
        if before == after:
            return why
    return ""


def main() -> None:
    """Try the mutants of the parts, say which ones live, and fail where too many do."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0] if __doc__ else None)
    parser.add_argument("--part", action="append", choices=PARTS, help="all if none is named; may be repeated")
    parser.add_argument("--sample", type=int, default=0, help="mutants of each part; 0 takes all")
    parser.add_argument("--seed", type=int, default=random.randrange(10**6), help="of the sample")
    parser.add_argument("--folder", type=Path, help="where copies and results are kept; by default none are")
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 2)
    given = parser.parse_args()
    bad = []
    for name in given.part or PARTS:
        print(f"{name}: sample {given.sample or 'of all'}, seed {given.seed}", flush=True)
        with tempfile.TemporaryDirectory() as temporary:
            folder = (given.folder or Path(temporary)).resolve() / name
            folder.mkdir(parents=True, exist_ok=True)
            codes = run(folder, PARTS[name], given.sample, given.seed, given.jobs)
            alive = {each: difference(folder, each) for each, code in sorted(codes.items()) if code not in KILLED}
        equal = {each for each, lines in alive.items() if reason(lines)}
        for each in alive.keys() - equal:
            print("\n".join([f"lives: {each}", *alive[each]]))
        tried, killed = len(codes) - len(equal), len(codes) - len(alive)
        share = 100 * killed / tried if tried else 100.0
        print(f"{name}: {killed} of {tried} killed ({share:.1f} %), {len(equal)} more are equal", flush=True)
        if share < LEAST:
            bad.append(name)
    if bad:
        sys.exit(f"below {LEAST:g} %: {', '.join(bad)}")


if __name__ == "__main__":
    main()

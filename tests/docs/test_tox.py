"""What `tox` runs by default: every test that needs an engine or a network is in a folder that it names."""

import configparser
import re
import shlex
from pathlib import Path

ROOT = Path(__file__).parents[2]
NEEDS = re.compile(r"pytest\.mark\.(?:spark|storm|network)\b")
MATRIX = "tests/contract/test_real_engines.py"
"""All of its tests are of the matrix, which takes every folder."""
WRITES = "tests/test_missing_tools.py"
"""Has such tests in a text that it writes to a file."""


def named():
    """The paths of the second command, which runs engines."""
    tox = configparser.ConfigParser(interpolation=None)
    tox.read(ROOT / "tox.ini")
    _, engines = tox["testenv:py"]["commands"].strip().splitlines()
    assert "(spark or storm or network) and not matrix" in engines
    return [ROOT / word for word in shlex.split(engines) if word.startswith("tests")]


def test_every_test_of_an_engine_is_where_the_default_run_looks():
    files = [each for each in (ROOT / "tests").rglob("test_*.py") if NEEDS.search(each.read_text())]
    assert len(files) > 60
    laboratory = ROOT / "tests" / "lab"
    left = [each for each in files if not any(each.is_relative_to(path) for path in (laboratory, *named()))]
    assert sorted(each.relative_to(ROOT).as_posix() for each in left) == [MATRIX, WRITES]
    text = (ROOT / MATRIX).read_text()
    assert text.count("\ndef test_") == text.count("@pytest.mark.matrix") > 0

"""Each test is run by one of tox's environments, by its markers."""

import configparser
import re
import shlex
from itertools import chain, combinations
from pathlib import Path

ROOT = Path(__file__).parents[2]
MARKERS = ("spark", "storm", "network", "browser", "slow", "smoke", "matrix", "soak")
ENVIRONMENTS = ("py", "engines", "more", "soak")


def selected(environment):
    """The expressions by which the commands of an environment select tests."""
    tox = configparser.ConfigParser(interpolation=None)
    tox.read(ROOT / "tox.ini")
    commands = map(shlex.split, tox[f"testenv:{environment}"]["commands"].strip().splitlines())
    return [words[words.index("-m") + 1] for words in commands]


def possible():
    """Sets of markers that a test may have: smoke and soak are of engines, and no smoke takes long."""
    for marks in map(set, chain.from_iterable(combinations(MARKERS, size) for size in range(len(MARKERS) + 1))):
        engine = bool(marks & {"spark", "storm", "network", "browser"})
        if (engine or not marks & {"smoke", "soak"}) and not ("smoke" in marks and marks & {"matrix", "soak"}):
            yield marks


def test_one_environment_has_each_test():
    expressions = {name: selected(name) for name in ENVIRONMENTS}
    for marks in possible():
        having = {marker: marker in marks for marker in MARKERS}
        found = [name for name, every in expressions.items() for each in every if eval(each, {}, having)]
        assert len(found) == 1, (marks, found)


def test_each_engine_has_a_smoke():
    texts = [each.read_text() for each in (ROOT / "tests").rglob("test_*.py") if each != Path(__file__)]
    files = [text for text in texts if "pytest.mark.smoke" in text]
    assert all(any(f"pytest.mark.{engine}" in text for text in files) for engine in ("spark", "storm"))
    assert all(re.search(r"pytest\.mark\.(spark|storm)", text) for text in files)

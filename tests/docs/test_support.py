"""The tables of supported versions are those of the tests, of the package and of what refuses other versions."""

from __future__ import annotations

import configparser
import re
import tomllib
from pathlib import Path

import click
import pytest

from headworks.cli.main import headworks
from headworks_storm.install.examine import NEWEST, OLDEST, _release
from headworks_storm.install.installation import Installation
from headworks_storm.release.artefacts import STORM, versions

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "support.md").read_text()
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
TOX = configparser.ConfigParser(interpolation=None)
TOX.read(ROOT / "tox.ini")
MATRIX = TOX["tox"]["labels"].partition("matrix = ")[2].split(", ")
CONTAINERS = sorted((ROOT / "examples" / "containers").glob("*.Containerfile"))


def rows(heading):
    """Pairs of a version and its support, in a section's table."""
    section = PAGE.partition(f"## {heading}\n")[2].partition("\n## ")[0]
    found = [tuple(cell.strip() for cell in line.split("|")[1:3]) for line in section.splitlines() if line[:1] == "|"]
    return [each for each in found if each[1] not in ("support", "---")]


def named_as_tested(heading, what):
    """Numbers of versions that a section calls tested."""
    named = " ".join(version for version, support in rows(heading) if support == "tested" and what in version)
    return set(re.findall(r"\d+(?:\.\d+)+", named))


def test_each_row_has_one_of_three_words():
    found = [support for heading in ("Python and systems", "Spark", "Storm", "Java") for _, support in rows(heading)]
    assert len(found) > 15
    assert {*found} == {"tested", "by construction", "refused"}


def test_the_pythons_that_are_tested_are_those_of_the_matrix_and_of_the_package():
    found = named_as_tested("Python and systems", "Python")
    assert found == {f"3.{each}" for each in re.findall(r"py3(\d+)-", " ".join(MATRIX))}
    assert found == {each.rpartition(" ")[2] for each in PROJECT["classifiers"] if "Python :: 3." in each}
    assert PROJECT["requires-python"] == f">={min(found)}"
    assert "Python 3.10 and older" in dict(rows("Python and systems"))


def test_the_sparks_that_are_tested_are_those_of_the_matrix():
    factors = {each.partition("-spark")[2] for each in MATRIX if "-spark" in each}
    lines = TOX["testenv:py{311,312,313}-spark{350,35,400,43}"]["deps"].split("\n")
    needs = dict(line.split(": pyspark==") for line in lines if line)
    assert {f"spark{each}" for each in factors} == needs.keys()
    assert named_as_tested("Spark", "Spark 3.5") == {".".join(each.split(".")[:2]) for each in needs.values()}
    (bound,) = (each for each in PROJECT["optional-dependencies"]["spark"] if each.startswith("pyspark"))
    assert bound == "pyspark>=3.5,<5"
    assert dict(rows("Spark"))["Spark 3.4 and older"] == "refused"


def test_the_storms_that_are_tested_have_a_lock_file():
    assert named_as_tested("Storm", "Storm") == {*versions()}
    assert TOX["testenv:storm264"]["set_env"] == "HEADWORKS_TEST_STORM = 2.6.4"
    assert STORM == "2.8.3"


@pytest.mark.parametrize(
    ("version", "status"),
    [("2.1.0", "broken"), ("2.2.0", "missing"), ("2.5.0", "missing"), ("2.7.1", "ok"), ("2.9.0", "missing")],
)
def test_the_doctor_says_of_other_storms_what_the_page_says(version, status):
    assert (OLDEST, NEWEST) == ((2, 6), (2, 8))
    assert _release(Installation(home=Path(), version=version)).status == status


def commands(file):
    """Command lines of ours in a Containerfile, as words."""
    text = re.sub(r"^#.*$", "", file.read_text(), flags=re.MULTILINE).replace("\\\n", " ")
    lists = [" ".join(re.findall(r'"([^"]*)"', each)) for each in re.findall(r"^(?:ENTRYPOINT|CMD) (.*)$", text, re.M)]
    runs = [part.strip() for each in re.findall(r"^RUN (.*)$", text, re.M) for part in each.split("&&")]
    return [each.split() for each in (" ".join(lists), *runs) if each.startswith("headworks ")]


def resolved(words):
    """The command that words lead to, and the words that are left."""
    command, rest = headworks, words[1:]
    while isinstance(command, click.Group):
        command = command.get_command(click.Context(command), rest[0])
        rest = rest[1:]
    return command, rest


@pytest.mark.parametrize("file", CONTAINERS, ids=lambda each: each.stem)
def test_a_container_runs_a_command_with_options_that_it_has(file):
    (words,) = commands(file)
    command, rest = resolved(words)
    assert command.make_context(" ".join(words), rest).params


@pytest.mark.parametrize("file", CONTAINERS, ids=lambda each: each.stem)
def test_a_container_is_on_the_page_and_on_a_python_that_is_tested(file):
    text = file.read_text()
    assert f"`{file.relative_to(ROOT)}`" in PAGE
    assert re.search(r"^FROM docker.io/library/python:([\d.]+)-slim$", text, re.M)[1] == min(
        named_as_tested("Python and systems", "Python")
    )
    extras = re.findall(r"whl\)\[(\w+)\]", text)
    assert extras
    assert {*extras} <= PROJECT["optional-dependencies"].keys()


def test_each_container_is_there():
    assert [each.stem for each in CONTAINERS] == ["serve-storm", "spark-driver"]

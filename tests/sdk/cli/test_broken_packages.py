"""Packages as accidents leave them beside a good one: each is a sentence of the doctor, and no other command knows."""

from __future__ import annotations

import json
import os
import shutil

import pytest

from plugin_folder import GOOD, install
from shell import headworks

DESCRIBED = """
from headworks.hooks import Description, hookimpl

class Plugin:
    @hookimpl
    def headworks_describe(self):
        return Description(summary="x", deadlines=DEADLINES)

    @hookimpl
    def headworks_review(self):
        BODY

plugin = Plugin()
"""
BASE = "class Left(BaseException):\n    pass\nraise Left('the room')"
MODULE = (
    "import sys\n"
    + GOOD.partition("class Plugin:")[0]
    + """
@hookimpl
def headworks_describe():
    return Description(summary="A module.")

@hookimpl
def headworks_schedule(problem):
    return problem.plan([-1] * problem.n)

plugin = sys.modules[__name__]
"""
)
HANGS = DESCRIBED.replace("DEADLINES", "{'headworks_review': 0.5}").replace("BODY", "import time; time.sleep(3600)")
OBJECTS = DESCRIBED.replace("DEADLINES", "{}").replace("BODY", "return ['no']")
SOURCES = {
    "good": GOOD,
    "module": MODULE,
    "base": BASE,
    "leaving": "raise GeneratorExit",
    **{
        f"late{number}": DESCRIBED.replace("DEADLINES", said).replace("BODY", "return None")
        for number, said in enumerate(
            ("None", "{'headworks_review': float('nan')}", "{'headworks_open': 'soon'}", "{'x': -1}")
        )
    },
}


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Every accident at once."""
    made = tmp_path_factory.mktemp("packages")
    rounds = "".join(f"late{number} = acme_late{number}:plugin\n" for number in range(4))
    install(made, "acme", SOURCES, rounds=rounds)
    install(
        made,
        "reviews",
        {"hangs": HANGS, "objects": OBJECTS},
        rounds="hangs = reviews_hangs:plugin\nobjects = reviews_objects:plugin",
    )
    install(made, "cut", {"cut": GOOD}, commands="cutoff = cut_cut:plugin")
    (made / "cut-1.2.3.dist-info" / "METADATA").unlink()
    install(made, "twin", {"even": GOOD, "twins": GOOD})
    (made / "twin-1.2.3.dist-info" / "METADATA").write_text("Metadata-Version: 2.1\nName: headworks\nVersion: 99\n")
    install(made, "torn", {"torn": GOOD})
    (made / "torn-1.2.3.dist-info" / "entry_points.txt").write_bytes(b"[headworks]\nno value\n")
    return made


def called(folder, *words):
    paths = filter(None, (str(folder), os.environ.get("PYTHONPATH")))
    return headworks(*words, PYTHONPATH=os.pathsep.join(paths))


SAID = {
    "plugin base": "cannot be imported: Left: the room",
    "plugin leaving": "cannot be imported: GeneratorExit",
    "plugin late0": "its deadline of all hooks is None: give seconds above 0",
    "plugin late1": "its deadline of headworks_review is nan",
    "plugin late2": "its deadline of headworks_open is 'soon'",
    "plugin late3": "its deadline of x is -1",
    "plugin cut": "cut_cut:plugin of unknown: its dist-info has no METADATA",
    "command cutoff": "its dist-info has no METADATA, as after an installation that was cut off: install it again",
    "plugin even": "twin_even:plugin of headworks: a built-in one has this name",
    "plugin torn": "entry_points.txt: cannot be read: TypeError",
    "reviewer hangs": "holds every plan of every scheduler: hangs: headworks_review has no answer after 0.5 s",
}


def test_each_is_a_sentence_of_the_doctor(folder):
    done = called(folder, "doctor", "--json")
    assert done.returncode == 3
    found = {each["subject"]: each for each in json.loads(done.stdout) if each["subject"] in SAID}
    assert found.keys() == SAID.keys()
    for subject, said in SAID.items():
        assert said in found[subject]["detail"]
        assert (found[subject]["status"], "\n" in found[subject]["detail"]) == ("broken", False)
    others = {each["subject"]: each["status"] for each in json.loads(done.stdout) if each["subject"] not in SAID}
    wanted = ("plugin good", "plugin module", "plugin twins", "reviewer objects", "plugin hangs", "plugin dstorm")
    assert {each: others[each] for each in wanted} == dict.fromkeys(wanted, "ok")


@pytest.mark.parametrize("scheduler", ["even", "dstorm", "module"])
def test_no_other_command_knows(folder, scheduler):
    done = called(folder, "plan", "dstorm:linear", "-s", scheduler, "--json")
    assert done.returncode == (1 if scheduler == "module" else 0), done.stderr
    assert "set aside" not in done.stderr
    plan = json.loads(done.stdout)
    assert plan["provenance"]["scheduler"] == scheduler
    if scheduler != "module":
        assert plan == json.loads(headworks("plan", "dstorm:linear", "-s", scheduler, "--json").stdout)


def test_one_that_is_repaired_is_there_again(folder, tmp_path):
    shutil.copytree(folder, tmp_path, dirs_exist_ok=True)
    (tmp_path / "cut-1.2.3.dist-info" / "METADATA").write_text("Metadata-Version: 2.1\nName: cut\nVersion: 1.2.3\n")
    assert called(tmp_path, "plan", "dstorm:linear", "-s", "cut").returncode == 1

"""Streams that are full, closed, or written to by native code: data is data, and no command ends in a traceback."""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path

import pytest

from headworks.documents import dumps
from plugin_folder import install
from shell import HEADWORKS
from small_requests import word_count

COMMANDS = {
    "journal": ["journal", "show", "{journal}"],
    "plan": ["plan", "-", "-s", "even", "--json"],
    "run": ["run", "--engine", "sim", "-s", "even", "--rounds", "1", "--window", "1", "--json", "{request}"],
}
"""A text, a document, and documents one by one: all commands write by the same ways."""


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    made = tmp_path_factory.mktemp("streams")
    (made / "request.json").write_text(dumps(word_count()))
    words = [HEADWORKS, "run", "--engine", "sim", "-s", "even", "--rounds", "1", "--window", "1"]
    subprocess.run([*words, "--journal", made / "journal", made / "request.json"], capture_output=True, check=True)
    return made


def run(folder, words, **streams):
    words = [word.format(journal=folder / "journal", request=folder / "request.json") for word in words]
    with (folder / "request.json").open() as request:
        return subprocess.run(
            [HEADWORKS, *words], **{"stdin": request, "stderr": subprocess.PIPE, **streams}, text=True
        )


@pytest.mark.parametrize("name", COMMANDS)
def test_a_full_device_is_one_message(folder, name):
    with Path("/dev/full").open("w") as full:
        done = run(folder, COMMANDS[name], stdout=full)
    assert done.returncode == 2
    assert done.stderr.endswith("headworks: standard output cannot be written: No space left on device\n")
    assert "Traceback" not in done.stderr
    assert "Exception" not in done.stderr


@pytest.mark.parametrize("closed", [0, 1, 2])
def test_a_stream_that_is_closed_is_one_to_nowhere(folder, closed):
    whole = run(folder, COMMANDS["plan"], stdout=subprocess.PIPE)
    done = run(folder, COMMANDS["plan"], stdout=subprocess.PIPE, preexec_fn=lambda: os.close(closed))
    assert "Traceback" not in done.stderr
    assert done.returncode == (2 if closed == 0 else whole.returncode)
    assert done.stdout == (whole.stdout if closed == 2 else "")


NATIVE = """
import contextlib, ctypes, os
from headworks.hooks import Description, hookimpl
from headworks.model import Observation, Receipt

def shout():
    os.write(1, b"by descriptor ")
    ctypes.CDLL(None).printf(b"by C ")
    print("by Python", end=" ")

class Plugin:
    @hookimpl
    def headworks_describe(self):
        shout()
        return Description(summary="Shouts.")

    @hookimpl
    def headworks_open(self, application, address):
        return contextlib.nullcontext(self)

    @hookimpl
    def headworks_observe(self, target, window):
        shout()
        return Observation()

    @hookimpl
    def headworks_schedule(self, problem):
        shout()
        return problem.plan([0] * problem.n)

shout()
plugin = Plugin()
"""


@pytest.mark.parametrize(
    "words",
    [
        ["run", "--engine", "shouts", "-s", "shouts", "--rounds", "2", "--interval", "0", "--window", "1", "--json"],
        ["plan", "-", "-s", "shouts", "--json"],
    ],
    ids=["run", "plan"],
)
def test_what_native_code_prints_is_no_data(tmp_path, folder, words):
    install(tmp_path, "shouting", {"shouts": NATIVE})
    done = run(folder, words, stdout=subprocess.PIPE, env={**os.environ, "PYTHONPATH": str(tmp_path)})
    documents = done.stdout.splitlines() if words[0] == "run" else [done.stdout]
    assert [type(json.loads(each)) for each in documents] == [dict] * (2 if words[0] == "run" else 1)
    assert all(way in done.stderr for way in ("by descriptor", "by C", "by Python"))

"""Plugins of every kind that misbehave beside `headworks serve storm`: it answers on, and ends when it is told to."""

from __future__ import annotations

import signal

import pytest

from adapters.storm.test_serve import journal, new, served
from patience import PATIENCE
from plugin_folder import GOOD, install
from storm_cluster import wait_for

pytestmark = pytest.mark.slow

ACTS = {
    "raises": "raise RuntimeError('broken')",
    "exits": "raise SystemExit(0)",
    "interrupts": "raise KeyboardInterrupt",
    "number": "return 3",
    "hangs": "threading.Event().wait()",
    "prints": "os.write(1, b'noise\\n')",
}
MORE = ("exits", "interrupts", "number", "prints")
STRANGER = """
import os, threading
from headworks.hooks import Description, hookimpl

def act():
    {act}

class Plugin:
    @hookimpl
    def headworks_describe(self):
        return Description(summary="bad", deadlines={{"headworks_review": 0.1, "headworks_on_round": 0.1}})

    @hookimpl
    def {hook}(self, {arguments}):
        return act()

plugin = Plugin()
"""
LOOP = ("--replan", "--window", "0.1", "--interval", "0", "--json")


def stranger(hook, arguments, name):
    """A plugin whose one hook misbehaves."""
    return STRANGER.format(act=ACTS[name], hook=hook, arguments=arguments)


def ends(process):
    """End the process as a person does; what it said."""
    process.send_signal(signal.SIGTERM)
    assert process.wait(PATIENCE) == 128 + signal.SIGTERM
    said = process.stderr.read()
    assert "Traceback" not in said
    return said


@pytest.mark.parametrize(
    ("hook", "arguments", "more", "mode"),
    [
        ("headworks_review", "request, plan", (), "assign"),
        # Nobody is there who could carry out what no reviewer objects to: plans are told alone.
        ("headworks_on_round", "record", ("--shadow",), "own"),
    ],
)
def test_strangers_that_nobody_asked_end_neither_rounds_nor_loop(hook, arguments, more, mode, tmp_path):
    sources = {name: stranger(hook, arguments, name) for name in ACTS}
    install(tmp_path, "zoo", sources, rounds="\n".join(f"{name} = zoo_{name}:plugin" for name in ACTS))
    with served(tmp_path, "-s", "even", *LOOP, *more, PYTHONPATH=str(tmp_path)) as (process, asked):
        assert asked(new())["mode"] == mode
        wait_for("rounds of the loop", lambda: len(journal(tmp_path)) >= 4)
        assert asked(new())["mode"] == mode
        said = ends(process)
        assert "noise" not in process.stdout.read()
    assert ("hangs: headworks_on_round" in said) is (hook == "headworks_on_round")


@pytest.mark.parametrize("name", ["raises", "hangs", *(pytest.param(name, marks=pytest.mark.matrix) for name in MORE)])
def test_a_priority_manager_that_misbehaves_takes_no_round(name, tmp_path):
    install(tmp_path, "zoo", {"bad": stranger("headworks_prioritise", "observation, address", name)})
    words = ("-s", "even", "--priorities", "bad", *LOOP)
    with served(tmp_path, *words, PYTHONPATH=str(tmp_path)) as (process, asked):
        for _ in range(2):
            assert asked(new())["mode"] == "assign"
        ends(process)
        assert "noise" not in process.stdout.read()


@pytest.mark.parametrize("name", ["raises", pytest.param("hangs", marks=pytest.mark.matrix), "exits", "number"])
def test_a_scheduler_that_misbehaves_takes_no_round(name, tmp_path):
    bad = GOOD.replace("return problem.plan([-1] * problem.n)", ACTS[name]).replace(
        "\nfrom", "\nimport threading\nfrom", 1
    )
    install(tmp_path, "zoo", {"bad": bad})
    with served(tmp_path, "-s", "bad", "--deadline", "1", *LOOP, PYTHONPATH=str(tmp_path)) as (process, asked):
        for _ in range(2):
            assert asked(new())["topologies"] == {}
        wait_for("rounds", lambda: len(journal(tmp_path)) >= 2)
        assert {each.outcome for each in journal(tmp_path)} <= {"held", "failed"}
        ends(process)

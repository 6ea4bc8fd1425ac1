"""Schedulers that are not built in, as commands ask them: what hangs or crashes is a plan that is held."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time

import pytest

from patience import PATIENCE
from plugin_folder import GOOD, install
from shell import gone, headworks, running

PLAN = "return problem.plan([-1] * problem.n)"
SOURCES = {
    "good": GOOD,
    "holds": GOOD.replace(PLAN, "import re; re.match(r'(a+)+$', 'a' * 60 + 'b')"),
    "crashes": GOOD.replace(PLAN, "import os, signal; os.kill(os.getpid(), signal.SIGSEGV)"),
    "leaves": GOOD.replace(PLAN, "import os; os._exit(7)"),
}
WAITS = "import pathlib, threading; enough = threading.Event(); MINDS; pathlib.Path('begun').touch(); enough.wait(); "
SEARCHES = WAITS.replace("MINDS", "from headworks.toolbox.cancel import on_cancel; on_cancel(enough.set)")
SOURCES |= {
    "searches": GOOD.replace(PLAN, SEARCHES + PLAN),
    "sleeps": GOOD.replace(PLAN, WAITS.replace("MINDS", "pass")),
}
SAID = {
    "holds": "holds has no plan after 1 s of CPU, or 3 s (limits.deadline); its process is ended",
    "crashes": "crashes ended its process (signal SIGSEGV)",
    "leaves": "leaves ended its process (exit code 7)",
}


@pytest.fixture(scope="module")
def path(tmp_path_factory):
    folder = tmp_path_factory.mktemp("strangers")
    install(folder, "strange", SOURCES)
    return {"PYTHONPATH": os.pathsep.join(filter(None, (str(folder), os.environ.get("PYTHONPATH"))))}


@pytest.mark.parametrize("name", SAID)
def test_one_that_hangs_or_crashes_is_a_plan_that_is_held(path, name):
    done = headworks("plan", "dstorm:linear", "-s", name, "--deadline", "1", "--json", **path)
    assert done.returncode == 3, done.stderr
    (reason,) = json.loads(done.stdout)["reasons"]
    assert SAID[name] in reason["message"]


def test_the_others_are_compared_and_simulated(path):
    words = ("-s", "crashes", "-s", "holds", "-s", "even", "--deadline", "1", "--json")
    rows = json.loads(headworks("compare", "dstorm:linear", *words, **path).stdout)["plans"]
    assert [row["plan"]["status"] for row in rows] == ["held", "held", "ok"]
    simulated = headworks("simulate", "dstorm:linear", "-s", "leaves", "--duration", "20", "--json", **path)
    assert (simulated.returncode, json.loads(simulated.stdout)[0]["rounds"]["held"] > 0) == (1, True)


@pytest.mark.parametrize(("name", "code"), [("searches", 1), ("sleeps", 130)])
def test_ctrl_c_asks_for_the_best_plan_so_far(path, tmp_path, name, code):
    words = ("plan", "dstorm:linear", "-s", name, "--deadline", PATIENCE, "--json")
    with running(*words, folder=tmp_path, **path) as (process, mark):
        while not (tmp_path / "begun").exists():
            assert process.poll() is None
            time.sleep(0.05)
        process.send_signal(signal.SIGINT)
        said, errors = process.communicate(timeout=PATIENCE)
        assert gone(mark) == []
    assert (process.returncode, "Traceback" in errors) == (code, False)
    if name == "searches":
        assert "ended-early" in [each["code"] for each in json.loads(said)["reasons"]]


LATE = """
import os, sys, threading
from headworks.documents import dumps
from headworks.hooks import hookimpl
from headworks.model import Limits, Request
from headworks.plugins.host import PluginHost
from headworks.plugins.own_process import claim_stdout
from headworks.testing import FirstFit

claim_stdout()
late, done = threading.Event(), threading.Event()

class Late(FirstFit):
    "Come late."

    @hookimpl
    def headworks_schedule(self, problem):
        late.wait()
        os.write(1, b"LATE from native code\\n")
        print("LATE from Python")
        done.set()

plan = PluginHost().with_plugin("late", Late()).schedule("late", Request(limits=Limits(deadline=0.05)))
late.set()
done.wait()
print(dumps(plan))
"""


def test_what_an_abandoned_one_prints_is_no_data():
    done = subprocess.run([sys.executable, "-c", LATE], capture_output=True, text=True, timeout=PATIENCE, check=True)
    assert json.loads(done.stdout)["status"] == "held"
    assert sorted(done.stderr.splitlines()) == ["LATE from Python", "LATE from native code"]

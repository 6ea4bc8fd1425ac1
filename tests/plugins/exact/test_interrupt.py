"""Ctrl-C while CP-SAT searches, as a shell sends it: the best plan so far is printed."""

from __future__ import annotations

import json
import subprocess
import sys

SCRIPT = """
import os, signal, sys, threading
import headworks_exact.feasibility as throughput
from headworks.cli.main import main

search, calls = throughput.solve, []

def solve(model, budget):
    calls.append(model)
    if len(calls) == 2:
        threading.Timer(0.5, os.kill, (os.getpid(), signal.SIGINT)).start()
    return search(model, budget)

throughput.solve = solve
main()
"""


def test_ctrl_c_prints_the_best_plan_so_far_and_its_bound():
    words = [
        "plan",
        "hetero:linear-small",
        "-s",
        "optimal",
        "-o",
        "effort=1000",
        "-o",
        "tolerance=1e-6",
        "--deadline",
        "500",
        "--json",
    ]
    done = subprocess.run([sys.executable, "-P", "-c", SCRIPT, *words], capture_output=True, text=True, timeout=600)
    assert done.returncode == 0
    assert done.stderr.startswith("ok, ended early: optimal had to answer before its search")
    plan = json.loads(done.stdout)
    assert (plan["status"], plan["bound"].get("proven", False)) == ("ok", False)
    assert 0 < plan["scores"]["throughput"] <= plan["bound"]["value"]
    assert "best found so far" in plan["explanation"]

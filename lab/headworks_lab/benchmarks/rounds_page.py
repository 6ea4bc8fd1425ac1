"""How long Chromium takes to draw a round of 36,000 executors on 1,200 nodes.

When a report is loaded, its script has read the data and drawn the round. The round is then chosen again, as by a
click, and drawn anew until the picture is on the screen. Needs the sources of the tests, and Debian's chromium-driver.
"""

from __future__ import annotations

import statistics
import sys
import tempfile
import time
from pathlib import Path

import attrs
import numpy as np

from headworks.control.journal import Round
from headworks.model import Cluster, Component, Node, Request, Resources, Stream, Topology
from headworks.problem import Problem
from headworks.report.decisions import Decision
from headworks.report.rounds.page import report_page
from headworks.report.rounds.scene import scene

sys.path.insert(0, str(Path(__file__).parents[3] / "tests"))
from browser import browser

NODES, TOPOLOGIES, TASKS = 1_200, 60, 300
"""TASKS of each of two components of each topology."""
TIMES = 20
LOADED = "const [found] = performance.getEntriesByType('navigation'); return found.loadEventEnd"
DRAWN = """
const begin = performance.now();
return show(0).then(() => new Promise((done) =>
  requestAnimationFrame(() => setTimeout(() => done(performance.now() - begin)))));
"""


def decision() -> Decision:
    """A round whose plan is what runs: a report has the reasons of each task that moves."""
    offer, slots = Resources(cpu=400.0, memory=8192.0), tuple(range(6700, 6700 + TOPOLOGIES))
    nodes = tuple(Node(id=f"node-{number:04}", capacity=offer, slots=slots) for number in range(NODES))
    parts = tuple(
        Component(id=name, parallelism=TASKS, demand=Resources(cpu=10.0, memory=64.0)) for name in ("from", "to")
    )
    streams = (Stream(source="from", target="to", rate=100.0),)
    topologies = tuple(Topology(id=f"t{number:02}", components=parts, streams=streams) for number in range(TOPOLOGIES))
    asked = Request(cluster=Cluster(nodes=nodes), topologies=topologies)
    places = np.arange(TOPOLOGIES * 2 * TASKS) % NODES
    runs = attrs.evolve(asked, assignment=Problem.of(asked).plan(places).assignment)
    return Decision(
        record=1, round=Round(number=1, outcome="unchanged", request=runs, plan=Problem.of(runs).plan(places))
    )


def main() -> None:
    """Print the times."""
    made = decision()
    begin = time.process_time()
    drawn = scene(made)
    print(f"{len(drawn['tasks']['after']):,} tasks on {len(drawn['nodes']):,} nodes")
    print(f"the placement, made in Python: {time.process_time() - begin:.2f} s of the processor")
    with tempfile.TemporaryDirectory() as place:
        page = Path(place, "report.html")
        page.write_text(report_page([made], "36,000 executors"))
        print(f"the page: {page.stat().st_size / 2**20:.1f} MB")
        with browser(Path(place, "browser")) as window:
            window.size(1400)
            loaded, drawn_anew = [], []
            for _ in range(TIMES):
                window.open(page.as_uri())
                loaded.append(window.until(LOADED))
                drawn_anew.append(window.run(DRAWN))
    for what, found in (("opened and drawn", loaded), ("drawn anew", drawn_anew)):
        print(f"{what}: median {statistics.median(found):.0f} ms, at most {max(found):.0f} ms of {TIMES}")


if __name__ == "__main__":
    main()

"""`headworks demo storm` as a newcomer runs it: whole, without Java, and interrupted."""

from __future__ import annotations

import json
import signal
from pathlib import Path
from typing import Any

import pytest

from doc_tables import block, number, tables
from headworks_local.isolated.ability import network_problem
from patience import PATIENCE
from shell import HEADWORKS, gone, interrupted, running
from storm_cluster import RELEASE

SEATED = "dstorm, by seats"
LIMIT = 1740
"""Seconds after which the demo is taken to hang; on an idle machine it takes six minutes."""


def as_planned(measured: float, planned: float) -> bool:
    """Whether a measured share of bytes between nodes is the planned one, but for what shuffle grouping changes.

    A plan takes the lines that each pair of tasks exchanged before; of these, which are an eighth of all bytes, Storm
    sends as many as it can to tasks on the same node, so that there may be fewer between nodes, and hardly more.
    """
    return planned - 0.13 < measured < planned + 0.07


def test_without_java_the_way_out_is_told(tmp_path: Path) -> None:
    jars = tmp_path / "m2"
    folders = {"M2_REPO": str(jars), "XDG_CACHE_HOME": str(tmp_path / "cache")}
    path = str(Path(HEADWORKS).parent)
    with running("demo", "storm", folder=tmp_path, PATH=path, JAVA_HOME="", **folders) as (run, _):
        out, messages = run.communicate(timeout=PATIENCE)
    assert (run.returncode, out) == (4, "")
    assert "Traceback" not in messages
    assert "Install a Java 17 runtime" in messages
    assert not (tmp_path / "headworks-demo").exists()
    assert not jars.exists()  # nothing was downloaded before


@pytest.mark.storm
@pytest.mark.slow
@pytest.mark.network
@pytest.mark.matrix  # test_both_engines.py has measured plans carried out
@pytest.mark.timeout(LIMIT + 60)
def test_the_demo_measures_what_it_planned_and_leaves_nothing(java: None, tmp_path: Path) -> None:
    with running("demo", "storm", "--version", RELEASE, "--json", folder=tmp_path) as (run, mark):
        out, messages = run.communicate(timeout=LIMIT)
        assert run.returncode == 0, messages
        assert gone(mark) == []
    found = json.loads(out)
    assert found == json.loads((tmp_path / "headworks-demo" / "storm.json").read_text())
    assert found["storm"] == RELEASE
    phases = {phase["placement"]: phase for phase in found["phases"]}
    assert list(phases) == ["Storm alone", "resource-aware", "dstorm", "dstorm at 20% load", SEATED]
    alone, light = phases["Storm alone"], phases["dstorm at 20% load"]
    assert alone["nodes_used"] == alone["workers"] == 3
    for name, phase in phases.items():
        # A topology with seats has a task that stays in each of its three workers.
        tasks = 21 if name == SEATED else 18
        assert len(phase["assignment"]) == tasks
        assert 0 <= phase["bytes_between_nodes"] <= phase["bytes"]
        assert phase["tuples"] > 0
        if "asked" in phase:
            assert phase["hits"] == phase["asked"] == tasks
            assert phase["workers_restarted"] <= 3
            assert as_planned(phase["measured_share"], phase["planned_share"])
    assert phases["dstorm"]["measured_share"] < alone["measured_share"]
    seats = phases[SEATED]
    assert seats["workers_restarted"] == 0
    assert all("by seats, pause " in step for step in seats["steps"])
    assert len(seats["steps"]) == seats["moved"] > 0
    assert (light["nodes_used"], light["bytes_between_nodes"]) == (1, 0)
    (_, rows), (_, borne) = tables(block("demo-storm"))
    assert [row["placement"] for row in rows] == [row["placement"] for row in borne] == list(phases)
    as_borne(found, {row["placement"]: row for row in borne})
    # The documents' table is of such a run. Plans are made of what each run measured for itself, so that nodes and
    # shares of the two are not compared.
    assert [int(rows[0]["nodes"]), int(rows[-2]["nodes"])] == [alone["nodes_used"], light["nodes_used"]]
    for row, phase in zip(rows, phases.values(), strict=True):
        if "asked" in phase:
            assert row["as asked"] == f"{phase['hits']} / {phase['asked']}"
            assert as_planned(number(row["measured"]) / 100, number(row["planned"]) / 100)
    page = (tmp_path / "headworks-demo" / "storm.html").read_text()
    assert page.count("<svg") == len(phases) + 1  # and the curves
    begins = [phase["begin_seconds"] for phase in phases.values()]
    assert begins == sorted(begins)
    for phase in phases.values():
        assert len(phase["curve"]) >= len(phase.get("tuples_in_each_second", ()))
        assert max(phase["curve"]) > 0
    assert "http" not in page.replace("http://www.w3.org/2000/svg", "")


def as_borne(found: dict[str, Any], documented: dict[str, dict[str, str]]) -> None:
    """Where nodes are apart, a placement bears more the less it sends from node to node, as in the documents' table."""
    assert found["apart"] is not bool(network_problem())
    phases = {phase["placement"]: phase for phase in found["phases"]}
    bears = {name: phase["bears"] for name, phase in phases.items() if phase["bears"] is not None}
    assert list(bears) == ([*phases][:-1] if found["apart"] else [])
    for figures in (bears, {name: number(documented[name]["bears/s"]) for name in bears}):
        if figures:
            assert figures["Storm alone"] < figures["dstorm"] < figures["dstorm at 20% load"]
    for phase in phases.values():
        assert phase["throughput"] > 0
        assert phase["latency_ms"] > 0


@pytest.mark.storm
@pytest.mark.slow
@pytest.mark.network
@pytest.mark.matrix  # test_signals.py interrupts the demo as it starts, test_local.py a cluster that is up
def test_an_interrupted_demo_ends_everything_it_started(java: None, tmp_path: Path) -> None:
    interrupted("demo", "storm", "--version", RELEASE, folder=tmp_path, number=signal.SIGTERM, at="the cluster is up")
    assert not (tmp_path / "headworks-demo").exists()

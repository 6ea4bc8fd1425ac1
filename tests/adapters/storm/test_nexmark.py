"""Nexmark on Storm: bids are those of the generator, and topologies in Storm's local mode give DuckDB's answers."""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path

import numpy as np
import pytest

from headgate.engines.nexmark import BIDS, PERIOD, EventKind, Nexmark, kinds
from headgate_storm.release.artefacts import distribution
from headgate_storm.release.jar import bridge_jar
from headgate_storm.workload.catalogue import roles_of, workloads
from headgate_storm.workload.describe import describe
from nexmark_answers import SQL, rows, tables
from patience import PATIENCE
from storm_jvm import jdk

pytestmark = [pytest.mark.storm, pytest.mark.network]

SOON = 5
"""Seconds of events whose answers are looked for; a run ends with answers to twice as many, as tasks differ in pace."""
WINDOWS = 8
TOPOLOGIES = {each.name: each.build().topologies[0] for each in workloads() if each.name.startswith("nexmark-")}


@pytest.fixture(scope="module")
def java(tmp_path_factory):
    """Runs a class of the tests with Storm's classes."""
    folder, sources = tmp_path_factory.mktemp("classes"), Path(__file__).parent / "java" / "nexmark"
    path = os.pathsep.join(map(str, (folder, bridge_jar(), *distribution().lib)))
    files = [str(sources / f"{each}.java") for each in ("NexmarkBids", "NexmarkRun")]
    subprocess.run([*jdk().javac(), "-nowarn", "-d", str(folder), "-cp", path, *files], check=True)

    def run(name, *arguments):
        words = [str(jdk().program), "-cp", path, f"headgate.storm.workload.{name}", *map(str, arguments)]
        return subprocess.run(words, check=True, stdout=subprocess.PIPE, text=True, timeout=PATIENCE).stdout

    return run


@pytest.mark.parametrize(("seed", "rate"), [(0, 5000.0), (-3, 777.7)])
def test_its_bids_are_those_of_the_generator(java, seed, rate):
    numbers = np.arange(50_000)
    bids = Nexmark(seed=seed, rate=rate).bids(numbers[kinds(numbers) == EventKind.BID])
    lines = java("NexmarkBids", len(numbers), seed, rate).splitlines()
    assert [tuple(map(int, line.split(","))) for line in lines] == list(zip(*bids.values(), strict=True))


def answers(java, folder, name, component, enough):
    """Tuples that a component of a topology emits in local mode, so many or some more."""
    topology = TOPOLOGIES[f"nexmark-{name}"]
    (folder / "described").write_text(json.dumps(describe(topology, roles=roles_of(topology))))
    java("NexmarkRun", folder / "described", component, folder / "rows", enough)
    lines = [line for file in folder.glob("rows.*") for line in file.read_text().splitlines()]
    return rows(map(json.loads, lines))


def events(seconds):
    """A database with so many seconds of the events of these topologies."""
    rate = TOPOLOGIES["nexmark-q5"].components[0].rate * PERIOD / BIDS
    return tables(Nexmark(rate=rate), int(rate * seconds))


@pytest.mark.slow
@pytest.mark.matrix
@pytest.mark.parametrize(("name", "component"), [("q1", "euros"), ("q2", "selection")])
def test_each_bid_is_answered_once_as_duckdb_answers_it(java, tmp_path, name, component):
    soon, later, minutes = (rows(events(each).execute(SQL[name]).fetchall()) for each in (SOON, 2 * SOON, 60 * SOON))
    found = answers(java, tmp_path, name, component, later.total())
    assert soon <= found <= minutes
    assert soon


@pytest.mark.slow
@pytest.mark.matrix
def test_each_window_that_has_closed_is_answered_as_duckdb_answers_it(java, tmp_path):
    found = answers(java, tmp_path, "q5", "hottest", WINDOWS)
    last = max(start for start, _, _ in found)
    wanted = f"select * from ({SQL['q5']}) where start <= {last}"
    assert found == rows(events(60 * SOON).execute(wanted).fetchall())
    assert last >= Nexmark().begin


def test_a_topology_has_the_role_of_each_of_its_components():
    for topology in TOPOLOGIES.values():
        assert roles_of(topology).keys() == {each.id for each in topology.components}
    assert list(TOPOLOGIES) == ["nexmark-q1", "nexmark-q2", "nexmark-q5"]

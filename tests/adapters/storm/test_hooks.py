"""Real workers report what their tasks did: to the tuple what the topology counted for itself, of busy tasks nearly."""

from __future__ import annotations

import time
from collections import Counter
from contextlib import ExitStack
from typing import TYPE_CHECKING

import pytest

from headworks_storm.nimbus.snapshot import read_snapshot
from headworks_storm.workers.collector import Collector
from headworks_storm.workers.measures import metrics_of, seen
from storm_cluster import RELEASE, wait_for
from storm_rounds import component, round_text, supervisor, topology
from storm_tally import Tally, hooked_storm

if TYPE_CHECKING:
    from pathlib import Path

    from headworks_storm.local.cluster import LocalStorm
    from headworks_storm.nimbus.snapshot import Snapshot
    from headworks_storm.workers.reports import Report

pytestmark = [pytest.mark.storm, pytest.mark.slow, pytest.mark.network]

TOKEN = "hook test"
TUPLES = 3000
COUNTS, SINK, LINES = (2, 3, 4), 7, (5, 6)
"""Storm numbers tasks by component: 1 is the acker."""
BUSY = 2_000_000
"""Tuples of a spout: some seconds of work, of which the first alone are counted one by one."""


def round_of(storm: LocalStorm, name: str) -> Snapshot:
    """What Nimbus would ask, from what it stored."""
    slots = storm.gateway.assignment(name).slots
    identity = storm.gateway.topology(name).id
    tasks = {
        "__acker": ("system", (1,)),
        "count": ("bolt", COUNTS),
        "lines": ("spout", LINES),
        "sink": ("bolt", (SINK,)),
    }
    inputs = {"count": [["lines", "default", "fields"]], "sink": [["count", "default", "global"]]}
    components = [
        component(each, [number for task in members for number in (task, task)], kind=kind, inputs=inputs.get(each, ()))
        for each, (kind, members) in tasks.items()
    ]
    placed = [slots[task, task] for _, members in tasks.values() for task in members]
    whole = topology(identity, *components, slots=placed, assignment=list(range(len(placed))))
    ports = {node: tuple(sorted({port for at, port in placed if at == node})) for node, _ in placed}
    return read_snapshot(round_text([supervisor(node, ports=each) for node, each in ports.items()], [whole]))


HANDED_OUT = {
    "nimbus.autocredential.plugins.classes": ["headworks.storm.monitor.TopologyToken"],
    "topology.auto-credentials": ["headworks.storm.monitor.TopologyToken"],
}
"""Nimbus hands the topology its token: the topology is submitted with credentials, as all are on a secured cluster."""


def test_reports_are_what_the_topology_counted(tmp_path: Path) -> None:
    file = tmp_path / "token"
    file.write_text(f"{TOKEN}\n")
    with ExitStack() as listening:
        collector = listening.enter_context(Collector(token=TOKEN))
        with hooked_storm(collector, file, RELEASE, **HANDED_OUT) as storm:
            tally = Tally(storm, tmp_path)
            tally.submit("tally", tuples=TUPLES, rate=500)
            file.unlink()  # Nimbus has read it, and no worker has to
            wait_for("all tuples", lambda: sum(tally.counts().values()) == 4 * TUPLES)
            own = tally.counts()
            whole = wait_for("all reports", lambda: all_reports(collector, own))
            assert flows_between(whole, {*LINES, *COUNTS, SINK}) == own
            assert collector.tally.invalid == collector.tally.refused == collector.tally.lost == 0
            check_tasks(whole, own)
            snapshot = round_of(storm, "tally")
            wait_for("every task seen", lambda: seen(collector.recent(10), snapshot) == snapshot.assignment)
            check_metrics(whole, snapshot, latency_of(storm, "tally"))
            listening.close()
            again_after_a_pause(collector, TOKEN)


def test_reports_of_busy_tasks_are_close_to_what_the_topology_counted(tmp_path: Path) -> None:
    (tmp_path / "token").write_text(TOKEN)
    with Collector(token=TOKEN) as collector, hooked_storm(collector, tmp_path / "token", RELEASE) as storm:
        tally = Tally(storm, tmp_path)
        tally.submit("busy", tuples=BUSY, acked=False)  # as fast as spouts can
        wait_for("all tuples", lambda: sum(tally.counts().values()) == 4 * BUSY)
        own = tally.counts()
        wait_for("quiet", lambda: (last := collector.recent(2.5)) and not any(each.flows for each in last))
        reports = collector.recent(3600)
    counts, sink = {each - 1 for each in COUNTS}, SINK - 1  # there is no acker
    assert flows_between(reports, {each - 1 for each in (*LINES, *COUNTS, SINK)}) == pytest.approx(own, rel=0.03)
    received: Counter[int] = Counter()
    for report in reports:
        received.update({row.task: row.received for row in report.tasks})
    assert received[sink] == pytest.approx(2 * BUSY, rel=0.03)
    assert sum(received[task] for task in counts) == pytest.approx(2 * BUSY, rel=0.03)


def all_reports(collector: Collector, own: dict[tuple[int, int], int]) -> tuple[Report, ...] | None:
    reports = collector.recent(3600)
    flows = flows_between(reports, {*LINES, *COUNTS, SINK})
    acked = sum(row.acked for report in reports for row in report.tasks)
    received = sum(row.received for report in reports for row in report.tasks if row.task in (*COUNTS, SINK))
    whole = min(sum(flows.values()), received) >= sum(own.values()) and acked >= 2 * TUPLES
    return reports if whole else None  # workers report a second after each other


def flows_between(reports: tuple[Report, ...], tasks: set[int]) -> Counter[tuple[int, int]]:
    flows: Counter[tuple[int, int]] = Counter()
    for report in reports:
        for row in report.flows:
            if row.source in tasks and row.target in tasks:
                flows[row.source, row.target] += row.tuples
    return flows


def check_tasks(reports: tuple[Report, ...], own: dict[tuple[int, int], int]) -> None:
    received: Counter[int] = Counter()
    emitted: Counter[int] = Counter()
    acked: Counter[int] = Counter()
    latency: Counter[int] = Counter()
    for report in reports:
        assert report.dropped == 0
        for row in report.tasks:
            received[row.task] += row.received
            emitted[row.task] += row.emitted
            acked[row.task] += row.acked
            latency[row.task] += row.latencies
            assert row.failed == 0
    arrived: Counter[int] = Counter()
    for (_, target), count in own.items():
        arrived[target] += count
    for task in (*COUNTS, SINK):
        assert received[task] == arrived[task]
        assert emitted[task] == (0 if task == SINK else arrived[task])
    for task in LINES:
        assert (received[task], emitted[task], acked[task]) == (0, TUPLES, TUPLES)
        assert 0 < latency[task] <= TUPLES
    for report in reports:
        threads = sum(row.cpu or 0.0 for row in report.executors)
        assert threads <= report.cpu + 0.1
        assert all(row.queue is not None and 0 <= row.queue <= 32768 for row in report.executors)
    assert sum(row.cpu or 0.0 for report in reports for row in report.executors if row.task in LINES) > 0
    assert {row.task for report in reports for row in report.executors} == {1, *COUNTS, *LINES, SINK}


def latency_of(storm: LocalStorm, name: str) -> float:
    """Mean milliseconds from spout to last ack as Storm itself counts them, by one tuple in twenty."""

    def counted() -> tuple[float, float]:
        with storm.gateway._nimbus(name) as nimbus:
            figures = [each.get_stats().get_specific() for each in nimbus.getTopologyInfoByName(name).get_executors()]
            spouts = [each.get_spout() for each in figures if each.is_set_spout()]
            acked = [each.get_acked().get(":all-time").get("default") or 0 for each in spouts]
            latencies = [each.get_complete_ms_avg().get(":all-time").get("default") or 0.0 for each in spouts]
        return float(sum(acked)), sum(a * b for a, b in zip(acked, latencies, strict=True))

    acked, waited = wait_for("Storm's own counts", lambda: (found := counted())[0] >= TUPLES and found)
    return waited / acked


def check_metrics(reports: tuple[Report, ...], snapshot: Snapshot, storms: float) -> None:
    where = snapshot.assignment
    metrics = metrics_of(reports, snapshot, 10.0)
    assert {each.task for each in metrics.tasks} == where.keys()
    assert {each.source for each in metrics.tasks} == {"thread"}
    local = [each for each in metrics.flows if where[each.source] == where[each.target]]
    remote = [each for each in metrics.flows if where[each.source] != where[each.target]]
    assert local
    assert remote
    for each in metrics.flows:
        assert each.tuples
        assert each.bytes
        if "/lines/" in each.source and "/count/" in each.target:
            assert 110 < each.bytes / each.tuples < 150  # a payload of 100 bytes, a key, what Storm adds
    assert {each.node for each in metrics.nodes} == {slot.node for slot in where.values()}
    (whole,) = metrics.topologies
    assert whole.source == "acked"
    assert whole.latency is not None
    # both are means of samples, of other tuples each, the slow first ones of a busy machine among them or not; another
    # unit would be a thousand times off
    assert storms / 20 - 1 < whole.latency < storms * 20 + 50


def again_after_a_pause(before: Collector, token: str) -> None:
    """A collector that was away stops no worker, and hears that reports were dropped."""
    last = {each.worker: each for each in before.recent(3600)}
    time.sleep(6)
    with Collector(*before.address, token=token) as again:
        wait_for("both workers", lambda: len({each.worker for each in again.recent(60)}) == len(last))
        for report in again.recent(60):
            assert report.started == last[report.worker].started
            assert report.number > last[report.worker].number + 1
            assert report.dropped > 0

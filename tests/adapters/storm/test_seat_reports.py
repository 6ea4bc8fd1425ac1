"""Workers report what tasks with seats did, without Storm's task hooks: to the tuple, whoever moved meanwhile."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

import pytest

from headworks.errors import EngineError
from headworks_storm.seats.ledger import SeatLedger, open_ledger
from headworks_storm.service import HOOKS
from headworks_storm.workers.collector import Collector
from storm_cluster import PATIENCE, wait_for
from storm_tally import Tally

if TYPE_CHECKING:
    from pathlib import Path

    from headworks_storm.local.cluster import LocalStorm
    from headworks_storm.workers.reports import Report

pytestmark = [pytest.mark.storm, pytest.mark.slow, pytest.mark.network, pytest.mark.xdist_group("storm-seats")]

NAME, TOKEN = "reported", "seat reports"
TUPLES, RATE = 4000, 400.0
ACKER, COUNTS, LINES, SINK = 1, (2, 3, 4), (5, 6), 7
"""Numbers that the tasks have without seats."""
SEATS = {1: ACKER, 2: 2, 3: 2, 4: 3, 5: 3, 6: 4, 7: 4, 8: 5, 9: 6, 10: SINK, 11: SINK}
"""The same by the numbers that their seats have: two each of the bolts."""


def conf(collector: Collector, token: Path) -> dict[str, object]:
    """What `storm.yaml` says elsewhere, hooks included: they are not to count twice."""
    return {
        **HOOKS,
        "headworks.collector": "{}:{}".format(*collector.address),
        "headworks.collector.token.file": str(token),
        "headworks.monitor.seconds": 1,
        "headworks.seats.movable": "count=fields:counts; sink=fields:counts",
    }


def flows(reports: tuple[Report, ...]) -> Counter[tuple[int, int]]:
    """Tuples by sending and receiving task, as they are numbered without seats."""
    found: Counter[tuple[int, int]] = Counter()
    for row in (row for report in reports for row in report.flows):
        found[SEATS[row.source], SEATS[row.target]] += row.tuples
    return found


def told(ledger: SeatLedger) -> bool:
    try:
        return len(ledger.seats()) == 8
    except EngineError:
        return False


def move(storm: LocalStorm) -> set[int]:
    """Move a counting task and the sink while tuples come; the seats that they left."""
    left = set()
    with open_ledger(storm.gateway, NAME) as ledger:
        wait_for("all seats told", lambda: told(ledger))
        for component, index in (("count", 1), ("sink", 0)):
            seats = [each for each in ledger.seats() if (each.component, each.index) == (component, index)]
            (owner,), (other,) = ([each for each in seats if each.owner is lives] for lives in (True, False))
            ledger.move(component, index, other.place, seconds=PATIENCE)
            left.add(owner.task)
    return left


@pytest.mark.timeout(1800)
def test_reports_are_what_the_topology_counted_across_moves(seat_storm: LocalStorm, tmp_path: Path) -> None:
    token = tmp_path / "token"
    token.write_text(TOKEN)
    with Collector(token=TOKEN) as collector:
        tally = Tally(seat_storm, tmp_path)
        tally.submit(NAME, tuples=TUPLES, rate=RATE, **conf(collector, token))
        wait_for("tuples", lambda: sum(tally.counts().values()) > 0)
        left = move(seat_storm)
        wait_for("all tuples", lambda: sum(tally.counts().values()) == 4 * TUPLES)
        own = tally.counts()
        expected = {**own, **dict.fromkeys(((each, ACKER) for each in (*LINES, *COUNTS, SINK)), 0)}
        for (source, target), count in own.items():
            expected[target, ACKER] += count  # acknowledged
            expected[source, ACKER] += count if source in LINES else 0  # begun
        reports = wait_for("all reports", lambda: whole(collector, sum(expected.values())))
        seat_storm.gateway.kill(NAME, wait=0)
    assert flows(reports) == expected
    assert collector.tally.invalid == collector.tally.lost == 0
    check_tasks(reports, own)
    check_executors(reports)
    rows = [(row.task, row.received) for report in reports for row in report.tasks]
    assert all(any(received for task, received in rows if task == seat) for seat in left)  # before it moved


def whole(collector: Collector, tuples: int) -> tuple[Report, ...] | None:
    reports = collector.recent(3600)
    rows = [row for report in reports for row in report.tasks]
    received = sum(row.received for row in rows if SEATS[row.task] in (*COUNTS, SINK))
    all_done = received >= 4 * TUPLES and sum(row.acked for row in rows) >= 2 * TUPLES
    return reports if all_done and sum(flows(reports).values()) >= tuples else None


def check_tasks(reports: tuple[Report, ...], own: dict[tuple[int, int], int]) -> None:
    totals: dict[int, Counter[str]] = {each: Counter() for each in SEATS.values()}
    for row in (row for report in reports for row in report.tasks):
        totals[SEATS[row.task]].update({key: count for key, count in row._asdict().items() if key != "task"})
    arrived: Counter[int] = Counter()
    for (_, target), count in own.items():
        arrived[target] += count
    for task in (*COUNTS, SINK):
        assert totals[task]["received"] == arrived[task]
        assert totals[task]["emitted"] == (0 if task == SINK else arrived[task])
    for task in LINES:
        assert [totals[task][each] for each in ("received", "emitted", "acked", "failed")] == [0, TUPLES, TUPLES, 0]
        assert 0 < totals[task]["latencies"] <= TUPLES
    assert {row.tuples for row in reports[-1].pending or ()} <= {0}


def check_executors(reports: tuple[Report, ...]) -> None:
    """Every seat, spout and acker has its own processor time and queue."""
    assert {row.task for report in reports for row in report.executors} == set(SEATS)
    assert all(row.queue is not None for report in reports for row in report.executors)
    used: Counter[int] = Counter()
    for report in reports:
        for row in report.executors:
            used[SEATS[row.task]] += round(1e6 * (row.cpu or 0.0))
    assert all(used[task] > 0 for task in (*LINES, *COUNTS, SINK))

"""Seconds of coming batches: what is put in by hand comes out, beside outliers, cold batches and other loads."""

from __future__ import annotations

import random

import pytest

from headworks_spark.events.event import JobEnd, JobStart, TaskEnd
from headworks_spark.events.history import Job
from headworks_spark.replay.forecast import pace, warm, work


def batch(number, seconds, rows=0, cpu=0.0):
    begin = 100.0 * number
    task = TaskEnd(
        stage=number,
        attempt=0,
        task=number,
        partition=0,
        executor="0",
        host="h",
        started=begin,
        ended=begin + seconds,
        locality="ANY",
        failed=False,
        taken=rows,
        cpu=cpu,
    )
    start = JobStart(job=number, time=begin, stages=(), scope=None, query=None, batch=None)
    return Job(start=start, end=JobEnd(job=number, time=begin + seconds, succeeded=True), tasks=(task,), failed=0)


def law(number, rows):
    return (0.2 + 1e-5 * rows) * (number + 1) ** -0.3


def made(count, *, load=lambda number: 1.0, rows=lambda number: 10_000):
    """Batches whose CPU and seconds fall, the seconds under a load of neighbours."""
    return [
        batch(number, law(number, rows(number)) * load(number), rows(number), law(number, rows(number)) / 4)
        for number in range(count)
    ]


def test_a_fixed_part_a_part_for_each_row_and_warm_up_are_found():
    pick = random.Random(0)
    sizes = [pick.randrange(1_000, 90_000) for _ in range(60)]
    batches = made(60, rows=sizes.__getitem__)
    found = pace(batches[:30], 0)
    assert (found.fixed, found.per_row, found.fall) == pytest.approx((0.2, 1e-5, -0.3), rel=0.1)
    assert found.usual(batches, 30, 31) == pytest.approx(sorted(job.seconds for job in batches[30:])[15], rel=0.1)


def test_neighbours_that_come_and_go_are_no_warm_up():
    """The load trebles within the known batches, so that their seconds rise while their CPU falls."""
    found = pace(made(30, load=lambda number: 1.0 + number / 15), 0)
    assert found.fall == pytest.approx(-0.3, abs=0.01)
    assert found.per_row == 0.0
    own = pace(made(30, load=lambda number: 1.0 + number / 15), 0, work)
    assert own.seconds(50, 10_000) == pytest.approx(law(49, 10_000) / 4, rel=0.01)


def test_a_third_of_outliers_changes_little():
    batches = made(60, load=lambda number: 9.0 if number % 3 == 0 else 1.0)
    assert pace(batches[:30], 0).seconds(50, 10_000) == pytest.approx(law(49, 10_000), rel=0.05)


def test_rows_that_hardly_vary_count_for_nothing():
    batches = made(30, rows=lambda number: 10_000 + number % 7)
    assert pace(batches, 0).per_row == 0.0


@pytest.mark.parametrize("rows", [0, 10_000])
def test_a_log_without_cpu_has_no_warm_up(rows):
    found = pace([batch(number, 2.0, rows) for number in range(8)], 0)
    assert (found.fixed, found.per_row, found.fall) == (2.0, 0.0, 0.0)


def test_batches_without_rows_between_others_are_borne():
    batches = made(40, rows=lambda number: 30_000 * (number % 4))
    assert pace(batches, 0).seconds(40, 0) > 0.0


def test_cold_batches_do_not_count():
    batches = [
        batch(number, 1.0, cpu=each) for number, each in enumerate((9.0, 3.0, 1.4, 1.2, 1.0, 1.0, 1.1, 1.0, 1.0))
    ]
    assert warm(batches) == 3
    assert warm(batches[:4]) == 1  # three have to remain
    assert warm(batches[:1]) == 0

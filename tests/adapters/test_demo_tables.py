"""Tables of both demos: what is told where nodes share this machine, and where they are apart."""

from __future__ import annotations

import io
import random
import re
from typing import TYPE_CHECKING

import attrs
import pytest
from rich.console import Console

from headworks.cli.output import table
from headworks.model import FrozenMap, Metrics, Observation, Request, Topology, TopologySample
from headworks_spark.demo import show as spark
from headworks_spark.demo.gain import Gain, gain, ratio_of
from headworks_spark.demo.offline import ALONE
from headworks_spark.demo.phases import MeasuredBatch, MeasuredPlacement
from headworks_spark.demo.run import SparkDemoResult
from headworks_spark.monitor import Totals
from headworks_storm.demo import show as storm
from headworks_storm.demo.experiment import Measured
from headworks_storm.demo.run import StormDemoResult, TriedPlacement

if TYPE_CHECKING:
    from collections.abc import Sequence

ONE_SECOND = (0.95, 0.98, 1.0, 1.03, 1.06)
"""Seconds of Spark's own batches."""


def on_spark() -> SparkDemoResult:
    measured = Totals(batches=4, seconds=8.0, rows=800, remote=10, local=30)
    alone = MeasuredPlacement(label="Spark alone", measured=measured, placed=FrozenMap(), batch_seconds=1.5)
    return SparkDemoResult(
        spark="4", load=0.8, apart=False, phases=(alone,), question=Request(), days=4, differences=(), seconds=9.0
    )


def on_storm() -> StormDemoResult:
    sample = TopologySample(topology="words", offered=120.0, throughput=100.0, latency=12.5)
    seen = Observation(topologies=(Topology(id="words"),), metrics=Metrics(topologies=(sample,)))
    alone = TriedPlacement(label="Storm alone", measured=Measured.of(seen))
    return StormDemoResult(storm="2", load=0.7, apart=False, ready=1.0, seconds=9.0, memory_mb=1.0, phases=(alone,))


def batch(begin: float, end: float, *, remote: int) -> MeasuredBatch:
    return MeasuredBatch(begin=begin, end=end, rows=1000, remote=remote)


def under(scheduler: str, seconds: Sequence[float], *, remote: int = 9) -> MeasuredPlacement:
    """A placement whose batches of 1,000 rows took so many seconds."""
    return MeasuredPlacement(
        label=scheduler,
        measured=Totals(),
        batches=tuple(batch(0.0, each, remote=remote) for each in seconds),
        placed=FrozenMap(),
    )


def gained(seconds: Sequence[float], *, apart: bool = True, remote: int = 9) -> Gain | None:
    """Gain of the last placement over Spark's own, whose batches took about a second."""
    phases = (under(ALONE, ONE_SECOND), under("even", [0.1] * 5), under("dstorm", seconds, remote=remote))
    return gain(attrs.evolve(on_spark(), apart=apart, phases=phases))


@pytest.mark.parametrize(
    ("times", "said"),
    [
        (0.5, "dstorm: 2.00 times the rows a second of Spark's own placement ("),
        (1.01, "dstorm: no win, 0.99 times the rows a second of Spark's own placement ("),
        (2.0, "dstorm: a loss, 0.50 times the rows a second of Spark's own placement ("),
    ],
)
def test_the_last_sentence_says_whether_the_interval_is_a_win(times: float, said: str) -> None:
    won = gained([times * each for each in ONE_SECOND])
    assert won is not None
    assert won.low < won.times < won.high
    assert str(won).startswith(said)
    assert str(won).endswith(" with 95 % confidence), same query, no restart.")
    assert won.batches == 5
    ratios = sorted(one / (times * other) for one in ONE_SECOND for other in ONE_SECOND)
    assert (won.low, won.high) == pytest.approx((ratios[2], ratios[-3]))  # of U at most 2: 4 of 252 orders


def test_where_nodes_share_the_machine_bytes_are_compared_and_less_is_a_win() -> None:
    won = gained([5.0] * 5, apart=False, remote=3)
    assert str(won).startswith("dstorm: 0.33 times the bytes between nodes of Spark's own placement (0.33 to 0.33 ")
    assert str(gained([5.0] * 5, apart=False)).startswith("dstorm: no win, 1.00 times the bytes between nodes")
    assert str(gained([5.0] * 5, apart=False, remote=18)).startswith("dstorm: a loss, 2.00 times")


def test_too_few_batches_have_no_interval_and_no_sentence() -> None:
    assert gained([1.0, 1.0]) is None
    assert gain(on_spark()) is None
    assert spark.measured_data(on_spark())["gain"] is None


def test_the_interval_holds_the_true_factor_as_often_as_it_says() -> None:
    draw = random.Random(7)
    hits = 0
    for _ in range(400):
        first, second = ([factor * draw.lognormvariate(0.0, 0.3) for _ in range(5)] for factor in (1.0, 1.6))
        found = ratio_of(second, first)
        assert found is not None
        hits += found[1] <= 1.6 <= found[2]
    assert hits >= 0.94 * 400


def plain(cell: str) -> str:
    """A cell without the blanks and the zeros that it has only where there is room."""
    return re.sub(r"\.0(?= |$)", "", cell).replace(" ", "") if "/" in cell else cell


def test_spark_s_table_has_rows_a_second_where_nodes_are_apart_else_bytes() -> None:
    shared = on_spark()
    apart = attrs.evolve(shared, apart=True)
    (there,), (here,) = (
        [dict(zip(spark.measured_columns(each), map(plain, row), strict=True)) for row in spark.measured_rows(each)]
        for each in (apart, shared)
    )
    assert here == {"placement": ALONE, "planned": "-", "measured": "25.0%", "MB between": "0.00", "as asked": "-"}
    assert list(there) == ["placement", "planned", "measured", "rows/s", "as asked"]
    assert there["rows/s"] == "100"
    assert "share the cores" in spark.note(shared)
    assert "of their own" in spark.note(apart)
    assert spark.note(apart) in spark.measured_page(apart)


def test_what_a_placement_of_storm_bears_is_told_where_nodes_are_apart_and_only_there() -> None:
    shared = on_storm()
    (alone,) = shared.phases
    seats = attrs.evolve(alone, label="by seats")
    apart = attrs.evolve(shared, apart=True, phases=(attrs.evolve(alone, bears=1463.2), seats))
    assert storm.times(apart) == [("Storm alone", "100", "12.5", "1,463"), ("by seats", "100", "12.5", "-")]
    assert storm.times(shared) == []
    assert storm.rows(apart)[:1] == storm.rows(shared)
    for found, there, absent in ((apart, storm.APART, storm.SHARED), (shared, storm.SHARED, storm.APART)):
        assert there in storm.note(found)
        assert absent not in storm.note(found)
        assert (storm.BEARS in storm.html(found), "1,463" in storm.html(found)) == (found.apart, found.apart)
    assert [each["bears"] for each in storm.data(apart)["phases"]] == [1463.2, None]


def test_the_numbers_say_whether_nodes_were_apart() -> None:
    assert spark.measured_data(attrs.evolve(on_spark(), apart=True))["apart"] is True
    found = storm.data(on_storm())
    assert (found["apart"], found["phases"][0]["latency_ms"]) == (False, 12.5)


@pytest.mark.parametrize("width", [60, 80, 120])
@pytest.mark.parametrize("apart", [True, False])
def test_the_table_of_spark_s_demo_is_whole_in_every_terminal(*, width: int, apart: bool) -> None:
    names = spark.measured_columns(attrs.evolve(on_spark(), apart=apart))
    row = ("resource-aware", "100.0%", "100.0%", "123,556" if apart else "1,101.47", "120 / 120")
    told = io.StringIO()
    Console(file=told, width=width).print(table("demo", names, [row], numbers=names[1:]))
    lines = [line for line in told.getvalue().splitlines() if line.strip()]
    assert [re.split(r"\s{2,}", line.strip()) for line in (lines[1], lines[3])] == [[*names], [*row]]
    assert len(lines) == 4


def test_the_tables_of_storm_s_demo_fold_nothing_at_120_characters() -> None:
    wide = ("dstorm at 20% load", "100.0%", "100.0%", "127.8 / 205.9", "4,799 / 7,603", "3", "12", "3", "10", "18 / 18")
    for names, row in ((storm.COLUMNS, wide), (storm.TIMES, ("dstorm at 20% load", "4,000", "1,234.5", "130,080"))):
        told = io.StringIO()
        Console(file=told, width=120).print(table("demo", names, [row], numbers=names[1:]))
        assert all(heading in told.getvalue() for heading in names)
        assert len([line for line in told.getvalue().splitlines() if line.strip()]) == 4


def curves(page: str) -> list[tuple[str, list[tuple[float, float]]]]:
    """Name and points of each curve of a page, top left being 0, 0."""
    found = re.findall(r'<polyline points="([^"]+)"[^>]*><title>([^<]+)<', page)
    return [
        (name, [(float(x), float(y)) for x, y in (each.split(",") for each in points.split())])
        for points, name in found
    ]


def test_the_page_of_spark_s_demo_draws_each_batch() -> None:
    alone = attrs.evolve(
        on_spark().phases[0],
        batches=(batch(100.0, 101.0, remote=3), batch(101.0, 103.0, remote=3)),
    )
    moved = attrs.evolve(alone, label="dstorm", batches=(batch(109.0, 110.0, remote=0),))
    found = attrs.evolve(on_spark(), phases=(alone, moved), apart=True)
    assert len(curves(spark.measured_page(attrs.evolve(found, apart=False)))) == 2  # times do not compare there
    (_, before), (_, after), (_, lasted), (_, shorter) = drawn = curves(spark.measured_page(found))
    assert [name for name, _ in drawn] == 2 * ["Spark alone", "dstorm"]
    assert len({y for _, y in before}) == 1
    assert after[0][1] > before[0][1]  # nothing between nodes: at the foot
    assert lasted[-1][1] < lasted[0][1] == shorter[0][1]  # two seconds are above one
    assert after[0][0] - before[0][0] == pytest.approx(3 * (before[-1][0] - before[0][0]), abs=0.3)
    assert [len(phase["each_batch"]) for phase in spark.measured_data(found)["phases"]] == [2, 1]
    assert "Over time" not in spark.measured_page(on_spark())


def test_the_page_of_storm_s_demo_draws_the_seconds_of_each_placement_where_they_were() -> None:
    first = attrs.evolve(on_storm().phases[0], begin=1000.0, rates=(100.0, 100.0))
    later = attrs.evolve(first, label="dstorm", begin=1010.0, rates=(0.0, 50.0, 100.0))
    shown = storm.html(attrs.evolve(on_storm(), phases=(first, later)))
    (alone_name, alone), (moved_name, moved) = curves(shown)
    assert (alone_name, moved_name) == ("Storm alone", "dstorm")
    assert len(set(re.findall(r'<polyline [^>]*stroke="([^"]+)"', shown))) == 2
    assert len({y for _, y in alone}) == 1
    assert [y for _, y in moved] == sorted((y for _, y in moved), reverse=True)  # up from nothing to all
    assert moved[-1][1] == alone[0][1]
    assert moved[0][0] - alone[0][0] == pytest.approx(10 * (alone[-1][0] - alone[0][0]) / 2, abs=0.2)
    assert [phase["curve"] for phase in storm.data(attrs.evolve(on_storm(), phases=(first, later)))["phases"]] == [
        [100.0, 100.0],
        [0.0, 50.0, 100.0],
    ]
    assert "Over time" not in storm.html(on_storm())

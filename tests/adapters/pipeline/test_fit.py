"""Profiles from cells: the truth is found, outliers are left out, and what cannot be known is said."""

from __future__ import annotations

import numpy as np
import pytest

from headworks_pipeline.learning.drift import Part, follow, profile
from headworks_pipeline.learning.fit import Cells, fit
from headworks_pipeline.tables.histogram import NOTHING, RATE_STEPS, STEPS, quantile
from pipeline_samples import levels
from plain_fit import plain_fit


def cells(rate, cpu, emitted=None):
    """What the table of cells has for these windows."""
    keys = np.stack([levels(rate, RATE_STEPS), levels(cpu, STEPS)])
    found, where = np.unique(keys, axis=1, return_inverse=True)

    def total(amounts):
        return np.bincount(where.ravel(), weights=amounts, minlength=found.shape[1])

    return Cells(
        x=found[0],
        y=found[1],
        n=total(np.ones_like(rate)),
        sx=total(rate),
        sy=total(cpu),
        sxx=total(rate * rate),
        sxy=total(rate * cpu),
        syy=total(cpu * cpu),
        received=total(rate),
        emitted=total(rate if emitted is None else emitted),
    )


def windows(e=0.02, met=5.0, count=4000, noise=0.05, seed=1):
    rng = np.random.default_rng(seed)
    rate = rng.uniform(100.0, 2000.0, count)
    return rate, (e * rate + met) * (1 + noise * rng.standard_normal(count))


def test_the_truth_is_found():
    rate, cpu = windows()
    line = fit(cells(rate, cpu, 2.5 * rate))
    assert line.e == pytest.approx(0.02, abs=2 * line.e_error)
    assert line.met == pytest.approx(5.0, abs=2 * line.met_error)
    assert (line.alpha, line.samples, line.identified) == (pytest.approx(2.5), 4000, True)
    assert line.e_error < 0.0005
    assert line.r2 > 0.95


def test_the_truth_is_within_the_intervals_in_95_of_100_worlds():
    within = np.zeros(2)
    for seed in range(1000):
        rng = np.random.default_rng(seed)
        rate = rng.uniform(500.0, 2000.0, 100)
        line = fit(cells(rate, 0.02 * rate + 5.0 + 0.2 * rng.standard_normal(100)))
        within += abs(line.e - 0.02) <= line.e_error, abs(line.met - 5.0) <= line.met_error
    assert within / 1000 == pytest.approx([0.95, 0.95], abs=0.015)


def row_by_row(rate, cpu):
    """Every window a cell of its own; the levels are those of its rates."""
    ones = np.ones_like(rate)
    sums = {"sx": rate, "sy": cpu, "sxx": rate * rate, "sxy": rate * cpu, "syy": cpu * cpu}
    level, one = np.unique(rate, return_inverse=True)[1], np.arange(len(rate))
    return Cells(x=level, y=one, n=ones, **sums, received=rate, emitted=rate)


@pytest.mark.parametrize(
    ("usual", "odd", "outliers"),
    [
        (0.02, 0.148, 0),  # 5 * 1.4826 * 0.02 = 0.14826
        (0.02, 0.149, 1),
        (0.02, -0.148, 0),
        (0.02, -0.149, 1),
        (0.01, 0.099, 0),  # 5 * 1.4826 * 0.01 = 0.07413, but levels are a few per cent wide
        (0.01, 0.101, 1),
    ],
)
def test_a_cell_is_left_out_beyond_five_usual_distances_and_a_tenth(usual, odd, outliers):
    off = np.array([-usual] * 3 + [0.0] + [usual] * 3)
    rate = np.append(np.repeat([100.0, 200.0, 400.0, 800.0], len(off)), 400.0)
    cpu = (0.02 * rate + 5.0) * (1 + np.append(np.tile(off, 4), odd))
    assert fit(row_by_row(rate, cpu)).outliers == outliers


@pytest.mark.parametrize(("spread", "identified"), [(0.099, False), (0.101, True)])
def test_rates_that_differ_by_less_than_a_tenth_do_not_tell_cost_from_overhead(spread, identified):
    rate = 1000.0 * (1 + spread * np.tile([-1.0, 1.0], 50))
    line = fit(row_by_row(rate, 0.02 * rate + 5.0))
    assert line.identified is identified
    assert line.met == (pytest.approx(5.0) if identified else 0.0)


def test_without_outliers_it_is_least_squares():
    rate, cpu = windows(noise=0.02)
    e, met = np.polyfit(rate, cpu, 1)
    line = fit(cells(rate, cpu))
    assert line.outliers == 0
    assert (line.e, line.met) == (pytest.approx(e, rel=1e-7), pytest.approx(met, rel=1e-7))


def test_a_fifth_of_wild_windows_changes_nothing():
    rate, cpu = windows()
    wild = cpu.copy()
    wild[::5] *= 10
    line = fit(cells(rate, wild))
    clean = np.polyfit(rate[np.arange(4000) % 5 > 0], cpu[np.arange(4000) % 5 > 0], 1)
    assert line.outliers == 800
    assert (line.e, line.met) == (pytest.approx(clean[0], rel=1e-6), pytest.approx(clean[1], rel=1e-6))


def test_what_is_left_out_is_the_same_row_by_row():
    """At every noise and number of rows: a cell is as far as its rows are, not as its mean is."""
    for seed, noise in enumerate((0.01, 0.03, 0.1, 0.2)):
        rate, cpu = windows(count=500, noise=noise, seed=seed)
        cpu[:: 50 + seed] *= 3
        line = fit(cells(rate, cpu))
        slope, intercept, outliers = plain_fit(rate, cpu)
        assert line.outliers == outliers
        assert (line.e, line.met) == (pytest.approx(slope, rel=1e-6), pytest.approx(intercept, rel=1e-6))


def test_sound_windows_are_no_outliers():
    for seed in range(20):
        assert fit(cells(*windows(count=450, noise=0.03, seed=seed))).outliers == 0


def test_one_rate_tells_the_cost_and_no_more():
    rng = np.random.default_rng(2)
    line = fit(cells(np.full(500, 800.0), 20 + rng.standard_normal(500)))
    assert (line.identified, line.met) == (False, 0.0)
    assert line.e == pytest.approx(20 / 800, rel=0.01)


def test_an_idle_component_has_its_overhead():
    line = fit(cells(np.zeros(50), np.full(50, 3.0)))
    assert (line.e, line.met, line.alpha, line.identified) == (0.0, 3.0, None, False)


def test_neither_figure_is_negative():
    rate, _ = windows()
    assert fit(cells(rate, np.maximum(0.02 * rate - 1.0, 0.5))).met == 0.0
    falling = fit(cells(rate, 50 - 0.01 * rate))
    assert falling.e == 0.0
    assert falling.met > 0


@pytest.mark.parametrize(("cpu", "e", "met"), [
    ((30.0, 20.0, 10.0), 0.0, 20.0),  # less CPU at more tuples: the mean
    ((10.0, 30.0, 50.0), 2200 / 1400, 0.0),  # 2 x rate - 10: the best line through the origin
])  # fmt: skip
def test_a_figure_that_would_be_negative_is_zero_and_the_other_fits_without_it(cpu, e, met):
    line = fit(row_by_row(np.array([10.0, 20.0, 30.0]), np.array(cpu)))
    assert (line.e, line.met) == (pytest.approx(e), met)


def test_errors_of_four_windows_by_hand():
    # residuals 0.1, -0.1, -0.1, 0.1 of 2 x rate + 10, on two degrees of freedom: variance 0.02; rates vary by 500
    line = fit(row_by_row(np.array([10.0, 20.0, 30.0, 40.0]), np.array([30.1, 49.9, 69.9, 90.1])))
    assert (line.e, line.met) == (pytest.approx(2.0), pytest.approx(10.0))
    assert line.e_error == pytest.approx(1.96 * np.sqrt(0.02 / 500), rel=1e-6)
    assert line.met_error == pytest.approx(1.96 * np.sqrt(0.02 * 3000 / 4 / 500), rel=1e-6)
    assert line.r2 == pytest.approx(1 - 0.04 / 2000.04)


def test_few_windows_are_enough_for_a_figure():
    line = fit(cells(np.array([100.0]), np.array([7.0])))
    assert (line.samples, line.identified, line.e) == (1, False, 0.07)


def test_a_quantile_is_within_half_a_level():
    amounts = np.random.default_rng(3).lognormal(2, 1, 10_000)
    names, counts = np.unique(levels(amounts, STEPS), return_counts=True)
    for share in (0.5, 0.9, 0.99):
        exact = np.quantile(amounts, share, method="inverted_cdf")
        assert quantile(names, counts, share) == pytest.approx(exact, rel=0.011)
    assert quantile([5, NOTHING], [1, 9], 0.5) == 0.0


def by_hour(*factors, counts=()):
    hours = {}
    for number, factor in enumerate(factors):
        rate, cpu = windows(count=counts[number] if counts else 400, seed=number)
        hours[f"2026-01-05T{number:02d}"] = cells(rate, cpu * factor)
    return hours


def history(hours):
    """The profile after some hours, the hour since which it holds, and the change points."""
    track = None
    for hour, some in hours.items():
        track = follow(track, Part(block=0, since=hour, cells=some))
    return *profile(track), track.changes


def test_a_profile_that_holds_has_no_changes():
    line, since, changes = history(by_hour(1, 1, 1.05, 1))
    assert (since, changes, line.samples) == ("2026-01-05T00", (), 1600)


@pytest.mark.parametrize(("factor", "changes"), [(1.14, 0), (1.16, 1), (0.86, 0), (0.84, 1)])
def test_fifteen_per_cent_more_or_less_are_a_change(factor, changes):
    assert len(history(by_hour(1, 1, factor, factor))[2]) == changes


@pytest.mark.parametrize(("count", "changes"), [(29, 0), (30, 1)])
def test_an_hour_of_fewer_than_thirty_windows_says_nothing(count, changes):
    assert len(history(by_hour(1, 1, 2, 2, counts=(400, 400, count, count)))[2]) == changes


def test_two_hours_that_differ_are_a_change_and_the_profile_starts_there():
    line, since, changes = history(by_hour(1, 1, 1.5, 1.5, 1.5))
    assert since == "2026-01-05T02"
    assert [each.hour for each in changes] == ["2026-01-05T02"]
    assert changes[0].ratio == pytest.approx(1.5, rel=0.03)
    assert line.e == pytest.approx(0.03, rel=0.05)


def test_one_odd_hour_is_no_change():
    _, since, changes = history(by_hour(1, 1, 1.5, 1, 0.6, 1))
    assert (since, changes) == ("2026-01-05T00", ())
    assert history(by_hour(1, 1, 1.5, 1, 1.5, 1))[2] == ()


def test_an_hour_too_high_and_one_too_low_are_no_change_and_two_that_agree_begin_with_the_first_of_them():
    assert history(by_hour(1, 1, 1, 1.5, 0.6, 1))[2] == ()
    _, since, (change,) = history(by_hour(1, 1, 1, 1.5, 0.6, 0.6))
    assert (change.hour, since) == ("2026-01-05T04", "2026-01-05T04")


def test_there_and_back_are_two_changes():
    _, since, changes = history(by_hour(1, 1, 2, 2, 1, 1))
    assert [each.hour[-2:] for each in changes] == ["02", "04"]
    assert since.endswith("04")

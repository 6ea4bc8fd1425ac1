"""Profiles from cells: the truth is found, outliers are left out, and what cannot be known is said."""

from __future__ import annotations

import numpy as np
import pytest

from headgate_pipeline.drift import history
from headgate_pipeline.fit import Cells, fit
from headgate_pipeline.levels import NOTHING, RATE_STEPS, STEPS, quantile
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


def test_the_truth_is_within_the_interval():
    rate, cpu = windows()
    line = fit(cells(rate, cpu, 2.5 * rate))
    assert line.e == pytest.approx(0.02, abs=2 * line.e_error)
    assert line.met == pytest.approx(5.0, abs=2 * line.met_error)
    assert (line.alpha, line.samples, line.identified) == (pytest.approx(2.5), 4000, True)
    assert line.e_error < 0.0005
    assert line.r2 > 0.95


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
    assert (line.e, line.met, line.alpha, line.identified) == (0.0, 3.0, 1.0, False)


def test_neither_figure_is_negative():
    rate, _ = windows()
    assert fit(cells(rate, np.maximum(0.02 * rate - 1.0, 0.5))).met == 0.0
    falling = fit(cells(rate, 50 - 0.01 * rate))
    assert falling.e == 0.0
    assert falling.met > 0


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


def by_hour(*factors):
    hours = {}
    for number, factor in enumerate(factors):
        rate, cpu = windows(count=400, seed=number)
        hours[f"2026-01-05T{number:02d}"] = cells(rate, cpu * factor)
    return hours


def test_a_profile_that_holds_has_no_changes():
    line, since, changes = history(by_hour(1, 1, 1.05, 1))
    assert (since, changes, line.samples) == ("2026-01-05T00", (), 1600)


def test_two_hours_that_differ_are_a_change_and_the_profile_starts_there():
    line, since, changes = history(by_hour(1, 1, 1.5, 1.5, 1.5))
    assert since == "2026-01-05T02"
    assert [each.hour for each in changes] == ["2026-01-05T02"]
    assert changes[0].ratio == pytest.approx(1.5, rel=0.03)
    assert line.e == pytest.approx(0.03, rel=0.05)


def test_one_odd_hour_is_no_change():
    _, since, changes = history(by_hour(1, 1, 1.5, 1, 0.6, 1))
    assert (since, changes) == ("2026-01-05T00", ())


def test_there_and_back_are_two_changes():
    _, since, changes = history(by_hour(1, 1, 2, 2, 1, 1))
    assert [each.hour[-2:] for each in changes] == ["02", "04"]
    assert since.endswith("04")

"""The printed figures; what the simulator promises of them, and no more."""

from __future__ import annotations

import math

from headworks_lab.evidence.claims import count, reproduce
from headworks_lab.simulated import claims as module
from headworks_lab.simulated.claims import claims

CLAIMS = {claim.id: claim for claim in claims()}
RESULTS = {}


def result(name):
    if name not in RESULTS:
        RESULTS[name] = reproduce(CLAIMS[name])
    return RESULTS[name]


def test_ids_are_different():
    assert len(CLAIMS) == len(claims())


def test_the_36_numbers_of_use_case_1_are_within_6_percent_and_3_on_average():
    figures = ("10-", "11-", "14-", "15-dps", "19-", "20-", "28-")
    names = [name for name in CLAIMS if name.startswith(figures) and CLAIMS[name].verify]
    errors = [abs(result(name).ours / CLAIMS[name].printed - 1) for name in names]
    assert len(errors) == 36
    assert max(errors) <= 0.06
    assert math.fsum(errors) / len(errors) <= 0.03


def test_what_cannot_be_computed_says_what_is_missing():
    rows = [claim for claim in CLAIMS.values() if claim.verify is None or not claim.expected]
    assert len(rows) == 23
    assert all(claim.note for claim in rows)


def test_all_that_is_printed_of_tp1_and_tp2_is_listed():
    """T_T of both topologies and the overhead, each at three rates, under both schedulers; SPS has no overhead."""
    listed = {(row.source[-2:], row.id.split("-")[1]) for row in CLAIMS.values() if "use case 2" in row.statement}
    assert listed == {("35", "sps"), ("35", "dps"), ("36", "dps"), ("37", "sps"), ("37", "dps")}
    assert sum("use case 2" in row.statement for row in CLAIMS.values()) == 15
    assert CLAIMS["37-dps-80"].printed == 1.054771


def test_the_18_predictions_of_use_case_1_are_8_figures():
    names = [name for name, claim in CLAIMS.items() if claim.family and claim.basis == "predicted"]
    assert len(names) == 18
    assert count(map(result, names))["predicted"] == 8


def test_n_storm_is_not_more_than_itself(monkeypatch):
    assert result("total-plus-sign").status == "predicted"
    monkeypatch.setattr(module, "PLUS", module.SIXTEEN)
    for name in ("total-plus", "total-plus-sign"):
        found = reproduce(next(each for each in claims() if each.id == name))
        assert found.ours in (0.0, "as much")
    assert found.status == "differs"

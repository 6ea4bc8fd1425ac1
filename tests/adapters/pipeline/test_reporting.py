"""Reports of runs: what changed, which thresholds are broken, and the page."""

from __future__ import annotations

import json
from html.parser import HTMLParser

import pytest

from headworks.errors import OptionError
from headworks.model import Profile
from headworks.model.knowledge import Demand, Drift, Knowledge, NodeHealth, ProfileFit
from headworks_pipeline.reporting.changes import Change, changes
from headworks_pipeline.reporting.report import MOST, RunReport, report_page, write_report
from headworks_pipeline.reporting.thresholds import USUAL, Threshold, breaches
from pipeline_command import pipeline_here
from pipeline_samples import BAD, FIRST, task_row, write
from shell import headworks


def fit(e, met=1.0, error=0.0, component="c"):
    profile = Profile(topology="t", component=component, machine_type="big", e=e, met=met)
    return ProfileFit(profile=profile, samples=10, e_error=error)


def demand(p95):
    return Demand(
        topology="t", component="c", machine_type="", resource="cpu", samples=9, p50=1, p90=2, p95=p95, p99=9, peak=9
    )


def test_a_profile_changed_if_it_is_beyond_both_errors():
    sharp, blurred = (Knowledge(profiles=(fit(0.010, error=error),)) for error in (0.0, 0.002))
    later = Knowledge(profiles=(fit(0.011),))
    assert changes(blurred, later) == ()
    (change,) = changes(sharp, later)
    assert change == Change(kind="profile", subject="t/c on big", before="e 0.01, met 1", after="e 0.011, met 1")
    assert changes(sharp, Knowledge(profiles=(fit(0.0101),))) == ()


def test_what_comes_and_goes_is_told():
    drift = Drift(topology="t", component="c", machine_type="", hour="2026-01-05T03", ratio=1.3)
    before = Knowledge(profiles=(fit(1.0),), demands=(demand(4.0),), nodes=(NodeHealth(node="n"),))
    after = Knowledge(demands=(demand(6.0),), nodes=(NodeHealth(node="n", state="silent"),), drifts=(drift,))
    assert [(each.kind, each.before, each.after) for each in changes(before, after)] == [
        ("profile", "e 1, met 1", ""),
        ("demand, p95", "4", "6"),
        ("node", "healthy", "silent"),
        ("drift", "held", "1.30 times since 2026-01-05T03"),
    ]
    assert changes(after, after) == ()


@pytest.mark.parametrize(("rows", "threshold", "broken"), [
    ({"": 95, "clock": 5}, Threshold(5.0), False),
    ({"": 94, "clock": 3, "incomplete": 3}, Threshold(5.0), True),
    ({"": 50, "duplicate": 50}, Threshold(5.0), False),
    ({"": 50, "duplicate": 50}, Threshold(40.0, "duplicate"), True),
    ({"": 90, "clock": 1, "incomplete": 9}, Threshold(1.0, "clock"), False),
    ({"clock": 3}, Threshold(99.0), True),
    ({}, Threshold(0.0), False),
    ({"": 7}, Threshold(0.0), False),
])  # fmt: skip
def test_thresholds(rows, threshold, broken):
    assert bool(breaches({"h": rows}, [threshold])) == broken


def test_a_bad_hour_is_not_hidden_by_good_ones():
    hours = {"good": {"": 1_000_000}, "bad": {"": 80, "clock": 20}}
    assert breaches(hours, USUAL) == ("bad: 20 of 100 rows are not used (20 %, at most 5 % may be)",)


def test_files_that_cannot_be_read_are_counted_as_files():
    files = {"good": (1, 20), "bad": (2, 20)}
    rows = {hour: {"": 1000, "half-written file": bad} for hour, (bad, _) in files.items()}
    said = "bad: 2 of 20 files cannot be read (10 %, at most 5 % may be)"
    assert breaches(rows, USUAL, files) == breaches(rows, [Threshold(5, "half-written file")], files) == (said,)
    assert breaches(rows, [Threshold(5, "clock"), Threshold(10)], files) == ()


@pytest.mark.parametrize("text", ["", "much", "clock=", "101", "-1", "nan"])
def test_a_threshold_that_is_none_is_an_error(text):
    with pytest.raises(OptionError, match="is not a threshold"):
        Threshold.parse(text)


def test_a_threshold_names_a_reason_or_none():
    assert Threshold.parse("0.5") == Threshold(0.5)
    assert Threshold.parse("half-written file=2") == Threshold(2.0, "half-written file")


class Cells(HTMLParser):
    def __init__(self):
        super().__init__()
        self.found, self.open = [], []

    def handle_starttag(self, tag, attrs):
        self.open += [tag] if tag != "meta" else []

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        self.found.append(data)


def test_the_page_says_what_the_json_says(tmp_path):
    report = RunReport(
        started="2026-01-05T04:00:00+00:00",
        backend="spark",
        seconds={"make tables": 12.3},
        hours={f"h{number:03d}": {"": 90, "<clock>": 10} for number in range(MOST + 3)},
        rows={"": 1234567, "<clock>": 89},
        kept=7,
        lost=tuple(f"lost{number}" for number in range(7)),
        breaches=("a threshold & more",),
        changes=(Change(kind="node", subject="n", before="healthy", after="silent"),),
    )
    write_report(report, tmp_path)
    document = json.loads((tmp_path / "report.json").read_text())
    assert (document["version"], document["rows"], len(document["hours"])) == (
        1,
        {"": 1234567, "<clock>": 89},
        MOST + 3,
    )
    parser = Cells()
    parser.feed(report_page(report))
    assert parser.open == []
    text = "\n".join(parser.found)
    for each in ("1,234,567", "<clock>", "a threshold & more", "lost4 and 2 more", "healthy", "12.30", "3 more are in"):
        assert each in text, each


@pytest.mark.spark
def test_a_run_reports(made, folder, tmp_path):
    report = json.loads((folder / "report.json").read_text())
    assert report["backend"] == "spark"
    assert report["rows"] == made["rows"]
    assert {reason: n for reason, n in report["rows"].items() if reason not in ("", "duplicate")} == BAD
    assert sum(report["hours"]["2026-01-05T01"].values()) + sum(report["hours"]["2026-01-05T00"].values()) == sum(
        made["rows"].values()
    )
    assert {each["subject"] for each in report["changes"] if each["kind"] == "profile"} >= {"plant/parse on big"}
    assert set(report["seconds"]) == {"look at files", "start the engine", "make tables", "learn"}
    assert "2 hours were made" in (folder / "report.html").read_text()


def test_an_hour_in_quarantine_ends_a_run_with_exit_code_1(tmp_path):
    write(tmp_path / "raw" / FIRST / "a.parquet", [task_row(number, cpu=-1.0) for number in range(9)])
    words = ("pipeline", "run", tmp_path / "raw", "-O", tmp_path / "out")
    done = headworks(*words)
    assert done.returncode == 1
    assert "threshold broken: 2026-01-05T00: 9 of 9 rows are not used (100 %, at most 5 % may be)" in done.stderr
    report = json.loads((tmp_path / "out" / "report.json").read_text())
    assert len(report["breaches"]) == 1
    # Nothing new: there is nothing to be alarmed about again.
    pipeline_here(tmp_path / "raw", tmp_path / "out")

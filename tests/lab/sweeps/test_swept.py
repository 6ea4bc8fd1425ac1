"""A sweep as data: a row an experiment, in Python and in files, and one scheduler against another."""

from __future__ import annotations

import csv
import json

import pytest

import headworks_lab
from headworks.errors import PluginError
from headworks_lab.sweeps.sweep import RESULTS
from shell import called

ASKED = ("workload", "nodes", "scheduler", "seed", "seconds", "engine", "network", "warm_up")
ORIGIN = ("scheduler_version", "scheduler_commit", "engine_version", "engine_commit")


@pytest.fixture(scope="module")
def swept(tmp_path_factory):
    folder = tmp_path_factory.mktemp("swept")
    return folder, headworks_lab.sweep("dstorm:linear", ["even", "dstorm"], seeds=3, seconds=20.0, folder=folder)


def test_a_row_is_an_experiment_with_the_version_and_commit_of_each_plugin(swept):
    _, result = swept
    assert [(row["scheduler"], row["seed"]) for row in result.rows] == [
        (name, seed) for name in ("even", "dstorm") for seed in range(3)
    ]
    for row in result.rows:
        assert tuple(row)[: len(ASKED) + len(ORIGIN)] == (*ASKED, *ORIGIN)
        assert list(row)[-1] == "error"
        assert row["scheduler_version"] == row["engine_version"] != ""
        assert (row["warm_up"], row["warm_up_used"], row["nodes"] < row["nodes_used"]) == (None, 60.0, True)
        assert all(isinstance(value, str | int | float | None) for value in row.values())


def test_the_file_of_results_has_the_same_names(swept):
    folder, result = swept
    lines = [json.loads(line) for line in (folder / RESULTS).read_text().splitlines()]
    assert [{name: line[name] for name in (*ASKED, *ORIGIN)} for line in lines] == [
        {name: row[name] for name in (*ASKED, *ORIGIN)} for row in result.rows
    ]
    again = headworks_lab.sweep("dstorm:linear", ["even", "dstorm"], seeds=3, seconds=20.0, folder=folder)
    assert again.rows == result.rows


def test_a_result_is_a_frame_a_line_and_a_page(swept):
    pytest.importorskip("pandas")
    _, result = swept
    assert result.to_frame().to_dict("records")[0]["workload"] == "dstorm:linear"
    assert repr(result) == "<SweepResult of 6 experiments, 0 failed>"
    assert result._repr_html_().count("<svg") == 1
    assert {name.partition(" ")[0] for name in result.figures()} == {"dstorm:linear"}


def test_one_scheduler_stands_against_another_seed_by_seed(swept):
    _, result = swept
    (found,) = result.against("even", "inter_node")
    assert (found.scheduler, found.baseline, found.effect.pairs, found.effect.less) == ("dstorm", "even", 3, 3)
    assert str(found).startswith("dstorm:linear: dstorm has 0.417 times [0.417, 0.417] the inter node of even; more in")
    assert result.against("even", "no such figure") == []


def test_an_engine_without_experiments_is_refused():
    with pytest.raises(PluginError, match="no experiments run on 'simm', did you mean sim"):
        headworks_lab.sweep("dstorm:linear", "even", engine="simm")
    with pytest.raises(AttributeError, match="swept"):
        headworks_lab.swept  # noqa: B018


def test_the_command_writes_rows_and_pictures_and_says_the_effect(tmp_path):
    words = ["-w", "dstorm:linear", "-s", "even", "-s", "dstorm", "--seeds", 2, "--seconds", 20, "--one-process"]
    files = ["--csv", tmp_path / "rows.csv", "--parquet", tmp_path / "rows.parquet", "--figures", tmp_path / "figures"]
    done = called("sweep", *words, *files, "--baseline", "even", "-O", tmp_path / "out")
    assert done.returncode == 0, done.stderr
    assert "dstorm:linear: dstorm has " in done.stderr
    assert "the throughput of even" in done.stderr
    rows = list(csv.DictReader((tmp_path / "rows.csv").read_text().splitlines()))
    assert [(row["scheduler"], row["seed"]) for row in rows] == [
        ("even", "0"), ("even", "1"), ("dstorm", "0"), ("dstorm", "1")
    ]  # fmt: skip
    assert (tmp_path / "figures" / "dstorm-linear-throughput.svg").read_text().startswith("<svg xmlns=")
    parquet = pytest.importorskip("pyarrow.parquet")
    assert parquet.read_table(tmp_path / "rows.parquet").column_names == list(rows[0])
    assert called("sweep", *words, "--baseline", "otd").returncode == 2

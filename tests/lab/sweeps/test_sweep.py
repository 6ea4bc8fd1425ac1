"""Sweeps: every experiment once, whatever happens to the process, and the same results with Spark and without."""

from __future__ import annotations

import json
from html import escape
from random import Random
from xml.etree import ElementTree

import attrs
import pytest
from click.testing import CliRunner

import shell
from headworks.cli.main import headworks
from headworks.model import FrozenMap
from headworks_lab.evidence.model import Interval
from headworks_lab.measure.interval import interval
from headworks_lab.sweeps.charts import LEFT, SHARED, WIDTH, bars, brief, middle, misjudged, sweep_page
from headworks_lab.sweeps.experiments import Experiment, ExperimentOutcome, Sweep, connected, drawn, sized, try_out
from headworks_lab.sweeps.sweep import RESULTS, summary, sweep
from plugin_folder import GOOD, install
from small_requests import word_count

SVG = "{http://www.w3.org/2000/svg}"
SMALL = Sweep(workloads=("dstorm:linear",), schedulers=("even", "dstorm"), nodes=(0, 4), seeds=2, seconds=30.0)


@pytest.fixture(scope="module")
def found(tmp_path_factory):
    return sweep(SMALL, tmp_path_factory.mktemp("sweep"))


def test_every_combination_is_run_once(found):
    assert [each.experiment for each in found] == list(SMALL.experiments())
    assert len({each.experiment.id for each in found}) == len(found) == 8
    assert all(each.figures["throughput"] > 0 for each in found)


def test_the_start_of_a_cluster_is_left_out_and_a_figure_of_its_own(found):
    asked = found[0].experiment
    cold = try_out(attrs.evolve(asked, warm_up=0.0))
    warm, cold = found[0].figures, cold.figures
    assert (warm["warm_up"], cold["warm_up"], warm["completed"]) == (60.0, 0.0, 1.0)
    assert cold["completed"] == cold["throughput"] / cold["offered"] < 0.9
    assert warm["start"] == pytest.approx(cold["start"])
    assert asked.id != attrs.evolve(asked, warm_up=60.0).id


def test_an_ended_sweep_goes_on(found, tmp_path):
    told = []
    sweep(SMALL, tmp_path, tell=lambda *counts: told.append(counts))
    assert told[0] == (0, 8)
    assert told[-1] == (8, 8)
    lines = (tmp_path / RESULTS).read_text().splitlines(keepends=True)
    (tmp_path / RESULTS).write_text("".join(lines[:3]) + lines[3][:20])
    told.clear()
    assert sweep(SMALL, tmp_path, tell=lambda *counts: told.append(counts)) == found
    assert told[0] == (3, 8)
    told.clear()
    sweep(SMALL, tmp_path, tell=lambda *counts: told.append(counts))
    assert told == [(8, 8)]


def test_other_seconds_are_another_experiment():
    one, other = (Experiment(workload="w", scheduler="s", seconds=each) for each in (1.0, 2.0))
    assert one.id != other.id


def test_what_goes_wrong_is_an_outcome():
    bad = try_out(Experiment(workload="dstorm:none", scheduler="even"))
    assert "no workload" in bad.error
    assert summary([bad])[0].failed == 1


def test_nodes_are_repeated_or_left_out():
    request = word_count()
    assert [node.id for node in sized(request, 5).cluster.nodes] == ["a", "b", "a~1", "b~1", "a~2"]
    assert [node.id for node in sized(request, 1).cluster.nodes] == ["a"]
    assert sized(request, 0) is request


def test_networks_are_those_of_the_nodes():
    request = word_count()
    assert connected(request, 0) is request
    assert {node.bandwidth for node in connected(request, 2e6).cluster.nodes} == {250e3}


def test_the_order_on_a_real_engine_is_drawn_within_each_repetition():
    asked = Sweep(workloads=("v", "w"), schedulers=("a", "b", "c"), networks=(1e6, 2e6), seeds=3, engine="storm")
    order = drawn(asked.experiments())
    assert sorted(order) == sorted(asked.experiments())
    assert order == drawn(reversed(asked.experiments()))
    assert [(each.workload, each.seed) for each in order] == [(w, s) for w in "vw" for s in range(3) for _ in range(6)]
    blocks = {tuple((each.scheduler, each.network) for each in order[at : at + 6]) for at in range(0, 36, 6)}
    assert len(blocks) > 1


def test_intervals_hold_the_median_as_often_as_they_say():
    random = Random(3)
    for count in (2, 3, 5, 6, 9, 20):
        held = 0
        for _ in range(2000):
            found = interval([random.gauss(10, 2) for _ in range(count)])
            assert found.low <= found.median <= found.high
            held += found.low <= 10 <= found.high
        assert held >= 0.93 * 2000
    assert interval([3.0]) == Interval(3.0)
    assert (interval([100.0, 300.0]).low, interval([0.0, 0.0]).low) == (0.0, 0.0)  # amounts: no tuples/s below 0
    assert interval([-1.0, 3.0]).low < -1.0
    assert interval(range(1, 7)) == Interval(3.5, 1, 6)  # 3 % of six throws are all heads or all tails
    with pytest.raises(ValueError, match="nothing"):
        interval([])


def real_cell(**more):
    figures = {"throughput": 5.0, "latency_p95": 12.0, "bytes_between": 2e6, "restarts": 0.0, "apart": 1.0} | more
    outcomes = [
        ExperimentOutcome(
            experiment=Experiment(workload="w", scheduler="storm", seed=seed, engine="storm", network=2e6),
            figures=FrozenMap(figures | {"throughput": figures["throughput"] + seed}),
        )
        for seed in range(3)
    ]
    return summary(outcomes)


def test_figures_of_a_real_engine_have_intervals_and_say_whether_times_compare():
    (cell,) = real_cell()
    assert middle(cell, "throughput") == "6 [3.516, 8.484]"
    assert middle(cell, "latency_p95") == "12"
    assert (middle(cell, "start"), middle(cell, "latency")) == ("never", "")
    assert [middle(each, "throughput", lambda value: f"{value:.0e}") for each in real_cell(throughput=1e6)] == ["1e+06"]
    page = sweep_page([cell], 20.0)
    assert "3 experiments on real clusters (storm) of 20 s" in page
    assert "2 Mbit/s" in page
    assert SHARED not in page
    assert escape(SHARED) in sweep_page(real_cell(apart=0.0), 20.0)


def test_a_plan_for_another_load_than_ran_is_told():
    def cells(*times):
        return [cell for each in times for cell in real_cell(burned=each)]

    assert misjudged(cells(0.91, 1.09)) == misjudged(()) == ""
    assert misjudged(cells(0.5, 1.05)).startswith("In 1 of 2 rows tasks used 0.50 times the CPU")
    assert "In 2 of 2 rows tasks used 0.50 to 1.20 times" in sweep_page(cells(0.5, 1.2), 20.0)


def test_means_are_over_seeds_and_in_the_page(found):
    cells = summary(found)
    assert [(cell.nodes, cell.scheduler, cell.runs) for cell in cells] == [
        (0, "dstorm", 2),
        (0, "even", 2),
        (4, "dstorm", 2),
        (4, "even", 2),
    ]
    mean = sum(each.figures["throughput"] for each in found if each.experiment.scheduler == "even") / 4
    assert sum(cell.means["throughput"] for cell in cells if cell.scheduler == "even") / 2 == pytest.approx(mean)
    page = sweep_page(cells, 30.0)
    assert page.count("<svg") >= 4
    assert "8 simulated experiments of 30 s, after a warm-up of 60 s." in page
    assert "warm_up" not in page


def test_a_bar_names_its_scheduler_and_is_as_long_as_its_median(found):
    cells = [cell for cell in summary(found) if cell.nodes == 4]
    chart = ElementTree.fromstring(bars(cells, "throughput"))
    texts = [each.text for each in chart.iter(f"{SVG}text")]
    assert texts[0] == "4 nodes"
    assert texts[1::2] == ["dstorm", "even"]
    long = [float(each.get("width")) for each in chart.iter(f"{SVG}rect")]
    assert long[0] / long[1] == pytest.approx(cells[0].means["throughput"] / cells[1].means["throughput"], rel=1e-4)
    assert all(LEFT + each <= WIDTH for each in long)


def test_the_table_of_a_workload_says_once_what_all_its_rows_have(tmp_path):
    words = ["-w", "dstorm:linear", "-s", "even", "-s", "dstorm", "--nodes", "own,4", "--seeds", "2"]
    sweep(SMALL, tmp_path)
    done = CliRunner().invoke(headworks, ["sweep", *words, "--seconds", "30", "--one-process", "-O", str(tmp_path)])
    assert done.exit_code == 0, done.output
    said = "dstorm:linear: medians over seeds, and their 95 % intervals, after a warm-up of 60 s; network: own; runs: 2"
    assert " ".join(done.stdout.split()).startswith(said)
    told = [row.split()[:2] for row in done.stdout.splitlines() if row.startswith((" even", " dstorm"))]
    assert told == [["dstorm", "own"], ["even", "own"], ["dstorm", "4"], ["even", "4"]]


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (0.0, "0"),
        (0.67748, "0.677"),
        (7.0, "7"),
        (99.96, "100"),
        (1001.4, "1,001"),
        (287_351.0, "287k"),
        (1.25e6, "1.25M"),
    ],
)
def test_brief_amounts(value, text):
    assert brief(value) == text


def test_the_command_tells_and_writes(tmp_path):
    words = ["sweep", "-w", "dstorm:linear", "-s", "even", "--seeds", "2", "--seconds", "20", "--one-process"]
    done = CliRunner().invoke(headworks, [*words, "-O", str(tmp_path), "--json"])
    assert done.exit_code == 0, done.output
    (cell,) = json.loads(done.stdout)
    assert cell["runs"] == 2
    assert cell["means"].keys() >= {"offered", "completed", "latency", "start", "warm_up"}
    assert "2 of 2 experiments" in done.stderr
    assert (tmp_path / "sweep.html").exists()


@pytest.mark.parametrize("words", [["-w", "dstorm:linear", "-s", "nobody"], ["-w", "x", "-s", "even"], ["-s", "even"]])
def test_a_wrong_name_is_told_at_once(words, tmp_path):
    done = CliRunner().invoke(headworks, ["sweep", *words, "-O", str(tmp_path / "new")], standalone_mode=True)
    assert done.exit_code != 0
    assert not (tmp_path / "new").exists()


def test_a_scheduler_that_raises_is_told_with_its_line_and_is_exit_code_1(tmp_path):
    raising = GOOD.replace("return problem.plan([-1] * problem.n)", "raise ValueError('boom')")
    install(tmp_path, "strange", {"raising": raising})
    words = [
        "-w",
        "dstorm:linear",
        "-s",
        "raising",
        "--seeds",
        "1",
        "--seconds",
        "10",
        "--warm-up",
        "0",
        "--one-process",
    ]
    done = shell.headworks("sweep", *words, "-O", tmp_path / "out", PYTHONPATH=str(tmp_path))
    assert done.returncode == 1
    assert "failed: raising: 1 of 1 rounds held: raising raised ValueError: boom (" in done.stderr
    assert "strange_raising.py:11)" in done.stderr

from __future__ import annotations

import json
import xml.etree.ElementTree as ET

import pytest
from click.testing import CliRunner

from headworks.api import find_request
from headworks.cli.main import headworks
from headworks.cli.settings import settings_of
from headworks.documents import restore, write
from headworks.errors import DocumentError
from headworks.model import Profile
from headworks.model.knowledge import Knowledge, ProfileFit
from headworks.plugins.host import PluginHost
from headworks.report.curves import Curve, CurvePanel, curves_svg
from headworks_sim.application import SETTINGS
from headworks_sim.experiments import experiment
from headworks_sim.experiments.experiment import run
from headworks_sim.experiments.simulate import simulate
from headworks_sim.experiments.summary import Summary
from headworks_sim.fluid.timing import Span
from headworks_sim.fluid.trace import Event, Trace
from shell import headworks as run_command
from small_requests import component, node, request, topology, word_count


@pytest.fixture
def words(tmp_path):
    write(tmp_path / "words.json", word_count())
    return tmp_path / "words.json"


def invoke(*arguments):
    return CliRunner().invoke(simulate, [str(each) for each in arguments])


def test_one_scheduler_is_shown_over_time(words):
    done = invoke(words, "-s", "even", "--duration", 200)
    assert done.exit_code == 0, done.output
    assert "even over time" in done.stdout
    assert "over the whole time" in done.stdout
    assert "rounds: 1 executed" in done.stderr


def test_several_are_side_by_side_and_the_page_has_a_curve_of_each(words, tmp_path):
    trace = {
        "events": [{"time": 60, "kind": "node-down", "subject": "a"}, {"time": 80, "kind": "node-up", "subject": "a"}]
    }
    (tmp_path / "trace.json").write_text(json.dumps(trace))
    page = tmp_path / "out.html"
    done = invoke(
        words,
        "-s",
        "even",
        "-s",
        "resource-aware",
        "--duration",
        200,
        "--html",
        page,
        "--json",
        "--trace",
        tmp_path / "trace.json",
    )
    assert done.exit_code == 0, done.output
    summaries = [restore(each, Summary) for each in json.loads(done.stdout)]
    assert [each.scheduler for each in summaries] == ["even", "resource-aware"]
    text = page.read_text()
    assert "node-down a" in text
    assert text.count("<title>even</title>") >= 5
    assert "http" not in text.replace("http://www.w3.org/2000/svg", "")


def test_equal_experiments_write_equal_samples(words, tmp_path):
    for name in ("one", "two"):
        assert invoke(words, "-s", "even", "--duration", 100, "--samples", tmp_path / name).exit_code == 0
    files = {
        name: sorted(file.relative_to(tmp_path / name) for file in (tmp_path / name).rglob("*") if file.is_file())
        for name in ("one", "two")
    }
    assert files["one"] == files["two"]
    assert any(file.suffix == ".parquet" and "day=2000-01-01" in str(file) for file in files["one"])
    assert any(file.suffix == ".json" for file in files["one"])


def test_a_request_that_does_not_fit_is_exit_code_1(tmp_path):
    write(tmp_path / "big.json", request([node("a", 10.0)], [topology("t", component("c", 2))]))
    done = invoke(tmp_path / "big.json", "-s", "resource-aware", "--duration", 50)
    assert done.exit_code == 1, done.output
    assert "held" in done.stderr


@pytest.mark.parametrize(
    "wrong", [["--duration", "0"], ["--style", "odd"], ["-o", "spread=1"], ["-o", "dstorm.beta=1"]]
)
def test_wrong_use_is_told(words, wrong):
    assert invoke(words, "-s", "even", *wrong).exit_code == 2


def test_a_curve_breaks_where_there_is_no_value_and_fits_its_frame():
    points = ((1.0, 5.0), (2.0, None), (4.0, 7.0))
    root = ET.fromstring(
        curves_svg([CurvePanel(title="x", curves=(Curve(name="one", points=points),))], [(3.0, "now")])
    )
    lines = [each for each in root.iter() if each.tag.endswith("polyline")]
    assert len(lines) == 2
    _, _, width, height = map(float, root.get("viewBox").split())
    for line in lines:
        for pair in line.get("points").split():
            x, y = map(float, pair.split(","))
            assert 0 <= x <= width
            assert 0 <= y <= height


def test_curves_of_nothing_are_a_picture_too():
    ET.fromstring(curves_svg([CurvePanel(title="x", curves=(Curve(name="one", points=()),))]))


ARRIVES = {
    "duration": (120.0, lambda given: given["duration"]),
    "warm-up": (5.0, lambda given: given["warm_up"]),
    "window": (7.0, lambda given: given["window"]),
    "interval": (9.0, lambda given: given["interval"]),
    "style": ("worker", lambda given: given["timing"].style),
    "supervisor-cycle": (3.0, lambda given: given["timing"].supervisor_cycle),
    "worker-cycle": (1.0, lambda given: given["timing"].worker_cycle),
    "kill-delay": (0.5, lambda given: given["timing"].kill_delay),
    "seed": (5, lambda given: given["seed"]),
}


@pytest.mark.parametrize("origin", ["the command line", "a file"])
@pytest.mark.parametrize("name", ARRIVES)
def test_every_setting_arrives_at_the_experiment(words, tmp_path, monkeypatch, name, origin):
    given = {}

    def remember(request, scheduler, seed, duration, **more):
        given.update(more, seed=seed, duration=duration)
        return run(request, scheduler, seed, 30.0)

    monkeypatch.setattr(experiment, "run", remember)
    value, arrived = ARRIVES[name]
    (tmp_path / "headworks.toml").write_text(f"[simulate]\n{name} = {json.dumps(value)}\n")
    more = [f"--{name}", value] if origin == "the command line" else ["--config", tmp_path / "headworks.toml"]
    done = CliRunner().invoke(headworks, [str(each) for each in ("simulate", words, "-s", "even", *more)])
    assert done.exit_code == 0, done.output
    assert arrived(given) == value


def test_the_table_of_settings_is_tested_whole(words):
    assert {each.name.replace("_", "-") for each in (*settings_of(Span), *SETTINGS)} == set(ARRIVES)


def test_a_run_whose_time_is_simulated_is_asked_how_long_it_is(words):
    endless = CliRunner().invoke(headworks, ["run", "--engine", "sim", "-s", "even", str(words)])
    assert endless.exit_code == 2
    assert "give --rounds" in endless.output
    some = CliRunner().invoke(headworks, ["run", "--engine", "sim", "-s", "even", "--rounds", "2", str(words)])
    assert some.exit_code == 0, some.output
    assert "round 2: unchanged" in some.output


def last_row(done, scheduler):
    """The cells of a scheduler in the last table."""
    line = next(each for each in reversed(done.stdout.splitlines()) if each.split()[:1] == [scheduler])
    return [cell.strip() for cell in line.split("  ") if cell.strip()]


def test_schedulers_that_plan_by_profiles_have_those_of_the_document():
    asked = find_request("hetero:linear-three", PluginHost.load())
    seen = []
    run(asked, "hetero", duration=30.0, on_round=lambda done, _: seen.append(done.request))
    assert seen[0].profiles == asked.profiles
    assert len(asked.profiles) == 9


def test_a_plan_by_profiles_without_profiles_is_no_result_and_its_status_says_so(words):
    for scheduler, status in (("hetero", "ok, no profiles"), ("hetero-plus", "ok, no profiles"), ("even", "ok")):
        assert last_row(invoke(words, "-s", scheduler, "--duration", 30), scheduler)[1] == status
    done = invoke(words, "-s", "hetero", "--duration", 30, "--json")
    assert [each["status"] for each in json.loads(done.stdout)] == ["ok, no profiles"]
    compared = CliRunner().invoke(headworks, ["compare", str(words), "-s", "hetero", "-s", "even"])
    assert "ok, no profiles" in compared.stdout


def test_profiles_from_knowledge_make_it_one(words, tmp_path):
    parts = [part.id for part in word_count().topologies[0].components]
    name = word_count().topologies[0].id
    fits = [
        ProfileFit(profile=Profile(topology=name, component=part, machine_type="", e=0.01), samples=9) for part in parts
    ]
    write(tmp_path / "knowledge.json", Knowledge(profiles=tuple(fits)))
    done = invoke(words, "-s", "hetero", "-o", "hetero.counts=given", "--duration", 30, "--knowledge", tmp_path)
    assert done.exit_code == 0, done.output
    assert last_row(done, "hetero")[1] == "ok"
    missing = invoke(words, "-s", "hetero", "--knowledge", tmp_path / "typo")
    assert missing.exit_code == 2
    assert "is not a file or folder that is there" in missing.output


def test_knowledge_that_cannot_be_read_is_refused_and_not_planned_without(words, tmp_path):
    """No round is said but by its outcome: the table would show a plan without profiles, and nobody why."""
    empty = tmp_path / "empty"
    empty.mkdir()
    bare = tmp_path / "profiles.json"  # profiles of a request, not of the pipeline, which has the samples too
    bare.write_text('[{"topology": "t", "component": "c", "machine_type": "", "e": 0.01}]')
    for path, file, said in ((bare, bare, "/profiles/0"), (empty, empty / "knowledge.json", "cannot be read")):
        done = invoke(words, "-s", "hetero", "--duration", 30, "--knowledge", path)
        assert isinstance(done.exception, DocumentError), done.output
        assert str(done.exception).startswith(f"{file}: ")
        assert said in str(done.exception)


def test_topologies_are_submitted_with_the_numbers_of_tasks_that_a_plan_chooses_and_keep_them():
    asked = find_request("hetero:linear-three", PluginHost.load())
    rounds = []
    summary = run(asked, "hetero", duration=90.0, warm_up=0.0, on_round=lambda done, _: rounds.append(done))
    assert [done.outcome for done in rounds] == ["executed", "unchanged", "unchanged"]
    assert summary.status == "ok"
    chosen = rounds[0].plan.parallelism
    parts = {f"{t.id}/{part.id}": part.parallelism for t in rounds[1].request.topologies for part in t.components}
    assert {name: parts[name] for name in chosen} == chosen
    before = {f"{t.id}/{part.id}": part.parallelism for t in asked.topologies for part in t.components}
    assert any(chosen[name] > before[name] for name in chosen)
    assert len(rounds[1].request.assignment) == sum(parts.values()) > sum(before.values())


def test_a_node_that_died_before_the_first_plan_stays_dead_when_topologies_are_submitted():
    asked = find_request("hetero:linear-three", PluginHost.load())
    gone = min(node.id for node in asked.cluster.nodes)
    trace = Trace(events=(Event(time=1.0, kind="node-down", subject=gone),))
    rounds = []
    run(asked, "hetero", duration=120.0, warm_up=0.0, trace=trace, on_round=lambda done, _: rounds.append(done))
    assert gone not in {slot.node for slot in rounds[-1].request.assignment.values()}
    assert gone not in {node.id for node in rounds[-1].request.cluster.nodes}
    assert rounds[-1].outcome == "unchanged", [done.message for done in rounds]


@pytest.mark.parametrize("words", [["simulate", "{request}"], ["run", "--engine", "sim", "--rounds", "1", "{request}"]])
def test_an_event_that_does_not_fit_is_told_with_its_file(tmp_path, words):
    write(tmp_path / "words.json", word_count())
    trace = tmp_path / "trace.json"
    trace.write_text('{"events": [{"time": 1, "kind": "node-flap", "subject": "a", "value": 1e-300}]}')
    typed = [each.format(request=tmp_path / "words.json") for each in words]
    done = run_command(*typed, "--trace", str(trace))
    assert done.returncode == 2
    assert f"{trace}: /events/0/value: 'a' cannot go and come every 1e-300 s" in done.stderr


def test_the_loop_stamps_samples_with_the_time_of_its_engine(words, tmp_path):
    pytest.importorskip("pyarrow")
    more = ("-s", "even", "--rounds", "1", "--window", "1", "--samples", str(tmp_path / "samples"))
    assert run_command("run", "--engine", "sim", *more, str(words)).returncode == 0
    days = {each.name for each in (tmp_path / "samples").rglob("day=*")}
    assert days == {"day=2000-01-01"}

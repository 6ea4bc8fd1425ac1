"""The control loop, unchanged, on the simulated engine: moves are seen, failures are planned around."""

from __future__ import annotations

import attrs
import pytest
from click.testing import CliRunner

from headworks.cli.main import headworks
from headworks.control.guards import Guards
from headworks.control.loop import Control, Loop
from headworks.documents import write
from headworks.errors import DocumentError, EngineError, OptionError
from headworks.hooks import hookimpl
from headworks.model import Limits, Metrics
from headworks.plugins.host import PluginHost
from headworks.problem import Problem
from headworks.testing import FirstFit
from headworks_sim.application import open_application
from headworks_sim.fluid.timing import Timing
from headworks_sim.fluid.trace import Event, Trace
from headworks_sim.fluid.world import World
from headworks_sim.plugin import sim
from headworks_sim.target import SimTarget, observe
from memory_engine import Judge
from small_requests import at, node, request, word_count


class Declared(FirstFit):
    """Plan on declared demands: what is measured while tasks are missing is less than what they need."""

    @hookimpl
    def headworks_schedule(self, request):
        return FirstFit().headworks_schedule(Problem.of(attrs.evolve(request, metrics=Metrics())))


def loop_on(made, scheduler, **more):
    target = SimTarget(world=World(made, **more))
    host = PluginHost().with_plugin("sim", sim).with_plugin("judge", scheduler)
    return target, Loop(
        host,
        Control(scheduler="judge", engine="sim", limits=Limits(), window=10.0, guards=Guards(cooldown=0.0)),
        target,
        clock=target.clock,
    )


def events(*rows):
    return Trace(
        events=tuple(Event(time=time, kind=kind, subject=what, value=value) for time, kind, what, value in rows)
    )


def three_nodes():
    return request([node("a"), node("b"), node("c")], word_count().topologies)


def test_the_first_round_places_and_the_next_moves_nothing():
    _, loop = loop_on(word_count(), FirstFit())
    first, second = loop.round(), loop.round()
    assert (first.outcome, first.check.asked, first.check.hits) == ("executed", 5, 5)
    assert second.outcome == "unchanged"


def test_the_monitor_measures_what_the_topology_declares():
    target, loop = loop_on(word_count(), FirstFit())
    loop.round()
    metrics = observe(target, 10.0).metrics
    (whole,) = metrics.topologies
    assert (whole.offered, whole.throughput) == (pytest.approx(100.0), pytest.approx(100.0))
    flows = {(flow.source, flow.target): flow for flow in metrics.flows}
    assert flows["words/split/0", "words/count/1"].tuples == pytest.approx(125.0)
    assert flows["words/split/0", "words/count/1"].bytes == pytest.approx(2500.0)
    cpu = {sample.task: sample.cpu for sample in metrics.tasks}
    assert cpu == pytest.approx(
        {"words/spout/0": 20, "words/split/0": 30, "words/split/1": 30, "words/count/0": 25, "words/count/1": 25}
    )
    assert sum(sample.cpu for sample in metrics.nodes) == pytest.approx(sum(cpu.values()))


@pytest.mark.parametrize("style", ["executor", "worker", "rebalance", "seats"])
def test_moves_are_made_and_verified_in_every_style(style):
    judge = Judge([0, 0, 0, 1, 1])
    target, loop = loop_on(word_count(), judge, timing=Timing(style=style))
    loop.round()
    judge.node_of = [0, 0, 1, 1, 0]
    done = loop.round()
    assert (done.outcome, len(done.plan.moves), done.check.missed) == ("executed", 2, ())
    assert target.world.moved == 2
    assert done.receipt.undo["words/split/0"] == at("a")


def test_a_round_takes_no_real_time_and_the_pause_between_rounds_is_simulated(tmp_path):
    write(tmp_path / "words.json", word_count())
    words = [
        "run",
        "--engine",
        "sim",
        "-s",
        "even",
        "--rounds",
        "3",
        "--interval",
        "86400",
        str(tmp_path / "words.json"),
    ]
    done = CliRunner().invoke(headworks, words)
    assert done.exit_code == 0, done.output
    assert "round 1: executed: 5 of 5 tasks run where asked" in done.stderr
    assert "round 3: unchanged" in done.stderr


def test_a_dead_node_is_noticed_and_the_next_round_plans_without_it():
    trace = events((60.0, "node-down", "a", None))
    target, loop = loop_on(three_nodes(), Declared(), trace=trace)
    loop.round()
    used = {slot.node for slot in target.world.places.running.values()}
    assert "a" in used
    target.wait(60.0)
    assert observe(target, 5.0).metrics.topologies[0].throughput < 50.0, "the tasks of the dead node are missing"
    target.wait(30.0)
    done = loop.round()
    assert done.outcome == "executed"
    assert {each.id for each in done.request.cluster.nodes} == {"b", "c"}
    assert {slot.node for slot in done.plan.assignment.values()} <= {"b", "c"}
    target.wait(60.0)
    sample = observe(target, 10.0).metrics.topologies[0]
    assert sample.throughput == pytest.approx(100.0)


def test_a_plan_for_a_node_that_died_unnoticed_is_taken_back():
    judge = Judge([0, 0, 0, 1, 1])
    target, loop = loop_on(three_nodes(), judge, trace=events((58.0, "node-down", "c", None)))
    loop.round()
    target.wait(60.0 - target.now)
    judge.node_of = [2, 0, 0, 1, 1]
    done = loop.round()
    assert done.outcome == "rolled-back"
    assert "node c is dead" in done.message
    assert target.world.places.asked["words/count/0"] == at("a")


def test_a_node_that_flaps_faster_than_it_is_noticed_costs_throughput_and_no_plan():
    trace = events((60.0, "node-flap", "a", 15.0), (300.0, "node-up", "a", None))
    target, loop = loop_on(three_nodes(), Declared(), trace=trace)
    outcomes = []
    while target.now < 300.0:
        outcomes.append(loop.round().outcome)
        target.wait(20.0)
    assert outcomes[0] == "executed"
    assert set(outcomes[1:]) == {"unchanged"}
    lost = [span for span in target.world.spans if span.begin > 60 and span.throughput[0] < 50.0]
    assert sum(span.length for span in lost) > 60.0
    target.wait(120.0)
    assert target.world.spans[-1].throughput[0] == pytest.approx(100.0)


def test_a_worker_that_fails_is_started_again_by_its_supervisor():
    target, loop = loop_on(word_count(), FirstFit(), trace=events((60.0, "worker-down", "a:6700", None)))
    loop.round()
    target.wait(61.0 - target.now)
    assert target.world.places.absent
    target.wait(target.world.timing.restart)
    assert not target.world.places.absent


def test_batches_wait_while_their_topology_is_starved_and_drain_afterwards():
    made = word_count()
    trace = events((0.0, "load", "words", 0.0), *((float(60 * k), "batch", "words", 800.0) for k in range(1, 6)))
    target, loop = loop_on(made, FirstFit(), trace=trace)
    target.wait(310.0)
    assert target.world.spans[-1].backlog[0] == 4000.0, "nothing is placed yet"
    loop.round()
    target.wait(600.0)
    spans = target.world.spans
    assert spans[-1].backlog[0] == 0.0
    assert sum(span.length * span.throughput[0] for span in spans) == pytest.approx(4000.0)
    limit = max(span.throughput[0] for span in spans)
    assert limit == pytest.approx(100.0 * spans[-1].steady.limit[0]), "it drains as fast as its nodes allow"


def test_more_load_than_the_nodes_bear_throttles_and_queues():
    target, loop = loop_on(word_count(), FirstFit(), trace=events((60.0, "load", "words", 3.0)))
    loop.round()
    target.wait(100.0 - target.now)
    seen = observe(target, 10.0)
    (sample,) = seen.metrics.topologies
    assert sample.offered == pytest.approx(300.0)
    assert sample.throughput == pytest.approx(100.0 * target.world.spans[-1].steady.limit[0])
    assert max(each.cpu for each in seen.metrics.nodes) == pytest.approx(100.0)
    waiting = sum(each.queue or 0.0 for each in seen.metrics.tasks)
    assert waiting == pytest.approx(target.world.spans[-1].backlog[0])
    assert waiting > 1000


BAD = {
    "unknown topology": (("load", "x", 1.0), "/events/0/subject: no topology 'x'; there are: words"),
    "unknown node": (("node-down", "x", None), "/events/0/subject: no node 'x'; there are: a, b"),
    "unknown slot": (("worker-down", "a:1", None), "/events/0/subject: node 'a' has no slot 1"),
    "no slot": (("worker-down", "a", None), "/events/0/subject: 'a' is not a slot"),
    "no value": (("batch", "words", None), "/events/0/value: batch of 'words' needs a value"),
    "no period": (("node-flap", "a", 0.0), "/events/0/value: 'a' cannot go and come every 0 s, at least 0.1 s are"),
    "a period that never ends": (
        ("node-flap", "a", 1e-300),
        "/events/0/value: 'a' cannot go and come every 1e-300 s, at",
    ),
}


@pytest.mark.parametrize(("row", "message"), BAD.values(), ids=BAD)
def test_a_trace_about_something_else_is_an_error_with_a_pointer(row, message):
    with pytest.raises(DocumentError) as caught:
        World(word_count(), trace=events((1.0, *row)))
    assert str(caught.value).startswith(message)


@pytest.mark.parametrize(
    "text", ['{"events": [{"time": -1, "kind": "load", "subject": "t"}]}', '{"events": [{}]}', "x"]
)
def test_a_trace_document_that_breaks_its_schema_is_an_error(tmp_path, text):
    (tmp_path / "trace.json").write_text(text)
    write(tmp_path / "words.json", word_count())
    with (
        pytest.raises(DocumentError),
        open_application([str(tmp_path / "words.json"), "--trace", str(tmp_path / "trace.json")], None),
    ):
        pass


@pytest.mark.parametrize(
    ("words", "says"),
    [([], "Missing argument"), (["x", "--style", "odd"], "'odd'"), (["x", "--rounds", "2"], "stand before REQUEST")],
)
def test_a_wrong_application_is_wrong_use(words, says):
    with pytest.raises(OptionError, match=says), open_application(words, None):
        pass


def test_a_simulation_has_no_address():
    with pytest.raises(EngineError, match="leave --master out"), open_application(["x"], "host:1"):
        pass

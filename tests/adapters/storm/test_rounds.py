from __future__ import annotations

import json
import threading

import attrs
import pytest

from headgate.control.knowledge import KnowledgeFile, complete
from headgate.documents import write
from headgate.errors import DocumentError, EngineError
from headgate.model import FrozenMap, Limits, Metrics, Plan, Profile, Request, Slot, TaskSample
from headgate.model.knowledge import Knowledge, ProfileFit
from headgate.model.rates import stream_rates
from headgate.plugins.host import PluginHost
from headgate.problem.profiles import Profiled
from headgate_storm.nimbus.rounds import Rounds, decide, grant
from headgate_storm.nimbus.snapshot import read_snapshot
from storm_rounds import component, round_text, supervisor, topology, word_count

A0, A1, B0 = ("a", 6700), ("a", 6701), ("b", 6700)
TASKS = ("wc/__acker/0", "wc/count/0", "wc/count/1", "wc/lines/0")


def scheduler(name="resource-aware"):
    host = PluginHost.load()
    return lambda request: host.schedule(name, request, {})


def ask(text, wish=None, metrics=None, schedule=None):
    snapshot = read_snapshot(text)
    decision = decide(snapshot, wish or {}, metrics or Metrics(), schedule or scheduler())
    return decision, json.loads(decision.answer.text(snapshot))


def executors(answer, name="wc"):
    return {(node, port): flat for node, port, flat in answer["topologies"].get(name, [])}


def test_a_new_topology_is_placed_whole():
    decision, answer = ask(round_text([supervisor("a"), supervisor("b")], [word_count()]))
    assert (answer["mode"], answer["round"], answer["nimbus"]) == ("assign", 1, "n")
    placed = sorted(task for flat in executors(answer).values() for task in flat[::2])
    assert placed == [1, 2, 3, 4]
    assert decision.plan.status == "ok"
    assert "4 executors" in answer["status"]["wc"]


def test_a_round_in_which_all_is_placed_changes_and_plans_nothing():
    decision, answer = ask(round_text([supervisor("a")], [word_count(slots=[A0], assignment=[0, 0, 0, 0])]))
    assert decision.plan is None
    assert answer["topologies"] == {}


def test_lost_executors_are_placed_without_touching_a_running_worker():
    there = word_count(slots=[A0], assignment=[0, 0, -1, 0])
    _, answer = ask(round_text([supervisor("a")], [there]))
    assert executors(answer) == {A0: [1, 1, 2, 2, 4, 4], A1: [3, 3]}


def test_executors_on_a_supervisor_or_port_that_is_gone_stay_with_nimbus_until_it_gives_them_up():
    there = word_count(slots=[("gone", 6700), ("a", 6999), A0], assignment=[0, 1, -1, 2])
    _, answer = ask(round_text([supervisor("a")], [there]))
    placed = sorted(task for flat in executors(answer).values() for task in flat[::2])
    assert placed == [1, 2, 3, 4]
    assert not any(node == "gone" or port == 6999 for node, port in executors(answer))


def test_planning_may_take_seven_tenths_of_nimbus_s_patience_and_moves_nothing():
    decision, _ = ask(round_text([supervisor("a")], [word_count()], timeout=10_000))
    assert decision.request.limits == Limits(deadline=7.0, max_moves=0)


def test_a_blacklisted_host_keeps_what_runs_and_gets_nothing_new():
    nodes = [supervisor("a", blacklisted=True), supervisor("b")]
    _, answer = ask(round_text(nodes, [word_count(slots=[A0], assignment=[0, 0, -1, -1])]))
    found = executors(answer)
    assert found.pop(A0) == [1, 1, 2, 2]
    assert {node for node, _ in found} == {"b"}


def test_executors_without_room_are_named_with_the_reason():
    decision, answer = ask(round_text([supervisor("a", cpu=35.0)], [word_count()]))
    assert answer["mode"] == "assign"
    assert len(decision.plan.assignment) == 3
    assert "1 executors cannot be placed" in answer["status"]["wc"]
    assert "cpu" in answer["status"]["wc"]


def test_of_many_reasons_the_first_two_are_told():
    decision, answer = ask(round_text([supervisor("a", cpu=15.0)], [word_count()]))
    first, second, third = (reason.message for reason in decision.plan.reasons)
    assert answer["status"]["wc"] == f"3 executors cannot be placed: {first}; {second}"
    assert third not in (first, second)


def test_a_wish_is_granted_in_the_round_that_places_another_topology():
    def places_the_other(request):
        seen.append(dict(request.assignment))
        return Plan(assignment=FrozenMap({"other/x/0": Slot(*A1)}))

    seen, wish = [], dict.fromkeys(TASKS, Slot(*B0))
    there = [word_count(slots=[A0], assignment=[0] * 4), topology("other", component("x", [1, 1]))]
    _, answer = ask(round_text([supervisor("a"), supervisor("b")], there), wish, schedule=places_the_other)
    assert seen == [wish]
    assert executors(answer) == {B0: [1, 1, 2, 2, 3, 3, 4, 4]}
    assert executors(answer, "other") == {A1: [1, 1]}


def test_a_scheduler_that_fails_holds_the_assignment():
    def broken(request):
        return PluginHost.load().with_plugin("broken", Broken()).schedule("broken", request, {})

    _, answer = ask(round_text([supervisor("a")], [word_count()]), schedule=broken)
    assert answer["mode"] == "hold"
    assert "division by zero" in answer["reason"]


class Broken:
    """Fails."""

    from headgate.hooks import Description, hookimpl

    @hookimpl
    def headgate_describe(self):
        return self.Description(summary="Fails.")

    @hookimpl
    def headgate_schedule(self, request):
        return 1 / 0


def test_a_wish_moves_what_runs():
    wish = dict.fromkeys(TASKS, Slot(*B0))
    there = word_count(slots=[A0], assignment=[0, 0, 0, 0])
    decision, answer = ask(round_text([supervisor("a"), supervisor("b")], [there]), wish)
    assert executors(answer) == {B0: [1, 1, 2, 2, 3, 3, 4, 4]}
    assert decision.plan is None


@pytest.mark.parametrize("slot", [("gone", 6700), ("b", 1), ("c", 6700)])
def test_a_wish_for_a_slot_that_is_gone_or_closed_is_not_granted(slot):
    nodes = [supervisor("a"), supervisor("b"), supervisor("c", blacklisted=True)]
    snapshot = read_snapshot(round_text(nodes, [word_count(slots=[A0], assignment=[0, 0, 0, 0])]))
    assert grant(snapshot, dict.fromkeys(TASKS, Slot(*slot))) == {}


def test_a_wish_for_a_slot_of_another_topology_is_not_granted_and_an_exchange_is():
    other = topology("other", component("x", [1, 1]), slots=[B0], assignment=[0])
    snapshot = read_snapshot(
        round_text([supervisor("a"), supervisor("b")], [word_count(slots=[A0], assignment=[0] * 4), other])
    )
    wish = dict.fromkeys(TASKS, Slot(*B0))
    assert grant(snapshot, wish) == {}
    both = {**wish, "other/x/0": Slot(*A0)}
    assert grant(snapshot, both) == both


def test_a_wish_for_a_topology_that_was_scaled_meanwhile_is_not_granted():
    snapshot = read_snapshot(round_text([supervisor("a")], [word_count(slots=[A0], assignment=[0] * 4)]))
    assert grant(snapshot, dict.fromkeys(TASKS[:3], Slot(*A1))) == {}


def test_metrics_of_what_is_gone_do_not_disturb():
    metrics = Metrics(window=1.0, tasks=(TaskSample(task="dead/c/0", cpu=1.0), TaskSample(task=TASKS[1], cpu=390.0)))
    decision, _ = ask(round_text([supervisor("a")], [word_count()]), metrics=metrics)
    assert [sample.task for sample in decision.request.metrics.tasks] == [TASKS[1]]


def test_another_version_of_the_protocol_is_refused_with_the_next_step():
    with pytest.raises(DocumentError, match="storm jar"):
        read_snapshot(json.dumps({"v": 2}))
    with pytest.raises(DocumentError, match="no scheduling round"):
        read_snapshot("[1, 2")


def test_shadow_plans_and_leaves_the_round_to_storm():
    heard = []
    rounds = Rounds(scheduler(), shadow=True, on_decision=lambda snapshot, decision: heard.append(decision))
    answer = json.loads(rounds.answer(round_text([supervisor("a")], [word_count()])))
    assert answer["mode"] == "own"
    assert answer["topologies"] == {}
    assert len(heard[0].plan.assignment) == 4


def test_who_waits_for_nimbus_is_told_what_to_look_at():
    with pytest.raises(EngineError, match=r"does headgate\.endpoint in"):
        Rounds(scheduler()).latest(0.01)


def test_the_first_round_is_waited_for():
    rounds = Rounds(scheduler())
    asking = threading.Timer(0.2, rounds.answer, [round_text([supervisor("a")], [word_count()], number=5)])
    asking.start()
    assert rounds.latest(30).round == 5
    asking.join()


def test_one_waits_until_a_wish_is_seen():
    rounds = Rounds(scheduler())
    placed = [word_count(slots=[A0], assignment=[0] * 4), word_count(slots=[B0], assignment=[0] * 4)]
    texts = [round_text([supervisor("a"), supervisor("b")], [each], number=n) for n, each in enumerate(placed)]
    seen = []
    waiter = threading.Thread(
        target=lambda: seen.append(rounds.until(lambda each: each.assignment[TASKS[0]] == Slot(*B0), 10))
    )
    waiter.start()
    while waiter.is_alive():
        for text in texts:
            rounds.answer(text)
        waiter.join(0.01)
    assert seen[0].round == 1
    assert rounds.until(lambda _: True, 0.01) is None


def keyed(name, desired, minimum, priority):
    conf = {"topology.headgate.desired.nodes": desired, "topology.headgate.minimum.nodes": minimum}
    return word_count(name, conf=conf, priority=priority)


def test_a_topology_says_in_its_configuration_how_many_nodes_it_wants_and_needs():
    (found,) = read_snapshot(round_text([supervisor("a")], [keyed("wc", 8, 4, 1)])).observation().topologies
    assert (found.name, found.priority, found.desired_nodes, found.minimum_nodes) == ("wc", 1, 8, 4)


@pytest.mark.parametrize(("conf", "desired"), [({}, 3), ({"topology.headgate.desired.nodes": 8}, 8)])
def test_the_machines_of_an_isolated_topology_are_those_that_it_desires(conf, desired):
    text = round_text([supervisor("a")], [word_count(conf=conf)], isolation={"wc": 3})
    (found,) = read_snapshot(text).observation().topologies
    assert (found.desired_nodes, found.minimum_nodes, found.isolated_nodes) == (desired, None, 3)


@pytest.mark.parametrize("odd", ["8", -1, 2.5, True, None, []])
def test_one_topology_with_a_number_that_is_none_stops_no_round(odd):
    text = round_text([supervisor("a")], [keyed("odd", odd, odd, 1), word_count()])
    assert [each.desired_nodes for each in read_snapshot(text).observation().topologies] == [None, None]


def test_a_supervisor_says_the_type_of_its_machine_and_one_of_an_older_jar_none():
    text = round_text([supervisor("a", machine="pentium"), supervisor("b", machine=None), supervisor("c")], [])
    assert [node.machine_type for node in read_snapshot(text).nodes] == ["pentium", None, None]


def test_executors_without_a_slot_are_placed_by_what_is_known_of_their_topology(tmp_path):
    of = {"topology": "wc-1-100", "component": "count"}
    fits = [ProfileFit(profile=Profile(**of, machine_type=each, e=e), samples=9) for each, e in PENTIUM_I5.items()]
    write(tmp_path / "knowledge.json", Knowledge(profiles=tuple(fits)))
    nodes = [supervisor("a", machine="pentium"), supervisor("b", machine="i5")]
    asked = []

    def schedule(request):
        asked.append(request)
        return PluginHost.load().schedule("hetero", request, {"counts": "given"})

    rounds = Rounds(schedule, complete=KnowledgeFile(tmp_path).complete)
    answer = json.loads(rounds.answer(round_text(nodes, [word_count("wc-2-200") | {"name": "wc"}])))
    (request,) = asked
    assert {(each.topology, each.machine_type): each.e for each in request.profiles} == {
        ("wc-2-200", machine): e for machine, e in PENTIUM_I5.items()
    }
    counting = {
        node for (node, _), flat in executors(answer, "wc-2-200").items() for task in flat[::2] if task in (2, 3)
    }
    assert counting == {"b"}


PENTIUM_I5 = {"pentium": 50.0, "i5": 0.01}
"""CPU of one tuple, by machine type: on one of them the executors that count would be full at once."""


def test_a_round_says_that_knowledge_cannot_be_read(tmp_path):
    (tmp_path / "knowledge.json").write_text("{")
    decisions = []
    rounds = Rounds(
        scheduler(),
        complete=KnowledgeFile(tmp_path).complete,
        on_decision=lambda _, decision: decisions.append(decision),
    )
    rounds.answer(round_text([supervisor("a")], [word_count()]))
    (note,) = decisions[0].notes
    assert "nothing is known until it can be read" in note
    assert decisions[0].plan.status == "ok"


USE_CASE_1 = [("EventTP1", 8, 4, 1), ("EventTP2", 8, 4, 1), ("ArchivalTP1", 4, 2, 2), ("ArchivalTP2", 4, 2, 2)]
"""Table 8 of the priority thesis: desired and minimum nodes, priority."""


def test_a_round_of_nimbus_reproduces_table_8_of_the_priority_thesis():
    nodes = [supervisor(f"n{number:02}") for number in range(16)]
    submitted = []
    for name, desired, minimum, priority in USE_CASE_1:
        made = keyed(name, desired, minimum, priority)
        many = [number for first in range(1, desired * 2, 2) for number in (first, first)]
        submitted.append({**made, **topology(name, component("spout", many, kind="spout"), priority=priority)})
        submitted[-1]["conf"] = made["conf"]
    decision, answer = ask(round_text(nodes, submitted), schedule=scheduler("sps"))
    assert decision.plan.status == "ok"
    shares = [len({node for node, _ in executors(answer, name)}) for name, *_ in USE_CASE_1]
    assert shares == [6, 6, 2, 2]


def rates(*components):
    """Tuples per second on each stream of a topology of a round, by its ends."""
    (found,) = read_snapshot(round_text([supervisor("a")], [topology("t", *components)])).observation().topologies
    return {(each.source, each.target): rate for each, rate in zip(found.streams, stream_rates(found), strict=True)}


def test_before_anything_is_measured_a_bolt_sends_on_what_it_receives():
    spout, bolt = component("s", [1, 1], kind="spout"), component("b", [2, 2], inputs=[["s", "default", "shuffle"]])
    last = component("c", [3, 3], inputs=[["b", "default", "shuffle"], ["s", "default", "shuffle"]])
    end = component("d", [4, 4], inputs=[["c", "default", "shuffle"]])
    assert rates(spout, bolt, last, end) == {("s", "b"): 1.0, ("b", "c"): 1.0, ("s", "c"): 1.0, ("c", "d"): 2.0}


def test_a_cycle_and_a_bolt_that_no_spout_reaches_have_one_tuple_a_second_on_each_stream():
    spout = component("s", [1, 1], kind="spout")
    round_ = component("b", [2, 2], inputs=[["s", "default", "shuffle"], ["b", "again", "shuffle"]])
    assert set(rates(spout, round_).values()) == {1.0}
    island = component("b", [2, 2], inputs=[]), component("c", [3, 3], inputs=[["b", "default", "shuffle"]])
    assert set(rates(spout, *island).values()) == {1.0}


def test_the_selectivities_of_profiles_count_on_storm():
    """A splitter of nine words a line: nine tenths of the work is behind it, wherever the counts run."""
    parts = [
        component("lines", [1, 1], kind="spout"),
        component("split", [2, 2], inputs=[["lines", "default", "shuffle"]]),
        component("count", [3, 3], inputs=[["split", "default", "fields"]]),
    ]
    snapshot = read_snapshot(round_text([supervisor("a", machine="i5")], [topology("wc", *parts)]))
    fits = [Profile(topology="wc", component=each, machine_type="i5", e=0.1) for each in ("split", "count")]
    learned = Knowledge(profiles=tuple(ProfileFit(profile=attrs.evolve(each, alpha=9.0), samples=9) for each in fits))
    asked = Request.of(complete(snapshot.observation(), learned))
    profiled = Profiled.of(asked)
    assert dict(zip(["count", "lines", "split"], profiled.gain.tolist(), strict=True)) == {
        "lines": 1.0,
        "split": 1.0,
        "count": 9.0,
    }

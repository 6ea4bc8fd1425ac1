from __future__ import annotations

import json
import random
import threading
from collections import Counter

import attrs
import pytest

from headworks.control.knowledge import KnowledgeFile, complete
from headworks.documents import write
from headworks.errors import DocumentError, EngineError
from headworks.model import FrozenMap, Limits, Metrics, Plan, Profile, Request, Slot, TaskSample
from headworks.model.knowledge import Knowledge, ProfileFit
from headworks.model.rates import stream_rates
from headworks.plugins.host import PluginHost
from headworks.problem import Problem
from headworks.problem.arrays.profiles import Profiled
from headworks_storm.nimbus.free_slots import plan_free_slots
from headworks_storm.nimbus.rounds import Rounds, decide, grant
from headworks_storm.nimbus.snapshot import read_snapshot
from storm_rounds import component, round_text, supervisor, topology, word_count

A0, A1, B0 = ("a", 6700), ("a", 6701), ("b", 6700)
TASKS = ("wc/__acker/0", "wc/count/0", "wc/count/1", "wc/lines/0")


SCHEDULERS = ("even", "isolation", "resource-aware", "dstorm", "dstorm-plus", "otd", "sps-v2", "hetero", "optimal")


def scheduler(name="resource-aware", options=None):
    host = PluginHost.load()
    return lambda request: host.schedule(name, request, options or {})


def ask(text, wish=None, metrics=None, schedule=None, **more):
    snapshot = read_snapshot(text)
    decision = decide(snapshot, wish or {}, metrics or Metrics(), schedule or scheduler(), **more)
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
    """The supervisor may have died alone, and its workers count tuples on: Storm's own schedulers wait, too."""
    there = word_count(slots=[("gone", 6700), ("a", 6999), A0], assignment=[0, 1, -1, 2])
    _, answer = ask(round_text([supervisor("a")], [there]))
    stay = {("gone", 6700): [1, 1], ("a", 6999): [2, 2], A0: [4, 4]}
    assert executors(answer) == {**stay, A1: [3, 3]}


def test_planning_may_take_seven_tenths_of_nimbus_s_patience_and_restarts_nothing():
    decision, _ = ask(round_text([supervisor("a")], [word_count()], timeout=10_000))
    limits = decision.request.limits
    assert limits == Limits(deadline=limits.deadline, restarts=False)
    assert 6.5 < limits.deadline <= 7.0


def test_a_blacklisted_host_keeps_what_runs_and_gets_nothing_new():
    nodes = [supervisor("a", blacklisted=True), supervisor("b")]
    _, answer = ask(round_text(nodes, [word_count(slots=[A0], assignment=[0, 0, -1, -1])]))
    found = executors(answer)
    assert found.pop(A0) == [1, 1, 2, 2]
    assert {node for node, _ in found} == {"b"}


def resorted(topologies, *, resort=True, **more):
    """A round in which node `a` has room for three executors, and `b`, whose host is blacklisted, for all."""
    nodes = [supervisor("a", cpu=30.0), supervisor("b", blacklisted=True, host="host-b")]
    decision, answer = ask(round_text(nodes, topologies, resort=resort, timeout=60_000), **more)
    return decision, answer


@pytest.mark.parametrize("name", SCHEDULERS)
def test_executors_without_room_elsewhere_start_on_a_blacklisted_host(name):
    options = {"counts": "given"} if name == "hetero" else {}
    running = word_count(slots=[A0], assignment=[0, 0, 0, -1])
    _, answer = resorted([running], schedule=scheduler(name, options))
    assert executors(answer) == {A0: [1, 1, 2, 2, 3, 3], B0: [4, 4]}
    assert answer["status"]["wc"].endswith("on Storm's blacklist, for there is no room elsewhere: host-b")


def test_what_has_room_elsewhere_starts_on_no_blacklisted_host():
    small = topology("small", component("lines", [1, 1], kind="spout"))
    running = word_count(slots=[A0], assignment=[0, 0, -1, -1])
    _, answer = resorted([running, small])
    placed = {node for found in (executors(answer), executors(answer, "small")) for node, _ in found}
    assert placed == {"a", "b"}
    assert sum(node == "a" for name in ("wc", "small") for node, _ in executors(answer, name)) == 2
    assert (
        sum(
            len(flat) // 2
            for name in ("wc", "small")
            for (node, _), flat in executors(answer, name).items()
            if node == "a"
        )
        == 3
    )


def test_a_new_topology_that_fits_nowhere_else_starts_whole_on_a_blacklisted_host():
    _, answer = resorted([word_count()])
    placed = sorted(task for flat in executors(answer).values() for task in flat[::2])
    assert placed == [1, 2, 3, 4]


def test_a_jar_that_refuses_blacklisted_hosts_is_not_asked_for_them():
    running = word_count(slots=[A0], assignment=[0, 0, 0, -1])
    _, answer = resorted([running], resort=False)
    assert executors(answer) == {}
    assert answer["status"]["wc"].startswith("1 executors cannot be placed")


def test_a_blacklisted_host_is_the_last_resort_before_a_running_worker_restarts():
    running = word_count(slots=[A0], assignment=[0, 0, 0, -1])
    nodes = [supervisor("a", ports=(6700,)), supervisor("b", blacklisted=True)]
    _, answer = ask(round_text(nodes, [running], resort=True), top_up=True)
    assert executors(answer) == {A0: [1, 1, 2, 2, 3, 3], B0: [4, 4]}


@pytest.mark.parametrize("name", SCHEDULERS)
def test_a_topology_that_does_not_fit_is_not_started(name):
    """In halves it would lose each tuple for an executor that is nowhere."""
    options = {"counts": "given"} if name == "hetero" else {}
    _, answer = ask(round_text([supervisor("a", cpu=25.0)], [word_count()]), schedule=scheduler(name, options))
    assert answer["mode"] == "assign"
    assert answer["topologies"] == {}
    assert "not started" in answer["status"]["wc"]
    assert "cpu" in answer["status"]["wc"] or name == "sps-v2"  # which names the nodes that it may use


@pytest.mark.parametrize("asked", [{"gpu": 1.8e308}, {"onheap.memory.mb": 1e300, "gpu": 1e20}])
def test_what_one_topology_asks_for_beyond_all_measure_stops_no_other(asked):
    limitless = word_count(heap=1.8e308)  # as many write that a worker's heap has no limit
    greedy = word_count("greedy")
    greedy["components"][1]["resources"] |= asked
    _, answer = ask(round_text([supervisor("a"), supervisor("b")], [limitless, greedy]))
    assert sorted(task for flat in executors(answer).values() for task in flat[::2]) == [1, 2, 3, 4]
    assert "greedy" not in answer["topologies"]
    assert "not started" in answer["status"]["greedy"]


def test_an_executor_that_asks_for_more_cpu_than_a_thread_can_use_is_placed():
    greedy = word_count("greedy")
    greedy["components"][1]["resources"] |= {"cpu.pcore.percent": 1.8e308}
    _, answer = ask(round_text([supervisor("a", cpu=400.0)], [greedy]))
    assert "greedy" in answer["topologies"]


def test_of_many_reasons_the_first_two_are_told():
    decision, answer = ask(round_text([supervisor("a", cpu=15.0)], [word_count()]))
    first, second, third = (reason.message for reason in decision.plan.reasons)
    why = "3 of 4 executors cannot be placed, and none is without them"
    assert answer["status"]["wc"] == f"not started: {why}: {first}; {second}"
    assert third not in (first, second)


def test_a_topology_that_has_lost_executors_gets_what_it_can():
    """There is room for one of the two that it lost."""
    there = word_count(slots=[A0], assignment=[0, -1, -1, 0])
    _, answer = ask(round_text([supervisor("a", cpu=30.0)], [there]))
    assert executors(answer) == {A0: [1, 1, 4, 4], A1: [2, 2]}
    assert "1 executors cannot be placed" in answer["status"]["wc"]
    assert "cpu" in answer["status"]["wc"]


@pytest.mark.parametrize("first", ["large", "small"])
def test_room_that_half_a_topology_would_have_taken_goes_to_one_that_fits(first):
    """First by id or last, the topology of ten executors is the one that is not started."""
    names = {"large": "a", "small": "b"} if first == "large" else {"large": "b", "small": "a"}
    many = [number for task in range(1, 11) for number in (task, task)]
    both = [topology(names["large"], component("x", many)), word_count(names["small"])]
    _, answer = ask(round_text([supervisor("n", cpu=60.0)], both))
    assert answer["topologies"].keys() == {names["small"]}
    placed = sorted(task for flat in executors(answer, names["small"]).values() for task in flat[::2])
    assert placed == [1, 2, 3, 4]
    assert answer["status"][names["large"]].startswith("not started")


def test_of_topologies_that_do_not_fit_together_the_more_important_starts():
    both = [word_count("a", priority=20), word_count("b", priority=0), word_count("c", priority=10)]
    _, answer = ask(round_text([supervisor("n", ports=(1, 2, 3), cpu=60.0)], both))
    assert answer["topologies"].keys() == {"b"}
    assert [answer["status"][name][:11] for name in "ac"] == ["not started"] * 2


def test_what_was_left_out_first_starts_where_what_came_between_does_not():
    """The important topology does not fit in any way, and so does not keep the other one away."""
    many = [number for task in range(1, 11) for number in (task, task)]
    both = [topology("vital", component("x", many), priority=0), word_count("wc", priority=29)]

    def half(request):
        """Deals executors of all topologies in turn."""
        problem = Problem.of(request)
        room = problem.room()
        for task in sorted(range(problem.n), key=lambda each: problem.tasks[each].index):
            if room.fits_on(task, 0):
                room.place(task, 0)
        return problem.plan(room.node_of)

    _, answer = ask(round_text([supervisor("n", cpu=60.0)], both), schedule=half)
    assert answer["topologies"].keys() == {"wc"}


def test_a_round_ends_in_time_however_many_topologies_do_not_fit():
    asked = []

    def half(request):
        asked.append(request)
        problem = Problem.of(request)
        firsts = [0 if task.index == 0 and task.component == "count" else -1 for task in problem.tasks]
        return problem.plan(firsts)

    names = [f"t{number:02}" for number in range(30)]
    nodes = [supervisor("n", ports=tuple(range(6700, 6740)), cpu=4000.0)]
    _, answer = ask(round_text(nodes, [word_count(name) for name in names]), schedule=half)
    assert answer["topologies"] == {}
    assert all(answer["status"][name].startswith("not started") for name in names)
    assert len(asked) <= 6


def test_a_scheduler_that_fails_when_asked_again_starts_no_half():
    def once(request):
        if len(request.topologies) < 2:
            raise EngineError("out of ideas")
        return scheduler()(request)

    many = [number for task in range(1, 11) for number in (task, task)]
    both = [topology("large", component("x", many)), word_count()]
    _, answer = ask(round_text([supervisor("n", cpu=60.0)], both), schedule=once)
    assert answer["mode"] == "assign"
    assert "large" not in answer["topologies"]
    placed = [task for flat in executors(answer).values() for task in flat[::2]]
    assert len(placed) in (0, 4)


@pytest.mark.parametrize("name", SCHEDULERS)
def test_a_dead_worker_costs_no_living_one(name):
    """One port a supervisor: the lost executor goes to the free one, and not into the worker that runs."""
    options = {"counts": "given"} if name == "hetero" else {}
    nodes = [supervisor("a", ports=(6700,)), supervisor("b", ports=(6700,))]
    there = word_count(slots=[A0], assignment=[0, 0, -1, 0])
    _, answer = ask(round_text(nodes, [there]), schedule=scheduler(name, options))
    assert executors(answer) == {A0: [1, 1, 2, 2, 4, 4], B0: [3, 3]}


@pytest.mark.parametrize("name", SCHEDULERS)
def test_without_a_free_port_the_lost_executor_waits(name):
    """As under Storm's own schedulers; with topping up it goes into the worker that runs, and the status says so."""
    options = {"counts": "given"} if name == "hetero" else {}
    node = supervisor("a", ports=(6700,), host="one.example")
    there = word_count(slots=[A0], assignment=[0, 0, -1, 0], heap=None)
    _, answer = ask(round_text([node], [there]), schedule=scheduler(name, options))
    assert answer["topologies"] == {}
    assert answer["status"]["wc"].startswith("1 executors cannot be placed: ")
    _, answer = ask(round_text([node], [there]), schedule=scheduler(name, options), top_up=True)
    assert executors(answer) == {A0: [1, 1, 2, 2, 3, 3, 4, 4]}
    assert answer["status"]["wc"].endswith("; to top up, restarts the worker on one.example:6700")


def test_a_slow_scheduler_has_time_left_for_what_fits():
    """One that takes all the time that it is given, as a search does: the topology that fits starts all the same."""
    now = [0.0]

    def slow(request):
        now[0] += request.limits.deadline
        return scheduler()(request)

    many = [number for task in range(1, 11) for number in (task, task)]
    snapshot = read_snapshot(
        round_text([supervisor("n", cpu=60.0)], [topology("a", component("x", many)), word_count()])
    )
    seen = snapshot.observation()
    done = plan_free_slots(seen, snapshot.scheduled, slow, seconds=3.5, clock=lambda: now[0])
    assert sorted(done.slots) == sorted(TASKS)
    assert done.left_out.keys() == {"a"}
    assert now[0] <= 3.5


@pytest.mark.parametrize("name", [each for each in SCHEDULERS if each not in ("isolation", "sps-v2")])
def test_where_storm_s_even_scheduler_places_what_a_dead_worker_ran_so_do_all(name):
    """Its rule: executors that are lost go to free slots, if there is one and the topology has fewer workers than it
    asks for; what lives stays. Room is plenty, and no topology has nodes of its own: no other rule is in the way."""
    options, dice, met = {"counts": "given"} if name == "hetero" else {}, random.Random(7), Counter()
    for _ in range(20):
        nodes = [supervisor(f"n{at}", ports=tuple(range(6700, 6700 + dice.randint(1, 3)))) for at in range(3)]
        slots = [(each["id"], port) for each in nodes for port in each["ports"]]
        dice.shuffle(slots)
        (mine, *rest), alive = slots, [0, *(dice.choice((0, -1)) for _ in range(2)), -1]
        others = rest[: dice.choice((len(rest), dice.randrange(len(rest))))]
        full = len(others) == len(rest)
        them = [
            topology(f"o{at}", component("x", [1, 1]), slots=[slot], assignment=[0]) for at, slot in enumerate(others)
        ]
        there = word_count(slots=[mine], assignment=alive, workers=3)
        _, answer = ask(round_text(nodes, [there, *them]), schedule=scheduler(name, options))
        met["full" if full else "placed"] += 1
        if full:
            assert answer["topologies"] == {}
            continue
        found = executors(answer)
        assert answer["topologies"].keys() == {"wc"}
        assert sorted(task for flat in found.values() for task in flat[::2]) == [1, 2, 3, 4]
        assert found[mine] == [task for task, at in enumerate(alive, 1) if at == 0 for _ in range(2)]
    assert min(met["placed"], met["full"]) > 3, met


def test_topping_up_comes_after_free_ports():
    """Of two that were lost, one finds a free slot, and one the worker that runs: no room for both is on the node."""
    nodes = [supervisor("a", ports=(6700,)), supervisor("b", ports=(6700,), cpu=10.0)]
    there = word_count(slots=[A0], assignment=[0, -1, -1, 0])
    _, answer = ask(round_text(nodes, [there]), top_up=True)
    assert sorted(executors(answer)) == [A0, B0]
    assert len(executors(answer)[B0]) == 2
    nodes[1]["resources"] = nodes[0]["resources"]
    _, answer = ask(round_text(nodes, [there]), top_up=True)
    assert executors(answer)[A0] == [1, 1, 4, 4]
    assert "restarts" not in answer["status"]["wc"]


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

    from headworks.hooks import Description, hookimpl

    @hookimpl
    def headworks_describe(self):
        return self.Description(summary="Fails.")

    @hookimpl
    def headworks_schedule(self, request):
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
    with pytest.raises(DocumentError, match="not a scheduling round"):
        read_snapshot("[1, 2")


def test_shadow_plans_and_leaves_the_round_to_storm():
    heard = []
    rounds = Rounds(scheduler(), shadow=True, on_decision=lambda snapshot, decision: heard.append(decision))
    answer = json.loads(rounds.answer(round_text([supervisor("a")], [word_count()])))
    assert answer["mode"] == "own"
    assert answer["topologies"] == {}
    assert len(heard[0].plan.assignment) == 4


def test_a_round_is_answered_whatever_its_listener_raises():
    def full(*_):
        raise OSError("No space left on device")

    rounds = Rounds(scheduler(), on_decision=full)
    answer = json.loads(rounds.answer(round_text([supervisor("a")], [word_count()])))
    assert answer["mode"] == "assign"
    assert len(answer["topologies"]["wc"]) == 1
    assert rounds.newest is not None


def test_who_waits_for_nimbus_is_told_what_to_look_at():
    with pytest.raises(EngineError, match=r"does headworks\.endpoint in"):
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
    conf = {"topology.headworks.desired.nodes": desired, "topology.headworks.minimum.nodes": minimum}
    return word_count(name, conf=conf, priority=priority)


def test_a_topology_says_in_its_configuration_how_many_nodes_it_wants_and_needs():
    (found,) = read_snapshot(round_text([supervisor("a")], [keyed("wc", 8, 4, 1)])).observation().topologies
    assert (found.name, found.priority, found.desired_nodes, found.minimum_nodes) == ("wc", 1, 8, 4)


@pytest.mark.parametrize(("conf", "desired"), [({}, 3), ({"topology.headworks.desired.nodes": 8}, 8)])
def test_the_machines_of_an_isolated_topology_are_those_that_it_desires(conf, desired):
    text = round_text([supervisor("a")], [word_count(conf=conf)], isolation={"wc": 3})
    (found,) = read_snapshot(text).observation().topologies
    assert (found.desired_nodes, found.minimum_nodes, found.isolated_nodes) == (desired, None, 3)


@pytest.mark.parametrize("odd", ["8", -1, 2.5, True, None, []])
def test_one_topology_with_a_number_that_is_none_stops_no_round(odd):
    text = round_text([supervisor("a")], [keyed("odd", odd, odd, 1), word_count()])
    assert [each.desired_nodes for each in read_snapshot(text).observation().topologies] == [None, None]


def test_a_constraint_between_two_topologies_is_left_out_and_said_where_its_topology_is_shown():
    across = word_count("wc", conf={"topology.ras.constraints": {"count": {"incompatibleComponents": ["theirs"]}}})
    other = topology("other", component("theirs", [1, 1], kind="spout"))
    decision, answer = ask(round_text([supervisor("a", cpu=100.0)], [across, other]))
    told = "left out of its constraints: theirs, no component of this topology"
    assert executors(answer)  # what can be read of a topology decides
    assert answer["status"]["wc"].endswith(told)
    assert "left out" not in answer["status"]["other"]
    assert f"wc: {told}" in decision.notes
    placed = word_count(conf=across["conf"], slots=[A0], assignment=[0, 0, 0, 0])
    decision, answer = ask(round_text([supervisor("a", cpu=100.0)], [placed, other]))
    assert "wc" not in answer["status"]  # nothing is news of it
    assert decision.notes == ()


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

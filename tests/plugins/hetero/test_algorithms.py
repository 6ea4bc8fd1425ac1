"""Algorithms 1 and 2 on vectors that were worked by hand."""

from __future__ import annotations

import attrs
import numpy as np
import pytest

from headworks.model import Component, FrozenMap, Kind, Limits, Metrics, Resources, Slot, Status, TaskSample
from headworks.plugins.host import PluginHost
from headworks.toolbox.instance_counts import InstanceCounts
from headworks_hetero.by_task import ByTask
from headworks_hetero.first_assignment import first_assignment
from headworks_hetero.maximize_throughput import hottest, maximize_throughput
from headworks_hetero.options import Options
from headworks_hetero.plugin import hetero
from headworks_hetero.workloads import BOLTS, micro_benchmark
from hetero_cases import profiled


def run(request, **options):
    host = PluginHost().with_plugin("hetero", hetero)
    return host.schedule("hetero", attrs.evolve(request, limits=Limits(deadline=300.0)), Options(**options))


def steps(request, **options):
    chosen = Options(**options)
    graph, _ = first_assignment(InstanceCounts.of(request), chosen.initial_rate, given=False)
    return maximize_throughput(graph, chosen)


def nodes(plan):
    return {task: slot.node for task, slot in plan.assignment.items()}


def test_a3_each_component_starts_where_it_needs_least_and_ties_go_to_the_lowest_index():
    graph, _ = first_assignment(InstanceCounts.of(profiled([[0.1, 0.2], [0.3, 0.2]])), 1.0, given=False)
    assert graph.counts.tolist() == [[1, 0], [0, 1]]
    tied, _ = first_assignment(InstanceCounts.of(profiled([[0.2, 0.2]])), 1.0, given=False)
    assert tied.counts.tolist() == [[1, 0]]


def test_a4_the_rate_is_raised_in_ever_smaller_steps():
    found = steps(profiled([[0.1]]))
    powers = [2.0**power for power in range(10)]
    assert found.accepted[:10] == tuple(powers)
    assert found.accepted[10:14] == pytest.approx((768.0, 960.0, 990.0, 997.734375))
    assert (found.rate, found.scale, found.graph.counts.tolist()) == (999.6830749511719, 1024, [[1]])


def test_a4_without_the_rate_restored_it_stops_early():
    assert run(profiled([[0.1]]), restore="graph").input_rate == 512.0


@pytest.mark.parametrize(("met", "rate"), [(0.0, 999.6830749511719), (5.0, 949.4628041982651)])
def test_a5_one_task_at_a_time_leaves_the_second_machine_empty(met, rate):
    plan = run(profiled([[0.1, 0.2]], met))
    assert (plan.parallelism, set(nodes(plan).values())) == ({"t/c0": 1}, {"m0-000"})
    assert plan.input_rate == pytest.approx(rate, rel=1e-12)


def test_a7_linear_on_one_machine_of_each_type():
    plan = run(micro_benchmark("linear", (1, 1, 1)))
    assert plan.parallelism == {"linear/1L": 1, "linear/2M": 2, "linear/3H": 2}
    first, second, third = "machine-1-0001", "machine-2-0001", "machine-3-0001"
    assert nodes(plan) == {
        "linear/1L/0": first, "linear/2M/0": first, "linear/2M/1": second, "linear/3H/0": first, "linear/3H/1": third
    }  # fmt: skip
    assert plan.input_rate == pytest.approx(486.588, abs=5e-4)
    assert plan.scores.throughput / 3 == pytest.approx(486.973, abs=5e-4)


@pytest.mark.parametrize(
    ("options", "counts", "highest"), [({}, [1, 2], 1500.0), ({"capacity": "before"}, [1, 1], 2000.0 / 1.5)]
)
def test_room_for_a_new_task_is_judged_after_the_others_gave_up_their_share(options, counts, highest):
    """At 1440 tuples/s m0 is 108 % busy. m1 would be 2 * 0.1 * 480 = 96 % busy with a second task; judged before the
    first one gave up its share, 0.1 * 720 + 0.1 * 480 = 120 %."""
    found = steps(profiled([[0.15, 0.1]]), **options)
    assert found.graph.counts.tolist() == [counts]
    assert found.rate == pytest.approx(highest, rel=1e-3)


@pytest.mark.parametrize(("options", "counts"), [({}, [1, 1, 0]), ({"suitable": "least-utilised"}, [1, 0, 1])])
def test_a_new_task_goes_where_it_needs_least_or_where_least_is_used(options, counts):
    """c1 takes a tenth of m1, where a second task of c0 would need least."""
    found = steps(profiled([[0.1, 0.12, 0.15], [9.0, 0.01, 9.0]]), max_tasks=3, **options)
    assert found.graph.counts.tolist() == [counts, [0, 1, 0]]


@pytest.mark.parametrize(("options", "part"), [({}, 0), ({"overloaded": "fullest"}, 1)])
def test_of_several_machines_that_are_over_utilised_the_first_or_the_fullest_is_relieved(options, part):
    graph, _ = first_assignment(InstanceCounts.of(profiled([[0.1, 9.0], [9.0, 0.12]])), 1.0, given=False)
    assert hottest(graph, graph.load(1024.0), 1024.0, Options(**options)) == part


@pytest.mark.parametrize(
    "options",
    [{"suitable": "least-utilised"}, {"capacity": "before"}, {"overloaded": "fullest"}, {"initial_rate": 3.0}],
)
@pytest.mark.parametrize("shape", ["linear", "diamond", "star"])
def test_every_reading_makes_a_plan_that_may_be_carried_out(options, shape):
    plan = run(micro_benchmark(shape, (2, 2, 2), met=1.0), **options)
    assert (plan.status, plan.scores.unplaced) == (Status.OK, 0)
    assert 0 < plan.scores.fullest_node <= 1 + 1e-9


def test_numbers_of_tasks_may_be_given():
    request = profiled([[0.1, 0.2], [0.3, 0.2]])
    (topology,) = request.topologies
    parts = tuple(attrs.evolve(part, parallelism=3) for part in topology.components)
    asked = attrs.evolve(request, topologies=(attrs.evolve(topology, components=parts),))
    plan = run(asked, counts="given")
    assert plan.parallelism == {"t/c0": 3, "t/c1": 3}
    assert plan.input_rate > 200


def test_tasks_of_unequal_memory_that_run_are_not_refused_because_the_largest_fit_nowhere_together():
    request = profiled([[0.1, 0.2]])
    (topology,) = request.topologies
    two = attrs.evolve(topology, components=(attrs.evolve(topology.components[0], parallelism=2),))
    nodes = tuple(
        attrs.evolve(each, capacity=Resources(cpu=100.0, memory=memory))
        for each, memory in zip(request.cluster.nodes, (750.0, 50.0), strict=True)
    )
    samples = tuple(TaskSample(task=f"t/c0/{index}", memory=memory) for index, memory in enumerate((700.0, 10.0)))
    asked = attrs.evolve(
        request,
        cluster=attrs.evolve(request.cluster, nodes=nodes),
        topologies=(two,),
        metrics=Metrics(window=10.0, tasks=samples),
        assignment=FrozenMap({"t/c0/0": Slot("m0-000", 0), "t/c0/1": Slot("m1-000", 0)}),
    )
    plan = run(asked, counts="given")
    assert (plan.status, plan.moves) == (Status.OK, ())
    assert plan.input_rate == pytest.approx(1000.0)


def test_tasks_that_run_stay_where_the_counts_allow():
    request = micro_benchmark("linear", (2, 2, 2))
    first = run(request)
    running = {task: slot for task, slot in first.assignment.items() if task in {"linear/1L/0", "linear/2M/0"}}
    again = run(attrs.evolve(request, assignment=FrozenMap(running)))
    assert {task: again.assignment[task] for task in running} == running


def test_tasks_that_may_not_move_do_not():
    request = profiled([[0.1, 0.2]])
    (topology,) = request.topologies
    part = attrs.evolve(topology.components[0], movable=False, parallelism=2)
    asked = attrs.evolve(
        request,
        topologies=(attrs.evolve(topology, components=(part,)),),
        assignment=FrozenMap({"t/c0/1": Slot("m1-000", 0)}),
    )
    plan = run(asked)
    assert plan.status is Status.OK
    assert plan.assignment["t/c0/1"] == Slot("m1-000", 0)


def test_tasks_without_profile_leave_less_to_the_others():
    request = profiled([[0.1]])
    (topology,) = request.topologies
    other = Component(id="x", kind=Kind.BOLT, demand=Resources(cpu=50.0))
    both = attrs.evolve(topology, components=(*topology.components, other))
    plan = run(attrs.evolve(request, topologies=(both,)))
    assert plan.input_rate == pytest.approx(500.0, rel=1e-3)
    assert plan.scores.fullest_node == pytest.approx(1.0, rel=1e-3)


def test_a_machine_type_that_a_profile_lacks_takes_no_task_of_it():
    request = micro_benchmark("linear", (1, 1, 1))
    some = tuple(each for each in request.profiles if (each.component, each.machine_type) != ("1L", "machine-1"))
    plan = run(attrs.evolve(request, profiles=some))
    assert plan.status is Status.OK
    assert plan.assignment["linear/1L/0"].node == "machine-3-0001"


def test_what_cannot_be_is_a_status_with_reasons():
    far = attrs.evolve(profiled([[0.1]]), profiles=tuple(
        attrs.evolve(each, machine_type="elsewhere") for each in profiled([[0.1]]).profiles))  # fmt: skip
    heavy = profiled([[0.1], [0.1]], met=60.0)
    nowhere = attrs.evolve(profiled([[0.1]]), cluster=attrs.evolve(far.cluster, nodes=()))
    bare = attrs.evolve(far.cluster.nodes[0], slots=())
    slotless = attrs.evolve(profiled([[0.1]]), cluster=attrs.evolve(far.cluster, nodes=(bare,)))
    for request, code in ((far, "profile"), (heavy, "capacity"), (nowhere, "profile"), (slotless, "slots")):
        plan = run(request)
        assert (plan.status, plan.reasons[0].code) == (Status.INFEASIBLE, code), plan
        assert plan.reasons[0].need is not None


def test_zero_rates_are_no_error():
    assert run(profiled([[0.1]], rate=0.0)).status is Status.OK
    assert run(profiled([[0.0]])).status is Status.OK
    slow = run(profiled([[200.0]]))
    assert slow.input_rate == pytest.approx(0.5)
    assert "over-utilised at 1 tuples/s" in slow.explanation


def test_memory_and_slots_are_kept():
    request = profiled([[0.1, 0.2]])
    (topology,) = request.topologies
    part = attrs.evolve(topology.components[0], demand=Resources(memory=600.0))
    nodes = tuple(
        attrs.evolve(each, capacity=Resources(cpu=100.0, memory=1000.0 if each.id == "m1-000" else 100.0))
        for each in request.cluster.nodes
    )
    asked = attrs.evolve(
        request,
        cluster=attrs.evolve(request.cluster, nodes=nodes),
        topologies=(attrs.evolve(topology, components=(part,)),),
    )
    plan = run(asked)
    assert nodes_used(plan) == {"m1-000"}
    too_much = attrs.evolve(part, demand=Resources(memory=6000.0))
    plan = run(attrs.evolve(asked, topologies=(attrs.evolve(topology, components=(too_much,)),)))
    assert (plan.status, plan.reasons[0].resource, plan.reasons[0].need) == (Status.INFEASIBLE, "memory", 6000.0)


def nodes_used(plan):
    return {slot.node for slot in plan.assignment.values()}


def test_the_benchmarks_have_two_profiled_bolts():
    assert {name: list(bolts) for name, bolts in BOLTS.items()} == {
        "rolling-count": ["split", "rolling-count"], "unique-visitor": ["view", "unique-visitor"]
    }  # fmt: skip


def test_traffic_is_shown_at_the_rate_that_is_planned():
    """c0 on m0 and c1 on m1: what c0 emits, 1 tuple/s as stated and 500 as planned, goes from node to node."""
    plan = run(profiled([[0.2, 9.0], [9.0, 0.2]]))
    assert plan.input_rate == pytest.approx(500.0, rel=1e-3)
    assert plan.scores.inter_node == pytest.approx(plan.input_rate)
    assert plan.scores.traffic == pytest.approx(plan.input_rate)


def fork(**more):
    """a -> {b, c}: one machine, no fixed costs."""
    request = profiled([[0.1], [0.1], [0.1]])
    (topology,) = request.topologies
    streams = tuple(attrs.evolve(each, source="c0") for each in topology.streams)
    return attrs.evolve(request, topologies=(attrs.evolve(topology, streams=streams, **more),))


@pytest.mark.parametrize(
    ("counts", "rates"), [((1, 1, 1), (120, 60, 60)), ((1, 1, 2), (120, 40, 80)), ((2, 3, 1), (120, 90, 30))]
)
def test_eq_6_as_printed_shares_output_evenly_over_all_tasks_downstream(counts, rates):
    """IR of a task is OR / x, x counting every task downstream: two of three tasks get two thirds of 120 tuples/s."""
    gains = ByTask.of(InstanceCounts.of(fork())).gains(np.array(counts))
    assert (120 * gains).tolist() == pytest.approx(rates)


def test_selectivity_and_tasks_without_profile_count_in_eq_6_too():
    """b, which no profile covers, has 3 of the 4 tasks downstream; a emits two tuples for each that it receives."""
    request = fork()
    (topology,) = request.topologies
    source = Component(id="s", kind=Kind.SPOUT, rate=1.0)
    parts = tuple(
        attrs.evolve(part, kind=Kind.BOLT, rate=None, selectivity=2.0, parallelism=3 if part.id == "c1" else 1)
        for part in topology.components
    )
    streams = (*topology.streams, attrs.evolve(topology.streams[0], source="s", target="c0"))
    asked = attrs.evolve(
        request,
        topologies=(attrs.evolve(topology, components=(source, *parts), streams=streams),),
        profiles=tuple(each for each in request.profiles if each.component != "c1"),
    )
    gains = ByTask.of(InstanceCounts.of(asked)).gains(np.array([1, 1]))
    assert gains.tolist() == pytest.approx([1.0, 0.5])


@pytest.mark.parametrize("shape", ["linear", "diamond", "star"])
def test_eq_6_as_printed_makes_a_plan_that_holds_where_components_share(shape):
    """What is planned is sustained as the topology really shares output; in a chain both readings are one."""
    request = micro_benchmark(shape, (2, 2, 2), met=1.0)
    plan, other = run(request, downstream="tasks"), run(request)
    assert plan.status is Status.OK
    assert plan.scores.fullest_node <= 1 + 1e-9
    assert (plan.parallelism == other.parallelism) is (shape == "linear")

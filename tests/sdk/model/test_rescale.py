from __future__ import annotations

import attrs
import pytest

from headworks.errors import DocumentError
from headworks.hooks import Description, hookimpl
from headworks.model import FrozenMap, Metrics, Plan, Profile, Status, TaskSample
from headworks.model.scaling import rescale_differences, rescale_refusals, rescaled, with_instances
from headworks.plugins.host import PluginHost
from headworks.problem import Problem
from headworks.problem.plan.check import check_plan
from hetero_cases import profiled
from small_requests import component, node, request, topology


class Chooses:
    """Choose numbers of tasks and an input rate, and put every task on the first node."""

    def __init__(self, counts, rate):
        self.counts, self.rate = FrozenMap(counts), rate

    @hookimpl
    def headworks_describe(self):
        return Description(summary="chooses")

    @hookimpl
    def headworks_schedule(self, request):
        chosen = with_instances(request, self.counts, priced=self.rate is not None)
        made = Problem.of(chosen).plan([0] * Problem.of(chosen).n)
        return attrs.evolve(made, parallelism=self.counts, input_rate=self.rate)


def ask(asked, counts, rate=None):
    return PluginHost().with_plugin("x", Chooses(counts, rate)).schedule("x", asked)


def test_a_plan_with_other_numbers_of_tasks_is_checked_and_scored_on_these():
    asked = request([node("a", 200.0)], [topology("t", component("c", 1, 50.0))])
    plan = ask(asked, {"t/c": 3})
    assert (plan.status, len(plan.assignment), plan.scores.unplaced) == (Status.OK, 3, 0)
    assert plan.scores.fullest_node == 0.75
    assert plan.provenance.request == ask(asked, {}).provenance.request


def test_tasks_beyond_a_smaller_number_are_gone():
    asked = request([node("a", 200.0)], [topology("t", component("c", 3))], {"t/c/0": "a", "t/c/2": "a"})
    asked = attrs.evolve(asked, metrics=attrs.evolve(asked.metrics, tasks=(TaskSample(task="t/c/2", cpu=9.0),)))
    fewer = with_instances(asked, {"t/c": 2})
    assert (list(fewer.assignment), fewer.metrics.tasks) == (["t/c/0"], ())
    assert with_instances(asked, {}) is asked
    assert ask(asked, {"t/c": 2}).status is Status.OK


def test_profiles_stand_in_for_what_was_measured_of_a_component_whose_id_has_a_slash():
    asked = request([node("a")], [topology("t", component("a/b", 2), component("a"))])
    samples = tuple(TaskSample(task=task, cpu=9.0) for task in ("t/a/b/0", "t/a/b/1", "t/a/0"))
    profile = Profile(topology="t", component="a/b", machine_type="m", e=0.1)
    asked = attrs.evolve(asked, metrics=Metrics(window=1.0, tasks=samples), profiles=(profile,))
    priced = with_instances(asked, {"t/a/b": 1}, priced=True)
    assert {each.task: each.cpu for each in priced.metrics.tasks} == {"t/a/b/0": None, "t/a/0": 9.0}


@pytest.mark.parametrize(
    ("counts", "where"),
    [
        ({"t/c": 0}, "/parallelism/t~1c"),
        ({"t/nobody": 1}, "/parallelism/t~1nobody"),
        ({"t/c": 10**9}, "/topologies/0/components/0/parallelism"),
    ],
)
def test_numbers_that_cannot_be_are_held(counts, where):
    class Lies(Chooses):
        @hookimpl
        def headworks_schedule(self, request):
            return attrs.evolve(Problem.of(request).plan([0]), parallelism=self.counts)

    asked = request([node("a")], [topology("t", component("c"))])
    plan = PluginHost().with_plugin("x", Lies(counts, None)).schedule("x", asked)
    assert plan.status is Status.HELD
    with pytest.raises(DocumentError) as refused:
        rescaled(asked, Plan(parallelism=FrozenMap(counts)))
    assert refused.value.pointer == where


def test_profiles_are_what_a_plan_with_an_input_rate_is_checked_on():
    asked = profiled([[0.1]])
    assert ask(asked, {}, 1000.0).status is Status.OK
    plan = ask(asked, {}, 1001.0)
    assert (plan.status, plan.reasons[0].code) == (Status.HELD, "capacity")
    assert "100.1 % busy" in plan.reasons[0].message
    assert ask(asked, {}, 500.0).scores.fullest_node == pytest.approx(0.5)


def test_a_task_on_a_machine_type_without_profile_is_refused():
    asked = profiled([[0.1, 0.2]])
    asked = attrs.evolve(asked, profiles=asked.profiles[1:])
    chosen = Problem.of(with_instances(asked, {}, priced=True))
    (reason,) = check_plan(chosen, attrs.evolve(chosen.plan([0]), input_rate=1.0))
    assert (reason.code, reason.subject) == ("profile", "t/c0")


def test_an_executor_can_say_what_it_does_not_enforce():
    running = topology("t", component("c", 2), component("d", 1))
    (said,) = rescale_differences(Plan(parallelism=FrozenMap({"t/c": 3, "t/d": 1})), [running])
    assert said == "t/c runs 2 tasks, the plan has 3: rescale it first"


def test_an_executor_can_refuse_what_it_cannot_rescale():
    running = topology("t", component("c", 2))
    (step,) = rescale_refusals(Plan(parallelism=FrozenMap({"t/c": 3})), [running])
    assert (step.action, step.subject, step.done) == ("rescale", "t/c", False)
    assert "the plan has 3" in step.message
    assert rescale_refusals(Plan(parallelism=FrozenMap({"t/c": 2, "other/c": 5})), [running]) == ()

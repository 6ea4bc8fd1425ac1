"""Whatever a scheduler does, the host comes back with a plan that may be carried out."""

from __future__ import annotations

import os
import signal
import threading
import time
from functools import cache, partial

import attrs
import pytest

from headworks.documents import digest, dumps
from headworks.errors import DocumentError
from headworks.hooks import Description, hookimpl
from headworks.model import (
    ENDED_EARLY,
    Cluster,
    Limits,
    Metrics,
    Node,
    Request,
    Resources,
    Scores,
    Slot,
    Status,
    TaskSample,
)
from headworks.model.scaling import rescaled
from headworks.model.validate import MAX_AMOUNT
from headworks.plugins.host import PluginHost
from headworks.plugins.planning_time import STRETCH
from headworks.plugins.sandbox import ABANDONED, ASKED
from headworks.problem import Problem
from headworks.problem.plan.check import check_plan
from headworks.testing import FirstFit, make_cases
from headworks.toolbox.cancel import Cancellation, offer, on_cancel
from patience import PATIENCE
from small_requests import component, node, topology, word_count
from small_requests import request as asked_for
from zoo import BEASTS, Hanging, Scheduler

EARLY = 0.1
BUSY = TaskSample(task="t/c/0", cpu=80.0)
HELD = {name: beast for name, beast in BEASTS.items() if beast.code}


@cache
def plans_of(name, plugin):
    host = PluginHost().with_plugin(name, plugin)
    return [(request, host.schedule(name, request)) for request in make_cases(0, 15).mixed]


@pytest.mark.parametrize("name", HELD)
def test_a_misbehaving_scheduler_is_held_with_a_reason_that_names_it(name):
    beast = HELD[name]
    held = [(request, plan) for request, plan in plans_of(name, beast.plugin) if plan.status is Status.HELD]
    assert beast.code in {reason.code for _, plan in held for reason in plan.reasons}
    for request, plan in held:
        assert all(reason.message.startswith(name) for reason in plan.reasons)
        assert plan.provenance.scheduler == name
        assert not plan.moves
        alive = {Slot(node.id, port) for node in request.cluster.nodes for port in node.slots}
        assert plan.assignment == {task: slot for task, slot in request.assignment.items() if slot in alive}


@pytest.mark.parametrize("name", BEASTS)
def test_no_plan_that_passes_breaks_a_rule_and_every_plan_is_a_document(name):
    for request, plan in plans_of(name, BEASTS[name].plugin):
        assert dumps(plan)
        if plan.status is not Status.HELD:
            assert check_plan(Problem.of(attrs.evolve(rescaled(request, plan))), plan) == ()


@pytest.mark.parametrize("name", ["writes-map", "sets-field", "writes-array", "tampers"])
def test_the_callers_request_stays_as_it_was(name):
    host = PluginHost().with_plugin(name, BEASTS[name].plugin)
    for request, twin in zip(make_cases(0, 15).mixed, make_cases(0, 15).mixed, strict=True):
        host.schedule(name, request)
        assert digest(request) == digest(twin)
        assert (Problem.of(request).capacity == Problem.of(twin).capacity).all()


def test_a_scheduler_that_hangs_is_abandoned_while_it_still_runs():
    act = Hanging()
    host = PluginHost().with_plugin("hangs", Scheduler(act))
    request = next(request for request in make_cases(0).mixed if request.topologies and request.cluster.nodes)
    plan = host.schedule("hangs", attrs.evolve(request, limits=Limits(deadline=0.05)))
    assert act.entered.is_set()
    assert not act.left.is_set()
    act.release.set()
    assert plan.status is Status.HELD
    assert [reason.code for reason in plan.reasons] == ["deadline"]
    assert "hangs has no plan after 0.05 s of CPU, or 0.15 s (limits.deadline)" in plan.reasons[0].message
    assert act.left.wait(PATIENCE)


def test_a_slot_that_a_scheduler_changed_is_noticed_though_it_keeps_its_hash():
    def act(request):
        """Changes a slot behind its back."""
        plan = FirstFit().headworks_schedule(Problem.of(request))
        object.__setattr__(next(iter(request.assignment.values())), "port", 1)
        return plan

    running = asked_for([node("a")], [topology("t", component("c", 2))], {"t/c/0": "a", "t/c/1": "a"})
    for slot in running.assignment.values():
        hash(slot)
    plan = PluginHost().with_plugin("slots", Scheduler(act)).schedule("slots", running)
    assert [reason.code for reason in plan.reasons] == ["mutation"]


def test_the_longest_deadline_that_may_be_asked_is_waited_for():
    def slow(request):
        """Takes longer than nothing."""
        threading.Event().wait(0.2)
        return FirstFit().headworks_schedule(Problem.of(request))

    asked = attrs.evolve(word_count(), limits=Limits(deadline=MAX_AMOUNT))
    assert PluginHost().with_plugin("slow", Scheduler(slow)).schedule("slow", asked).status is Status.OK


def test_a_scheduler_whose_abandoned_runs_pile_up_is_not_asked_until_one_ends():
    act = Hanging()
    host = PluginHost().with_plugin("piles", Scheduler(act))
    request = next(request for request in make_cases(0).mixed if request.topologies and request.cluster.nodes)
    hasty = attrs.evolve(request, limits=Limits(deadline=0.02))
    codes = [host.schedule("piles", hasty).reasons[0].code for _ in range(ABANDONED + 2)]
    assert codes == ["deadline"] * ABANDONED + ["abandoned"] * 2
    act.release.set()
    assert act.left.wait(PATIENCE)
    while any(thread.name == "headworks-abandoned-piles" for thread in threading.enumerate()):
        pass
    assert host.schedule("piles", request).status is not Status.HELD


def test_what_a_scheduler_prints_goes_to_stderr(capsys):
    PluginHost().with_plugin("prints", BEASTS["prints"].plugin).schedule("prints", Request())
    heard = capsys.readouterr()
    assert (heard.out, heard.err) == ("", "planning ...\n")


class Boasting(FirstFit):
    """Claim the best of scores."""

    @hookimpl
    def headworks_describe(self):
        return Description(summary=self.__doc__)

    @hookimpl
    def headworks_schedule(self, problem):
        plan = super().headworks_schedule(problem)
        return attrs.evolve(
            plan, scores=Scores(inter_node=-1.0), provenance=attrs.evolve(plan.provenance, scheduler="x")
        )


def test_scores_and_provenance_are_the_hosts():
    fair = plans_of("same", FirstFit())
    boasted = plans_of("same", Boasting())
    assert [plan.scores for _, plan in fair] == [plan.scores for _, plan in boasted]
    assert {plan.provenance.scheduler for _, plan in boasted} == {"same"}
    assert all(plan.provenance.request == digest(request) for request, plan in boasted)


@pytest.mark.parametrize(("measured", "status"), [(False, Status.OK), (True, Status.HELD)])
def test_a_plan_is_checked_on_the_figures_that_it_says_it_rests_on(measured, status):
    """Two tasks of 50 points as declared, of which one was measured at 80, on a node of 100."""

    def act(request):
        """Plan on what is declared."""
        return attrs.evolve(Problem.of(request, measured=False).plan([0, 0]), measured=measured)

    asked = asked_for([node("a")], [topology("t", component("c", 2))], metrics=Metrics(tasks=(BUSY,)))
    plan = PluginHost().with_plugin("act", Scheduler(act)).schedule("act", asked)
    assert plan.status is status
    assert [reason.code for reason in plan.reasons] == (["capacity", "move-order"] if measured else [])


def test_a_request_that_contradicts_itself_is_the_callers_error():
    node = Node(id="n0", capacity=Resources(cpu=100.0))
    host = PluginHost().with_plugin("ff", FirstFit())
    with pytest.raises(DocumentError, match="/cluster/nodes/1: node 'n0' is named twice"):
        host.schedule("ff", Request(cluster=Cluster(nodes=(node, node))))


def patient(request):
    """Interrupts the process that asked, as Ctrl-C does, and plans once it hears of it."""
    heard = threading.Event()
    on_cancel(heard.set)
    os.kill(os.getpid(), signal.SIGINT)
    return FirstFit().headworks_schedule(Problem.of(request)) if heard.wait(PATIENCE) else None


def deaf(request):
    """Interrupts the process that asked, and goes on."""
    os.kill(os.getpid(), signal.SIGINT)
    threading.Event().wait(2)
    return FirstFit().headworks_schedule(Problem.of(request))


def interrupted(act, cancellation):
    asked = attrs.evolve(word_count(), limits=Limits(deadline=PATIENCE))
    return PluginHost().with_plugin("act", Scheduler(act)).schedule("act", asked, cancellation=cancellation)


def test_ctrl_c_asks_a_scheduler_that_hears_it_for_its_plan():
    try:
        assert interrupted(patient, Cancellation()).status is Status.OK
    except KeyboardInterrupt:  # would end all tests
        pytest.fail("the interruption was not heard")


@pytest.mark.parametrize(("act", "cancellation"), [(deaf, Cancellation()), (deaf, None)])
def test_ctrl_c_ends_the_wait_for_one_that_does_not_hear_it(act, cancellation):
    with pytest.raises(KeyboardInterrupt):
        interrupted(act, cancellation)


def until_asked(request):
    """Plans when it is asked for its best plan so far, and says in its explanation when that was."""
    told, begin = threading.Event(), time.monotonic()
    on_cancel(told.set)
    told.wait(PATIENCE)
    plan = FirstFit().headworks_schedule(Problem.of(request))
    return attrs.evolve(plan, explanation=f"{time.monotonic() - begin:.3f}")


def begins_late(request):
    """Says how its search is ended after it should have ended."""
    told = threading.Event()
    threading.Event().wait((STRETCH * EARLY + 0.1) * request.limits.deadline)
    on_cancel(told.set)
    return FirstFit().headworks_schedule(Problem.of(request)) if told.is_set() else None


def cannot_end(request):
    """Fails when it is asked to end, and goes on."""
    on_cancel(lambda: 1 / 0)
    threading.Event().wait((STRETCH * EARLY + 0.1) * request.limits.deadline)
    return FirstFit().headworks_schedule(Problem.of(request))


@pytest.fixture
def early(monkeypatch):
    """Searches are asked so early that a busy machine has time for the rest."""
    monkeypatch.setattr("headworks.plugins.sandbox.ASKED", EARLY)
    return attrs.evolve(word_count(), limits=Limits(deadline=20.0))


def test_a_search_is_asked_for_its_best_plan_at_its_share_of_the_deadline(early):
    plan = PluginHost().with_plugin("act", Scheduler(until_asked)).schedule("act", early)
    assert (plan.label, [reason.code for reason in plan.reasons]) == ("ok, ended early", [ENDED_EARLY])
    assert EARLY * 20.0 - 0.1 <= float(plan.explanation) < STRETCH * 20.0
    assert 0.5 < ASKED < 0.95  # not long before the deadline, and not too late


@pytest.fixture
def goes_on():
    """A wait beyond the deadline, which ends with the test."""
    over = threading.Event()
    yield partial(over.wait, PATIENCE)
    over.set()


@pytest.mark.parametrize("nodes", [(1,), (0, 1)])
def test_a_plan_that_was_offered_last_stands_where_the_answer_is_late(nodes, goes_on):
    def act(request):
        """Offers a plan on one node after the other."""
        problem = Problem.of(request)
        for at in nodes:
            offer(problem.plan([at] * problem.n))
        goes_on()

    asked = attrs.evolve(word_count(), limits=Limits(deadline=3.0))
    plan = PluginHost().with_plugin("act", Scheduler(act)).schedule("act", asked)
    assert {slot.node for slot in plan.assignment.values()} == {asked.cluster.nodes[1].id}
    assert plan.reasons[-1].code == ENDED_EARLY


def test_a_plan_that_was_offered_is_checked_as_an_answer_is(goes_on):
    def act(_request):
        """Offers what is no plan."""
        offer("no plan")
        goes_on()

    asked = attrs.evolve(word_count(), limits=Limits(deadline=3.0))
    plan = PluginHost().with_plugin("act", Scheduler(act)).schedule("act", asked)
    assert (plan.status, plan.reasons[0].code) == (Status.HELD, "type")


def test_ctrl_c_takes_a_plan_that_was_offered_by_one_that_does_not_hear_it(monkeypatch, goes_on):
    monkeypatch.setattr("headworks.plugins.sandbox.GRACE", 0.1)

    def act(request):
        """Offers a plan, is interrupted, and goes on."""
        on_cancel(lambda: None)
        offer(FirstFit().headworks_schedule(Problem.of(request)))
        os.kill(os.getpid(), signal.SIGINT)
        goes_on()

    try:
        plan = interrupted(act, Cancellation())
    except KeyboardInterrupt:  # would end all tests
        pytest.fail("the interruption was not heard")
    assert (plan.status, [reason.code for reason in plan.reasons]) == (Status.OK, [ENDED_EARLY])


class Asking(Scheduler):
    """Plans by itself, after it asked another scheduler."""

    @hookimpl
    def headworks_schedule(self, request, ask):
        ask("other", 20.0)
        return self.act(request)


def at_once(request):
    """Plans without a search."""
    return FirstFit().headworks_schedule(Problem.of(request))


@pytest.mark.parametrize(("other", "label"), [(until_asked, "ok, ended early"), (at_once, "ok")])
def test_a_plan_that_builds_on_one_that_was_cut_short_says_so_too(other, label, early):
    host = PluginHost().with_plugin("other", Scheduler(other)).with_plugin("asking", Asking(at_once))
    patient = attrs.evolve(early, limits=Limits(deadline=300.0))
    assert host.schedule("asking", patient).label == label


@pytest.mark.parametrize("act", [begins_late, cannot_end])
def test_one_that_begins_late_is_told_at_once_and_one_that_cannot_end_may_go_on(act, early):
    assert PluginHost().with_plugin("act", Scheduler(act)).schedule("act", early).status is Status.OK


def late(request):
    """Says nothing of how its search is ended, and answers after it would have been asked."""
    threading.Event().wait((STRETCH * EARLY + 0.1) * request.limits.deadline)
    return FirstFit().headworks_schedule(Problem.of(request))


def test_one_that_nobody_can_end_was_not_ended_early(early):
    plan = PluginHost().with_plugin("act", Scheduler(late)).schedule("act", early)
    assert (plan.label, plan.reasons) == ("ok", ())


class Prepared:
    """Plans, and remembers in which order it was called."""

    def __init__(self, prepare):
        self.prepare, self.called = prepare, []

    @hookimpl
    def headworks_describe(self):
        return Description(summary="Plan.")

    @hookimpl
    def headworks_prepare(self):
        self.prepare()
        self.called.append("prepare")

    @hookimpl
    def headworks_schedule(self, problem):
        self.called.append("schedule")
        return FirstFit().headworks_schedule(problem)


def test_the_deadline_begins_when_a_scheduler_is_prepared():
    plugin = Prepared(lambda: threading.Event().wait(3.0))
    asked = attrs.evolve(word_count(), limits=Limits(deadline=2.9))
    assert PluginHost().with_plugin("slow", plugin).schedule("slow", asked).status is Status.OK
    assert plugin.called == ["prepare", "schedule"]


def test_a_scheduler_that_cannot_be_prepared_is_held_and_not_asked(monkeypatch):
    def fail():
        raise ImportError("no solver")

    bare = Prepared(fail)
    plan = PluginHost().with_plugin("bare", bare).schedule("bare", word_count())
    assert (plan.status, bare.called) == (Status.HELD, [])
    assert plan.reasons[0].message.startswith("bare raised ImportError: no solver (plugins/test_sandbox.py:")

    monkeypatch.setattr("headworks.plugins.sandbox.PREPARATION", 0.05)
    release = threading.Event()
    plan = PluginHost().with_plugin("stuck", Prepared(release.wait)).schedule("stuck", word_count())
    release.set()
    assert plan.status is Status.HELD
    assert "stuck is not prepared after 0.05 s; it is abandoned" in plan.reasons[0].message

"""Schedulers in processes of their own: the same plans, and none of them takes this process down or holds it up."""

from __future__ import annotations

import contextlib
import logging
import os
import resource

import attrs
import pytest

from headworks.documents import dumps
from headworks.model import ENDED_EARLY, Limits, Status
from headworks.plugins.host import PluginHost
from headworks.plugins.own_process import THRESHOLDS
from headworks.plugins.processes import SchedulerProcesses
from patience import PATIENCE
from plugin_folder import install
from small_requests import component, node, request, topology

HEAD = """
import os, re, signal, sys, threading, time
import attrs
from headworks.hooks import Description, hookimpl
from headworks.model import Plan
from headworks.problem import Problem
from headworks.toolbox.cancel import offer, on_cancel

def writes(descriptor):
    try:
        return "pipe" in os.readlink(f"/proc/self/fd/{descriptor}") and not os.write(descriptor, b"")
    except OSError:
        return False

@attrs.frozen(kw_only=True)
class Options:
    node: int = 0

class Plugin:
    @hookimpl
    def headworks_describe(self):
        return Description(summary="A scheduler.", options=Options)

    @hookimpl
    def headworks_prepare(self):
        PREPARE

    @hookimpl
    def headworks_schedule(self, request, problem, options, ask):
        BODY

plugin = Plugin()
"""
PLAN = "return problem.plan([options.node] * problem.n)"
BEASTS = {
    "good": PLAN,
    "holds": "re.match(r'(a+)+$', 'a' * 60 + 'b')",
    "leaves": "os._exit(7)",
    "crashes": "os.kill(os.getpid(), signal.SIGSEGV); time.sleep(3600)",
    "sleeps": "time.sleep(3600)",
    "raises": "raise RuntimeError('broken')",
    "searched": "import gc; raise RuntimeError(gc.get_threshold())",
    "nothing": "return None",
    "unwritable": "plan = problem.plan([0] * problem.n); return __import__('attrs').evolve(plan, explanation=object())",
    "prints": f"os.write(1, b'native noise'); print('noise'); {PLAN}",
    "scribbles": "[os.write(each, b'scribble\\n') for each in range(3, 9) if writes(each)]; time.sleep(3600)",
    "asks": "return ask('even', 5.0)",
    "searches": f"enough = threading.Event(); on_cancel(enough.set); enough.wait(); {PLAN}",
    "offers": "offer(problem.plan([0] * problem.n)); time.sleep(3600)",
    "where": "raise RuntimeError(f'process {os.getpid()}')",
    "hoards": "kept = bytearray(os.sysconf('SC_PHYS_PAGES') * os.sysconf('SC_PAGE_SIZE') * 3 // 4)",
    "changes": f"object.__setattr__(next(iter(request.assignment.values())), 'port', 1); {PLAN}",
}
NAMES = {name: f"apart-{name}" for name in BEASTS}


@pytest.fixture(scope="module")
def host(tmp_path_factory):
    folder = tmp_path_factory.mktemp("plugins") / "apart"
    folder.mkdir()
    sources = {NAMES[name]: HEAD.replace("PREPARE", "pass").replace("BODY", body) for name, body in BEASTS.items()}
    sources["apart-slow"] = HEAD.replace("PREPARE", "time.sleep(3600)").replace("BODY", PLAN)
    sources["apart-ready"] = HEAD.replace("PREPARE", "self.plan = Problem.plan").replace(
        "BODY", "return self.plan(problem, [0] * problem.n)"
    )
    install(folder, "apart", sources)
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(folder)
        with PluginHost.load().isolated() as made:
            yield made


REQUEST = attrs.evolve(
    request([node("a"), node("b")], [topology("t", component("c", 2))]), limits=Limits(deadline=PATIENCE)
)
HASTY = attrs.evolve(REQUEST, limits=Limits(deadline=0.5))


@pytest.mark.parametrize("name", ["dstorm", "optimal", "even", "apart-good", "apart-asks"])
def test_a_plan_is_the_same_as_in_a_thread_byte_by_byte(host, name):
    here = PluginHost(host.registry)
    assert dumps(host.schedule(name, REQUEST)) == dumps(here.schedule(name, REQUEST))
    assert host.schedule(name, REQUEST).status is not Status.HELD


def test_options_arrive(host):
    plans = [host.schedule("apart-good", REQUEST, {"node": node}) for node in (0, 1)]
    assert [{slot.node for slot in plan.assignment.values()} for plan in plans] == [
        {each.id} for each in REQUEST.cluster.nodes[:2]
    ]


HELD = {
    "holds": ("deadline", "has no plan after 0.5 s of CPU, or 1.5 s (limits.deadline); its process is ended"),
    "sleeps": ("deadline", "has no plan after 0.5 s of CPU, or 1.5 s (limits.deadline); "),
    "leaves": ("crashed", "ended its process (exit code 7)"),
    "crashes": ("crashed", "ended its process (signal SIGSEGV)"),
    "raises": ("raised", "raised RuntimeError: broken (apart/apart_"),
    "searched": ("raised", f"raised RuntimeError: {THRESHOLDS}"),
    "nothing": ("type", "a Plan is expected, not NoneType"),
    "unwritable": ("answer", "answered a plan that cannot be written"),
    "scribbles": ("answer", "answered something that is no plan"),
}


@pytest.mark.parametrize("beast", HELD)
def test_whatever_it_does_the_plan_is_held_and_the_next_scheduler_is_asked(host, beast):
    code, says = HELD[beast]
    plan = host.schedule(NAMES[beast], HASTY if code == "deadline" else REQUEST)
    assert plan.status is Status.HELD
    assert [reason.code for reason in plan.reasons] == [code]
    assert says in plan.reasons[0].message
    assert host.schedule("apart-good", REQUEST).status is Status.OK


def test_one_that_was_abandoned_leaves_nothing_to_wait_for(host):
    for _ in range(5):  # in threads the fourth would not be asked
        assert host.schedule("apart-sleeps", attrs.evolve(HASTY, limits=Limits(deadline=0.05))).reasons[0].code == (
            "deadline"
        )


def test_the_traceback_is_there_for_who_asks(host, caplog):
    with caplog.at_level(logging.DEBUG, "headworks.plugins"):
        host.schedule("apart-raises", REQUEST)
    assert "RuntimeError: broken" in caplog.text
    assert "Traceback" in caplog.text


def test_what_it_prints_is_no_data(host, capfd):
    assert host.schedule("apart-prints", REQUEST).status is Status.OK
    heard = capfd.readouterr()
    assert heard.out == ""
    assert "native noise" in heard.err


def test_a_search_is_ended_near_its_deadline(host):
    plan = host.schedule("apart-searches", attrs.evolve(REQUEST, limits=Limits(deadline=3.0)))
    assert (plan.status, [reason.code for reason in plan.reasons]) == (Status.OK, [ENDED_EARLY])


def test_a_plan_that_was_offered_stands_and_the_process_that_is_late_is_not_asked_again(host):
    asked = attrs.evolve(REQUEST, limits=Limits(deadline=3.0))
    for plan in (host.schedule("apart-offers", asked) for _ in range(2)):
        assert (plan.status, [reason.code for reason in plan.reasons]) == (Status.OK, [ENDED_EARLY])
        (waiting,) = host.processes._idle["apart-offers"]
        assert waiting._step == "asked"  # another one, which was asked nothing yet


def test_one_that_has_to_be_prepared_is(host):
    assert host.schedule("apart-ready", REQUEST).status is Status.OK


def test_one_that_is_not_prepared_is_held(host, monkeypatch):
    monkeypatch.setattr("headworks.plugins.processes.PREPARED", 0.5)
    plan = host.schedule("apart-slow", REQUEST)
    assert "apart-slow is not prepared after 0.5 s; its process is ended" in plan.reasons[0].message


def test_no_request_of_this_process_can_be_changed_and_one_that_tries_is_held_as_in_a_thread(host):
    running = attrs.evolve(request([node("a")], [topology("t", component("c"))], {"t/c/0": "a"}), limits=REQUEST.limits)
    before = dumps(running)
    assert [each.code for each in host.schedule("apart-changes", running).reasons] == ["mutation"]
    assert dumps(running) == before
    here = PluginHost(host.registry)
    assert [each.code for each in here.schedule("apart-changes", running).reasons] == ["mutation"]


def test_a_process_is_asked_again_and_ends_with_its_host(host):
    with PluginHost(host.registry).isolated() as other:
        processes = []
        for _ in range(2):
            other.schedule("apart-good", REQUEST)
            (worker,) = other.processes._idle["apart-good"]
            processes.append(worker._process)
        assert processes[0] is processes[1]
        assert processes[0].poll() is None
    assert processes[0].poll() is not None


def test_it_ends_when_nobody_asks_any_more(host):
    processes = SchedulerProcesses()
    processes.ask("apart-good", REQUEST, {})
    (worker,) = processes._idle["apart-good"]
    worker._process.stdin.close()
    assert worker._process.wait(PATIENCE) == 0
    processes.close()


def test_a_process_with_many_open_files_asks_as_well(host):
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (min(4096, hard), hard))
    try:
        with contextlib.ExitStack() as stack:
            for _ in range(1100):
                stack.callback(os.close, os.open(os.devnull, os.O_RDONLY))
            with PluginHost(host.registry).isolated() as other:
                assert other.schedule("apart-good", REQUEST).status is Status.OK
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))


def test_a_machine_that_starts_no_process_holds_what_runs(host, monkeypatch):
    monkeypatch.setattr("sys.executable", "/no/python")
    with PluginHost(host.registry).isolated() as other:
        plan = other.schedule("apart-good", REQUEST)
    assert plan.reasons[0].code == "isolation"
    assert "apart-good cannot be asked in a process of its own" in plan.reasons[0].message


def test_one_of_no_entry_point_stays_in_a_thread():
    from headworks.testing import FirstFit

    with PluginHost().isolated() as other:
        added = other.with_plugin("first", FirstFit())
        assert added.schedule("first", REQUEST).status is Status.OK
        assert added.processes is other.processes
        assert added.processes._idle == {}


def test_without_a_wish_all_are_asked_in_threads(host):
    with host.isolated(wanted=False) as other:
        assert other.processes is None
        assert f"process {os.getpid()}" in other.schedule("apart-where", REQUEST).reasons[0].message


def test_only_those_that_are_not_built_in_may_be_asked_in_processes(host):
    with PluginHost(host.registry).isolated(built_in=False) as other:
        assert other.processes is None
        assert f"process {os.getpid()}" not in other.schedule("apart-where", REQUEST).reasons[0].message
        assert other.schedule("even", REQUEST).status is Status.OK


def test_memory_is_bounded_and_one_that_takes_it_all_is_held(host):
    plan = host.schedule("apart-hoards", REQUEST)
    assert [reason.code for reason in plan.reasons] == ["raised"]
    assert "raised MemoryError" in plan.reasons[0].message


def test_a_plan_that_never_ends_is_not_read_for_ever(host, monkeypatch):
    monkeypatch.setattr("headworks.plugins.processes.LARGEST", 10)
    assert host.schedule("apart-good", REQUEST).reasons[0].code == "answer"

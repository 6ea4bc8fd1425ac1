"""Process in which a scheduler is asked, `python -m headworks.plugins.worker NAME`: pickled requests in, JSON out."""

from __future__ import annotations

import faulthandler
import logging
import os
import pickle
import resource
import signal
import sys
import traceback
from functools import partial
from typing import TYPE_CHECKING, Any

import attrs

from headworks.documents import unstructure
from headworks.errors import HeadworksError
from headworks.plugins.guard import LOG, abandoned
from headworks.plugins.host import PluginHost
from headworks.plugins.own_process import collect_seldom
from headworks.plugins.processes import PREPARED, WRITTEN, as_line
from headworks.plugins.sandbox import Answer, SchedulerCall, ask_here, faults, no_plan
from headworks.toolbox.cancel import Cancellation

if TYPE_CHECKING:
    from typing import BinaryIO

    from headworks.model import Request


def main() -> None:
    """Answer requests until there are no more."""
    name = sys.argv[1]
    # Descriptor 1 is the answers'; what native code prints there goes to stderr.
    answers = os.fdopen(os.dup(1), "wb", buffering=0)
    jobs = os.fdopen(os.dup(0), "rb")
    os.dup2(2, 1)
    os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
    LOG.setLevel(logging.DEBUG)
    LOG.propagate = False
    collect_seldom()
    _bound_memory()
    host = PluginHost.load()
    while job := _job(jobs):
        request, options, stretch = job
        # Native code that holds the interpreter does not see that nobody waits any more; this ends it all the same.
        faulthandler.dump_traceback_later(
            PREPARED + min(stretch * request.limits.deadline, 1e6) + 2 * WRITTEN, exit=True
        )
        _answer(host, name, request, options, stretch, answers)
        faulthandler.cancel_dump_traceback_later()


def _bound_memory() -> None:
    """Let the process have half of the machine's memory: beyond it Python raises a MemoryError, and others live on."""
    bytes_there = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    _, hard = resource.getrlimit(resource.RLIMIT_DATA)
    most = min(each for each in (bytes_there // 2, hard) if each != resource.RLIM_INFINITY)
    resource.setrlimit(resource.RLIMIT_DATA, (most, hard))


def _job(jobs: BinaryIO) -> tuple[Request, dict[str, Any], float] | None:
    size = jobs.read(8)
    if len(size) < 8:
        return None
    job: tuple[Request, dict[str, Any], float] = pickle.loads(  # noqa: S301 - by the process that started this one
        jobs.read(int.from_bytes(size, "big"))
    )
    return job


def _answer(
    host: PluginHost, name: str, request: Request, options: dict[str, Any], stretch: float, answers: BinaryIO
) -> None:
    """Write that the scheduler is prepared, that it has decided, and its answer: a line each."""
    kept = _Kept()
    LOG.addHandler(kept)
    try:
        made = ask_here(_call(host, name, request, options, answers), Cancellation(), stretch)
    except HeadworksError as error:
        made = Answer(reasons=(no_plan("raised", name, f"cannot be asked in a process of its own: {error}"),))
    finally:
        LOG.removeHandler(kept)
    answers.write(as_line({"step": "decided"}))
    if made.reasons:
        said = {"reasons": [unstructure(each) for each in made.reasons], "traceback": kept.text}
    else:
        said = _what(name, request, made.plan, early=made.early)
    answers.write(as_line({**said, "unfit": abandoned()}))


class _Kept(logging.Handler):
    """Keeps the traceback of a plugin."""

    text = ""

    def emit(self, record: logging.LogRecord) -> None:
        if record.exc_info and record.exc_info[1] is not None:
            self.text = "".join(traceback.format_exception(record.exc_info[1]))


def _call(host: PluginHost, name: str, request: Request, options: dict[str, Any], answers: BinaryIO) -> SchedulerCall:
    plugin = host.plugin(name)

    def prepare() -> None:
        if "headworks_prepare" in plugin.hooks:
            plugin.caller.headworks_prepare()
        answers.write(as_line({"step": "prepared"}))

    return SchedulerCall(
        name,
        plugin.caller.headworks_schedule,
        request,
        host.options(name, options),
        prepare,
        partial(host.answer, request),
        takes_problem=plugin.takes_problem,
    )


def _what(name: str, request: Request, plan: Any, *, early: bool) -> dict[str, Any]:
    """A plan as data; an answer that is none as the reasons to refuse it."""
    try:
        data = {"plan": unstructure(attrs.evolve(plan)), "early": early}  # evolving refuses what is no plan
        as_line(data)
    except Exception as error:  # noqa: BLE001 - a plan may hold anything
        found = faults(name, request, plan)
        unread = no_plan("answer", name, f"answered a plan that cannot be written ({type(error).__name__}: {error})")
        return {"reasons": [unstructure(each) for each in found or (unread,)]}
    return data


if __name__ == "__main__":
    try:
        main()
    except KeyboardInterrupt:  # passed on by who asks, to a scheduler that cannot be ended early
        os._exit(128 + signal.SIGINT)

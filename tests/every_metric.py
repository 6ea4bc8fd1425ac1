"""Rounds, counts and plugins by which each metric of a loop has values, for the tests of what reads them."""

from __future__ import annotations

import contextlib
from typing import TYPE_CHECKING

import attrs
import pytest

from headworks.control.forecast import CheckedFigure
from headworks.control.journal import Round
from headworks.control.totals import HeardRounds
from headworks.errors import PluginError
from headworks.model import Metrics, Receipt, Step, StreamSample, TaskSample
from headworks.plugins.host import PluginHost
from headworks.problem import Problem
from memory_engine import Engine, Machine
from small_requests import component, node, request, topology, word_count

if TYPE_CHECKING:
    from collections.abc import Iterator

MEASURED = Metrics(
    streams=(StreamSample(topology="words", source="split", target="count", tuples=500.0),),
    tasks=(TaskSample(task="words/count/0", cpu=20.0, received=250.0, emitted=0.0, queue=3.0),),
)
CROWDED = request([node("a")], [topology("t", component("c", 40, 50.0))])
"""More than the node has CPU for."""


@contextlib.contextmanager
def shown() -> Iterator[tuple[str, HeardRounds]]:
    """The address of the metrics of a loop, and what has to hear of its rounds."""
    prometheus = pytest.importorskip("headworks.report.prometheus", reason="needs prometheus-client")
    host, heard = PluginHost.load().with_plugin("memory", Engine()), HeardRounds()
    with pytest.raises(PluginError):
        host.observe("memory", Machine(None, broken={"observe"}), 0.1)
    asked = attrs.evolve(word_count(), metrics=MEASURED)
    plan = Problem.of(asked).plan([0, 0, 1, 1, 0])
    stopped = Receipt(steps=(Step(action="seat", subject="words/spout/0", stopped=0.25),))
    heard.hear(Round(number=1, outcome="executed", request=asked, plan=plan, receipt=stopped))
    heard.hear(Round(number=2, outcome="waiting", request=CROWDED, plan=host.schedule("even", CROWDED)))
    after = attrs.evolve(asked, assignment=plan.assignment)
    checked = CheckedFigure(
        round=1, engine="memory", scheduler="even", figure="share", simulated=0.4, predicted=0.4, measured=0.5
    )
    heard.hear(Round(number=3, outcome="quiet", request=after, checked=(checked,)))
    with prometheus.served(("127.0.0.1", 0), heard, host.tally, lambda: {"received": 7, "lost": 0}, tasks=9) as url:
        yield url, heard

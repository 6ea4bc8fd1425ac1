from __future__ import annotations

import attrs
import pytest

from headgate.host import PluginHost
from headgate.model import Limits, Status
from headgate_hetero.options import Options
from headgate_hetero.planning import as_printed
from headgate_hetero.plus import hetero_plus
from headgate_hetero.workloads import SHAPES, micro_benchmark
from hetero_cases import profiled


def run(request, **options):
    host = PluginHost().with_plugin("hetero-plus", hetero_plus)
    return host.schedule("hetero-plus", attrs.evolve(request, limits=Limits(deadline=300.0)), options)


@pytest.mark.parametrize("met", [0.0, 5.0])
@pytest.mark.parametrize("shape", SHAPES)
def test_it_is_never_worse_than_the_printed_algorithm(shape, met):
    request = micro_benchmark(shape, (2, 2, 2), met)
    plan, printed = run(request), as_printed(request, Options())
    assert plan.status is Status.OK
    assert plan.scores.throughput >= printed.scores.throughput
    assert plan.scores.utilisation == pytest.approx(1.0)


def test_a5_both_machines_are_used():
    plan = run(profiled([[0.1, 0.2]]))
    assert plan.input_rate > 1300


def test_what_cannot_be_is_a_status():
    assert run(profiled([[0.1], [0.1]], met=60.0)).status is Status.INFEASIBLE
    assert run(profiled([[0.1]], rate=0.0)).status is Status.OK
    assert run(attrs.evolve(profiled([[0.1]]), profiles=())).status is Status.OK

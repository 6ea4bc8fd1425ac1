"""Production clusters, which are too large to search: every executor has a slot all the same."""

from __future__ import annotations

import pytest

from headgate.model import Status
from headgate.problem import Problem
from headgate.problem.check import check_plan
from headgate_exact.options import Options
from headgate_exact.plugin import optimal
from headgate_storm.client.clusterconf import NAMES, read_request
from headgate_storm.release.artefacts import SERVER_TESTS, resolve

pytestmark = [pytest.mark.network, pytest.mark.slow]


@pytest.mark.parametrize("name", NAMES)
def test_every_executor_is_placed(name):
    request = read_request(resolve(SERVER_TESTS), name)
    plan = optimal.headgate_schedule(request, Options())
    assert check_plan(Problem.of(request), plan) == ()
    assert (plan.status, plan.scores.unplaced) == (Status.OK, 0)

"""Production clusters, which are too large to search: every executor has a slot all the same."""

from __future__ import annotations

import pytest

from headgate.check import check_plan
from headgate.model import Status
from headgate_exact.options import Options
from headgate_exact.plugin import optimal
from headgate_storm.artefacts import SERVER_TESTS, resolve
from headgate_storm.clusterconf import NAMES, read_request

pytestmark = [pytest.mark.network, pytest.mark.slow]


@pytest.mark.parametrize("name", NAMES)
def test_every_executor_is_placed(name):
    request = read_request(resolve(SERVER_TESTS), name)
    plan = optimal.headgate_schedule(request, Options())
    assert check_plan(request.problem(), plan) == ()
    assert (plan.status, plan.scores.unplaced) == (Status.OK, 0)

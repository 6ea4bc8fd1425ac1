"""Production clusters of 80 to 1,922 supervisors, planned whole."""

from functools import cache

import pytest

from baseline_cases import ask
from headworks.model import Status
from headworks.problem import Problem
from headworks.problem.plan.check import check_plan
from headworks_baselines.even import EvenOptions
from headworks_baselines.isolation import isolation
from headworks_local.maven import resolve
from headworks_storm.client.clusterconf import NAMES, read_request
from headworks_storm.release.artefacts import SERVER_TESTS

pytestmark = [pytest.mark.network, pytest.mark.slow]


@cache
def cluster(name):
    return read_request(resolve(SERVER_TESTS), name)


def planned(scheduler, options, name):
    request = cluster(name)
    plan = ask(scheduler, request, options)
    problem = Problem.of(request, measured=plan.measured)
    assert check_plan(problem, plan) == ()
    assert (plan.status is Status.OK) == (plan.scores.unplaced == 0)
    return plan.scores


@pytest.mark.parametrize("name", NAMES)
def test_round_robin_over_the_workers_asked_for_places_every_executor(name):
    assert planned(isolation, EvenOptions(workers="topology"), name).unplaced == 0

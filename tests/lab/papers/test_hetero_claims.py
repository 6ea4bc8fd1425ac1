from __future__ import annotations

import numpy as np
import pytest

from headworks.model.scaling import with_instances
from headworks.model.validate import check_request
from headworks.problem import Problem
from headworks.problem.arrays.profiles import Profiled, counts_of
from headworks_hetero.options import Options
from headworks_hetero.planning import as_printed
from headworks_hetero.plugin import hetero
from headworks_hetero.utilisation import compare_with_default, weights
from headworks_lab.papers.best_placement import best_placement
from headworks_lab.papers.hetero_claims import ALGORITHM_2, BEST, _gains, claims
from hetero_cases import profiled

CLAIMS = {claim.id: claim for claim in claims()}
WORKLOADS = {workload.name: workload for workload in hetero.headworks_workloads()}


def test_every_table_is_listed():
    assert len(CLAIMS) == len(claims())
    assert sum(each.source == "Table 4" for each in CLAIMS.values()) == 9
    assert sum(each.source == "Table 5" for each in CLAIMS.values()) == 9


@pytest.mark.parametrize("name", WORKLOADS)
def test_workloads_are_requests_with_a_profile_for_every_machine(name):
    request = WORKLOADS[name].build()
    check_request(request)
    kinds = {node.machine_type for node in request.cluster.nodes}
    assert {profile.machine_type for profile in request.profiles} == kinds


@pytest.mark.parametrize(("name", "limit"), [("A4", 100 / 0.1), ("A5", (100 - 5) / 0.1)])
def test_what_is_worked_by_hand_is_the_recurrence_of_algorithm_2_on_one_machine(name, limit):
    rate, scale = 1.0, 1
    while scale <= 1024:
        if rate + rate / scale <= limit:
            rate += rate / scale
        else:
            scale *= 2
    assert CLAIMS[name].by_hand == pytest.approx(rate, rel=1e-8)


@pytest.mark.parametrize("scenario", BEST)
def test_the_note_says_what_algorithm_2_gains(scenario):
    assert f"{_gains('throughput', scenario)} %" == ALGORITHM_2[scenario]


def test_the_best_placement_of_given_numbers_is_the_best_of_all():
    """Two components of two and three tasks on two machines: every placement is tried."""
    request = profiled([[0.1, 0.2], [0.3, 0.25]])
    plan = best_placement(request, {"c0": 2, "c1": 3})
    model = Profiled.of(request)
    tried = (np.array([[a, 2 - a], [b, 3 - b]]) for a in range(3) for b in range(4))
    highest = max(model.max_factor(each, np.full(2, 100.0)) for each in tried)
    problem = Problem.of(with_instances(request, plan.parallelism, priced=True))
    found = counts_of(problem, problem.node_of(plan.assignment))
    assert found.sum(axis=1).tolist() == [2, 3]
    assert model.max_factor(found, np.full(2, 100.0)) == pytest.approx(highest)


def test_weights_of_eq_8_are_shares_of_speed_that_add_up_to_the_number_of_component_types():
    """Two types of component on machines of e 1, 2 and 4, and 2, 1, 1: 4/7 + 1/5, 2/7 + 2/5, 1/7 + 2/5."""
    found = weights(np.array([[1.0, 2.0, 4.0], [2.0, 1.0, 1.0]]))
    assert found.tolist() == pytest.approx([4 / 7 + 1 / 5, 2 / 7 + 2 / 5, 1 / 7 + 2 / 5])
    assert found.sum() == pytest.approx(2.0)


def test_a_plan_against_storms_default_scheduler_worked_by_hand():
    """Two components of e (.1, .2) and (.4, .1), a task each: apart, each where it needs least, 1,000 tuples/s, both
    machines full. Dealt in turn c0 is on m0 and c1 on m1 as well. With the machines' order reversed, .2 and .4: 250."""
    request = profiled([[0.1, 0.2], [0.4, 0.1]])
    same = compare_with_default(request, as_printed(request, Options(max_tasks=2)), {"c0": "A", "c1": "B"})
    assert (same.throughput, same.utilisation) == (0.0, 0.0)
    other = profiled([[0.2, 0.1], [0.1, 0.4]])
    found = compare_with_default(other, as_printed(other, Options(max_tasks=2)), {"c0": "A", "c1": "B"})
    # In turn: c0 takes 0.2 * 250 = 50 % of m0, c1 0.4 * 250 = 100 % of m1. Weights: 1/3 + 4/5 and 2/3 + 1/5.
    assert found.throughput == pytest.approx(1000 / 250 - 1)
    assert found.utilisation == pytest.approx(100 / ((17 / 15 * 50 + 13 / 15 * 100) / 2) - 1)
    assert found.ratio == pytest.approx(found.throughput / found.utilisation)

from __future__ import annotations

import pytest

from headgate.model.validate import check_request
from headgate_hetero.plugin import hetero

CLAIMS = {claim.id: claim for claim in hetero.headgate_evidence().claims}
WORKLOADS = {workload.name: workload for workload in hetero.headgate_evidence().workloads}


def test_every_table_is_listed():
    assert len(CLAIMS) == len(hetero.headgate_evidence().claims)
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

from __future__ import annotations

import pytest

from headgate.check import check_request
from headgate.claims import reproduce
from headgate_hetero.plugin import hetero

CLAIMS = {claim.id: claim for claim in hetero.headgate_evidence().claims}
WORKLOADS = {workload.name: workload for workload in hetero.headgate_evidence().workloads}


@pytest.mark.parametrize("name", CLAIMS)
def test_no_claim_differs_from_what_it_expects(name):
    result = reproduce(CLAIMS[name])
    assert result.status != "differs", result
    assert result.status != "not reproducible" or result.note


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

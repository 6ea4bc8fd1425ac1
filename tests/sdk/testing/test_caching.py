"""A host that remembers: one question for each case, and a new one for everything else."""

from __future__ import annotations

import attrs
import pytest

from headworks.plugins.host import PluginHost
from headworks.problem import Problem
from headworks.testing import FirstFit, make_cases
from headworks.testing.caching import CachingHost
from zoo import Scheduler


@pytest.fixture
def asked():
    return []


@pytest.fixture
def host(asked):
    def act(request):
        """Count and answer."""
        asked.append(request)
        return FirstFit().headworks_schedule(Problem.of(request))

    return PluginHost().with_plugin("one", Scheduler(act)).with_plugin("two", Scheduler(act))


def test_each_case_is_asked_once_by_each_scheduler(host, asked):
    cases = make_cases(0, 2)
    twin = CachingHost(host, cases)
    for request in (*cases.mixed, *cases.small) * 2:
        assert twin.schedule("one", request) == host.schedule("one", request)
    count = len(cases.mixed) + len(cases.small)
    assert len(asked) == 3 * count
    assert twin.schedule("two", cases.small[0]).provenance.scheduler == "two"
    assert len(asked) == 3 * count + 1


def test_an_equal_request_and_other_options_are_asked_anew(host, asked):
    cases = make_cases(0, 1)
    (case,), twin = cases.small, CachingHost(host, cases)
    for request in (case, attrs.evolve(case), attrs.evolve(case)):
        twin.schedule("one", request)
    twin.schedule("one", case, host.options("one"))
    assert len(asked) == 4

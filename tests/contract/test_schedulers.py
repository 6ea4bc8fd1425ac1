"""The contract, on every built-in scheduler and on the reference."""

from __future__ import annotations

import pytest

from headworks.plugins.host import PluginHost
from headworks.testing import RULES, FirstFit, SchedulerContract
from headworks.testing.instances.cases import Cases, corners
from headworks.testing.instances.edge_cases import edge_cases
from tiers import THOROUGH

FEWER = {"dstorm-plus": {"steps": 250}, "optimal": {"effort": 0.005}}
"""Options of those that search, so that a rule takes seconds; what they take by default is tried by itself below, and
by every rule in a thorough run."""


class BuiltIn(SchedulerContract):
    """A scheduler that is installed with Headworks: it is asked every corner and odd request, a third of the others,
    and all in a thorough run.
    """

    options = None

    @pytest.fixture
    def scheduler_name(self):
        return self.name

    @pytest.fixture
    def scheduler_options(self):
        return None if THOROUGH else self.options

    @pytest.fixture(scope="session")
    @staticmethod
    def headworks_cases(headworks_cases):
        if THOROUGH:
            return headworks_cases
        odd = len(corners()) + len(edge_cases())
        mixed = (*headworks_cases.mixed[:odd], *headworks_cases.mixed[odd::3])
        return Cases(mixed=mixed, small=headworks_cases.small[::3])


class TestEven(BuiltIn):
    name = "even"


class TestIsolation(BuiltIn):
    name = "isolation"


class TestResourceAware(BuiltIn):
    name = "resource-aware"


class TestDStorm(BuiltIn):
    name = "dstorm"


class TestOtd(BuiltIn):
    name = "otd"


class TestDStormPlus(BuiltIn):
    name = "dstorm-plus"
    options = FEWER["dstorm-plus"]


class TestSps(BuiltIn):
    name = "sps"


class TestDps(BuiltIn):
    name = "dps"


class TestSpsV2(BuiltIn):
    name = "sps-v2"


class TestHetero(BuiltIn):
    name = "hetero"


class TestHeteroPlus(BuiltIn):
    name = "hetero-plus"


class TestOptimal(BuiltIn):
    name = "optimal"
    options = FEWER["optimal"]


class TestFirstFit(SchedulerContract):
    @pytest.fixture
    def scheduler_name(self):
        return "first-fit"

    @pytest.fixture
    def host(self):
        return PluginHost().with_plugin("first-fit", FirstFit())


@pytest.mark.matrix
@pytest.mark.parametrize("name", FEWER)
def test_what_searches_by_default_is_within_its_deadline(name, headworks_host, headworks_cases):
    rules = {rule.id: rule for rule in RULES}
    for each in ("deadline", "reasons"):
        assert rules[each].check(headworks_host, name, headworks_cases) == []


def test_every_built_in_scheduler_is_tried(headworks_host):
    tried = {kind.name for kind in BuiltIn.__subclasses__()}
    built_in = {name for name in headworks_host.schedulers if headworks_host.plugins[name].distribution == "headworks"}
    assert tried == built_in

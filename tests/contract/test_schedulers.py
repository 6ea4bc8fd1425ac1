"""The contract, on every built-in scheduler and on the reference."""

from __future__ import annotations

import os

import pytest

from headgate.plugins.host import PluginHost
from headgate.testing import RULES, FirstFit, SchedulerContract

FEWER = {"dstorm-plus": {"steps": 1000}, "optimal": {"effort": 0.02}}
"""Options of those that search, so that a rule takes seconds; what they take by default is tried by itself below, and
by every rule in a thorough run."""


class BuiltIn(SchedulerContract):
    """A scheduler that is installed with Headgate."""

    options = None

    @pytest.fixture
    def scheduler_name(self):
        return self.name

    @pytest.fixture
    def scheduler_options(self):
        return None if os.environ.get("HYPOTHESIS_PROFILE") == "thorough" else self.options


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


@pytest.mark.parametrize("name", FEWER)
def test_what_searches_by_default_is_within_its_deadline(name, headgate_host, headgate_cases):
    rules = {rule.id: rule for rule in RULES}
    for each in ("deadline", "reasons"):
        assert rules[each].check(headgate_host, name, headgate_cases) == []


def test_every_built_in_scheduler_is_tried(headgate_host):
    tried = {kind.name for kind in BuiltIn.__subclasses__()}
    built_in = {name for name in headgate_host.schedulers if headgate_host.plugins[name].distribution == "headgate"}
    assert tried == built_in

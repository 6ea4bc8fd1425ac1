"""The contract, on every built-in scheduler and on the reference."""

from __future__ import annotations

import pytest

from headgate.plugins.host import PluginHost
from headgate.testing import FirstFit, SchedulerContract


class BuiltIn(SchedulerContract):
    """A scheduler that is installed with Headgate."""

    @pytest.fixture
    def scheduler_name(self):
        return self.name


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


class TestFirstFit(SchedulerContract):
    @pytest.fixture
    def scheduler_name(self):
        return "first-fit"

    @pytest.fixture
    def host(self):
        return PluginHost().with_plugin("first-fit", FirstFit())


def test_every_built_in_scheduler_is_tried(headgate_host):
    tried = {kind.name for kind in BuiltIn.__subclasses__()}
    built_in = {name for name in headgate_host.schedulers if headgate_host.plugins[name].distribution == "headgate"}
    assert tried == built_in

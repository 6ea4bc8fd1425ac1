"""The contract as pytest classes: subclass one, name your scheduler, and every rule is a test."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from headworks.errors import how_to_install
from headworks.testing.instances.build import MEDIUM, SMALL
from headworks.testing.rule import SkipRule
from headworks.testing.rules import RULES

try:
    from hypothesis import HealthCheck, given, settings
    from hypothesis import strategies as st
except ImportError as error:
    raise ImportError(f"headworks.testing.contract needs Hypothesis: {how_to_install('testing')}") from error

from headworks.testing.instances.strategies import requests

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from typing import Any

    from hypothesis.strategies import DataObject

    from headworks.plugins.host import PluginHost
    from headworks.testing.instances.cases import Cases
    from headworks.testing.rule import Rule

SEARCHED = [rule for rule in RULES if rule.judge is not None and rule.about is None]


class SchedulerContract:
    """Every rule, on the seeded requests of `headworks conform` and on those that Hypothesis searches for,
    as many as its profile says.

    Override `scheduler_name`, `scheduler_options` where it is to be asked with other options than its defaults, and
    `host` for a plugin that is not installed:

        class TestAcme(SchedulerContract):
            @pytest.fixture
            def scheduler_name(self):
                return "acme"
    """

    @pytest.fixture
    def scheduler_name(self) -> str:
        """The scheduler under test."""
        raise NotImplementedError("override the fixture scheduler_name")

    @pytest.fixture
    def scheduler_options(self) -> Mapping[str, Any] | None:
        """Options by name with which it is asked; None for its defaults."""
        return None

    @pytest.fixture
    def host(self, headworks_host: PluginHost) -> PluginHost:
        """Host in which the scheduler is looked up; every installed plugin by default."""
        return headworks_host

    @pytest.fixture
    def asked(
        self,
        host: PluginHost,
        scheduler_options: Mapping[str, Any] | None,
        headworks_caching_host: Callable[..., PluginHost],
    ) -> PluginHost:
        """The host, which asks with the options, and once for each of the seeded requests."""
        return headworks_caching_host(host, **(scheduler_options or {}))

    @pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule.id)
    def test_rule(self, rule: Rule, asked: PluginHost, scheduler_name: str, headworks_cases: Cases) -> None:
        """Judge by one rule on the seeded requests."""
        _require(rule, asked, scheduler_name)
        try:
            findings = rule.check(asked, scheduler_name, headworks_cases)
        except SkipRule as reason:
            pytest.skip(str(reason))
        assert not findings, f"{rule.statement} {len(findings)} requests break it, for example: {findings[0]}"

    @pytest.mark.parametrize("rule", SEARCHED, ids=lambda rule: rule.id)
    @settings(deadline=None, suppress_health_check=list(HealthCheck))
    @given(data=st.data())
    def test_search(self, rule: Rule, asked: PluginHost, scheduler_name: str, data: DataObject) -> None:
        """Let Hypothesis search for a request that breaks a rule."""
        _require(rule, asked, scheduler_name)
        assert rule.judge is not None
        request = data.draw(requests(SMALL, fresh=True) if rule.small else requests(MEDIUM, bound=not rule.needs))
        assert rule.judge(asked, scheduler_name, request) == ""


def _require(rule: Rule, host: PluginHost, name: str) -> None:
    if rule.needs and rule.needs not in host.describe(name).capabilities:
        pytest.skip(f"{name} does not declare {rule.needs!r}")

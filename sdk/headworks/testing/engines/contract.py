"""The engine contract as a pytest class: name your engine and its application in a subclass, each rule is a test."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from headworks.errors import HeadworksError
from headworks.testing.conform import Outcome
from headworks.testing.engines.conform import EngineConformance, conform_engine
from headworks.testing.engines.rules import ENGINE_RULES

if TYPE_CHECKING:
    from headworks.plugins.host import PluginHost
    from headworks.testing.engines.trial import EngineTrial

_REPORT = pytest.StashKey["EngineConformance | HeadworksError"]()


class EngineContract:
    """Every rule, on one engine that is opened once for the class.

    Override `engine_trial`, and `host` for a plugin that is not installed:

        class TestPool(EngineContract):
            @pytest.fixture
            def engine_trial(self):
                return EngineTrial(engine="pool", application=("words.json",), window=1.0)
    """

    @pytest.fixture
    def engine_trial(self) -> EngineTrial:
        """The engine under test, and what is to run on it."""
        raise NotImplementedError("override the fixture engine_trial")

    @pytest.fixture
    def host(self, headworks_host: PluginHost) -> PluginHost:
        """Host in which the engine is looked up; every installed plugin by default."""
        return headworks_host

    @pytest.fixture
    def engine_report(
        self, request: pytest.FixtureRequest, host: PluginHost, engine_trial: EngineTrial
    ) -> EngineConformance:
        """The report of the engine, made once for the class; one that cannot be opened is not tried for each rule."""
        kept = request.node.getparent(pytest.Class).stash
        if _REPORT not in kept:
            try:
                kept[_REPORT] = conform_engine(engine_trial, host)
            except HeadworksError as error:
                kept[_REPORT] = error
        report: EngineConformance | HeadworksError = kept[_REPORT]
        if isinstance(report, HeadworksError):
            raise report
        return report

    @pytest.mark.parametrize("rule", [rule.id for rule in ENGINE_RULES])
    def test_rule(self, rule: str, engine_report: EngineConformance) -> None:
        """Judge by one rule."""
        row = next(row for row in engine_report.rules if row.rule == rule)
        if row.status is Outcome.SKIPPED:
            pytest.skip(row.detail)
        assert row.status is Outcome.OK, f"{row.statement} {row.detail}"

"""An engine's report: one line for every rule of the engine contract."""

from __future__ import annotations

from typing import TYPE_CHECKING

import attrs

from headworks.errors import HeadworksError
from headworks.plugins.host import PluginHost
from headworks.testing.conform import Outcome, RuleResult
from headworks.testing.engines.rules import ENGINE_RULES, EngineRule
from headworks.testing.engines.trial import EngineTrial, Session
from headworks.testing.rule import SkipRule

if TYPE_CHECKING:
    from collections.abc import Callable

HOOKS = ("headworks_open", "headworks_observe", "headworks_preflight", "headworks_execute", "headworks_rollback")
"""Hooks without which there is nothing to judge."""


@attrs.frozen(kw_only=True)
class EngineConformance:
    """Conformance of an engine's adapter to the contract, rule by rule, on one application."""

    engine: str
    application: tuple[str, ...]
    rules: tuple[RuleResult, ...]

    @property
    def passed(self) -> bool:
        """True if no rule failed."""
        return all(row.status is not Outcome.FAILED for row in self.rules)


def conform_engine(
    trial: EngineTrial, host: PluginHost | None = None, *, tell: Callable[[str], object] = lambda _: None
) -> EngineConformance:
    """Open an engine, and judge it by every rule; it is closed in any case.

    Args:
        host: The plugins to choose from; all that are installed by default.
        tell: Takes the name of each rule before it is tried; "opens" comes before them.

    Raises:
        PluginError: There is no such engine, or it cannot be opened.
        EngineError: It is out of reach.
    """
    host = host or PluginHost.load()
    for hook in HOOKS if trial.opener is None else HOOKS[1:]:
        host.plugin(trial.engine, hook)
    session = Session(host, trial)
    tell("opens")
    session.open()
    try:
        rows = tuple(_judge(rule, session, tell) for rule in ENGINE_RULES)
    finally:
        session.close()
    return EngineConformance(engine=trial.engine, application=trial.application, rules=rows)


def _judge(rule: EngineRule, session: Session, tell: Callable[[str], object]) -> RuleResult:
    tell(rule.id)
    status, detail = Outcome.OK, ""
    try:
        detail = rule.check(session)
        status = Outcome.FAILED if detail else Outcome.OK
    except SkipRule as reason:
        status, detail = Outcome.SKIPPED, str(reason)
    except HeadworksError as error:
        status, detail = Outcome.FAILED, str(error)
    return RuleResult(rule=rule.id, statement=rule.statement, status=status, detail=detail)

"""A scheduler's report: one line for every rule of the contract."""

from __future__ import annotations

import enum
from collections import Counter
from typing import TYPE_CHECKING, Any

import attrs

from headworks.model import Request
from headworks.model.plan import html_table
from headworks.model.tabular import Record, Tabular
from headworks.plugins.host import PluginHost
from headworks.testing.caching import CachingHost
from headworks.testing.instances.cases import Cases, make_cases
from headworks.testing.instances.shrink import shrink, weight
from headworks.testing.rule import SkipRule
from headworks.testing.rules import RULES

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from headworks.testing.rule import Rule, Violation


class Outcome(enum.StrEnum):
    """Outcome of a rule."""

    OK = "ok"
    FAILED = "failed"
    SKIPPED = "skipped"


@attrs.frozen(kw_only=True)
class RuleResult:
    """One rule: what came of it, why if not ok, and the smallest request found that breaks it.

    `requests` is on how many it was tried; 0 for a rule that is about none, and for an engine's.
    """

    rule: str
    statement: str
    status: Outcome
    detail: str = ""
    example: Request | None = None
    requests: int = 0


@attrs.frozen(kw_only=True, repr=False)
class Conformance(Tabular):
    """Conformance of a scheduler to the contract, rule by rule, on the requests of a seed."""

    scheduler: str
    seed: int
    rules: tuple[RuleResult, ...]

    @property
    def rows(self) -> list[Record]:
        """A row for each rule: what came of it, on how many requests, and why if it is not ok."""
        return [
            {
                "scheduler": self.scheduler,
                "seed": self.seed,
                "rule": each.rule,
                "status": str(each.status),
                "requests": each.requests,
                "detail": each.detail,
            }
            for each in self.rules
        ]

    def __repr__(self) -> str:
        """A line that counts the rules by what came of them."""
        count = Counter(str(each.status) for each in self.rules)
        return f"<Conformance of {self.scheduler}: {', '.join(f'{number} {name}' for name, number in count.items())}>"

    def _repr_html_(self) -> str:
        """A table for a notebook, one row a rule; those that are ok come last."""
        columns = ("rule", "status", "requests", "detail")
        worst = sorted(self.rows, key=lambda row: row["status"] == Outcome.OK)
        return html_table(columns, [[row[column] for column in columns] for row in worst])

    @property
    def passed(self) -> bool:
        """True if no rule failed."""
        return all(row.status is not Outcome.FAILED for row in self.rules)


def conform(
    name: str,
    host: PluginHost | None = None,
    seed: int = 0,
    *,
    options: Mapping[str, Any] | None = None,
    tell: Callable[[str], object] = lambda _: None,
) -> Conformance:
    """Judge a scheduler by every rule.

    Args:
        host: The plugins to choose from; all that are installed by default.
        seed: Chooses the requests; the same seed gives the same ones everywhere.

    Raises:
        PluginError: There is no such scheduler.
        OptionError: An option is unknown or does not fit.
    """
    cases, rows, hangs = make_cases(seed), [], False
    host = CachingHost(host or PluginHost.load(), cases, options)
    host.options(name, options)
    for rule in RULES:
        tell(rule.id)
        row = _skipped(rule, "it overruns its deadline") if hangs else _judge(rule, host, name, cases)
        hangs = hangs or (rule.id == "deadline" and row.status is Outcome.FAILED)
        rows.append(row)
    return Conformance(scheduler=name, seed=seed, rules=tuple(rows))


def _judge(rule: Rule, host: PluginHost, name: str, cases: Cases) -> RuleResult:
    try:
        findings = rule.check(host, name, cases)
    except SkipRule as reason:
        return _skipped(rule, str(reason))
    count = rule.count(cases)
    if rule.needs and rule.needs not in host.describe(name).capabilities:
        rate = f": {len(findings)} of {count} requests break it" if rule.judge else ""
        return _skipped(rule, f"{rule.needs!r} is not declared{rate}")
    if not findings:
        return RuleResult(rule=rule.id, statement=rule.statement, status=Outcome.OK, requests=count)
    return attrs.evolve(_failed(rule, host, name, findings), requests=count)


def _failed(rule: Rule, host: PluginHost, name: str, findings: list[Violation]) -> RuleResult:
    least = min(findings, key=lambda each: weight(each.request) if each.request else 0)
    message, example = least.message, least.request
    judge = rule.judge
    if example is not None and judge is not None and rule.id != "deadline":
        example = shrink(example, lambda request: bool(judge(host, name, request)))
        message = judge(host, name, example)
    return RuleResult(rule=rule.id, statement=rule.statement, status=Outcome.FAILED, detail=message, example=example)


def _skipped(rule: Rule, why: str) -> RuleResult:
    return RuleResult(rule=rule.id, statement=rule.statement, status=Outcome.SKIPPED, detail=why)

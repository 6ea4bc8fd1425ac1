"""Rules of the contract: one promise each, capabilities that make some binding, and requests that break one."""

from __future__ import annotations

from typing import TYPE_CHECKING

import attrs

from headworks.model import ENDED_EARLY, Plan, Request, Status

MEANING = {
    "total": "places every task whenever a placement exists (instances of up to 8 tasks on 3 nodes)",
    "monotone": "an empty node more never makes a plan infeasible",
    "idempotent": "planning on the planned state moves nothing",
    "scale-free": "doubling every demand and every capacity keeps the plan",
    "static": "never moves a running task",
    "traffic-aware": "puts less traffic between nodes than round robin, and under a move limit no more than what runs",
}
"""Each capability and the promise it stands for. A rule that needs one is skipped where it is not declared."""

CAPABILITIES = frozenset(MEANING)
"""The names that `Description.capabilities` may hold."""


if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from headworks.plugins.host import PluginHost
    from headworks.testing.instances.cases import Cases

    Judge = Callable[[PluginHost, str, Request], str]
    """Says how a scheduler breaks a rule on a request, "" if it keeps it."""
    Check = Callable[[PluginHost, str, Cases], Iterable["Violation"]]
    About = Callable[[Request], bool]
    """Tells whether a rule is about a request."""


LATE = ("deadline", "abandoned", ENDED_EARLY)
"""Codes of a plan that was not there in time, or was asked for early."""


@attrs.frozen(kw_only=True)
class Violation:
    """A broken rule: what is wrong, and the request that shows it, where it takes one."""

    message: str
    request: Request | None = None


class SkipRule(Exception):  # noqa: N818 - it is no error
    """A rule cannot be judged here; the text says why."""


@attrs.frozen(kw_only=True)
class Rule:
    """One promise that a scheduler makes.

    Attributes:
        id: Its name in tables and tests.
        statement: The promise, one line.
        needs: The capability that makes it binding, "" if it binds every scheduler.
        small: Whether its requests have to be small enough to try every placement.
        judge: Looks at one request; None if the rule is about more than one.
        whole: Looks at all requests at once; None if the rule is about one.
        without: Whether it is about no request at all.
        about: Tells which of the seeded requests it is about; None for all, and for those that Hypothesis draws too.
    """

    id: str
    statement: str
    needs: str = ""
    small: bool = False
    judge: Judge | None = None
    whole: Check | None = None
    without: bool = False
    about: About | None = None

    def count(self, cases: Cases) -> int:
        """On how many of the requests it is tried."""
        if self.about is not None:
            return len(self._requests(cases))
        both = self.whole is not None and bool(self.needs)
        return 0 if self.without else len(cases.small) * (self.small or both) + len(cases.mixed) * (not self.small)

    def check(self, host: PluginHost, name: str, cases: Cases) -> list[Violation]:
        """Every way in which a scheduler breaks the rule.

        Raises:
            SkipRule: It cannot be judged here.
        """
        if self.whole is not None:
            return list(self.whole(host, name, cases))
        assert self.judge is not None
        judged = ((self.judge(host, name, request), request) for request in self._requests(cases))
        return [Violation(message=message, request=request) for message, request in judged if message]

    def _requests(self, cases: Cases) -> tuple[Request, ...]:
        requests = cases.small if self.small else cases.mixed
        return requests if self.about is None else tuple(filter(self.about, requests))


def rule(
    id: str,  # noqa: A002
    statement: str,
    *,
    needs: str = "",
    small: bool = False,
    about: About | None = None,
) -> Callable[[Judge], Rule]:
    """Make a rule of a judge.

    Args:
        needs: Capability that makes it binding, "" for none.
        about: Tells which of the seeded requests it is about; None for all, and for those that Hypothesis draws too.
    """
    return lambda judge: Rule(id=id, statement=statement, needs=needs, small=small, judge=judge, about=about)


def whole_rule(
    id: str,  # noqa: A002
    statement: str,
    *,
    needs: str = "",
    without: bool = False,
) -> Callable[[Check], Rule]:
    """Make a rule of a check over all cases."""
    return lambda check: Rule(id=id, statement=statement, needs=needs, whole=check, without=without)


def cut_off(*plans: Plan) -> bool:
    """Check for plans that their deadline cut short: held by the host, or the best so far of a search.

    They say nothing of what was decided, and may differ from run to run. That a scheduler keeps its deadline is a rule
    of its own.
    """
    return any(reason.code in LATE for plan in plans for reason in plan.reasons)


def held(id: str, statement: str, *codes: str) -> Rule:  # noqa: A002
    """The rule that the host never has to hold a plan for one of these reasons."""

    def judge(host: PluginHost, name: str, request: Request) -> str:
        plan = host.schedule(name, request)
        found = plan.reasons if plan.status is Status.HELD else ()
        return next((each.message for each in found if each.code in codes), "")

    return Rule(id=id, statement=statement, judge=judge)

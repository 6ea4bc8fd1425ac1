"""The same failure of the control loop in a row, and when it is given up: more of it would only restart workers."""

from __future__ import annotations

from typing import TYPE_CHECKING

import attrs

if TYPE_CHECKING:
    from headworks.control.round import Round
    from headworks.model import Plan, Request


@attrs.frozen(kw_only=True)
class Repeated:
    """The failure of the last rounds that acted: in what, on which nodes and topologies, and how often in a row."""

    what: str = ""
    among: frozenset[tuple[str, ...]] = frozenset()
    times: int = 0


def count_again(before: Repeated, done: Round) -> Repeated:
    """The failure of a round, counted from 1 unless it is the one of before; reminders of a plan are no new failure.

    Args:
        before: The failure of the rounds before.
        done: The round, which acted and failed.
    """
    if done.plan is not None and not done.plan.provenance.scheduler:
        return before
    steps = done.receipt.steps if done.receipt is not None else ()
    failed = sorted({f"{step.action} {step.subject}" for step in steps if not step.done})
    now = Repeated(what=", ".join(failed) or done.outcome, among=_world(done.request), times=1)
    same = (now.what, now.among) == (before.what, before.among)
    return attrs.evolve(now, times=before.times + 1) if same else now


def given_up_reason(request: Request, plan: Plan, repeated: Repeated, *, most: int) -> str:
    """Reason to carry no plan out any more, "" to go on: the same failed too often in a row, and nothing has changed.

    Args:
        request: The request.
        plan: The plan.
        repeated: The failure of the rounds before.
        most: How often it may be seen.
    """
    if repeated.times < most or repeated.among != _world(request):
        return ""
    return (
        f"{repeated.times} rounds in a row failed alike ({repeated.what}): what runs stays until nodes, "
        f"topologies or priorities change, or this is started again; {len(plan.moves)} moves are not made"
    )


def _world(request: Request | None) -> frozenset[tuple[str, ...]]:
    """Nodes, topologies, their claims and their numbers of tasks: things that an operator or a trigger changes."""
    if request is None:
        return frozenset()
    nodes = (("node", each.id) for each in request.cluster.nodes)
    components = (
        ("component", topology.id, each.id, str(each.parallelism))
        for topology in request.topologies
        for each in topology.components
    )
    claims = (
        ("claim", each.id, str(each.priority), str(each.desired_nodes), str(each.minimum_nodes))
        for each in request.topologies
    )
    return frozenset((*nodes, *components, *claims))

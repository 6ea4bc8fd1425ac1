"""The rules, one by one: first those that bind every scheduler, then those that a capability makes binding.

Many ask the host, which trusts no plan: a rule is broken when the host had to hold the plan for a reason of its kind.
"""

from __future__ import annotations

import contextlib
import io
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING

import attrs

from headworks.documents import dumps, loads
from headworks.errors import OptionError
from headworks.model import FrozenMap, Limits, MoveKind, Plan, Status
from headworks.model.scaling import rescaled
from headworks.plugins.host import PluginHost
from headworks.plugins.own_process import native_heard
from headworks.problem import Problem
from headworks.problem.arrays.profiles import throughput
from headworks.testing.instances.variants import doubled, moved, renamed, shuffled, with_extra_node
from headworks.testing.reference import broken_by_decision, broken_constraints, placeable
from headworks.testing.replay import replay
from headworks.testing.rule import CAPABILITIES, SkipRule, Violation, cut_off, held, rule, whole_rule

if TYPE_CHECKING:
    from collections.abc import Iterator

    import numpy as np
    from numpy.typing import NDArray

    from headworks.model import Component, Request
    from headworks.testing.instances.cases import Cases
    from headworks.testing.rule import Rule


def _has_bounds(request: Request) -> bool:
    parts = (part for topology in request.topologies for part in topology.components)
    return any(part.min_parallelism is not None or part.max_parallelism is not None for part in parts)


@rule("numbers", "A number of tasks that it chooses is within min_parallelism and max_parallelism.", about=_has_bounds)
def numbers(host: PluginHost, name: str, request: Request) -> str:
    """Look at the numbers of tasks of a plan."""
    chosen = host.schedule(name, request).parallelism
    parts = {f"{topology.id}/{part.id}": part for topology in request.topologies for part in topology.components}
    said = (_beyond(parts[each], count) for each, count in sorted(chosen.items()) if each in parts)
    return next((f"{name} plans {each}" for each in said if each), "")


def _beyond(part: Component, count: int) -> str:
    """Sentence for a number that is beyond the bounds of a component, "" for none; to come closer to them is none."""
    if part.max_parallelism is not None and count > max(part.max_parallelism, part.parallelism):
        return f"{count} tasks of {part.id}, which can have {part.max_parallelism} at most"
    if part.min_parallelism is not None and count < min(part.min_parallelism, part.parallelism):
        return f"{count} tasks of {part.id}, which has to have {part.min_parallelism} at least"
    return ""


@whole_rule(
    "describes",
    "It describes itself, with known capabilities and with options that have defaults and read as text.",
    without=True,
)
def describes(host: PluginHost, name: str, _cases: Cases) -> Iterator[Violation]:
    """Check the description alone."""
    described = host.describe(name)
    if not described.summary.strip():
        yield Violation(message=f"{name} has no summary")
    unknown = sorted(described.capabilities - CAPABILITIES)
    if unknown:
        yield Violation(message=f"{name} claims unknown capabilities: {', '.join(unknown)}")
    try:
        options = host.options(name)
        text = {field.name: str(getattr(options, field.name)) for field in attrs.fields(described.options)}
        same = host.options(name, text) == options
    except OptionError as error:
        yield Violation(message=str(error))
    else:
        if not same:
            yield Violation(message=f"{name}: the defaults of its options change when they are read from text")


deadline = held("deadline", "It answers within limits.deadline.", "deadline", "abandoned")
answers = held(
    "answers", "It answers every valid request with a plan and raises nothing.", "raised", "type", "answer", "crashed"
)
pure = held("pure", "It leaves its request as it was.", "mutation")
places = held(
    "places",
    "Only known tasks go to known slots; if the plan is ok, all tasks do.",
    "unknown-task",
    "unknown-slot",
    "unplaced",
    "parallelism",
)
capacity = held(
    "capacity",
    "No node, worker or slot is overloaded or shared, at the end or after any move.",
    "capacity",
    "profile",
    "heap",
    "shared-slot",
    "move-order",
)
moves = held("moves", "The moves lead from the running assignment to the planned one.", "move", "moves")
move_limit = held("move-limit", "At most limits.max_moves running tasks move.", "move-limit")
fixed = held("fixed", "A running task that is not movable stays on its node.", "fixed")
restarts = held("restarts", "Without limits.restarts the tasks of each running worker stay the same.", "restart")


@rule("constraints", "Its own decision breaks no hard constraint that the running assignment keeps.")
def constraints(host: PluginHost, name: str, request: Request) -> str:
    """Look for a plan that the host held for it, and count anew: in the plan, and in the decision before its repair."""
    plan = host.schedule(name, request)
    if plan.status is Status.HELD:
        return next((each.message for each in plan.reasons if each.code == "constraint"), "")
    asked = rescaled(request, plan)
    if broken := broken_constraints(asked, plan.assignment):
        return f"{name} breaks {broken[0]}"
    if broken := broken_by_decision(asked, plan):
        return f"{name} decides against {broken[0]}, which the core repaired: {plan.repaired[0]}"
    return ""


@rule("silent", "It prints nothing.")
def silent(host: PluginHost, name: str, request: Request) -> str:
    """Listen to stderr, where the host sends what a plugin prints, and to descriptor 1 for native code."""
    if any(each.code in ("crashed", "deadline", "abandoned") for each in host.schedule(name, request).reasons):
        return ""  # it would do so in this process, which alone can be listened to
    here, anew = PluginHost(host.registry), attrs.evolve(request)  # what a host remembers is not printed again
    with contextlib.redirect_stderr(io.StringIO()) as heard, native_heard() as native:
        here.schedule(name, anew, getattr(host, "given", None))
        said = heard.getvalue() + native()
    return f"{name} printed {said[:40]!r}" if said else ""


@rule("reasons", "An infeasible plan names the subject, the resource, the need and the supply.")
def reasons(host: PluginHost, name: str, request: Request) -> str:
    """Look at the reasons of an infeasible plan; one that only waits for its move limit may name that alone."""
    plan = host.schedule(name, request)
    if plan.status is not Status.INFEASIBLE:
        return ""
    if not plan.reasons:
        return f"{name} calls a request infeasible without a reason"
    waits = all(each.code in ("move-limit", "order") for each in plan.reasons)
    named = any(each.resource and each.need is not None and each.have is not None for each in plan.reasons)
    return "" if waits or named else f"no reason of {name} names resource, need and have: {plan.reasons[0].message}"


@rule("order", "The order of nodes, topologies, components and streams in a request does not matter.")
def order(host: PluginHost, name: str, request: Request) -> str:
    """Shuffle twice and compare documents byte by byte."""
    first, *others = (host.schedule(name, each) for each in (request, shuffled(request, 1), shuffled(request, 2)))
    same = all(dumps(other) == dumps(first) or cut_off(first, other) for other in others)
    return "" if same else f"{name} answers the same request differently when its parts are shuffled"


@whole_rule("processes", "Two processes with different hash seeds answer every request with the same bytes.")
def processes(host: PluginHost, name: str, cases: Cases) -> Iterator[Violation]:
    """Ask two other processes, with shuffled requests."""
    if not host.plugin(name).distribution:
        raise SkipRule("it is not installed through an entry point, so no other process can load it")
    here = [host.schedule(name, request) for request in cases.mixed]
    with ThreadPoolExecutor() as pool:
        runs = [
            pool.submit(
                replay,
                name,
                [shuffled(request, seed) for request in cases.mixed],
                hash_seed=seed,
                options=getattr(host, "given", None),
            )
            for seed in (1, 2)
        ]
    for seed, run in enumerate(runs, 1):
        for request, one, other in zip(cases.mixed, here, run.result(), strict=True):
            if dumps(one, indent=None).rstrip("\n") != other and not cut_off(one, loads(other, Plan)):
                message = f"{name} answers differently in a process with PYTHONHASHSEED={seed}"
                yield Violation(message=message, request=request)


@rule("renaming", "Renaming nodes without changing their order renames them in the plan, and nothing else.")
def renaming(host: PluginHost, name: str, request: Request) -> str:
    """Put a letter before every node id."""
    plan, other = host.schedule(name, request), host.schedule(name, renamed(request, _longer))
    same = plan.status == other.status and moved(plan.assignment, _longer) == other.assignment
    return "" if same or cut_off(plan, other) else f"{name} plans differently for nodes of other names"


def _longer(node: str) -> str:
    return f"x{node}"


@rule("total", "It places every task whenever some placement exists.", needs="total", small=True)
def total(host: PluginHost, name: str, request: Request) -> str:
    """Try every placement when it says infeasible."""
    plan = host.schedule(name, request)
    failed = plan.status is Status.INFEASIBLE and placeable(Problem.of(request, measured=plan.measured))
    return f"{name} finds no placement where there is one: {plan.reasons[0].message}" if failed else ""


@rule("monotone", "One more empty node never makes a feasible request infeasible.", needs="monotone")
def monotone(host: PluginHost, name: str, request: Request) -> str:
    """Add a node as large as the largest."""
    if host.schedule(name, request).status is not Status.OK:
        return ""
    more = host.schedule(name, with_extra_node(request))
    return f"{name} fails once there is a node more: {more.reasons[0].message}" if more.status is not Status.OK else ""


@rule("idempotent", "Planning on the planned state moves nothing.", needs="idempotent")
def idempotent(host: PluginHost, name: str, request: Request) -> str:
    """Make the plan true and ask again."""
    limits = attrs.evolve(request.limits, max_moves=None, restarts=True)
    free = attrs.evolve(request, limits=limits) if limits != request.limits else request
    plan = host.schedule(name, free)
    rules = Problem.of(free).constraints
    # Workers that constraints divide may be divided otherwise where some run: that is the core's decision.
    if plan.status is not Status.OK or rules.workers:
        return ""
    again = host.schedule(name, attrs.evolve(rescaled(free, plan), assignment=plan.assignment))
    return f"{name} makes {len(again.moves)} more moves from where its own plan leads" if again.moves else ""


@rule("scale-free", "Doubling every demand and every capacity keeps the plan.", needs="scale-free")
def scale_free(host: PluginHost, name: str, request: Request) -> str:
    """Double, which is exact in floating point."""
    plan, other = host.schedule(name, request), host.schedule(name, doubled(request))
    same = _decision(plan) == _decision(other) or cut_off(plan, other)
    return "" if same else f"{name} plans differently when every amount is doubled"


def _decision(plan: Plan) -> tuple[object, ...]:
    return plan.status, plan.assignment, plan.moves


@rule("static", "It never moves a running task.", needs="static")
def static(host: PluginHost, name: str, request: Request) -> str:
    """Look for moves of tasks that run."""
    found = [move for move in host.schedule(name, request).moves if move.kind is not MoveKind.PLACE]
    return f"{name} moves {found[0].task}, which runs" if found else ""


@whole_rule(
    "traffic-aware",
    "Over all requests it leaves no more traffic between nodes than round robin.",
    needs="traffic-aware",
)
def traffic_aware(host: PluginHost, name: str, cases: Cases) -> Iterator[Violation]:
    """Compare the sums of the shares of traffic between nodes, on the requests that both place."""
    yours = theirs = 0.0
    for request in (*cases.small, *(_unbound(each) for each in cases.mixed)):
        plan, even = host.schedule(name, request), _round_robin(request)
        if plan.status is even.status is Status.OK:
            yours, theirs = yours + plan.scores.share, theirs + even.scores.share
    if yours > theirs:
        message = f"{name} leaves {yours:.2f} shares of traffic between nodes, round robin {theirs:.2f}"
        yield Violation(message=message)


TOLERANCE = 1e-9
"""Relative rounding of rates. The larger it is, the more of a loss passes."""


@rule(
    "keeps",
    "Under a move limit it is no worse than the running assignment, by overloaded nodes and traffic or by input rate.",
    needs="traffic-aware",
)
def keeps(host: PluginHost, name: str, request: Request) -> str:
    """Compare with letting run what runs, where everything does."""
    plan = host.schedule(name, request)
    problem = Problem.of(request, measured=plan.measured)
    if request.limits.max_moves is None or (problem.current < 0).any() or plan.status is not Status.OK:
        return ""
    if problem.breaks(problem.current):  # to keep a constraint may cost traffic
        return ""
    if plan.input_rate is not None:
        now, then = throughput(problem, problem.current) or 0.0, plan.scores.throughput or 0.0
        return f"{name} processes {then:g} tuples/s, what runs {now:g}" if then < now * (1 - TOLERANCE) else ""
    planned = problem.node_of(plan.assignment)
    for what, count in (("overloaded nodes", _overloaded), ("units of traffic between nodes", _between)):
        now, then = count(problem, problem.current), count(problem, planned)
        if now != then:
            return f"{name} makes {then} {what} of {now} with {len(plan.moves)} moves" if then > now else ""
    return ""


def _overloaded(problem: Problem, node_of: NDArray[np.int64]) -> int:
    return int((problem.used(node_of) > problem.capacity).any(axis=1).sum())


def _between(problem: Problem, node_of: NDArray[np.int64]) -> int:
    return problem.traffic.inter_node(node_of)


def _unbound(request: Request) -> Request:
    """The request before anything ran."""
    return attrs.evolve(request, assignment=FrozenMap(), limits=Limits())


def _round_robin(request: Request) -> Plan:
    problem = Problem.of(request)
    room, last = problem.room(), 0
    for task in range(problem.n):
        nodes = room.fits(task).nonzero()[0]
        if nodes.size and room.node_of[task] < 0:
            last = int(min(nodes, key=lambda node: (node - last - 1) % problem.m))
            room.place(task, last)
    return problem.plan(room.node_of)


RULES: tuple[Rule, ...] = (
    describes,
    deadline,
    answers,
    pure,
    silent,
    places,
    numbers,
    capacity,
    moves,
    move_limit,
    fixed,
    restarts,
    constraints,
    reasons,
    order,
    processes,
    renaming,
    total,
    monotone,
    idempotent,
    scale_free,
    static,
    traffic_aware,
    keeps,
)
"""Every rule, in the order in which they are judged."""

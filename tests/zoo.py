"""Plugins that misbehave, each in one way: what the host has to survive and the kit has to find."""

from __future__ import annotations

import os
import threading
from typing import TYPE_CHECKING, Any

import attrs
import numpy as np

from headworks.hooks import HOOKSPEC_VERSION, Description, hookimpl
from headworks.model import FrozenMap, Limits, Move, MoveKind, Plan, Slot, Status
from headworks.model.scaling import with_instances
from headworks.problem import Problem

if TYPE_CHECKING:
    from collections.abc import Callable

    from headworks.model import Request


@attrs.frozen(kw_only=True)
class Beast:
    """A scheduler that loads and then misbehaves.

    Attributes:
        plugin: The scheduler.
        code: The reason with which the host holds its plans, "" if it cannot tell.
        rule: The rule of the kit that finds it.
    """

    plugin: object
    code: str
    rule: str


class Scheduler:
    """Misbehave in the way that `act` does."""

    def __init__(self, act: Callable[[Request], Any]) -> None:
        self.act = act

    @hookimpl
    def headworks_describe(self) -> Description:
        """Say how it misbehaves, and promise everything."""
        return Description(summary=self.act.__doc__ or "", capabilities=frozenset({"total", "static", "idempotent"}))

    @hookimpl
    def headworks_schedule(self, request: Request) -> Any:
        """Misbehave."""
        return self.act(request)


def _first(request: Request) -> np.ndarray[Any, np.dtype[np.int64]]:
    """Every task on the first node."""
    return np.zeros(Problem.of(request).n, dtype=np.int64)


def _raises(request: Request) -> Plan:
    """Raise."""
    raise RuntimeError(f"{len(request.topologies)} topologies are too many")


def _exits(_request: Request) -> Plan:
    """End the process."""
    raise SystemExit(3)


def _interrupts(_request: Request) -> Plan:
    """Play a person at the keyboard."""
    raise KeyboardInterrupt


@attrs.frozen
class Hanging:
    """Wait for `release`, which nobody sets in time; `entered` tells that it was called, `left` that it returned."""

    entered: threading.Event = attrs.Factory(threading.Event)
    release: threading.Event = attrs.Factory(threading.Event)
    left: threading.Event = attrs.Factory(threading.Event)

    def __call__(self, request: Request) -> Plan:
        """Block the thread."""
        self.entered.set()
        self.release.wait()
        self.left.set()
        return Problem.of(request).plan(_first(request))


def _none(_request: Request) -> Any:
    """Answer nothing."""


def _text(_request: Request) -> Any:
    """Answer a text."""
    return "n0"


def _untyped(request: Request) -> Any:
    """Answer a plan with texts for slots."""
    return Plan(assignment=FrozenMap(dict.fromkeys(Problem.of(request).task_ids, "n0:6700")))  # type: ignore[arg-type]


def _unreadable(_request: Request) -> Any:
    """Answer a plan without its parts."""
    return Plan(moves=None, reasons=None)  # type: ignore[arg-type]


def _nan(request: Request) -> Plan:
    """Answer a rate that is not a number."""
    return attrs.evolve(Problem.of(request).plan([-1] * Problem.of(request).n), input_rate=float("nan"))


def _holds(_request: Request) -> Plan:
    """Say what the host alone may say."""
    return Plan(status=Status.HELD)


def _negative(request: Request) -> Plan:
    """Name the node before the first."""
    return Problem.of(request).plan(_first(request) - 2)


def _lost(request: Request) -> Plan:
    """Use a slot that is not there."""
    slot = Slot("nowhere", 1)
    return Plan(assignment=FrozenMap(dict.fromkeys(Problem.of(request).task_ids, slot)))


def _invents(request: Request) -> Plan:
    """Place a task that is not there."""
    plan = Problem.of(request).plan([-1] * Problem.of(request).n)
    return attrs.evolve(plan, assignment=FrozenMap({**plan.assignment, "no/such/0": Slot("n0", 6700)}))


def _forgets(_request: Request) -> Plan:
    """Say ok and place nothing."""
    return Plan()


def _overloads(request: Request) -> Plan:
    """Put everything that does not run into the first slot, whatever its room."""
    problem, nodes = Problem.of(request), [node for node in request.cluster.nodes if node.slots]
    live = [task for task in problem.task_ids if problem.current[problem.task_index[task]] >= 0]
    fresh = [task for task in problem.task_ids if task not in live] if nodes else []
    slots = {task: Slot(nodes[0].id, nodes[0].slots[0]) for task in fresh}
    status = Status.OK if nodes else Status.INFEASIBLE
    moves = tuple(Move(kind=MoveKind.PLACE, task=task, target=slots[task]) for task in fresh)
    running = {task: request.assignment[task] for task in live}
    return Plan(status=status, assignment=FrozenMap({**running, **slots}), moves=moves)


def _tampers(request: Request) -> Plan:
    """Give every node all the room there is, in the arrays, and use the first."""
    problem = Problem.of(request)
    problem.capacity.flags.writeable = True
    problem.capacity[:] = 1e9
    return problem.plan(_first(request) if problem.m else _first(request) - 1)


def _multiplies(request: Request) -> Plan:
    """Have twice as many tasks of everything."""
    return _resized(request, {name: 2 * count for name, count in _counts(request).items()})


def _divides(request: Request) -> Plan:
    """Have one task of everything."""
    return _resized(request, dict.fromkeys(_counts(request), 1))


def _counts(request: Request) -> dict[str, int]:
    """Tasks of each component that has some."""
    parts = {f"{topology.id}/{part.id}": part for topology in request.topologies for part in topology.components}
    return {name: part.parallelism for name, part in parts.items() if part.parallelism}


def _resized(request: Request, counts: dict[str, int]) -> Plan:
    other = with_instances(request, counts)
    return attrs.evolve(Problem.of(other).plan(_fitting(other)), parallelism=FrozenMap(counts))


def _duplicates(request: Request) -> Plan:
    """Place each task twice on the way."""
    plan = Problem.of(request).plan(_fitting(request))
    return attrs.evolve(plan, moves=(*plan.moves, *plan.moves))


def _teleports(request: Request) -> Plan:
    """Say nothing of how to get there."""
    return attrs.evolve(Problem.of(request).plan(_fitting(request)), moves=())


def _restless(request: Request) -> Plan:
    """Move every running task, whatever the limit."""
    free = attrs.evolve(request, limits=Limits())
    plan = Problem.of(free).plan(_fitting(free))
    there = tuple(Move(kind=MoveKind.EVICT, task=task, source=slot) for task, slot in plan.assignment.items())
    back = tuple(Move(kind=MoveKind.PLACE, task=task, target=slot) for task, slot in plan.assignment.items())
    return attrs.evolve(plan, moves=(*plan.moves, *there, *back))


def _uproots(request: Request) -> Plan:
    """Evict everything, what may not move as well."""
    problem = Problem.of(request)
    runs = [task for task in problem.task_ids if problem.current[problem.task_index[task]] >= 0]
    evictions = tuple(Move(kind=MoveKind.EVICT, task=task, source=request.assignment[task]) for task in runs)
    return Plan(status=Status.INFEASIBLE, moves=evictions)


def _crowds(request: Request) -> Plan:
    """Put tasks without a slot into workers that run, whatever that restarts."""
    free = attrs.evolve(request, limits=Limits(max_moves=0))
    problem = Problem.of(free)
    return problem.plan(np.where(problem.current < 0, problem.current.max(initial=-1), problem.current))


def _overlooks(request: Request) -> Plan:
    """Plan as if there were no constraints."""
    plain = tuple(attrs.evolve(each, constraints=()) for each in request.topologies)
    free = attrs.evolve(request, topologies=plain)
    return Problem.of(free).plan(_fitting(free))


def _writes_map(request: Request) -> Plan:
    """Force its way into a frozen mapping."""
    dict.__setitem__(request.assignment, "no/such/0", Slot("n0", 6700))
    return Problem.of(request).plan(_fitting(request))


def _writes_array(request: Request) -> Plan:
    """Write to a read-only array."""
    Problem.of(request).demand[:] = 0
    return Problem.of(request).plan(_fitting(request))


def _sets_field(request: Request) -> Plan:
    """Set a field of a frozen value."""
    object.__setattr__(request, "seed", request.seed + 1)
    return Problem.of(request).plan(_fitting(request))


def _prints(request: Request) -> Plan:
    """Print."""
    print("planning ...")  # noqa: T201
    return Problem.of(request).plan(_fitting(request))


def _prints_natively(request: Request) -> Plan:
    """Print as native code does, past Python."""
    os.write(1, b"planning ...\n")
    return Problem.of(request).plan(_fitting(request))


def _guesses(request: Request) -> Plan:
    """Draw lots from the system."""
    return Problem.of(request).plan(_fitting(request, shift=os.urandom(1)[0]))


def _reads_order(request: Request) -> Plan:
    """Prefer the node that the document names first."""
    nodes = request.cluster.nodes
    return Problem.of(request).plan(
        _fitting(request, shift=Problem.of(request).node_index[nodes[0].id] if nodes else 0)
    )


def _mute(request: Request) -> Plan:
    """Refuse everything without a reason."""
    problem = Problem.of(request)
    plan = problem.plan(problem.current)
    return attrs.evolve(plan, reasons=()) if plan.status is Status.INFEASIBLE else plan


def _timid(request: Request) -> Plan:
    """Place nothing new."""
    return Problem.of(request).plan(Problem.of(request).current)


def _spins(request: Request) -> Plan:
    """Move on by one node every time."""
    problem = Problem.of(request)
    placed = problem.current[problem.current >= 0]
    return problem.plan(_fitting(request, shift=int(placed[0]) + 1 if placed.size else 0))


def _fitting(request: Request, shift: int = 0) -> np.ndarray[Any, np.dtype[np.int64]]:
    """First fit, from the node `shift` on."""
    problem = Problem.of(request)
    room = problem.room()
    for task in range(problem.n):
        fits = np.roll(room.fits(task), -shift)
        if room.node_of[task] < 0 and fits.any():
            room.place(task, int((fits.argmax() + shift) % problem.m))
    return room.node_of


def _beast(act: Callable[[Request], Any], code: str, rule: str) -> Beast:
    return Beast(plugin=Scheduler(act), code=code, rule=rule)


BEASTS = {
    "raises": _beast(_raises, "raised", "answers"),
    "exits": _beast(_exits, "raised", "answers"),
    "interrupts": _beast(_interrupts, "raised", "answers"),
    "negative": _beast(_negative, "raised", "answers"),
    "writes-array": _beast(_writes_array, "raised", "answers"),
    "none": _beast(_none, "type", "answers"),
    "text": _beast(_text, "type", "answers"),
    "untyped": _beast(_untyped, "type", "answers"),
    "unreadable": _beast(_unreadable, "type", "answers"),
    "nan": _beast(_nan, "type", "answers"),
    "holds": _beast(_holds, "type", "answers"),
    "lost": _beast(_lost, "unknown-slot", "places"),
    "invents": _beast(_invents, "unknown-task", "places"),
    "forgets": _beast(_forgets, "unplaced", "places"),
    "multiplies": _beast(_multiplies, "", "numbers"),
    "divides": _beast(_divides, "", "numbers"),
    "overloads": _beast(_overloads, "capacity", "capacity"),
    "tampers": _beast(_tampers, "capacity", "capacity"),
    "duplicates": _beast(_duplicates, "move", "moves"),
    "teleports": _beast(_teleports, "moves", "moves"),
    "restless": _beast(_restless, "move-limit", "move-limit"),
    "uproots": _beast(_uproots, "fixed", "fixed"),
    "crowds": _beast(_crowds, "restart", "restarts"),
    "overlooks": _beast(_overlooks, "constraint", "constraints"),
    "writes-map": _beast(_writes_map, "mutation", "pure"),
    "sets-field": _beast(_sets_field, "mutation", "pure"),
    "prints": _beast(_prints, "", "silent"),
    "prints-natively": _beast(_prints_natively, "", "silent"),
    "mute": _beast(_mute, "", "reasons"),
    "guesses": _beast(_guesses, "", "order"),
    "reads-order": _beast(_reads_order, "", "order"),
    "timid": _beast(_timid, "", "total"),
    "spins": _beast(_spins, "", "idempotent"),
    "moves": _beast(_spins, "", "static"),
    "wanders": _beast(_spins, "", "keeps"),
}
"""Schedulers that load, by name."""


class _Described:
    """Be described."""

    @hookimpl
    def headworks_describe(self) -> Any:
        return Description(summary=self.__doc__ or "")


class _RaisesWhenAsked(_Described):
    @hookimpl
    def headworks_describe(self) -> Any:
        raise RuntimeError("no words")


class _ExitsWhenAsked(_Described):
    @hookimpl
    def headworks_describe(self) -> Any:
        raise SystemExit(3)


class _SaysNothing(_Described):
    @hookimpl
    def headworks_describe(self) -> Any:
        return None


class _HasNoSummary(_Described):
    @hookimpl
    def headworks_describe(self) -> Any:
        return Description(summary="")


class _IsNewer(_Described):
    """Be from the future."""

    @hookimpl
    def headworks_describe(self) -> Any:
        return Description(summary="from the future", hookspec=HOOKSPEC_VERSION + 1)


class _HasOddOptions(_Described):
    @hookimpl
    def headworks_describe(self) -> Any:
        return Description(summary="odd", options=dict)


class _HasOddDefaults(_Described):
    @hookimpl
    def headworks_describe(self) -> Any:
        odd: Any = {"storm": 5}
        return Description(summary="odd", defaults=odd)


class _IsNotDescribed:
    @hookimpl
    def headworks_schedule(self, request: Request) -> Plan:
        return Problem.of(request).plan(_first(request))


class _ForgetsTheMark(_Described):
    """Forget @hookimpl."""

    def headworks_schedule(self, request: Request) -> Plan:
        return Problem.of(request).plan(_first(request))


class _ClaimsAHook(_Described):
    """Claim a hook that nobody knows."""

    @hookimpl
    def headworks_shedule(self, request: Request) -> Plan:
        return Problem.of(request).plan(_first(request))


class _AsksForMore(_Described):
    """Ask for an argument that the hook does not have."""

    @hookimpl
    def headworks_schedule(self, request: Request, weather: str) -> Plan:
        raise NotImplementedError(weather)


CAGED: dict[str, tuple[object, str]] = {
    "raises-when-asked": (_RaisesWhenAsked(), "no words"),
    "exits-when-asked": (_ExitsWhenAsked(), "SystemExit"),
    "says-nothing": (_SaysNothing(), "not a Description"),
    "no-summary": (_HasNoSummary(), "no summary"),
    "newer": (_IsNewer(), f"for hooks {HOOKSPEC_VERSION + 1}"),
    "odd-options": (_HasOddOptions(), "no attrs class"),
    "odd-defaults": (_HasOddDefaults(), "its defaults are {'storm': 5}"),
    "not-described": (_IsNotDescribed(), "headworks_describe is missing"),
    "forgets-the-mark": (_ForgetsTheMark(), "lacks @hookimpl"),
    "claims-a-hook": (_ClaimsAHook(), "there is no hook headworks_shedule, did you mean headworks_schedule?"),
    "asks-for-more": (_AsksForMore(), "weather"),
    "class": (_Described, "an object of it is needed: _Described()"),
}
"""Plugins that must not load: the object, and what the reason of their quarantine says."""

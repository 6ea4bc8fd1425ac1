"""Storm's own constraints, in a topology's configuration, as constraints of the model.

They are read as `ConstraintSolverConfig` of Storm reads them: what is no component or no number there is left out, for
a mistake in one topology must not stop the rounds of all.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from headworks.model import Constraint, ConstraintKind, FrozenMap, Scope
from headworks_storm.nimbus.constraints.worker_groups import exclusive_groups

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping
    from collections.abc import Set as AbstractSet

RAS, SPREAD = "topology.ras.constraints", "topology.spread.components"
FAVORED, UNFAVORED = "topology.scheduler.favored.nodes", "topology.scheduler.unfavored.nodes"
ONE_EXECUTOR = "topology.ras.one.executor.per.worker"
ONE_COMPONENT = "topology.ras.one.component.per.worker"
LIMIT, APART = "maxNodeCoLocationCnt", "incompatibleComponents"


def constraints_of(conf: Mapping[str, Any], components: AbstractSet[str]) -> tuple[Constraint, ...]:
    """Constraints that a topology's configuration asks for.

    Args:
        conf: The configuration.
        components: Ids of its components that have executors.
    """
    return (
        *_separated(conf.get(RAS), components),
        *_limits(conf, components),
        *_in_workers(conf),
        *_nodes(conf),
    )


def _separated(said: Any, components: AbstractSet[str]) -> Iterator[Constraint]:
    """Components that share no worker: a map by component, or the list of pairs of before.

    A component that is incompatible with itself has one executor a worker.
    """
    pairs = [tuple(each[:2]) for each in said if _is_pair(each)] if isinstance(said, list) else []
    if isinstance(said, dict):
        for name, rules in said.items():
            others = rules.get(APART, ()) if isinstance(rules, dict) else ()
            pairs += [(name, other) for other in ([others] if isinstance(others, str) else _names(others))]
    known = {pair for pair in pairs if set(pair) <= components}
    for name in sorted({one for one, other in known if one == other}):
        yield Constraint(kind=ConstraintKind.AT_MOST, components=(name,), scope=Scope.WORKER, limit=1)
    for names in exclusive_groups(pair for pair in known if pair[0] != pair[1]):
        yield Constraint(kind=ConstraintKind.APART, components=names, scope=Scope.WORKER)


def _limits(conf: Mapping[str, Any], components: AbstractSet[str]) -> Iterator[Constraint]:
    """Executors of a component that a supervisor may have; 1 if it is spread, unless another number is said."""
    said = conf.get(RAS)
    found = dict.fromkeys(_names(conf.get(SPREAD)), 1)
    for name, rules in said.items() if isinstance(said, dict) else ():
        number = whole_number(rules.get(LIMIT)) if isinstance(rules, dict) else None
        if number is not None and number > 0:
            found[name] = number
    for name in sorted(found.keys() & components):
        yield Constraint(kind=ConstraintKind.AT_MOST, components=(name,), limit=found[name])


def _in_workers(conf: Mapping[str, Any]) -> Iterator[Constraint]:
    if conf.get(ONE_EXECUTOR) is True:
        yield Constraint(kind=ConstraintKind.AT_MOST, scope=Scope.WORKER, limit=1)
    elif conf.get(ONE_COMPONENT) is True:
        yield Constraint(kind=ConstraintKind.APART, scope=Scope.WORKER)


def _nodes(conf: Mapping[str, Any]) -> Iterator[Constraint]:
    """Hosts that a topology would like, and those that it would rather not have; the first wins, as in Storm."""
    favored = _names(conf.get(FAVORED))
    unfavored = [each for each in _names(conf.get(UNFAVORED)) if each not in favored]
    if favored:
        yield Constraint(kind=ConstraintKind.PREFER, labels=FrozenMap(host=tuple(favored)))
    if unfavored:
        labels = FrozenMap(host=tuple(unfavored))
        yield Constraint(kind=ConstraintKind.NEVER_ON, labels=labels, hard=False)


def _is_pair(value: Any) -> bool:
    return isinstance(value, list) and len(value) > 1 and all(isinstance(each, str) for each in value[:2])


def _names(values: Any) -> list[str]:
    """The texts of a list, each once."""
    found: Iterable[Any] = values if isinstance(values, list) else ()
    return list(dict.fromkeys(each for each in found if isinstance(each, str) and each))


def whole_number(value: Any) -> int | None:
    """A whole number, which may be written as text."""
    try:
        return None if value is None or isinstance(value, bool) else int(str(value))
    except ValueError:
        return None

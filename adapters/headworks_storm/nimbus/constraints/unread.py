"""Sentences on what of a topology's constraints is left out, because Storm and Headworks cannot read it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from headworks_storm.nimbus.constraints.translate import APART, LIMIT, RAS, SPREAD, whole_number

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping
    from collections.abc import Set as AbstractSet

SHOWN = 3
"""Mistakes that are shown of a topology: its status is a line of Storm's UI."""
LENGTH = 40
"""Characters that are shown of a value."""


def unread_constraints(conf: Mapping[str, Any], components: AbstractSet[str]) -> str:
    """Sentence on all that is left out of a topology's constraints, "" if nothing is.

    A component of another topology is such a mistake: Storm's constraints, and those of the model, bind the components
    of one topology.

    Args:
        conf: Its configuration.
        components: Ids of its components that have executors.
    """
    found = list(dict.fromkeys((*_ras(conf.get(RAS), components), *_spread(conf.get(SPREAD), components))))
    if not found:
        return ""
    more = f" and {len(found) - SHOWN} more" if len(found) > SHOWN else ""
    return f"left out of its constraints: {', '.join(found[:SHOWN])}{more}"


def _ras(said: Any, components: AbstractSet[str]) -> Iterator[str]:
    if isinstance(said, dict):
        for name, rules in said.items():
            yield from _rules(name, rules, components)
    elif isinstance(said, list):
        for pair in said:
            yield from _members(pair[:2], components) if isinstance(pair, list) and len(pair) > 1 else [_odd(RAS, pair)]
    elif said is not None:
        yield _odd(RAS, said)


def _rules(name: str, rules: Any, components: AbstractSet[str]) -> Iterator[str]:
    if name not in components:
        yield _foreign(name)
    elif not isinstance(rules, dict):
        yield _odd(name, rules)
    else:
        for kind, value in rules.items():
            yield from _rule(name, kind, value, components)


def _rule(name: str, kind: str, value: Any, components: AbstractSet[str]) -> Iterator[str]:
    if kind == LIMIT:
        if (whole_number(value) or 0) < 1:
            yield _odd(f"{LIMIT} of {name}", value)
    elif kind == APART and isinstance(value, str | list):
        yield from _members([value] if isinstance(value, str) else value, components)
    else:
        yield _odd(f"{kind} of {name}", value)


def _spread(said: Any, components: AbstractSet[str]) -> Iterable[str]:
    if said is None:
        return ()
    return _members(said, components) if isinstance(said, list) else [_odd(SPREAD, said)]


def _members(names: Iterable[Any], components: AbstractSet[str]) -> Iterator[str]:
    return (_foreign(name) for name in names if not isinstance(name, str) or name not in components)


def _foreign(name: Any) -> str:
    return f"{_short(name)}, no component of this topology"


def _odd(what: str, value: Any) -> str:
    return f"{what} = {_short(value)}"


def _short(value: Any) -> str:
    text = str(value)
    return text if len(text) <= LENGTH else f"{text[:LENGTH]}..."

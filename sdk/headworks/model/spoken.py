"""Names that people know in place of ids that an engine made, and back: a host for a supervisor, a topology's name."""

from __future__ import annotations

import re
from collections import Counter
from typing import TYPE_CHECKING

from headworks.errors import DocumentError, known_names

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from headworks.model.cluster import Node
    from headworks.model.topology import Topology


UUID = re.compile(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}(-|$)")
"""How a supervisor's id begins that Storm made; the address of the machine follows, which need not be its host."""


def spoken(nodes: Iterable[Node], topologies: Iterable[Topology]) -> Callable[[str], str]:
    """A function that writes a text with hosts and names in place of ids.

    An id gives way where Storm made it, or where it holds the host or the name and more, and nothing else is called so.

    Args:
        nodes: Nodes that the text may name.
        topologies: Topologies that it may name.
    """
    made = [each for each in nodes if UUID.match(each.id) or each.id.endswith(f"-{each.hostname}")]
    hosts = [(each.id, each.hostname) for each in made]
    names = [(each.id, each.name) for each in topologies if each.name and each.id.startswith(f"{each.name}-")]
    known = dict((*_alone(hosts), *_alone(names)))
    if not known:
        return str
    longest_first = sorted(known, key=len, reverse=True)
    found = re.compile(rf"(?<![\w-])({'|'.join(map(re.escape, longest_first))})(?![\w-])")
    return lambda text: found.sub(lambda each: known[each[0]], text)


def node_named(nodes: Iterable[Node], name: str) -> str:
    """The id of a node by what people call it: its id, or its host where no other node is there.

    Raises:
        DocumentError: No node is called so.
    """
    hosts = {each.id: each.hostname for each in nodes}
    if name in hosts:
        return name
    found = next((each for each, host in _alone([*hosts.items()]) if host == name), None)
    if found is None:
        raise DocumentError("", f"there is no node {name!r}{known_names(name, {*hosts, *hosts.values()})}")
    return found


def task_named(topologies: Iterable[Topology], name: str) -> str:
    """The id of a task by what people call it, with the name of its topology in place of the id; other texts stay."""
    first, slash, rest = name.partition("/")
    every = [(each.id, each.name) for each in topologies if each.name]
    if any(each == first for each, _ in every):
        return name
    return f"{next((each for each, called in _alone(every) if called == first), first)}{slash}{rest}"


def _alone(pairs: list[tuple[str, str]]) -> list[tuple[str, str]]:
    """The pairs whose second is nobody else's."""
    count = Counter(name for _, name in pairs)
    return [(one, name) for one, name in pairs if count[name] == 1]

"""Knowledge in the control loop (the K of MAPE-K): profiles and demands of earlier hours, from a file that may change.

What a monitor sees is completed here and nowhere else, whatever the engine, before anybody analyses it or plans by it.
"""

from __future__ import annotations

import re
import threading
from typing import TYPE_CHECKING

import attrs

from headworks.documents import structure
from headworks.documents.formats import parse
from headworks.errors import DocumentError
from headworks.model import Kind, Observation, Resources
from headworks.model.knowledge import Knowledge

if TYPE_CHECKING:
    from collections.abc import Collection
    from pathlib import Path

    from headworks.model import Component, Profile, Topology

FILE = "knowledge.json"
"""The document in a folder of results of the pipeline."""
SHARE = "p95"
"""The percentile that is declared as a component's demand: if larger, peaks take room all the time; if smaller, nodes
are overloaded more often."""
NUMBERS = re.compile(r"(-[0-9]+)+")
"""What an engine that numbers submissions puts behind a name (Storm: `-NUMBER-SECONDS`)."""


def complete(seen: Observation, knowledge: Knowledge) -> Observation:
    """The observation with the profiles and demands of its topologies, and what a tuple costs on its way.

    A demand replaces the declared one, a profile that of the same component and machine type which the engine's own
    description has. Knowledge of an earlier submission serves a topology that has none under its own id.

    Args:
        knowledge: Of earlier hours; what it knows of other topologies and components is left out.
    """
    ids = {each.topology for each in knowledge.demands} | {each.profile.topology for each in knowledge.profiles}
    sources = {topology.id: _source(topology, ids) for topology in seen.topologies}
    topologies = tuple(_declared(each, knowledge, sources[each.id]) for each in seen.topologies)
    learned = [profile for each in seen.topologies for profile in _profiles(each, knowledge, sources[each.id])]
    merged = {_key(each): each for each in (*seen.profiles, *learned)}
    return attrs.evolve(
        seen,
        topologies=topologies,
        profiles=tuple(merged[key] for key in sorted(merged)),
        transfer=knowledge.transfer or seen.transfer,
    )


def _key(profile: Profile) -> tuple[str, str, str]:
    return profile.topology, profile.component, profile.machine_type


def _source(topology: Topology, ids: Collection[str]) -> str:
    """The id under which a topology was learned: its own, its name, or that of its latest earlier submission."""
    for exact in (topology.id, topology.name):
        if exact in ids:
            return exact or ""
    if topology.name is None:
        return ""
    begin = len(topology.name)
    earlier = [each for each in ids if each.startswith(topology.name) and NUMBERS.fullmatch(each, begin)]
    return max(earlier, key=lambda each: [int(part) for part in each[begin + 1 :].split("-")], default="")


def _profiles(topology: Topology, knowledge: Knowledge, source: str) -> list[Profile]:
    parts = {component.id: component for component in topology.components}
    own = (
        each.profile
        for each in knowledge.profiles
        if each.profile.topology == source and each.profile.component in parts
    )
    # A spout emits at its rate; what some engines count as received by one is no input.
    return [
        attrs.evolve(each, topology=topology.id, alpha=None if parts[each.component].kind is Kind.SPOUT else each.alpha)
        for each in own
    ]


def _declared(topology: Topology, knowledge: Knowledge, source: str) -> Topology:
    """CPU and memory that a task of each component needs: the percentile on the machine type where it is largest."""
    # The scheduler may choose any machine: a task has to fit where it needs most.
    needs: dict[str, dict[str, float]] = {}
    for each in knowledge.demands:
        if each.topology == source and each.resource in {"cpu", "memory"}:
            own = needs.setdefault(each.component, {})
            own[each.resource] = max(own.get(each.resource, 0.0), float(getattr(each, SHARE)))

    def declared(component: Component) -> Component:
        return attrs.evolve(component, demand=Resources({**component.demand, **needs.get(component.id, {})}))

    return attrs.evolve(topology, components=tuple(declared(each) for each in topology.components))


def read_knowledge(path: Path) -> Knowledge:
    """Read a document `knowledge`, or a list of profiles as a knowledge document has it.

    Raises:
        DocumentError: It cannot be read, is neither, or has an amount that is none.
    """
    try:
        data = parse(path.read_bytes(), path.name)
    except OSError as error:
        raise DocumentError("", f"cannot be read: {error.strerror}") from None
    return structure({"profiles": data} if isinstance(data, list) else data, Knowledge)


class KnowledgeFile:
    """Knowledge in a file, read again when that changes; what cannot be read leaves what was read before.

    `complete` may be called by any thread.
    """

    def __init__(self, path: Path | None) -> None:
        """Take the file, and read it when it is first asked for.

        Args:
            path: A document `knowledge`, a list of profiles, or the folder of a `knowledge.json`, which may still be
                empty; None knows nothing.

        Raises:
            DocumentError: There is no such file or folder.
        """
        if path is not None and not path.exists():
            raise DocumentError("", f"{path}: there is no such file or folder of knowledge")
        self._path = path / FILE if path is not None and path.is_dir() else path
        self._lock = threading.Lock()
        self._known = Knowledge()
        self._state: tuple[int, ...] | None = ()
        self._fault = ""

    def complete(self, seen: Observation) -> Observation:
        """The observation with what the file knows now, and a note where it cannot be read; see `complete`."""
        if self._path is None:
            return seen
        with self._lock:
            self._refresh(self._path)
            known, fault = self._known, self._fault
        made = complete(seen, known)
        return attrs.evolve(made, notes=(*made.notes, fault)) if fault else made

    def _refresh(self, path: Path) -> None:
        """Read the file if it is another one than at the last look, or other bytes."""
        state = _state(path)
        if state == self._state:
            return
        # The state of before reading: what is written meanwhile is another state at the next look.
        self._state, self._fault = state, ""
        try:
            if state is None:
                raise DocumentError("", "is not there")  # noqa: TRY301 - one way for all that is wrong with a file
            self._known = read_knowledge(path)
        except DocumentError as error:
            self._fault = f"{path}: {error}; {_describe(self._known)}"


def _state(path: Path) -> tuple[int, ...] | None:
    try:
        found = path.stat()
    except OSError:
        return None
    return found.st_mtime_ns, found.st_size, found.st_ino


def _describe(known: Knowledge) -> str:
    """The knowledge that stays while the file cannot be read, in words."""
    if known == Knowledge():
        return "nothing is known until it can be read"
    until = f", until {known.until}" if known.until else ""
    return f"the last content stays: {len(known.profiles)} profiles, {len(known.demands)} demands{until}"

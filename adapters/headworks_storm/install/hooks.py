"""The settings by which workers load Headworks's hooks: whose count, and which topologies have them.

Nimbus stores its own `storm.yaml` with each topology, and what is stored wins over the `storm.yaml` of the supervisor
that starts a worker. So a list of Nimbus's own hides that of supervisors, and a topology keeps its list until it is
submitted anew. A class that is named and not on a worker's class path ends the worker, again and again.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import attrs

from headworks.errors import EngineError
from headworks.hooks import Finding
from headworks_storm.install.security import CREDENTIAL, CREDENTIALS
from headworks_storm.service import HOOKS

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from headworks_storm.client.gateway import NimbusGateway

HOOK = "topology.auto.task.hooks"
"""The setting without which nothing is measured; the other one adds queues and sources."""


@attrs.frozen(kw_only=True)
class StoredSettings:
    """Settings that Nimbus has: its own, and those stored with each running topology that may be read, by name.

    `supervisors` are the hosts of those that it knows, None if it did not tell.
    """

    nimbus: Mapping[str, Any]
    topologies: Mapping[str, Mapping[str, Any]]
    unread: tuple[str, ...] = ()
    supervisors: tuple[str, ...] | None = None

    @classmethod
    def ask(cls, nimbus: NimbusGateway) -> StoredSettings:
        """Ask Nimbus; a topology whose settings it refuses is `unread`.

        Raises:
            EngineError: No Nimbus leads or can be reached, or it refuses its own settings.
        """
        own, cluster, found, unread = nimbus.nimbus_conf(), nimbus.cluster(), {}, []
        for each in cluster.topologies:
            try:
                found[each.name] = nimbus.topology_conf(each.name)
            except EngineError:  # killed meanwhile, or not for this user
                unread.append(each.name)
        hosts = tuple(each.host for each in cluster.supervisors)
        return cls(nimbus=own, topologies=found, unread=tuple(unread), supervisors=hosts)

    def hooked(self) -> tuple[str, ...]:
        """Topologies whose stored settings name a class of Headworks's."""
        return tuple(sorted(name for name, conf in self.topologies.items() if names_headworks(conf)))


def names_headworks(conf: Mapping[str, Any]) -> bool:
    """Tell whether settings name a class of Headworks's for workers."""
    ours = [*HOOKS.items(), (CREDENTIALS, [CREDENTIAL])]
    return any(_class(each) == _class(wanted) for key, (wanted,) in ours for each in _entries(conf, key))


def effective(conf: Mapping[str, Any], stored: Mapping[str, Any] | None) -> dict[str, Any]:
    """The two settings as a worker has them.

    Args:
        conf: The `storm.yaml` of its supervisor.
        stored: What is stored with its topology, or Nimbus's own settings for one that will be submitted; None where
            they are not known.
    """
    return {key: stored[key] if stored and key in stored else conf.get(key) for key in HOOKS}


def with_headworks(conf: Mapping[str, Any], key: str) -> list[Any]:
    """The list of a setting with Headworks's class in it, and all that was there.

    Args:
        conf: The settings.
        key: Name of the setting, one of `HOOKS`.
    """
    (ours,) = HOOKS[key]
    entries = _entries(conf, key)
    return entries if any(_class(each) == _class(ours) for each in entries) else [*entries, ours]


def examine_hooks(conf: Mapping[str, Any], stored: StoredSettings | None) -> Iterator[Finding]:
    """Findings on the two settings, and on topologies that go without what they say.

    Args:
        conf: The `storm.yaml` of this machine.
        stored: What Nimbus has, None where it was not asked.
    """
    for key in HOOKS:
        yield _setting(key, conf, stored)
    if stored is not None and names_headworks(effective(conf, stored.nimbus)):
        yield from _deaf(conf, stored)


def _setting(key: str, conf: Mapping[str, Any], stored: StoredSettings | None) -> Finding:
    nimbus = stored.nimbus if stored is not None else {}
    counts = effective(conf, nimbus)
    if counts[key] == (wanted := with_headworks(counts, key)):
        return Finding(subject=key, status="ok", detail="Headworks's is in it")
    detail, where = "Headworks's is not in it", "supervisors"
    if key in nimbus:
        detail, where = "Nimbus has a list of its own, which wins, and Headworks's is not in it", "every Nimbus"
    if counts[key] is not None and not isinstance(counts[key], list):
        detail = f"{counts[key]!r}, and Storm takes a list"
    return Finding(
        subject=key, status="missing", detail=detail, fix=f"storm.yaml of {where}: {key}: {json.dumps(wanted)}"
    )


def _deaf(conf: Mapping[str, Any], stored: StoredSettings) -> Iterator[Finding]:
    """Topologies that were submitted before Nimbus had its list, or with a list of their own."""
    for name, own in sorted(stored.topologies.items()):
        counts = effective(conf, own)
        lacking = [key for key in HOOKS if key in own and counts[key] != with_headworks(counts, key)]
        if lacking:
            lists = ", ".join(f"{key}={json.dumps(with_headworks(counts, key))}" for key in lacking)
            lost = "reports nothing" if HOOK in lacking else "reports no queues and sources"
            yield Finding(
                subject=f"topology {name}",
                status="missing",
                detail=f"{lost}: {', '.join(lacking)} stored with it without Headworks's",
                fix=f"submit it anew, with {lists}",
            )


def examine_workers(
    folder: Path, conf: Mapping[str, Any], stored: StoredSettings | None, *, jar: bool, supervisor: bool
) -> Iterator[Finding]:
    """Findings on workers that would not start for want of the jar; it is no fault where there is no supervisor.

    Args:
        folder: The `extlib` of this machine.
        conf: Its `storm.yaml`.
        stored: What Nimbus has, None where it was not asked.
        jar: Whether a jar of Headworks's is in the folder.
        supervisor: Whether a supervisor is on this machine.
    """
    hooked = stored.hooked() if stored is not None else ()
    if hooked and jar:
        detail = f"stored with the hooks: {', '.join(hooked)}; the jar has to stay until they were submitted anew"
        yield Finding(subject="topologies", status="ok", detail=detail)
    if jar or not supervisor:
        return
    fix = f"headworks storm jar -O {folder}"
    if hooked:
        yield Finding(
            subject="topologies",
            status="broken",
            detail=f"stored with the hooks: {', '.join(hooked)}; their workers will not start here without the jar",
            fix=f"{fix}, until they were submitted anew without the hooks",
        )
    if names_headworks(effective(conf, stored.nimbus if stored is not None else None)):
        yield Finding(
            subject="hooks",
            status="broken",
            detail=f"storm.yaml names them and no jar of Headworks is in {folder}: workers of new topologies will not "
            "start here",
            fix=f"{fix}, or take {' and '.join(HOOKS)} out of storm.yaml, of Nimbus too",
        )


def _entries(conf: Mapping[str, Any], key: str) -> list[Any]:
    found = conf.get(key) or []
    return list(found) if isinstance(found, list) else [found]


def _class(entry: Any) -> Any:
    """The class that an entry names: itself, or its member `class` beside options of its own."""
    return entry.get("class") if isinstance(entry, dict) else entry

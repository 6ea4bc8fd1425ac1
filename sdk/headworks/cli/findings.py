"""Requirements of an installation, and whether they are met."""

from __future__ import annotations

import os
import platform
import sys
from typing import TYPE_CHECKING, Any

from headworks.cli.settings import BROKEN
from headworks.errors import HeadworksError, how_to_install
from headworks.hooks import Finding
from headworks.model import Cluster, Component, Node, Request, Resources, Topology
from headworks.plugins.loading import SHADOWED
from headworks.problem import Problem
from headworks_local.isolated.ability import bounds, network_problem
from headworks_local.private_files import cache_folder

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from pathlib import Path

    from headworks.plugins.host import PluginHost
    from headworks.plugins.loading import Loaded, Quarantined

REMEDY = "repair or uninstall it, or name it in HEADWORKS_DISABLE_PLUGINS"
TESTS = f"contract tests: {how_to_install('testing')}"


def examine(host: PluginHost, commands: Iterable[Quarantined] = ()) -> tuple[Finding, ...]:
    """Look at Python, at what every plugin needs, and at every plugin."""
    return (
        _python(),
        *dict.fromkeys(need for needs in host.gather("headworks_needs") for need in needs),
        Finding.of_package("hypothesis", TESTS),
        _cache(cache_folder()),
        _apart(),
        *(
            Finding(subject=f"plugin {plugin.name}", status="ok", detail=_loaded(plugin))
            for plugin in host.plugins.values()
        ),
        *(_reviewer(host, name) for name in host.having("headworks_review")),
        *(_broken("plugin", each) for each in host.quarantined),
        *(_broken("command", each) for each in commands),
    )


def file_finding(meta: Mapping[str, Any]) -> tuple[Finding, ...]:
    """The fault of the file of options that holds in this folder, if it has one."""
    if (error := meta.get(BROKEN)) is None:
        return ()
    fix = "mend it, or go to another folder: but for help and this command, all that reads it is refused"
    return (Finding(subject="headworks.toml", status="broken", detail=str(error), fix=fix),)


def _cache(folder: Path) -> Finding:
    """Look at whether the cache folder, or the nearest one above it that is there, can be written."""
    there = next(each for each in (folder, *folder.parents) if each.exists())
    if there.is_dir() and os.access(there, os.W_OK | os.X_OK):
        return Finding(subject="cache folder", status="ok", detail=str(folder))
    fix = "set XDG_CACHE_HOME, or make it writable: engines' releases, jars and local clusters are kept there"
    return Finding(subject="cache folder", status="missing", detail=f"{there} cannot be written", fix=fix)


def _apart() -> Finding:
    """Look at what this machine can do for nodes of local clusters that are apart."""
    if problem := network_problem():
        fix = "clusters start without: nodes share this machine's network, and times do not compare"
        return Finding(subject="nodes that are apart", status="missing", detail=problem, fix=fix)
    return Finding(subject="nodes that are apart", status="ok", detail=", ".join(("network", *bounds())))


def _loaded(plugin: Loaded) -> str:
    return f"{plugin.distribution} {plugin.version}, loaded in {plugin.seconds:.2f} s"


def _reviewer(host: PluginHost, name: str) -> Finding:
    """Look at whether a plugin answers that reviews plans: while one does not, none of any scheduler is carried out."""
    node = Node(id="a", capacity=Resources({"cpu": 100.0}), slots=(6700,))
    topology = Topology(id="t", components=(Component(id="c"),))
    request = Request(cluster=Cluster(nodes=(node,)), topologies=(topology,))
    try:
        host.call(name, "headworks_review", request=request, plan=Problem.of(request).plan([0]))
    except HeadworksError as error:
        detail = f"holds every plan of every scheduler: {error}"
        return Finding(subject=f"reviewer {name}", status="broken", detail=detail, fix=REMEDY)
    return Finding(subject=f"reviewer {name}", status="ok", detail="reviews every plan")


def _broken(what: str, aside: Quarantined) -> Finding:
    return Finding(
        subject=f"{what} {aside.name}",
        status="broken",
        detail=f"{aside.origin}: {aside.reason}",
        fix=_remedy(aside),
    )


def _remedy(aside: Quarantined) -> str:
    """A fix for what is set aside; whoever switched off the name of a built-in one would switch off that one too."""
    if aside.reason == SHADOWED:
        return "rename or uninstall it: the built-in one works on"
    return REMEDY


def _python() -> Finding:
    fit = sys.version_info >= (3, 11)
    return Finding(
        subject="Python",
        status="ok" if fit else "broken",
        detail=platform.python_version(),
        fix="" if fit else "use Python 3.11 or later",
    )

"""The class data archives of a release, from a small cluster at work: one for daemons and clients, one for workers."""

from __future__ import annotations

import contextlib
import os
import signal
from typing import TYPE_CHECKING

from headworks.errors import EngineError
from headworks_local.cds import ClassData
from headworks_local.java import find_java
from headworks_local.process import patience
from headworks_storm.local.cluster import LocalStorm, supervisor_specs
from headworks_storm.local.smoke_topology import all_run, submit_words
from headworks_storm.release.artefacts import STORM, distribution, java_version
from headworks_storm.release.cache import release_folder
from headworks_storm.release.jvm import SMALL_JVM

if TYPE_CHECKING:
    from collections.abc import Callable

SECONDS = 600.0
"""Patience with each step of the training. With less, a busy machine ends without archives; with more, a cluster that
hangs is noticed later."""
ONE = supervisor_specs(((400.0, 4096.0, 2),))
"""The smallest cluster that loads all classes: a supervisor with two slots, so that tuples go from worker to worker."""
SLOW = {"supervisor.worker.shutdown.sleep.secs": 60}
"""Time in which a worker that is asked to end writes its archive; with less it halts itself before it is done."""


def make_class_data(version: str = STORM) -> bool:
    """Make the archives for a release and the Java that is found, if they are not there.

    Nimbus and a worker of the same cluster each write one as they end; it takes about half a minute.

    Returns:
        Whether both are there.

    Raises:
        EngineError: There is no Java, or a jar of this release cannot be had.
    """
    program = find_java(java_version(version)).program
    release = release_folder(distribution(version))
    daemons, workers = (ClassData.of(program, release / folder) for folder in ("lib", "lib-worker"))
    if not daemons.options():
        workers.file.unlink(missing_ok=True)  # they are made together
    # Each `make` hands on the options by which a JVM writes its archive as it ends; the inner one runs the cluster.
    return daemons.make(lambda first: workers.make(lambda second: _train(version, first, second)))


def _train(version: str, daemon: tuple[str, ...], worker: tuple[str, ...]) -> bool:
    """Run a cluster with a topology once, and end it such that Nimbus and a worker write their archives.

    All classes of the topology are Storm's own: one of another jar would bind the archive to that jar's place.
    """
    conf = SLOW | {"worker.childopts": " ".join(("-Xmx%HEAP-MEM%m", *SMALL_JVM, *worker))}
    local = LocalStorm(ONE, version=version, conf=conf, options={"nimbus": daemon}, timeout=SECONDS)
    with contextlib.suppress(EngineError), local as cluster:
        submit_words(cluster, "words", workers=2)
        _until(lambda: all_run(cluster, "words"), "no worker of the training cluster starts")
        _end(cluster)
        return True
    return False


def _end(cluster: LocalStorm) -> None:
    """Ask Nimbus and a worker to end, and see them do so; without its supervisor nobody hurries the worker."""
    nimbus = next(each for each in cluster.daemons if each.name == "nimbus")
    worker = next(each.pid for each in cluster.workers() if each.pid)
    os.kill(next(each.pid for each in cluster.daemons if each.name.startswith("supervisor")), signal.SIGKILL)
    for pid in (nimbus.pid, worker):
        os.kill(pid, signal.SIGTERM)  # a JVM that is killed writes no archive
    _until(lambda: not nimbus.alive, "Nimbus of the training cluster does not end")
    _until(lambda: worker not in {each.pid for each in cluster.workers()}, "its worker does not end")


def _until(true: Callable[[], bool], complaint: str) -> None:
    for _ in patience(lambda: (), SECONDS, complaint):
        if true():
            return

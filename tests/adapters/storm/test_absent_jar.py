"""Workers of a real Storm whose settings name Headworks's classes: without its jar, with it, and once it is removed."""

from __future__ import annotations

import json
import time
from typing import TYPE_CHECKING

import pytest

from headworks_storm.release.jar import own_jars
from headworks_storm.service import HOOKS
from shell import headworks
from storm_breakable import BreakableStorm
from storm_cluster import PATIENCE, RELEASE, wait_for
from storm_tally import TWO, Tally

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

pytestmark = [
    pytest.mark.storm,
    pytest.mark.slow,
    pytest.mark.network,
    pytest.mark.matrix,  # test_examine has what the doctor says, without a cluster
]

START = 30
"""Seconds after which Storm begins another worker for one that ended before it was heard of once."""
NAMES = dict(zip(("hook", "reporter"), ({key: named} for key, named in HOOKS.items()), strict=True))
"""Topologies with one of the two settings each; none of their own classes is Headworks's."""
PLAIN = "plain"
"""One without."""


@pytest.fixture
def cluster(java: None) -> Iterator[BreakableStorm]:
    """Without the jar."""
    conf = {"supervisor.worker.start.timeout.secs": START}
    with BreakableStorm(TWO, conf=conf, version=RELEASE, timeout=PATIENCE) as storm:
        yield storm


@pytest.fixture
def tallies(cluster: BreakableStorm, tmp_path: Path) -> dict[str, Tally]:
    """For each topology one, all of one jar."""
    made = {name: Tally(cluster, tmp_path / name) for name in (*NAMES, PLAIN)}
    for each in made.values():
        each.folder.mkdir()
        if each is not made[PLAIN]:
            (each.folder / "tally.jar").symlink_to(made[PLAIN].folder / "tally.jar")
    return made


def submit(tally: Tally, name: str, **conf: object) -> None:
    tally.submit(name, rate=20.0, acked=False, **{"topology.workers": 1, **conf})


def pids(cluster: BreakableStorm, name: str) -> set[int]:
    return {each.pid for each in cluster.workers() if each.pid and each.topology.startswith(f"{name}-")}


def begins_again(cluster: BreakableStorm, tallies: dict[str, Tally]) -> None:
    """See one process after the other of each topology that names a class, and that none of them counts a tuple."""
    begin = time.time()
    seen: dict[str, set[int]] = {name: set() for name in NAMES}

    def tried() -> bool:
        for name, known in seen.items():
            known |= pids(cluster, name)
        return all(len(known) > 1 for known in seen.values())

    wait_for("one process after the other", tried)
    assert all(last_count(tallies[name]) < begin for name in NAMES)


def last_count(tally: Tally) -> float:
    """When a bolt last wrote down what it counted, 0 before any did."""
    return max((file.stat().st_mtime for file in tally.counts_folder.glob("[0-9]*")), default=0.0)


def counts(tally: Tally) -> None:
    """Wait until every bolt wrote down what it counted from now on."""
    now = time.time()
    wait_for("bolts that count", lambda: tally.counts() and tally.bolts_wrote_since(now))


def broken(cluster: BreakableStorm) -> list[dict[str, str]]:
    """What the doctor calls so of workers and their settings; the rest of what it looks at is not asked here."""
    run = headworks("doctor", "--storm", cluster.home, "--json")
    found = [each for each in json.loads(run.stdout) if each["status"] == "broken"]
    return [each for each in found if each["subject"] in ("topologies", "hooks")]


def test_workers_without_the_jar_never_come_up_and_do_once_it_is_there_or_nobody_names_it(
    cluster: BreakableStorm, tallies: dict[str, Tally]
) -> None:
    submit(tallies[PLAIN], PLAIN)
    for name, conf in NAMES.items():
        submit(tallies[name], name, **conf)
    counts(tallies[PLAIN])
    neighbour = pids(cluster, PLAIN)
    begins_again(cluster, tallies)
    (told,) = broken(cluster)
    assert "hook, reporter; their workers will not start here without the jar" in told["detail"]

    jar = cluster.home / "extlib" / own_jars().bridge.name
    jar.symlink_to(own_jars().bridge)
    for name in NAMES:
        counts(tallies[name])
    assert not broken(cluster)

    stay = {name: pids(cluster, name) for name in NAMES}
    jar.unlink()
    assert broken(cluster) == [told]
    for name in NAMES:
        counts(tallies[name])  # what runs has it open
        assert pids(cluster, name) == stay[name]
        (port,) = {each.port for each in cluster.workers() if each.pid in stay[name]}
        cluster.kill_worker(port)
    begins_again(cluster, tallies)

    for name in NAMES:  # submitted anew, without
        cluster.gateway.kill(name, wait=0)
        wait_for("its end", lambda name=name: name not in {each.name for each in cluster.gateway.cluster().topologies})
        submit(tallies[name], name)
        counts(tallies[name])
    assert not broken(cluster)
    assert pids(cluster, PLAIN) == neighbour

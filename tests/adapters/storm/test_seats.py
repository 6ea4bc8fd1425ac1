"""Topologies with seats on a real cluster: what their tasks see and count is what they would without."""

from __future__ import annotations

import random
import time
from collections import Counter
from functools import partial
from typing import TYPE_CHECKING

import pytest

from headworks_storm.local.cluster import LocalStorm
from storm_cluster import PATIENCE, RELEASE, wait_for
from storm_tally import TWO, Tally

if TYPE_CHECKING:
    from collections.abc import Iterator

pytestmark = [pytest.mark.storm, pytest.mark.slow, pytest.mark.network, pytest.mark.xdist_group("storm-seats")]

MOVABLE = {"split": "stateless", "count": "fields:counts", "end": "stateless"}
WORDS = [f"{'abcdefgh'[n % 8]}{'xyz'[n % 3] * (n % 5)}{n}" for n in range(40)]


@pytest.fixture(scope="module")
def storm(java: None) -> Iterator[LocalStorm]:
    """A cluster that has nothing of Headworks: what workers need comes with the topology."""
    with LocalStorm(TWO, version=RELEASE, timeout=PATIENCE) as local:
        yield local


@pytest.fixture(scope="module")
def lines() -> list[str]:
    """Lines of few words, each word often enough to be seen by every task that splits."""
    rng = random.Random(7)
    return [" ".join(rng.choices(WORDS, k=10)) for _ in range(600)]


@pytest.fixture(scope="module")
def views(storm, lines, tmp_path_factory) -> dict[str, dict[int, list[str]]]:
    """What the tasks of the topology wrote down, by task: without seats, and with."""
    found = {}
    for name, seats in (("plain", None), ("seated", MOVABLE)):
        tally = Tally(storm, tmp_path_factory.mktemp(name), seats)
        tally.submit_view(name, "\n".join(lines))

        def whole(tally=tally):
            seen = tally.views()
            acked = [line for view in seen.values() for line in view if line.startswith("acked: ")]
            return counted(seen) == Counter(" ".join(lines).split()) and len(acked) == 2 and settled(acked) and seen

        wait_for(f"{name}: all words counted, all lines acked", whole)
        wait_for(f"{name}: written down", partial(tally.bolts_wrote_since, time.time()))
        assert not storm.gateway.topology(name).errors
        found[name] = tally.views()
        found[name + " executors"] = storm.gateway.topology(name).executors
        storm.gateway.kill(name, wait=0)
    return found


def settled(acked):
    return all(line.split()[1] == str(600 // 2) for line in acked)


def counted(views) -> Counter:
    """Times that each word was counted, by all tasks together."""
    total = Counter()
    for view in views.values():
        for line in view:
            if line.startswith("counted "):
                word, _, number = line.removeprefix("counted ").partition(": ")
                total[word] += int(number)
    return total


@pytest.mark.matrix
def test_a_task_with_a_seat_sees_what_it_would_see_without(views):
    assert views["seated"].keys() == views["plain"].keys()
    for task, plain in views["plain"].items():
        assert views["seated"][task] == plain, f"task {task}"


@pytest.mark.matrix
def test_every_word_is_counted_by_the_same_task(views, lines):
    for kind in ("plain", "seated"):
        assert counted(views[kind]) == Counter(" ".join(lines).split())
        assert {line for view in views[kind].values() for line in view if line.startswith("acked: ")} == {
            "acked: 300 failed 0 of 600"
        }


@pytest.mark.matrix
def test_a_bolt_with_seats_has_one_for_each_task_in_each_worker(views):
    tasks = {"split": 3, "count": 4, "end": 2}
    workers = {(each.host, each.port) for each in views["seated executors"]}
    assert len(workers) == 2
    for component, number in tasks.items():
        places = Counter((each.host, each.port) for each in views["seated executors"] if each.component == component)
        assert sum(places.values()) == 2 * number
        plain = [each for each in views["plain executors"] if each.component == component]
        assert len(plain) == number

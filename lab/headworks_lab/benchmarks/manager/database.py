"""The manager's database with many topologies: a change, a trigger, and what a round reads and keeps, in milliseconds.

`python -m headworks_lab.benchmarks.manager.database [TOPOLOGIES] [DATABASE]`, by default 10,000 in a new file of
SQLite."""

from __future__ import annotations

import statistics
import sys
import tempfile
import time
from pathlib import Path
from typing import TYPE_CHECKING

import attrs
from sqlalchemy import insert

from headworks.cli.output import console, table
from headworks_manager.database import tables
from headworks_manager.database.connection import opened, transaction
from headworks_manager.database.history import Author
from headworks_manager.database.store import Store
from headworks_manager.rules.indication import Indication, Trigger
from headworks_manager.rules.starving import Claim

if TYPE_CHECKING:
    from collections.abc import Callable

NODES = 1000
TIMES = 10
AUTHOR = Author(who="benchmark")


def measured(what: str, do: Callable[[int], object]) -> tuple[object, ...]:
    wall, cpu = [], time.process_time()
    for number in range(TIMES):
        begin = time.perf_counter()
        do(number)
        wall.append((time.perf_counter() - begin) * 1000)
    spent = (time.process_time() - cpu) * 1000 / TIMES
    return what, statistics.median(wall), sorted(wall)[int(TIMES * 0.95)], spent


def main() -> None:
    count = int(sys.argv[1]) if len(sys.argv) > 1 else 10_000
    with tempfile.TemporaryDirectory() as folder:
        url = sys.argv[2] if len(sys.argv) > 2 else str(Path(folder) / "priorities.sqlite")
        with opened(url) as engine:
            store = Store(engine)
            names = [f"topology-{number:05}" for number in range(count)]
            made = [
                Indication(name=name, priority=5, trigger_priority=0, desired_nodes=8, minimum_nodes=2, hold=0)
                for name in names
            ]
            with transaction(engine) as connection:
                connection.execute(
                    insert(tables.topologies), [{"cluster": store.cluster, **attrs.asdict(each)} for each in made]
                )
            claims = [Claim(name=name, level=5, desired=8, minimum=2, nodes=at % 3) for at, name in enumerate(names)]
            store.look(claims, dict.fromkeys(names), NODES)
            rows = [
                measured("a change", lambda at: store.set(names[at * 7], {"priority": at}, AUTHOR)),
                measured(
                    "a trigger",
                    lambda at: store.trigger(Trigger(topology=names[at * 7], on=True, source="bolt"), AUTHOR),
                ),
                measured("a round's read: indications", lambda _: store.indications()),
                measured("a round's look at who starves, nothing new", lambda _: store.look(claims, {}, NODES)),
            ]
    columns = ("what", "median ms", "95 % ms", "CPU ms")
    shown = [(each[0], *(f"{value:.1f}" for value in each[1:])) for each in rows]
    console().print(table(f"{count} topologies", columns, shown, numbers=columns[1:]))


if __name__ == "__main__":
    main()

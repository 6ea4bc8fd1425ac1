"""A long history for the pipeline's benchmark: the samples and tables of its hours again and again, as links.

A year of 126 groups is half a billion rows. The cost of learning depends on the tables alone, so these are made once,
and each later hour has the tables of an earlier one, under its own name.
"""

from __future__ import annotations

import os
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING

import attrs

from headworks.samples.store import read_states
from headworks_pipeline.intake.files import digest, listing
from headworks_pipeline.tables.known import KnownTasks
from headworks_pipeline.tables.store import Store

if TYPE_CHECKING:
    from pathlib import Path

    from headworks_pipeline.tables.manifest import Hour


def lengthen(samples: Path, results: Path, hours: int) -> None:
    """Add hours after the last one, up to a number of them.

    Args:
        samples: Folder of samples, a file an hour.
        results: Their results; hours are learnt by the next run.
        hours: Number of hours that there are then.
    """
    store = Store(folder=results)
    manifest = store.manifest()
    first = [*manifest.hours]
    again: dict[str, Hour] = {}
    for number in range(len(first), hours):
        old = first[number % len(first)]
        moment = datetime.strptime(first[0], "%Y-%m-%dT%H").replace(tzinfo=UTC) + timedelta(hours=number)
        hour, snapshot = f"{moment:%Y-%m-%dT%H}", f"{number:010d}-again"
        _link(samples / f"day={old[:10]}" / f"hour={old[11:]}", samples / f"{moment:day=%Y-%m-%d/hour=%H}")
        for table in ("sources", *manifest.hours[old].files):
            place = results / "data" / manifest.hours[old].snapshot / table / f"hour={old}"
            _link(place, results / "data" / snapshot / table / f"hour={hour}")
        again[hour] = attrs.evolve(manifest.hours[old], snapshot=snapshot)
    known = KnownTasks.of(read_states(results))
    inputs = {hour: digest(files, known.digest(hour)) for hour, files in listing(samples).items()}
    store.commit(manifest.with_hours({hour: attrs.evolve(each, inputs=inputs[hour]) for hour, each in again.items()}))


def _link(folder: Path, target: Path) -> None:
    target.mkdir(parents=True)
    for file in folder.iterdir():
        os.link(file, target / file.name)

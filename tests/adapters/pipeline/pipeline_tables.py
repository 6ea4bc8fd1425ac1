"""Tables of a folder of results, as tests compare them."""

from __future__ import annotations

import json
import math

from pyarrow import parquet

from headworks_pipeline.run import KNOWLEDGE, REQUEST
from headworks_pipeline.tables.store import Store


def rows(folder, table):
    """The rows of a table, each with its hour, in no order that the files have."""
    store = Store(folder=folder)
    files = store.files(store.manifest(), table)
    found = [
        (each.parent.name, row) for each in files for row in parquet.read_table(each, partitioning=None).to_pylist()
    ]
    return sorted(map(repr, found))


def quarantined(folder):
    """Rows of the quarantine, their JSON as values: engines write numbers in their own ways."""
    found = []
    store = Store(folder=folder)
    for file in store.files(store.manifest(), "quarantine"):
        for row in parquet.read_table(file, partitioning=None).to_pylist():
            found.append([file.parent.name, row["reason"], row["file"], json.loads(row["content"])])
    return sorted(found, key=repr)


def near(one, other):
    """Whether two documents are the same but for the last digits: sums in another order end in other bits."""
    if isinstance(one, dict) and isinstance(other, dict):
        return one.keys() == other.keys() and all(near(each, other[name]) for name, each in one.items())
    if isinstance(one, list) and isinstance(other, list):
        return len(one) == len(other) and all(map(near, one, other))
    return math.isclose(one, other, rel_tol=1e-9) if isinstance(one, float) else one == other


def same(folder, other):
    """Whether two folders of results know the same, and set the same rows aside."""
    documents = [[json.loads((each / name).read_text()) for name in (KNOWLEDGE, REQUEST)] for each in (folder, other)]
    counted = [
        {name: each.rows for name, each in Store(folder=one).manifest().hours.items()} for one in (folder, other)
    ]
    return near(*documents) and counted[0] == counted[1] and near(quarantined(folder), quarantined(other))


def alike(folder, other, table, without=()):
    """Whether two folders have the same rows of a table, but for the last digits of sums and some columns."""
    found = [_parted(each, table, without) for each in (folder, other)]
    assert found[0], f"{table} has no rows"
    keys = [[key for key, _ in rows] for rows in found]
    return keys[0] == keys[1] and all(near(one, another) for (_, one), (_, another) in zip(*found, strict=True))


def _parted(folder, table, without):
    """Rows in order, as what has to be equal and what may differ in the last digits."""
    store = Store(folder=folder)
    parted = []
    for file in store.files(store.manifest(), table):
        for row in parquet.read_table(file, partitioning=None).to_pylist():
            kept = {name: value for name, value in row.items() if name not in without} | {"hour": file.parent.name}
            exact = {name: value for name, value in kept.items() if not isinstance(value, float)}
            parted.append((sorted(map(repr, exact.items())), kept))
    return sorted(parted, key=lambda each: each[0])

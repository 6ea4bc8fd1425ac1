"""How the rows of an hour ended: those that are there, and those of files that are not read or are damaged."""

from __future__ import annotations

from collections import Counter

import pytest

from headworks_pipeline.intake.files import UNREADABLE, SampleFile
from headworks_pipeline.tables.job import Work, endings, make
from headworks_pipeline.tables.known import KnownTasks
from headworks_pipeline.tables.manifest import Manifest
from headworks_pipeline.tables.selection import Selection
from headworks_pipeline.tables.store import Store

HOUR = "2026-01-01T10"


def file(name: str, rows: int, *, reason: str = "") -> SampleFile:
    return SampleFile(path=f"/samples/day=2026-01-01/hour=10/{name}", hour=HOUR, rows=rows, reason=reason)


class Halting:
    """A backend that reads so many rows of each file, and remembers what it was given."""

    name, chunk = "halting", 100

    def __init__(self, **read):
        self.read = {f"{name}.parquet": rows for name, rows in read.items()}
        self.given = []

    def write_tables(self, files, known, place):
        names = [each.name for each in files if not each.reason]
        self.given.append(names)
        return Counter({(HOUR, name, ""): self.read[name] for name in names})


@pytest.mark.parametrize(("read", "rows", "given"), [
    ({"whole": 5, "other": 8}, {"": 13}, [["whole", "other"]]),
    ({"whole": 5, "other": 6}, {"": 5, UNREADABLE: 8}, [["whole", "other"], ["whole"]]),
])  # fmt: skip
def test_a_damaged_file_is_not_used_at_all(tmp_path, read, rows, given):
    files = [file("whole.parquet", 5), file("other.parquet", 8)]
    work = Work(known=KnownTasks(), inputs={HOUR: "i"}, selection=Selection(), files={HOUR: files}, there={})
    backend = Halting(**read)
    made = make(backend, work.files, work, Store(folder=tmp_path), Manifest())
    assert made[HOUR].rows == rows
    assert backend.given == [[f"{name}.parquet" for name in names] for names in given]


def test_rows_of_a_file_that_is_not_read_bear_its_reason():
    files = [file("sound.parquet", 3), file("later.parquet", 9, reason="unknown schema version")]
    assert endings(HOUR, files, Counter({(HOUR, "sound.parquet", ""): 3})) == {"": 3, "unknown schema version": 9}

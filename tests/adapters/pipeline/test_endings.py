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


def file(name: str, rows: int, *, version: int = 2, reason: str = "") -> SampleFile:
    return SampleFile(
        path=f"/samples/day=2026-01-01/hour=10/{name}", hour=HOUR, rows=rows, version=version, reason=reason
    )


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
    ({"old": 30, "whole": 5, "other": 8}, {"": 43}, [["old", "whole", "other"]]),
    ({"old": 30, "whole": 5, "other": 6}, {"": 35, UNREADABLE: 8}, [["old", "whole", "other"], ["old", "whole"]]),
    ({"old": 2, "whole": 5, "other": 8}, {"": 15}, [["old", "whole", "other"]]),
])  # fmt: skip
def test_a_damaged_file_is_not_used_at_all_beside_files_of_version_1(tmp_path, read, rows, given):
    """Version 1 has more rows in its files than come of them, or fewer: they say nothing of damage."""
    files = [file("old.parquet", 10, version=1), file("whole.parquet", 5), file("other.parquet", 8)]
    work = Work(known=KnownTasks(), inputs={HOUR: "i"}, selection=Selection(), files={HOUR: files}, there={})
    backend = Halting(**read)
    made = make(backend, work.files, work, Store(folder=tmp_path), Manifest())
    assert made[HOUR].rows == rows
    assert backend.given == [[f"{name}.parquet" for name in names] for names in given]


def test_rows_of_a_file_that_is_not_read_bear_its_reason():
    files = [file("sound.parquet", 3), file("later.parquet", 9, reason="unknown schema version")]
    assert endings(HOUR, files, Counter({(HOUR, "sound.parquet", ""): 3})) == {"": 3, "unknown schema version": 9}

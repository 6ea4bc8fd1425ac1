"""How the rows of an hour ended: those that are there, those of bad files, and those that a damaged file lacks."""

from __future__ import annotations

from collections import Counter

from headgate_pipeline.intake.files import UNREADABLE, SampleFile
from headgate_pipeline.tables.job import endings

HOUR = "2026-01-01T10"


def file(name: str, rows: int, *, version: int = 2, reason: str = "") -> SampleFile:
    return SampleFile(
        path=f"/samples/day=2026-01-01/hour=10/{name}", hour=HOUR, rows=rows, version=version, reason=reason
    )


def test_rows_that_a_damaged_file_lacks_are_counted_beside_files_of_version_1():
    """Version 1 has more rows in its files than come of them, or fewer: they say nothing of another file."""
    files = [file("old.parquet", 10, version=1), file("whole.parquet", 5), file("damaged.parquet", 8)]
    counts = Counter(
        {
            (HOUR, "old.parquet", ""): 30,
            (HOUR, "whole.parquet", ""): 4,
            (HOUR, "whole.parquet", "negative"): 1,
            (HOUR, "damaged.parquet", ""): 6,
            ("2026-01-01T11", "other.parquet", ""): 7,
        }
    )
    assert endings(HOUR, files, counts) == {"": 40, "negative": 1, UNREADABLE: 2}


def test_rows_of_a_file_that_is_not_read_bear_its_reason():
    files = [file("sound.parquet", 3), file("later.parquet", 9, reason="unknown schema version")]
    assert endings(HOUR, files, Counter({(HOUR, "sound.parquet", ""): 3})) == {"": 3, "unknown schema version": 9}

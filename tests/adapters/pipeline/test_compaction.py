"""Small files of samples become one: nothing is lost, nothing counts twice, whenever the pass is cut off."""

from __future__ import annotations

import os
from datetime import UTC, datetime, timedelta

import pytest

pytest.importorskip("pyarrow")
from pyarrow import concat_tables, parquet

from headworks.samples.rows import VERSION
from headworks.samples.store import write_rows
from headworks_pipeline.intake.compaction import Compaction, compact, replaced_by

HOUR = datetime(2026, 1, 5, 3, tzinfo=UTC)
OVER = HOUR + timedelta(hours=2)


def row(number, **more):
    end = HOUR + timedelta(seconds=10 * number + 5)
    plain = {
        "version": VERSION,
        "kind": "node",
        "engine": "sim",
        "origin": "o",
        "number": number,
        "node": "n",
        "cpu": 1.0,
    }
    return plain | {"start": end - timedelta(seconds=10), "end": end} | more


@pytest.fixture
def folder(tmp_path):
    """An hour of twenty windows, a file each."""
    for number in range(20):
        write_rows(tmp_path, [row(number, node=f"n{node}") for node in range(50)])
    return tmp_path / "day=2026-01-05/hour=03"


def rows(files):
    found = concat_tables([parquet.read_table(each, partitioning=None) for each in files]).to_pylist()
    return sorted(found, key=lambda each: (each["number"], each["node"]))


def test_the_one_file_has_all_rows_and_a_fraction_of_the_bytes(folder):
    small = sorted(folder.iterdir())
    before, size = rows(small), sum(each.stat().st_size for each in small)
    assert compact(folder.parents[1], OVER) == Compaction(replaced=20, written=1)
    (one,) = set(folder.iterdir()) - set(small)
    assert rows([one]) == before
    assert one.stat().st_size < size / 10
    assert {line.split()[0] for line in replaced_by(one)} == {each.name for each in small}


def test_small_files_go_when_the_one_has_stood_for_them_for_a_while(folder):
    small = sorted(folder.iterdir())
    compact(folder.parents[1], OVER)
    (one,) = set(folder.iterdir()) - set(small)
    written = one.stat().st_mtime
    assert compact(folder.parents[1], datetime.fromtimestamp(written + 599, UTC)) == Compaction()
    # One that was written again since is another file, which nobody stands for.
    os.utime(small[0])
    assert compact(folder.parents[1], datetime.fromtimestamp(written + 601, UTC)) == Compaction(removed=19)
    assert set(folder.iterdir()) == {one, small[0]}


def test_an_hour_that_is_not_over_and_a_few_files_stay(folder):
    assert compact(folder.parents[1], HOUR + timedelta(minutes=74)) == Compaction()
    assert compact(folder.parents[1], OVER, least=21) == Compaction()
    assert len(list(folder.iterdir())) == 20


def test_late_files_become_another_one(folder):
    compact(folder.parents[1], OVER)
    for number in range(30, 40):
        write_rows(folder.parents[1], [row(number)])
    assert compact(folder.parents[1], OVER) == Compaction(replaced=10, written=1)
    assert len(rows(folder.glob("compacted-*"))) == 20 * 50 + 10


def test_files_that_are_not_sound_are_left_to_who_judges_them(folder):
    whole = sorted(folder.iterdir())[0]
    (folder / "half.parquet").write_bytes(whole.read_bytes()[:300])
    (folder / ".draft.parquet").write_bytes(whole.read_bytes())
    parquet.write_table(parquet.read_table(whole, partitioning=None, columns=["kind"]), folder / "other.parquet")
    assert compact(folder.parents[1], OVER).replaced == 20


def test_a_file_whose_pages_are_damaged_holds_nothing_up(folder):
    victim = sorted(folder.iterdir())[0]
    data = bytearray(victim.read_bytes())
    data[4:200] = bytes(196)
    victim.write_bytes(data)
    assert compact(folder.parents[1], OVER) == Compaction(replaced=19, written=1)
    assert compact(folder.parents[1], OVER, grace=-timedelta(days=9999)) == Compaction(removed=19)
    assert victim in folder.iterdir()

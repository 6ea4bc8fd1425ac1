"""The bytes that a folder of samples may hold."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from headworks.samples.store import Retention

if TYPE_CHECKING:
    from pathlib import Path

    import pytest

MB = 1 << 20
HOURS = [f"day=2023-11-{day}/hour={hour}" for day in (15, 16) for hour in ("00", "12", "23")]


def sample(folder: Path, hour: str, number: int = 0) -> Path:
    """Write a file of 100 KB."""
    file = folder / hour / f"samples-{number}.parquet"
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_bytes(bytes(100 << 10))
    os.utime(file, (number, number))
    return file


def state(folder: Path, moment: str, size: int = 100 << 10) -> Path:
    file = folder / "_states" / f"{moment}.000000Z-0.json"
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_bytes(bytes(size))
    return file


def held(folder: Path) -> set[Path]:
    return {each for each in folder.rglob("*") if each.is_file()}


def test_the_oldest_hours_and_states_go_first(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    files = [
        sample(tmp_path, HOURS[0]),
        state(tmp_path, "20231115T003000"),
        sample(tmp_path, HOURS[1]),
        *(sample(tmp_path, HOURS[2], number) for number in (7, 9, 10)),
        sample(tmp_path, HOURS[3]),
        state(tmp_path, "20231116T130000"),
        *(sample(tmp_path, HOURS[5], number) for number in range(4)),
    ]
    Retention(folder=tmp_path, most=MB).count(())
    assert held(tmp_path) == set(files[3:])
    assert not (tmp_path / HOURS[0]).exists()
    assert caplog.messages == [f"{tmp_path} held more than 1 MB: its oldest files, 3, are gone"]


def test_what_is_written_counts_until_there_is_too_much(tmp_path: Path) -> None:
    keeps = Retention(folder=tmp_path, most=MB)
    for number in range(100):
        keeps.count([sample(tmp_path, HOURS[number // 20], number)])
        assert sum(each.stat().st_size for each in held(tmp_path)) <= MB
    assert {each.name for each in held(tmp_path)} >= {f"samples-{number}.parquet" for number in range(91, 100)}


def test_the_newest_state_stays_and_so_does_what_is_no_sample(tmp_path: Path) -> None:
    (tmp_path / "notes.txt").write_bytes(bytes(MB))
    state(tmp_path, "20231115T000000")
    last = state(tmp_path, "20231115T010000", 2 * MB)
    sample(tmp_path, HOURS[5])
    Retention(folder=tmp_path, most=MB).count(())
    assert held(tmp_path) == {tmp_path / "notes.txt", last}


def test_a_folder_that_is_not_there_yet_holds_nothing(tmp_path: Path) -> None:
    keeps = Retention(folder=tmp_path / "none", most=MB)
    keeps.count(())
    assert keeps.held == 0

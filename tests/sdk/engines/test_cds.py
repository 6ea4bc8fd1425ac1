"""The class data archive: whole or not there, made once, by one process at a time."""

from __future__ import annotations

import fcntl
import os
import shutil
from pathlib import Path

import pytest

from headworks_local.cds import ClassData


@pytest.fixture
def jars(tmp_path):
    (tmp_path / "jars").mkdir()
    return tmp_path / "jars"


@pytest.fixture
def data(tmp_path, jars):
    return ClassData.of(Path("/usr/bin/java"), jars, cache=tmp_path / "cache")


def draft_of(options):
    return Path(options[0].partition("=")[2])


def write(options):
    draft_of(options).write_bytes(b"classes")
    return True


def half(options):
    draft_of(options).write_bytes(b"cla")
    return False


def test_what_is_not_there_is_no_option(data):
    assert data.options() == ()


def test_it_is_made_once(data):
    assert data.make(write)
    assert data.options()[0] == f"-XX:SharedArchiveFile={data.file}"
    assert data.file.read_bytes() == b"classes"
    assert data.make(pytest.fail)


@pytest.mark.parametrize("train", [half, lambda options: True, lambda options: False])
def test_half_an_archive_is_none(data, train):
    assert not data.make(train)
    assert data.options() == ()
    assert not list(data.file.parent.glob("*.draft"))
    assert data.make(write)


def test_one_that_was_cut_off_is_made_again(data):
    def cut_off(options):
        half(options)
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        data.make(cut_off)
    assert data.options() == ()
    assert data.make(write)


def test_nobody_waits_for_another_process_that_makes_it(data):
    data.file.parent.mkdir(parents=True)
    with data.file.with_suffix(".lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        assert not data.make(pytest.fail)
    assert data.make(write)


def test_other_jars_have_another_one(data, jars):
    os.utime(jars, (1, 1))
    assert ClassData.of(Path("/usr/bin/java"), jars, cache=data.file.parents[1]).file != data.file


def test_one_whose_jars_are_gone_is_removed(data, jars, tmp_path):
    data.make(write)
    shutil.rmtree(jars)
    (tmp_path / "others").mkdir()
    other = ClassData.of(Path("/usr/bin/java"), tmp_path / "others", cache=tmp_path / "cache")
    assert other.make(write)
    assert sorted(each.stem for each in data.file.parent.glob("*.jsa")) == [other.file.stem]


def test_a_path_with_blanks_has_none(jars, tmp_path):
    data = ClassData.of(Path("/usr/bin/java"), jars, cache=tmp_path / "my cache")
    assert not data.make(pytest.fail)


def test_a_cache_that_cannot_be_written_has_none(jars, tmp_path):
    (tmp_path / "file").write_text("")
    data = ClassData.of(Path("/usr/bin/java"), jars, cache=tmp_path / "file")
    assert not data.make(pytest.fail)

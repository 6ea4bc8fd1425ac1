from __future__ import annotations

import resource

import pytest

from headworks.control.journal import FileJournal, NoJournal, read_journal
from headworks.errors import DocumentError


def test_records_are_read_back_in_order_and_an_older_file_is_continued(tmp_path):
    place = tmp_path / "new" / "journal.jsonl"
    FileJournal(place).append({"number": 1, "text": "é\n"})
    FileJournal(place).append({"number": 2})
    assert list(read_journal(place)) == [{"number": 1, "text": "é\n"}, {"number": 2}]


def test_a_line_that_a_crash_cut_off_is_left_out_and_spoils_no_other(tmp_path):
    place = tmp_path / "journal.jsonl"
    journal = FileJournal(place)
    journal.append({"number": 1})
    with place.open("ab") as file:
        file.write(b'{"number": 2, "pl')
    assert list(read_journal(place)) == [{"number": 1}]
    FileJournal(place).append({"number": 3})
    assert list(read_journal(place)) == [{"number": 1}, {"number": 3}]


def test_a_new_journal_is_empty(tmp_path):
    FileJournal(tmp_path / "journal.jsonl")
    assert list(read_journal(tmp_path / "journal.jsonl")) == []


def test_a_journal_that_cannot_be_used_is_a_document_error(tmp_path):
    with pytest.raises(DocumentError, match="cannot be written"):
        FileJournal(tmp_path)
    with pytest.raises(DocumentError, match="cannot be read"):
        list(read_journal(tmp_path / "missing"))
    journal = FileJournal(tmp_path / "folder" / "journal.jsonl")
    (tmp_path / "folder" / "journal.jsonl").unlink()
    (tmp_path / "folder").rmdir()
    with pytest.raises(DocumentError, match="cannot be written"):
        journal.append({})


def test_without_a_journal_nothing_is_kept():
    assert NoJournal().append({"number": 1}) is None


def test_a_journal_puts_full_files_aside_and_is_read_back_in_order(tmp_path):
    place = tmp_path / "journal.jsonl"
    journal = FileJournal(place, largest=60, files=3)
    for number in range(30):
        journal.append({"number": number, "text": "x" * 20})  # two a file
    assert sorted(each.name for each in tmp_path.iterdir()) == [place.name, *(f"{place.name}.{n}" for n in (1, 2, 3))]
    assert [each["number"] for each in read_journal(place)] == list(range(22, 30))
    assert all(len(each.read_text().splitlines()) == 2 for each in tmp_path.iterdir())
    FileJournal(place, largest=60, files=3).append({"number": 30})
    assert [each["number"] for each in read_journal(place)] == [*range(24, 31)]


def test_a_journal_beside_others_of_a_similar_name_is_read_alone(tmp_path):
    for name in ("a", "a.1", "a.old", "a.10", "[a]"):
        FileJournal(tmp_path / name).append({"of": name})
    assert [each["of"] for each in read_journal(tmp_path / "a")] == ["a.10", "a.1", "a"]
    assert [each["of"] for each in read_journal(tmp_path / "[a]")] == ["[a]"]


def test_a_line_that_a_full_disk_cut_off_spoils_no_other(tmp_path):
    """The limit on the size of a file is a full disk as far as a write can tell: a part of it is written."""
    place = tmp_path / "journal.jsonl"
    journal = FileJournal(place)
    journal.append({"number": 1})
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (20, hard))
    try:
        with pytest.raises(DocumentError, match="cannot be written: File too large"):
            journal.append({"number": 2, "text": "x" * 20})
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
    assert place.stat().st_size == 20
    journal.append({"number": 3})
    assert [each["number"] for each in read_journal(place)] == [1, 3]


def test_a_journal_is_for_its_owner_alone_and_one_that_is_there_stays_as_it_is(tmp_path):
    made, there = tmp_path / "made", tmp_path / "there"
    there.touch()
    there.chmod(0o644)
    for path in (made, there):
        FileJournal(path, largest=10).append({"number": 1})
        FileJournal(path, largest=10).append({"number": 2})
    assert [each.stat().st_mode & 0o777 for each in (made, tmp_path / "made.1")] == [0o600, 0o600]
    assert (tmp_path / "there.1").stat().st_mode & 0o777 == 0o644

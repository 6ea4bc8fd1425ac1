from __future__ import annotations

import pytest

from headgate.control.journal import FileJournal, NoJournal, read_journal
from headgate.errors import DocumentError


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

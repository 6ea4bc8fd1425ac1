"""Records written on a thread of their own: nobody waits for them, and none is lost without being counted and said."""

from __future__ import annotations

import logging
import threading
import time

from headworks.cli.rounds import BackgroundQueue, Screen, ScreenHandler
from headworks.errors import DocumentError
from headworks_storm.cli.records import QueuedJournal
from patience import PATIENCE

SOON = 60.0
"""Seconds: who waits for a disk that hangs waits for longer."""


class Disk:
    """A journal in memory that can be full, and that can hang."""

    def __init__(self):
        self.records, self.full, self.goes_on = [], False, threading.Event()
        self.goes_on.set()

    def append(self, record):
        self.goes_on.wait()
        if self.full:
            raise DocumentError("", "the journal cannot be written: No space left on device")
        self.records.append(record["number"])


def test_records_are_written_in_order_and_all_of_them_by_the_end():
    disk = Disk()
    with BackgroundQueue("test") as background:
        journal = QueuedJournal(disk, background, print)
        for number in range(20):
            journal.append({"number": number})
    assert disk.records == list(range(20))
    assert (journal.lost, journal.status) == (0, "")


def test_a_full_disk_is_said_once_counted_and_over_when_there_is_room():
    disk, said = Disk(), []
    with BackgroundQueue("test") as background:
        journal = QueuedJournal(disk, background, said.append)
        disk.full = True
        for number in range(3):
            journal.append({"number": number})
        wait_for(lambda: journal.lost == 3)
        assert journal.status == "the journal cannot be written: No space left on device; 3 rounds are not in it"
        assert len(said) == 1
        disk.full = False
        journal.append({"number": 3})
        wait_for(lambda: disk.records == [3])
    assert journal.status == ""
    assert said[1:] == ["the journal is written again; 3 rounds are not in it"]


def test_a_disk_that_hangs_keeps_nobody_waiting_and_takes_no_more_memory_than_its_queue():
    disk, said = Disk(), []
    disk.goes_on.clear()
    began = time.monotonic()
    with BackgroundQueue("test", waiting=4) as background:
        journal = QueuedJournal(disk, background, said.append)
        for number in range(50):
            journal.append({"number": number})
        assert time.monotonic() - began < SOON
        assert 45 <= journal.lost <= 46  # four wait, and one is being written or not yet
        assert "too slowly" in journal.status
        assert len(said) == 1
    assert time.monotonic() - began < SOON  # the end does not wait for ever
    disk.goes_on.set()


def test_a_record_that_cannot_be_made_is_counted_and_logged_and_the_next_ones_are_written(caplog):
    disk = Disk()
    with BackgroundQueue("test") as background:
        journal = QueuedJournal(disk, background, print)
        for number in range(6):
            journal.append_made(lambda number=number: {"number": number} if number in (0, 3) else {}["number"])
        wait_for(lambda: journal.lost == 4)
    assert disk.records == [0, 3]
    assert background.failed == 4
    assert [each.message for each in caplog.records] == ["test could not do an entry, and goes on"] * 2


def test_a_screen_that_fails_and_shows_its_own_log_does_not_go_on_for_ever(monkeypatch):
    def broken(*_words, **_options):
        raise RuntimeError("no terminal")

    monkeypatch.setattr("headworks.cli.rounds._put", broken)
    logger, done = logging.getLogger("headworks"), threading.Event()
    with BackgroundQueue("test") as background:
        screen = Screen(background, as_json=False)
        logger.addHandler(handler := ScreenHandler(screen))
        try:
            screen.say("a word")
            wait_for(lambda: background.failed == 2)  # the word, and the log of it
            time.sleep(0.1)
            background.put(done.set)
            assert done.wait(PATIENCE)
        finally:
            logger.removeHandler(handler)
    assert screen.lost == 2


def wait_for(condition, seconds=PATIENCE):
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end
        time.sleep(0.01)

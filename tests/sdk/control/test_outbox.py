"""What is written on a thread of its own: nobody waits for it, nothing is lost without being counted and said."""

from __future__ import annotations

import threading
import time

from headgate.control.outbox import PATIENCE, Outbox, QueuedJournal
from headgate.errors import DocumentError


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
    with Outbox("test") as outbox:
        journal = QueuedJournal(disk, outbox, print)
        for number in range(20):
            journal.append({"number": number})
    assert disk.records == list(range(20))
    assert (journal.lost, journal.status) == (0, "")


def test_a_full_disk_is_said_once_counted_and_over_when_there_is_room():
    disk, said = Disk(), []
    with Outbox("test") as outbox:
        journal = QueuedJournal(disk, outbox, said.append)
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
    with Outbox("test", waiting=4) as outbox:
        journal = QueuedJournal(disk, outbox, said.append)
        for number in range(50):
            journal.append({"number": number})
        assert time.monotonic() - began < PATIENCE / 2
        assert 45 <= journal.lost <= 46  # four wait, and one is being written or not yet
        assert "too slowly" in journal.status
        assert len(said) == 1
    assert time.monotonic() - began < 2 * PATIENCE  # the end does not wait for ever
    disk.goes_on.set()


def wait_for(condition, seconds=10.0):
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end
        time.sleep(0.01)

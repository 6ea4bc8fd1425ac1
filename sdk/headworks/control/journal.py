"""The record of one round of the control loop, and the journal: one JSON object a line, from which it is decided again.

The record has the outcome of a round, its check of tasks and its counts. A journal is appended to, never changed.
"""

from __future__ import annotations

import glob
import json
import mmap
import os
from datetime import UTC, datetime
from pathlib import Path
from textwrap import shorten
from typing import TYPE_CHECKING, Any, Literal, Protocol

import attrs

from headworks.control.forecast import CheckedFigure, Forecast, TaskStop
from headworks.errors import DocumentError
from headworks.hooks import Verdict
from headworks.model import FrozenMap, Plan, Receipt, Request
from headworks.model.plan import html_table

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping

    from headworks.model import Slot, Topology
TIME = "%Y-%m-%dT%H:%M:%SZ"
"""Form of times in records, for `strftime`; as text, they are in the order of time."""
SHOWN = 300
"""Characters of a message that the one line of a round shows."""

Outcome = Literal[
    "quiet",
    "unchanged",
    "held",
    "waiting",
    "vetoed",
    "failed",
    "executed",
    "missed",
    "rolled-back",
    "asserted",
    "undone",
    "answered",
    "ended",
]
"""How a round ended.

quiet: the analysis called for no plan; unchanged: the plan moves nothing; held: there is no usable plan; waiting: a
guard holds the plan back, no move of it holds any more, or there is nothing to place yet; vetoed: a reviewing plugin
objects; failed: the monitor or the executor failed, or the observation contradicts itself; executed: every task was
seen where the plan put it, but for moves that were dropped; missed: the plan was carried out, but some task was not
seen in its place; rolled-back: carrying out failed, and was undone; asserted: tasks had left their places, and were
seen there again after a reminder; undone: an earlier plan had made things worse, and was taken back; answered: the
engine asked for places of tasks without a slot, and got them; ended: the application is over.
"""


@attrs.frozen(kw_only=True)
class Check:
    """Verification of a plan: nodes where tasks were seen against those asked for."""

    asked: int = 0
    hits: int = 0
    missed: tuple[str, ...] = ()


@attrs.frozen(kw_only=True, repr=False)
class Round:
    """Record of a round in the journal: observation, decision, actions.

    `request` is everything the scheduler was given, so that the plan can be made again; `notes` are what the monitor
    said beyond figures; `scaling` is what was done to add or drain nodes, None if nothing was. `counts` are what the
    adapter counts beside the rounds since it started, by name: reports that it refused, records that it lost.
    `at` is when it ended, in UTC, as `2026-01-31T23:59:59Z`. `moved` is the number of running tasks that it moved.
    `forecast` is what was expected of the plan; `checked` are forecasts of an earlier plan beside what this round
    measured; `stops` are the times for which tasks stopped that it moved.
    """

    number: int
    outcome: Outcome
    message: str = ""
    verdict: Verdict = Verdict(replan=False)
    request: Request | None = None
    plan: Plan | None = None
    warnings: tuple[str, ...] = ()
    receipt: Receipt | None = None
    check: Check = Check()
    notes: tuple[str, ...] = ()
    scaling: Receipt | None = None
    counts: FrozenMap[str, int] = FrozenMap()
    at: str = ""
    moved: int = 0
    forecast: Forecast | None = None
    checked: tuple[CheckedFigure, ...] = ()
    stops: tuple[TaskStop, ...] = ()

    @property
    def dropped(self) -> FrozenMap[str, str]:
        """Tasks that stay against the plan, as their places held no more or a bound was reached, with the reason."""
        return FrozenMap() if self.receipt is None else self.receipt.dropped

    def __repr__(self) -> str:
        """A line: what it holds is `headworks.documents.dumps(round)`."""
        said = shorten(self.message, SHOWN, placeholder=" ...")  # an engine's error has many lines
        return f"<Round {self.number}: {self.outcome}{said and ': '}{said}>"

    def _repr_html_(self) -> str:
        """Tables for a notebook: what was done and said, and the plan."""
        rows = [("round", self.number), ("ended", self.at), ("outcome", self.outcome), ("message", self.message)]
        rows += [("warning", each) for each in self.warnings] + [("note", each) for each in self.notes]
        plan = "" if self.plan is None else self.plan._repr_html_()
        return html_table(("figure", "value"), rows) + plan


def now() -> str:
    """The time in UTC, to the second, as records have it."""
    return datetime.now(UTC).strftime(TIME)


def compare_assignments(asked: Mapping[str, Slot], seen: Mapping[str, Slot]) -> Check:
    """Count the tasks that were seen on the node that was asked for; a task not seen at all is missed."""
    missed = tuple(sorted(task for task, slot in asked.items() if task not in seen or seen[task].node != slot.node))
    return Check(asked=len(asked), hits=len(asked) - len(missed), missed=missed)


def without_missing_tasks(plan: Plan, topologies: Iterable[Topology]) -> dict[str, Slot]:
    """The slots that a plan asks for, but those of tasks beyond the number that an engine runs.

    Only components whose parallelism the plan chooses lose any: an engine may run fewer, and its receipt says so.

    Args:
        topologies: The topologies as the engine runs them after it.
    """
    runs = {f"{topology.id}/{part.id}": part.parallelism for topology in topologies for part in topology.components}
    most = {name: runs[name] for name in plan.parallelism if name in runs}
    parts = ((task, slot, *task.rpartition("/")[::2]) for task, slot in plan.assignment.items())
    return {task: slot for task, slot, name, index in parts if name not in most or int(index) < most[name]}


GOOD = frozenset({"received"})
"""Counts that may grow without a warning."""


class Counts:
    """Reads counts once a round, and knows those of the round before."""

    def __init__(self, read: Callable[[], Mapping[str, int]]) -> None:
        """Take what reads them.

        Args:
            read: Counts since the start, by name; raises nothing.
        """
        self._read = read
        self._before: Mapping[str, int] = {}

    def add(self, done: Round) -> Round:
        """The round with the counts, and with a warning that names those that have grown since the last one."""
        now = FrozenMap(self._read())
        grown = {name: count - self._before.get(name, 0) for name, count in now.items() if name not in GOOD}
        said = ", ".join(f"{count} more {name}" for name, count in grown.items() if count > 0)
        self._before = now
        warnings = (*done.warnings, f"since the last round: {said}") if said else done.warnings
        return attrs.evolve(done, counts=now, warnings=warnings)


class Journal(Protocol):
    """Sink of round records, which can be read again."""

    def append(self, record: Mapping[str, Any]) -> None:
        """Record one round."""

    def recent(self, since: str) -> Iterable[Mapping[str, Any]]:
        """Records of rounds that ended at a time or later, newest first; older ones are not read.

        They may lack what records say before their time, which is nearly all of a large one.

        Args:
            since: In UTC, as records have it.

        Raises:
            DocumentError: The journal cannot be read.
        """


class NoJournal:
    """Records nothing."""

    def append(self, record: Mapping[str, Any]) -> None:
        """Forget the round."""

    def recent(self, since: str) -> Iterable[Mapping[str, Any]]:  # noqa: ARG002 - it has none, of whatever time
        """No record."""
        return ()


LARGEST = 2**28
"""Bytes of a file of a rotated journal, about. A record of a large cluster is megabytes."""
FILES = 8
"""Older files of a rotated journal that are kept, `NAME.1` the newest."""


class FileJournal:
    """Records in a file. A record is one write of one line, flushed to disk; an older file is continued.

    A line that a crash or a full disk cut off is ended first, so that it spoils no other.
    """

    def __init__(self, path: str | Path, *, largest: int | None = None, files: int = FILES) -> None:
        """Open the file for appending.

        Args:
            largest: Bytes from which on the file is put aside as `NAME.1`, before that `NAME.1` as `NAME.2` and so on;
                None never does.

        Raises:
            DocumentError: The file cannot be written.
        """
        self.path = Path(path)
        self._largest, self._files = largest, files
        try:
            self.path.parent.mkdir(parents=True, exist_ok=True)
            self._whole = _ends_a_line(self.path)
        except OSError as error:
            raise self._unwritable(error) from None
        self._write("")

    def append(self, record: Mapping[str, Any]) -> None:
        """Record one round.

        Raises:
            DocumentError: The file cannot be written any more.
        """
        self._write(json.dumps(record, separators=(",", ":"), allow_nan=False) + "\n")

    def recent(self, since: str) -> Iterator[Mapping[str, Any]]:
        """Records of rounds that ended at a time or later, newest first; see `Journal.recent`."""
        for each in reversed(journal_files(self.path)):
            try:
                for record in filter(None, map(_read_end, _lines_backwards(each))):
                    if str(record.get("at", "")) < since:
                        return
                    yield record
            except OSError as error:
                raise DocumentError("", f"the journal {each} cannot be read: {error.strerror}") from None

    def _write(self, text: str) -> None:
        try:
            self._rotate()
            with open(self.path, "ab", opener=_private) as file:
                ended, self._whole = self._whole, False
                file.write(text.encode() if ended else b"\n" + text.encode())
                file.flush()
                os.fsync(file.fileno())
                self._whole = True
        except OSError as error:
            raise self._unwritable(error) from None

    def _rotate(self) -> None:
        """Put a file aside that is large enough: the oldest is dropped, each other one a number older."""
        if self._largest is None or not self.path.exists() or self.path.stat().st_size < self._largest:
            return
        for number in range(self._files - 1, 0, -1):
            if (older := _aside(self.path, number)).exists():
                older.replace(_aside(self.path, number + 1))
        self.path.replace(_aside(self.path, 1))
        self._whole = True

    def _unwritable(self, error: OSError) -> DocumentError:
        return DocumentError("", f"the journal {self.path} cannot be written: {error.strerror}")


def _aside(path: Path, number: int) -> Path:
    return path.with_name(f"{path.name}.{number}")


def _private(path: str, flags: int) -> int:
    """Open a file that its owner alone may read if it is made now: records name hosts and topologies."""
    return os.open(path, flags, 0o600)


def _ends_a_line(path: Path) -> bool:
    with open(path, "a+b", opener=_private) as file:
        if file.seek(0, os.SEEK_END) == 0:
            return True
        file.seek(-1, os.SEEK_END)
        return file.read() == b"\n"


def read_journal(path: str | Path) -> Iterator[dict[str, Any]]:
    """Records of a journal and the files that it put aside, oldest first; lines that were cut off are left out.

    Raises:
        DocumentError: The file cannot be read.
    """
    for each in journal_files(path):
        try:
            with each.open("rb") as file:
                yield from filter(None, map(read_record, file))
        except OSError as error:
            raise DocumentError("", f"the journal {each} cannot be read: {error.strerror}") from None


def _lines_backwards(path: Path) -> Iterator[bytes]:
    with path.open("rb") as file:
        end = file.seek(0, os.SEEK_END)
        if end == 0:  # nothing can be mapped
            return
        with mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as text:
            while end > 0:
                begin = text.rfind(b"\n", 0, end - 1) + 1
                yield text[begin:end]
                end = begin


def journal_files(path: str | Path) -> tuple[Path, ...]:
    """A journal's files, oldest first: those that it put aside, and itself."""
    older = Path(path).parent.glob(f"{glob.escape(Path(path).name)}.*")
    numbers = sorted((int(each.suffix[1:]) for each in older if each.suffix[1:].isdecimal()), reverse=True)
    return (*(_aside(Path(path), number) for number in numbers), Path(path))


def read_record(line: bytes) -> dict[str, Any]:
    """The record of a line, {} for one that was cut off."""
    try:
        found = json.loads(line) if line.endswith(b"\n") else {}
    except ValueError:
        return {}
    return found if isinstance(found, dict) else {}


def _read_end(line: bytes) -> dict[str, Any]:
    """The record of a line from its time on: a day of a large cluster is gigabytes of requests and plans."""
    # Quotes within text are escaped, and no field after this one has another of that name.
    begin = line.rfind(b'"at":"')
    return (read_record(b"{" + line[begin:]) if begin >= 0 else {}) or read_record(line)

"""Rounds of the control loop under a command: settings, journal, and a screen that holds up nobody."""

from __future__ import annotations

import contextlib
import io
import json
import logging
import os
import queue
import sys
import threading
import time
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING, Self, TextIO

import click

from headworks.cli.logs import line, line_of
from headworks.cli.output import console, say, trimmed
from headworks.cli.parameters import Address
from headworks.cli.settings import Pace, Setting, settings_of
from headworks.errors import EngineError, how_to_install, printable
from headworks.interrupts import raise_pending

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping

    from headworks.control.journal import Journal, Round
    from headworks.control.loop import Loop
    from headworks.control.totals import HeardRounds
    from headworks.plugins.host import PluginHost


LOG = logging.getLogger("headworks.cli.rounds")
WAITING = 64
"""Entries that wait at most for a background queue. One of a large cluster is megabytes."""
PATIENCE = 2.0
"""Seconds that the end of a process waits for what is left."""
BAD = ("failed", "held")
"""Outcomes after which a command ends with exit code 1."""
LOST = ("vetoed", "missed", "rolled-back")
"""Outcomes of plans that did not come to be. A later round may make that good: alone they are exit code 1."""
GOOD = ("executed", "unchanged", "asserted", "answered")
"""Outcomes after which tasks were seen where a plan wants them, or are going there."""

journal_option = click.option(
    "--journal", type=click.Path(dir_okay=False, path_type=Path), help="Append every round to this file."
)

metrics_option = click.option(
    "--metrics",
    type=Address("127.0.0.1"),
    metavar="[HOST:]PORT",
    help="Where Prometheus can read metrics; without HOST, on this machine alone.",
)
metrics_tasks_option = click.option(
    "--metrics-tasks",
    type=click.IntRange(min=0),
    default=0,
    show_default=True,
    help="Most tasks whose own figures --metrics shows, those with the most CPU.",
)


@contextlib.contextmanager
def watched(
    engine: str,
    host: PluginHost,
    metrics: tuple[str, int] | None = None,
    counts: Callable[[], Mapping[str, int]] = dict,
    *,
    tasks: int = 0,
) -> Iterator[HeardRounds]:
    """Let other commands of the user ask about rounds while the block runs, and Prometheus read their totals.

    Args:
        metrics: Host and port of the metrics; None shows none.
        counts: Reads what the adapter counts beside the rounds.
        tasks: Most tasks whose figures are shown.

    Yields:
        Is to hear of each round.

    Raises:
        EngineError: The address is taken, or a library is missing.
        UsageError: There are no metrics for tasks to be shown in.
    """
    if tasks and metrics is None:
        raise click.UsageError("--metrics-tasks adds figures to --metrics: give --metrics [HOST:]PORT as well")
    # numpy and cattrs cost 0.2 s, which the list of commands does not need.
    from headworks.cli.live import offered
    from headworks.control.totals import HeardRounds

    heard = HeardRounds()
    with contextlib.ExitStack() as stack:
        stack.enter_context(offered(engine, heard.newest))
        if metrics is not None:
            stack.enter_context(_metrics(metrics, heard, host, counts, tasks))
        yield heard


@contextlib.contextmanager
def _metrics(
    address: tuple[str, int], heard: HeardRounds, host: PluginHost, counts: Callable[[], Mapping[str, int]], tasks: int
) -> Iterator[None]:
    try:
        from headworks.report.prometheus import served  # the extra `metrics`, which other commands work without
    except ModuleNotFoundError as error:
        raise EngineError(f"{error.name} is not installed: {how_to_install('metrics')}") from None
    with served(address, heard, host.tally, counts, tasks) as url:
        say(f"metrics are at {url}; anyone who reaches that address can read them")
        yield


def loop_settings(*, without: Iterable[str] = ()) -> tuple[Setting, ...]:
    """The settings of every command that runs the control loop."""
    from headworks.control.loop import Control  # needs numpy, which a list of commands does not

    return tuple(each for each in settings_of(Control, Pace) if each.name not in without)


def make_journal(path: Path | None) -> Journal:
    """The journal in a file, or none.

    Raises:
        DocumentError: The file cannot be written.
    """
    # numpy, cattrs and rich cost 0.2 s, which the list of commands does not need.
    from headworks.control.journal import LARGEST, FileJournal, NoJournal

    return FileJournal(path, largest=LARGEST) if path else NoJournal()


def run_rounds(
    loop: Loop,
    pace: Pace,
    *,
    show: Callable[[Round], None],
    hear: Callable[[Round], None],
    wait: Callable[[float], object] = time.sleep,
) -> int:
    """Run rounds until there were enough or the application ended; the number of bad ones (`bad_rounds`).

    Args:
        show: Shows a round.
        hear: Hears of it, with the request of what it saw.
        wait: Lets the seconds between two rounds pass: an engine may have a clock of its own. True says that no more
            are wanted.
    """
    outcomes: Counter[str] = Counter()
    while pace.rounds is None or outcomes.total() < pace.rounds:
        if outcomes and wait(pace.interval):
            break
        done = loop.round(replan=pace.replan)
        hear(loop.newest or done)
        raise_pending()
        show(done)
        outcomes[done.outcome] += 1
        if done.outcome == "ended":
            break
    return bad_rounds(outcomes)


def bad_rounds(outcomes: Mapping[str, int]) -> int:
    """Count the rounds that are a reason for exit code 1: those that broke, and lost plans where no plan came to be."""
    made = any(outcomes.get(each) for each in GOOD)
    return sum(outcomes.get(each, 0) for each in (BAD if made else (*BAD, *LOST)))


class RoundTexts:
    """Texts of the rounds of a command: moves are told where they are not those that were told last."""

    def __init__(self, *, as_json: bool) -> None:
        self._as_json, self._told = as_json, ""

    def of(self, done: Round) -> tuple[str, str]:
        """The text of a round for stderr and for stdout."""
        message, data = self._plain(done)
        level = logging.WARNING if done.outcome in (*BAD, *LOST) else logging.INFO
        said = line(message.removesuffix("\n"), name="headworks.rounds", level=level, number=done.number)
        return message and f"{said}\n", data

    def _plain(self, done: Round) -> tuple[str, str]:
        message, data = round_text(done, as_json=self._as_json)
        if self._as_json or not data:
            return message, data
        if data == self._told:
            return f"{message}  {len(done.plan.moves) if done.plan else 0:,} moves, the same as last shown\n", ""
        self._told = data
        return message, data


def show_round(done: Round, stdout: TextIO, texts: RoundTexts) -> None:
    """Print a round: one line of JSON, or a sentence and the moves."""
    message, data = texts.of(done)
    click.echo(message, err=True, nl=False)
    click.echo(data, stdout, nl=False)


def round_text(done: Round, *, as_json: bool) -> tuple[str, str]:
    """A round as text for stderr and for stdout."""
    # numpy, cattrs and rich cost 0.2 s, which the list of commands does not need.
    from headworks.cli.tables import moves_table, repairs_table
    from headworks.control.forecast import sentences
    from headworks.documents import unstructure
    from headworks.model.spoken import spoken

    if as_json:
        return "", json.dumps(unstructure(done), ensure_ascii=False, allow_nan=False) + "\n"
    said = (*done.warnings, *sentences(done.forecast, done.checked))
    lines = (f"round {done.number}: {done.outcome}: {done.message}", *(f"  {each}" for each in said))
    asked = done.request
    say = str if asked is None else spoken(asked.cluster.nodes, asked.topologies)
    message = printable(say("".join(f"{line}\n" for line in (*lines, *(f"  {each}" for each in done.notes)))))
    if done.plan is None or not done.plan.moves:
        return message, ""
    screen = console()
    with screen.capture() as captured:
        if done.plan.repaired:
            screen.print(repairs_table(done.plan, say))
        screen.print(moves_table(done.plan, say))
    return message, trimmed(captured.get())


class BackgroundQueue:
    """Does one thing after the other on a thread of its own, in a `with` block; any thread may put things in.

    Attributes:
        dropped: Entries that found the queue full.
        failed: Entries that raised, against what `put` asks for.
    """

    def __init__(self, name: str, *, waiting: int = WAITING) -> None:
        self.dropped = self.failed = 0
        self._lock = threading.Lock()
        self._queue: queue.Queue[Callable[[], None] | None] = queue.Queue(waiting)
        self._thread = threading.Thread(target=self._run, name=name, daemon=True)

    @property
    def lost(self) -> int:
        """Entries that were not done, or not to their end."""
        return self.dropped + self.failed

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_error: object) -> None:
        """Wait for what is left, though not for ever."""
        try:
            self._queue.put(None, timeout=PATIENCE / 2)
        except queue.Full:
            return
        self._thread.join(PATIENCE / 2)

    def put(self, work: Callable[[], None]) -> None:
        """Do something when its turn comes; without waiting, it is dropped where too much waits already.

        Args:
            work: Raises nothing; if it does, that is counted and logged, and the next one is done.
        """
        try:
            self._queue.put_nowait(work)
        except queue.Full:
            with self._lock:
                self.dropped += 1

    def _run(self) -> None:
        broken = False
        while (work := self._queue.get()) is not None:
            try:
                work()
            except Exception:
                self.failed += 1
                if not broken:  # the first of several: what shows the log may be what fails
                    LOG.exception("%s could not do an entry, and goes on", self._thread.name)
                broken = True
            else:
                broken = False


class Screen:
    """Writes to stdout and stderr by a background queue, whose thread alone stands where a pipe is full.

    Attributes:
        lost: Rounds and messages that were not shown: the queue was full, nobody reads any more, or they failed.
    """

    def __init__(self, background: BackgroundQueue, *, as_json: bool) -> None:
        self._background, self._texts = background, RoundTexts(as_json=as_json)
        self._unread = self._told = 0

    @property
    def lost(self) -> int:
        """Rounds and messages that were not shown."""
        return self._unread + self._background.lost

    def show(self, done: Round) -> None:
        """Show a round when its turn comes."""
        self._background.put(lambda: self._write(*self._texts.of(done)))

    def say(self, message: str) -> None:
        """Say something on stderr when its turn comes."""
        self.write(line(message))

    def write(self, text: str) -> None:
        """Write a line to stderr when its turn comes."""
        self._background.put(lambda: self._write(f"{text}\n", ""))

    def _write(self, message: str, data: str) -> None:
        if self.lost > self._told:
            self._told, lost = self.lost, self.lost - self._told
            said = f"{lost} rounds and messages were not shown: nobody read them in time"
            message = f"{line(said, level=logging.WARNING)}\n{message}"
        try:
            _put(sys.stderr, message)
            _put(sys.stdout, data)
        except (OSError, ValueError):  # whoever read has gone, or the stream is closed
            self._unread += 1


class ScreenHandler(logging.Handler):
    """Handler of log records that shows them on a screen, and so keeps no thread waiting that logs."""

    def __init__(self, screen: Screen) -> None:
        super().__init__()
        self._screen = screen

    def emit(self, record: logging.LogRecord) -> None:
        """Show a record when its turn comes."""
        self._screen.write(line_of(record, self.format(record)))


def _put(stream: TextIO, text: str) -> None:
    # Past Python's own buffer: a thread that stands in it holds its lock, and then no process ends in order.
    with contextlib.suppress(io.UnsupportedOperation):
        descriptor, left = stream.fileno(), text.encode(stream.encoding or "utf-8", "replace")
        while left:
            left = left[os.write(descriptor, left) :]
        return
    stream.write(text)

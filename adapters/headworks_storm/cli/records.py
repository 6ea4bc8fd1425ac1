"""Records of rounds, journalled and shown by threads of their own: Nimbus and the control loop wait for neither."""

from __future__ import annotations

import contextlib
import logging
from typing import TYPE_CHECKING, Any

from headworks.cli.rounds import ScreenHandler
from headworks.errors import DocumentError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping

    from headworks.cli.rounds import BackgroundQueue, Screen
    from headworks.control.journal import Journal, Round
    from headworks_storm.nimbus.rounds import RoundDecision
    from headworks_storm.nimbus.snapshot import Snapshot


class QueuedJournal:
    """Journal that a background queue writes to; what cannot be written is counted and said.

    Attributes:
        journal: The sink.
        lost: Records that could not be made or written, and those that found the queue full.
        trouble: What is wrong, "" where the last record was written.
    """

    def __init__(self, journal: Journal, background: BackgroundQueue, say: Callable[[str], None]) -> None:
        """Take the sink and the way there.

        Args:
            say: Is told when records begin to be lost and when they are written again; does not block.
        """
        self.journal, self._background, self._say = journal, background, say
        self._failed = 0
        self.trouble = ""

    @property
    def lost(self) -> int:
        """Records that are not in the journal."""
        return self._failed + self._background.lost

    @property
    def status(self) -> str:
        """A sentence for people while records are lost; "" while all is well."""
        if self.trouble:
            return f"{self.trouble}; {self.lost} rounds are not in it"
        return ""

    def append(self, record: Mapping[str, Any]) -> None:
        """Record one round when its turn comes."""
        self.append_made(lambda: record)

    def recent(self, since: str) -> Iterable[Mapping[str, Any]]:
        """Records of rounds that ended at a time or later, newest first."""
        return self.journal.recent(since)

    def append_made(self, make: Callable[[], Mapping[str, Any]]) -> None:
        """Record one round, whose record is made on the thread of the background queue."""
        before = self._background.dropped
        self._background.put(lambda: self._write(make))
        if self._background.dropped > before and not self.trouble:
            self.trouble = "the journal is written too slowly"
            self._say(self.status)

    def _write(self, make: Callable[[], Mapping[str, Any]]) -> None:
        try:
            self.journal.append(make())
        except DocumentError as error:
            self._failed += 1
            began, self.trouble = not self.trouble, str(error)
            if began:
                self._say(self.status)
            return
        if self.trouble:
            self.trouble = ""
            self._say(f"the journal is written again; {self.lost} rounds are not in it")


class Records:
    """Journal and screen of a service.

    Attributes:
        journal: The journal, which raises nothing and keeps nobody waiting.
        count: Reads what the service counts beside the rounds.
        hear: Hears of each round of Nimbus in which executors were placed; does not block.
    """

    def __init__(self, journal: Journal, background: BackgroundQueue, screen: Screen, *, shadow: bool = False) -> None:
        """Take the sinks.

        Args:
            journal: Is written to by the background queue alone.
            background: The journal's queue.
            screen: Shows rounds, and says what is wrong with the journal.
            shadow: Whether Storm's own scheduler acts in place of plans.
        """
        # numpy and cattrs cost 0.2 s, which the list of commands does not need.
        from headworks.control.journal import Counts

        self.journal = QueuedJournal(journal, background, screen.say)
        self.count: Callable[[], Mapping[str, int]] = dict
        self.hear: Callable[[Round], None] = lambda _done: None
        self._screen, self._shadow = screen, shadow
        self._answers = Counts(self.counts)

    def counts(self) -> dict[str, int]:
        """Counts beside the rounds, by name: those of the service, and what journal and screen have lost."""
        return {**self.count(), "unjournalled": self.journal.lost, "unshown": self._screen.lost}

    def show(self, done: Round) -> None:
        """Show a round of the control loop."""
        self._screen.show(self._noted(done))

    def answered(self, snapshot: Snapshot, decision: RoundDecision) -> None:
        """Journal and show a round of Nimbus in which executors were placed; its record is made later.

        Args:
            snapshot: The round.
            decision: The answer, and the plan behind it.
        """
        # numpy and cattrs cost 0.2 s, which the list of commands does not need.
        from headworks.documents import unstructure

        done = self._answers.add(_round(snapshot, decision, shadow=self._shadow))
        self.hear(done)

        def record() -> Mapping[str, Any]:
            made: Mapping[str, Any] = unstructure(done)
            return made

        self.journal.append_made(record)
        self._screen.show(self._noted(done))

    def _noted(self, done: Round) -> Round:
        """The round with a note as long as the journal is not written."""
        # numpy and cattrs cost 0.2 s, which the list of commands does not need.
        import attrs

        status = self.journal.status
        return attrs.evolve(done, notes=(*done.notes, status)) if status else done

    @contextlib.contextmanager
    def logging(self) -> Iterator[None]:
        """Show Headworks's log on the screen, too: who logs does not wait for who reads."""
        handler, logger = ScreenHandler(self._screen), logging.getLogger("headworks")
        passed, logger.propagate = logger.propagate, False
        logger.addHandler(handler)
        try:
            yield
        finally:
            logger.removeHandler(handler)
            logger.propagate = passed


def _round(snapshot: Snapshot, decision: RoundDecision, *, shadow: bool) -> Round:
    # numpy and cattrs cost 0.2 s, which the list of commands does not need.
    from headworks.control.journal import Round, now

    answer = decision.answer
    message = f"Nimbus has {len(snapshot.unassigned)} executors without a slot"
    if answer.mode == "hold":
        message = f"{message}: {answer.reason}"
        return Round(number=snapshot.round, outcome="held", message=message, notes=decision.notes, at=now())
    message = f"{message}; shadow: Storm's own scheduler places them" if shadow else message
    texts = "; ".join(f"{topology}: {text}" for topology, text in sorted(answer.status.items()))
    return Round(
        number=snapshot.round,
        outcome="unchanged" if shadow else "answered",
        message=f"{message}; {texts}",
        plan=decision.plan,
        request=decision.request,
        notes=decision.notes,
        at=now(),
    )

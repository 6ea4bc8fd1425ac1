"""Triggers from a Kafka topic into the database, in a thread of their own; whatever is gone is waited for."""

from __future__ import annotations

import threading
import time
from typing import TYPE_CHECKING, Any, Self

from headworks.errors import EngineError, HeadworksError
from headworks_manager.database.topics import Letter, Topics
from headworks_manager.plain import outcome, plain

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from contextlib import AbstractContextManager

    from headworks_manager.database.store import Store
    from headworks_manager.database.topics import Message, Outcome, Partition
    from headworks_manager.kafka.client import Topic

BATCH = 500
"""Messages of one transaction at most."""
POLL = 0.2
"""Seconds that one look for messages lasts."""
LOOK = 5.0
"""Seconds between two looks at the topic: whether the broker answers, whether it is the same topic with the same
partitions."""
RETRY = 2.0
"""Seconds after which what is gone is tried again."""
LETTERS = 1000
"""Letters that the database keeps for a dead-letter topic that takes none."""
GOODBYE = 5.0
"""Seconds that a transaction under way has at the end."""


class Intake:
    """Takes triggers in a `with` block.

    The database is what says how far it is: offsets change in the transaction of the triggers. So a manager that is
    killed anywhere, or has a twin, takes each message once.

    Attributes:
        ended: Set when the thread is over.
    """

    def __init__(
        self,
        topic: Topic,
        use: Callable[[], AbstractContextManager[Store]],
        tell: Callable[[Mapping[str, Any]], None],
    ) -> None:
        """Take where triggers come from, and where they go.

        Args:
            topic: The topic.
            use: Opens the store, or takes the one that is open.
            tell: Hears of each trigger that was taken, and of what holds; does not block.
        """
        self._topic, self._use, self._tell = topic, use, tell
        self.ended = threading.Event()
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._run, name="headworks-kafka", daemon=True)
        self._partitions: list[Partition] = []
        self._polled: dict[Partition, list[Message]] = {}
        self._look_at = self._deliver_at = 0.0
        self._held = ""

    def __enter__(self) -> Self:
        """Begin."""
        self._thread.start()
        return self

    def __exit__(self, *_error: object) -> None:
        """Finish the transaction under way, and hang up."""
        self._stop.set()
        self._thread.join(GOODBYE)

    def _run(self) -> None:
        try:
            while not self._stop.is_set():
                try:
                    self._step()
                    self._goes_on()
                except HeadworksError as error:
                    self._hold(str(error))
                    self._stop.wait(RETRY)
            self._topic.close()
        finally:
            self.ended.set()

    def _step(self) -> None:
        """Look at the topic if it is time, take what came, and send off what is no trigger."""
        if time.monotonic() >= self._look_at:
            self._look()
            self._look_at = time.monotonic() + LOOK
        if not self._polled:
            self._polled = self._topic.poll(BATCH, POLL)
        while self._polled:
            partition = next(iter(self._polled))
            with self._use() as store:
                outcomes = _topics(store).take(partition, self._polled[partition])
            del self._polled[partition]
            self._show(outcomes)
        if time.monotonic() >= self._deliver_at:
            self._deliver()

    def _look(self) -> None:
        """Begin again where the topic is another one, or has other partitions."""
        found = self._topic.partitions()
        if found == self._partitions:
            return
        places = {}
        with self._use() as store:
            topics = _topics(store)
            for each in found:
                following = topics.following(each)  # before the ends: a twin may go on meanwhile
                first, end = self._topic.ends(each)
                if following is not None and following > end:
                    topics.correct(each, end)
                places[each] = first if following is None else min(max(following, first), end)
        self._topic.begin(places)
        self._partitions, self._polled = found, {}

    def _show(self, outcomes: list[Outcome]) -> None:
        for message, made in outcomes:
            if isinstance(made, Letter):
                self._deliver_at = 0.0
                where = {"partition": made.partition.number, "offset": message.offset, "pointer": made.pointer}
                said = f"message {message.offset} of {self._topic.name}/{made.partition.number}: {made.error}"
                self._tell({"verdict": "refused", "message": said, **where})
            else:
                self._tell(plain(outcome(made)))

    def _deliver(self) -> None:
        """Put letters into their topic; one that takes none holds up triggers when too many letters wait."""
        with self._use() as store:
            topics = _topics(store)
            letters = topics.letters(BATCH)
            self._deliver_at = time.monotonic() + (RETRY if letters else LOOK)
            if letters:
                try:
                    self._topic.deliver(letters)
                except EngineError as error:
                    if topics.waiting() >= LETTERS:
                        raise
                    self._tell({"verdict": "waits", "message": f"{len(letters)} letters wait: {error}"})
                    return
                topics.delivered(letters)
                self._deliver_at = 0.0 if len(letters) == BATCH else time.monotonic() + LOOK

    def _hold(self, why: str) -> None:
        """Say so once, and begin again from what the database says."""
        self._look_at, self._partitions = 0.0, []
        if not self._held:
            self._tell({"verdict": "held", "message": f"triggers wait in Kafka: {why}"})
        self._held = why

    def _goes_on(self) -> None:
        if self._held:
            self._tell({"verdict": "goes on", "message": f"triggers of {self._topic.name} are taken again"})
        self._held = ""


def _topics(store: Store) -> Topics:
    return Topics(store.engine, cluster=store.cluster)

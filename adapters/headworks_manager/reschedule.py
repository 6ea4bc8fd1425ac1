"""Rescheduling carried out: each stage acts on the engine, then is written down; a process that ends leaves a trace."""

from __future__ import annotations

import contextlib
import logging
import time
from typing import TYPE_CHECKING

import attrs

from headworks.errors import EngineError, HeadworksError
from headworks.interrupts import held
from headworks.model import Backlog, FrozenMap, Receipt, Step
from headworks_manager.rules.rescheduling import WORDS, advanced, readiness, recovered

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from headworks.model import Change, Drain, Steering
    from headworks_manager.database.reschedulings import Reschedulings
    from headworks_manager.rules.rescheduling import Rescheduling, Stage

LOG = logging.getLogger("headworks.manager")
POLL = 0.25
"""Seconds between two looks at a topology that drains. With more, it pauses for longer than it has to."""
RESUMING = 60.0
"""Seconds for which a topology is resumed again and again where the engine does not answer. With fewer, a Nimbus that
restarts fails the round; with more, a dead one is noticed later. The next round tries again in any case."""
STARTING = 120.0
"""Seconds that workers of a change which was cut off are given to report before it is undone. With fewer, Storm's
supervisor takes those that are still starting for dead, and they keep their ports for ever; with more, topologies that
report nothing pause for longer."""


@attrs.frozen(kw_only=True)
class _Done:
    """Result of a stage: whether it is over, rows of the history, and the receipt where tasks were moved."""

    done: bool
    words: tuple[tuple[str, str], ...]
    receipt: Receipt | None = None

    @property
    def why(self) -> str:
        return self.words[-1][1]


class Rescheduler:
    """Takes reschedulings from stage to stage, on one engine."""

    def __init__(
        self,
        kept: Reschedulings,
        steering: Steering,
        *,
        clock: Callable[[], float] = time.monotonic,
        sleep: Callable[[float], None] = time.sleep,
    ) -> None:
        """Take the database and the engine.

        Args:
            kept: The database.
            steering: The engine.
            clock: Seconds.
            sleep: Waits for so many seconds.
        """
        self._kept, self._steering, self._clock, self._sleep = kept, steering, clock, sleep

    def carry_out(self, change: Change, drain: Drain) -> Receipt:
        """Carry a change out; see `headworks.hooks.optional.PrioritySpec`.

        Args:
            change: The change.
            drain: How long to wait until its topologies are empty.

        Raises:
            EngineError: The database or the engine failed, and the topologies are active again; or they could not be
                resumed, or their old allocation does not come back.
        """
        intake = self._steering.intake
        paused = sorted(name for name, each in intake.backlog(change.topologies).items() if each.active)
        now = self._kept.begin(intake.cluster, change.topologies, paused, change.before)
        steps: list[Step] = []
        receipt = Receipt()
        try:
            while now.stage != "ended":
                stage, result = now.stage, self._act(now, change, drain)
                receipt = result.receipt or receipt
                now = _resumed(self._written(now, result), stage)
                steps += [Step(action=stage, subject=", ".join(now.topologies), done=result.done, message=result.why)]
                steps += result.receipt.steps if result.receipt is not None else ()
        except BaseException as error:
            self._rescue(now, ended=isinstance(error, KeyboardInterrupt | SystemExit))
            raise
        if now.outcome == "failed":
            raise EngineError(f"{now.why}; and the old allocation of {', '.join(now.topologies)} did not come back")
        done = now.outcome == "done"
        return attrs.evolve(receipt, done=done, steps=tuple(steps), undo=receipt.undo if done else FrozenMap())

    def recover(self) -> tuple[str, ...]:
        """Finish or undo what other processes began on this cluster; a sentence for each.

        Raises:
            EngineError: The database or the engine does not answer; what is left is tried again by the next call.
        """
        said = []
        for found in self._kept.open(self._steering.intake.cluster):
            now = recovered(found)
            if now.stage == "undo":
                self._let_start(now.topologies)
            while now.stage != "ended":
                result = self._act(now, None, None)
                now = found = _resumed(self._written(now, result, found), now.stage)
            names = ", ".join(now.topologies)
            said.append(f"rescheduling {now.number} of {names} was ended: {now.outcome}, {now.why}")
        return tuple(said)

    def _written(self, now: Rescheduling, result: _Done, found: Rescheduling | None = None) -> Rescheduling:
        after = advanced(now, done=result.done, why=result.why)
        return self._kept.write(found or now, after, result.words)

    def _act(self, now: Rescheduling, change: Change | None, drain: Drain | None) -> _Done:
        """Do what the stage of a rescheduling asks for, and wait for it."""
        if now.stage == "pause":
            return self._each(now, self._steering.intake.pause)
        if now.stage == "drain" and drain is not None:
            return self._drain(now, drain)
        if now.stage == "change" and change is not None:
            return _moved("change", change.execute)
        if now.stage == "undo":
            return _moved("undo", lambda: self._steering.rollback(Receipt(undo=now.before)))
        return self._resume(now)

    def _each(self, now: Rescheduling, act: Callable[[str], None]) -> _Done:
        good, bad = WORDS[now.stage]
        try:
            for name in now.paused:
                act(name)
        except HeadworksError as error:
            return _Done(done=False, words=((bad, str(error)),))
        return _Done(done=True, words=((good, ", ".join(now.paused) or "none was active"),))

    def _resume(self, now: Rescheduling) -> _Done:
        begin = self._clock()
        while True:
            result = self._each(now, self._steering.intake.resume)
            if result.done or self._clock() - begin >= RESUMING:
                return result
            self._sleep(1.0)

    def _drain(self, now: Rescheduling, drain: Drain) -> _Done:
        begin = self._clock()
        while True:
            word, why = readiness(self._backlogs(now.topologies), self._clock() - begin, drain)
            if word != "waiting":
                return _Done(done=word != "kept", words=((word, why),))
            self._sleep(POLL)

    def _let_start(self, topologies: Sequence[str]) -> None:
        """Wait until every worker of some topologies reports, as the process that began to move them would have."""
        begin = self._clock()
        while self._clock() - begin < STARTING:
            if all(each.tuples is not None for each in self._backlogs(topologies).values()):
                return
            self._sleep(POLL)

    def _backlogs(self, topologies: Sequence[str]) -> Mapping[str, Backlog]:
        try:
            return self._steering.intake.backlog(topologies)
        except EngineError as error:  # Nimbus may restart meanwhile
            return {name: Backlog(active=False, why=str(error)) for name in topologies}

    def _rescue(self, now: Rescheduling, *, ended: bool) -> None:
        """Leave no topology paused where the database, or a signal, ends a rescheduling in the middle.

        What is not in the database by then is found there later, and done once more: that changes nothing.
        """
        LOG.warning("rescheduling %d of %s ends in the middle", now.number, ", ".join(now.topologies))
        moved = now.stage in ("change", "undo")
        with held():
            if moved and not ended:  # to move tasks takes longer than a process that is told to end has
                _moved("undo", lambda: self._steering.rollback(Receipt(undo=now.before)))
            for name in now.paused:
                with contextlib.suppress(HeadworksError):
                    self._steering.intake.resume(name)
            after = attrs.evolve(now, stage="ended", outcome="failed" if moved else "kept", why="it was ended")
            with contextlib.suppress(HeadworksError):
                if ended:
                    self._kept.write(now, after, [(WORDS["resume"][0], "the manager was told to end")])


def _resumed(now: Rescheduling, stage: Stage) -> Rescheduling:
    """The rescheduling, if its stage is over: one that failed and is next again is `resume`."""
    if now.stage == stage:
        raise EngineError(f"{', '.join(now.paused)} cannot be resumed: {now.why}")
    return now


def _moved(stage: str, act: Callable[[], Receipt]) -> _Done:
    """Move tasks; what the engine says of it, and whether workers were seen to run where asked."""
    good, bad = WORDS[stage]
    try:
        receipt = act()
    except Exception as error:  # noqa: BLE001 - whatever an executor does, topologies are not left paused
        return _Done(done=False, words=((bad, str(error)),))
    if not receipt.done:
        why = "; ".join(step.message for step in receipt.steps if not step.done) or "the engine did not say why"
        return _Done(done=False, words=((bad, why),), receipt=receipt)
    said = [step.message for step in receipt.steps if step.message]
    words = [(good, said[0] if said else "")]
    if stage == "change":
        words.append(("verified", "; ".join(said[1:]) or "by the engine's receipt"))
    return _Done(done=True, words=tuple(words), receipt=receipt)

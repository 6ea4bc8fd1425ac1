"""Thresholds on rows that are not used: beyond them, a run ends with exit code 1."""

from __future__ import annotations

from typing import TYPE_CHECKING

import attrs

from headworks.errors import OptionError
from headworks.model import FrozenMap
from headworks_pipeline.intake.files import UNREADABLE
from headworks_pipeline.tables.clean import DUPLICATE

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping


@attrs.frozen
class Threshold:
    """Most rows of an hour that may have a reason, in percent of those that were read.

    Attributes:
        percent: 0 to 100.
        reason: The reason; "" for all but `duplicate` together.
    """

    percent: float
    reason: str = ""

    @classmethod
    def parse(cls, text: str) -> Threshold:
        """A threshold from `PERCENT` or `REASON=PERCENT`.

        Raises:
            OptionError: The percentage is none.
        """
        reason, _, percent = text.rpartition("=")
        try:
            threshold = cls(float(percent), reason.strip())
        except ValueError:
            raise OptionError("", f"{text!r} is not a threshold: PERCENT or REASON=PERCENT, such as clock=1") from None
        if not 0 <= threshold.percent <= 100:
            raise OptionError("", f"{text!r} is not a threshold: the percentage is from 0 to 100")
        return threshold

    def count(self, rows: Mapping[str, int]) -> int:
        """Rows that it is about, of rows by reason ("": used)."""
        if self.reason:
            return rows.get(self.reason, 0)
        # A repetition is no fault: it counts only where a threshold names it.
        return sum(count for reason, count in rows.items() if reason not in ("", DUPLICATE))


USUAL = (Threshold(5.0),)
"""Thresholds where none is asked for: if larger, a monitor that goes wrong is noticed later; if smaller, a bad minute
of one worker is an alarm."""


def breaches(
    hours: Mapping[str, Mapping[str, int]],
    thresholds: Iterable[Threshold],
    files: Mapping[str, tuple[int, int]] = FrozenMap(),
) -> tuple[str, ...]:
    """Sentences on thresholds that hours break.

    Hours are looked at one by one: the sum over a week would hide a bad one. How many rows a file had that cannot be
    read nobody knows, so such files are counted as well, as files.

    Args:
        hours: Rows by reason ("": used) of each hour.
        thresholds: All of them apply.
        files: Files of hours that could not be read, and all of them.
    """
    found = []
    for threshold in thresholds:
        for hour, rows in sorted(hours.items()):
            bad, read = threshold.count(rows), sum(rows.values())
            if bad * 100 > threshold.percent * read:
                subject = f"have the reason {threshold.reason!r}" if threshold.reason else "are not used"
                share = f"{100 * bad / read:.3g} %, at most {threshold.percent:g} % may be"
                found.append(f"{hour}: {bad:,} of {read:,} rows {subject} ({share})")
            unread, there = files.get(hour, (0, 0)) if threshold.reason in ("", UNREADABLE) else (0, 0)
            if unread * 100 > threshold.percent * there:
                share = f"{100 * unread / there:.3g} %, at most {threshold.percent:g} % may be"
                found.append(f"{hour}: {unread:,} of {there:,} files cannot be read ({share})")
    return tuple(found)

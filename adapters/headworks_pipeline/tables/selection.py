"""Decisions on hours: which are made again, which stay although samples are gone, and which are past retention."""

from __future__ import annotations

from typing import TYPE_CHECKING

import attrs

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from headworks_pipeline.tables.manifest import Manifest


@attrs.frozen(kw_only=True)
class Selection:
    """Hours of a run, each in order of time.

    Attributes:
        make: Hours whose tables are made from what is there.
        lost: Hours that lack samples which their tables were made of: the tables stay.
        expired: Hours whose tables are past retention.
    """

    make: tuple[str, ...] = ()
    lost: tuple[str, ...] = ()
    expired: tuple[str, ...] = ()


def select(
    manifest: Manifest, inputs: Mapping[str, str], lacks: Callable[[str], bool], keep: int | None = None
) -> Selection:
    """Decide on every hour that has samples or tables.

    Samples that are gone never remove or shorten a result: a folder that is not mounted, or raw files that expire, look
    the same as samples that were never there.

    Args:
        manifest: Hours that have tables.
        inputs: Digest of the input of each hour that has samples.
        lacks: Called with an hour whose input changed; true if files are gone that its tables were made of.
        keep: Hours whose tables are kept, the newest; None for all. It is a number of hours and no age: after a pause
            all would be old.
    """
    hours = sorted({*manifest.hours, *inputs})
    kept = hours if keep is None else hours[-keep:]
    made = {hour: each.inputs for hour, each in manifest.hours.items()}
    changed = [hour for hour in kept if hour in inputs and inputs[hour] != made.get(hour)]
    lost = {hour for hour in kept if hour not in inputs} | {hour for hour in changed if hour in made and lacks(hour)}
    return Selection(
        make=tuple(hour for hour in changed if hour not in lost),
        lost=tuple(sorted(lost)),
        expired=tuple(hour for hour in hours[: len(hours) - len(kept)] if hour in made),
    )

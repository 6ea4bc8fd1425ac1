"""Manifests: for each hour the snapshot that has its tables, their files, and a digest of what they were made from."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import attrs

from headworks.errors import DocumentError
from headworks.model import FrozenMap

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping

VERSION = 1
"""Version of manifests; another one is refused, and not guessed at."""


@attrs.frozen(kw_only=True)
class Hour:
    """Entry of an hour.

    Attributes:
        inputs: Digest of its input.
        snapshot: Snapshot that has its tables.
        rows: Its rows by reason ("": used).
        files: Names of the files of each table that has rows.
        sources: Files of samples that there were, those counted that a compacted one stands for.
        unread: Those of them that could not be read to their ends.
    """

    inputs: str
    snapshot: str
    rows: FrozenMap[str, int] = FrozenMap()
    files: FrozenMap[str, tuple[str, ...]] = FrozenMap()
    sources: int = 0
    unread: int = 0


@attrs.frozen(kw_only=True)
class Learnt:
    """Entry of what is known after an hour, of it and all before it.

    Attributes:
        snapshot: Snapshot that has it.
        hours: Number of hours that it was learnt from.
        rules: Names how; by other rules it would be another.
    """

    snapshot: str
    hours: int
    rules: str


@attrs.frozen(kw_only=True)
class Manifest:
    """The hours that count, by name (YYYY-MM-DDTHH), after a number of commits; and what is known after some."""

    number: int = 0
    hours: FrozenMap[str, Hour] = FrozenMap()
    learnt: FrozenMap[str, Learnt] = FrozenMap()

    @property
    def named(self) -> set[tuple[str, str]]:
        """Snapshots and hours of all that counts."""
        tables = {(each.snapshot, hour) for hour, each in self.hours.items()}
        return tables | {(each.snapshot, hour) for hour, each in self.learnt.items()}

    def with_hours(self, hours: Mapping[str, Hour], gone: Collection[str] = ()) -> Manifest:
        """The next manifest, after some hours were made again, and some are as if they had never been.

        Args:
            hours: Entries of the hours that were made.
            gone: Hours that are left out.
        """
        kept = {hour: made for hour, made in self.hours.items() if hour not in gone}
        changed = {*hours, *gone}
        learnt = {hour: each for hour, each in self.learnt.items() if all(hour < other for other in changed)}
        return Manifest(number=self.number + 1, hours=FrozenMap({**kept, **hours}), learnt=FrozenMap(learnt))

    def without(self, expired: Collection[str]) -> Manifest:
        """The next manifest, after some hours are past retention: what was learnt from them stays."""
        kept = {hour: made for hour, made in self.hours.items() if hour not in expired}
        return attrs.evolve(self, number=self.number + 1, hours=FrozenMap(kept))

    def with_learnt(self, learnt: Mapping[str, Learnt]) -> Manifest:
        """The next manifest, in which this is all that is known."""
        return attrs.evolve(self, number=self.number + 1, learnt=FrozenMap(learnt))


def manifest_text(manifest: Manifest) -> str:
    """A manifest as JSON."""
    # Not recursive: all that is in an entry is JSON as it is, and a year has many entries.
    hours = {name: attrs.asdict(each, recurse=False) for name, each in sorted(manifest.hours.items())}
    learnt = {name: attrs.asdict(each, recurse=False) for name, each in sorted(manifest.learnt.items())}
    whole = {"version": VERSION, "number": manifest.number, "hours": hours, "learnt": learnt}
    return json.dumps(whole, indent=1) + "\n"


def read_manifest(text: str, path: str) -> Manifest:
    """A manifest from JSON.

    Args:
        text: JSON.
        path: Path to name in errors.

    Raises:
        DocumentError: It is not a manifest, or of another version.
    """
    try:
        data = json.loads(text)
        version = data["version"]
        if version == VERSION:
            hours = {name: _hour(each) for name, each in data["hours"].items()}
            learnt = {name: Learnt(**each) for name, each in data["learnt"].items()}
            return Manifest(number=data["number"], hours=FrozenMap(hours), learnt=FrozenMap(learnt))
    except (ValueError, TypeError, KeyError, AttributeError) as error:
        raise DocumentError("", f"{path} is not a manifest of results: {error!r}") from None
    raise DocumentError("/version", f"{path} has version {version}, this Headworks reads {VERSION}")


def _hour(data: Mapping[str, Any]) -> Hour:
    files = FrozenMap({table: tuple(names) for table, names in data["files"].items()})
    return Hour(**{**data, "rows": FrozenMap(data["rows"]), "files": files})

"""The folder of results: tables by hour, and a manifest that says which files are they.

`FOLDER/manifest.json` names for each hour the snapshot with its rows and a digest of what they were made from.
`FOLDER/data/SNAPSHOT/TABLE/hour=YYYY-MM-DDTHH/*.parquet` are written first, the manifest is replaced then, in one
rename: a reader sees all tables of an hour before or after, and a run that was killed leaves what nobody refers to.
"""

from __future__ import annotations

import contextlib
import json
import shutil
from pathlib import Path
from typing import TYPE_CHECKING, Any

import attrs
from filelock import FileLock, Timeout

from headgate.documents import write_text
from headgate.errors import DocumentError, EngineError
from headgate.model import FrozenMap

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Mapping

VERSION = 1
"""Version of the manifest; another one is refused, and not guessed at."""
TABLES = ("cells", "levels", "sums", "windows", "quarantine")
"""Names of the tables; see `headgate_pipeline.tables.queries`."""


@attrs.frozen(kw_only=True)
class Hour:
    """Entry of an hour: digest of its input, snapshot that has its tables, and its rows by reason ("": used)."""

    inputs: str
    snapshot: str
    rows: FrozenMap[str, int] = FrozenMap()


@attrs.frozen(kw_only=True)
class Manifest:
    """The hours that count, by name (YYYY-MM-DDTHH)."""

    hours: FrozenMap[str, Hour] = FrozenMap()

    def with_hours(self, hours: Mapping[str, Hour], gone: Collection[str] = ()) -> Manifest:
        """This manifest after some hours were made again and some lost their input.

        Args:
            hours: Entries of the hours that were made.
            gone: Hours that are left out.
        """
        kept = {hour: made for hour, made in self.hours.items() if hour not in gone}
        return Manifest(hours=FrozenMap({**kept, **hours}))


@attrs.frozen(kw_only=True)
class Store:
    """A folder of results."""

    folder: Path

    @contextlib.contextmanager
    def locked(self) -> Iterator[None]:
        """Keep other runs out; the lock of a process that dies is gone.

        Raises:
            EngineError: Another process writes here.
        """
        self.folder.mkdir(parents=True, exist_ok=True)
        # The lock is the kernel's, on an open file: whatever ends its owner releases it.
        lock = FileLock(self.folder / ".lock", timeout=0)
        try:
            lock.acquire()
        except Timeout:
            raise EngineError(f"another run writes to {self.folder}: wait for it, or choose another folder") from None
        try:
            yield
        finally:
            lock.release()

    def manifest(self) -> Manifest:
        """The committed manifest; empty before the first commit.

        Raises:
            DocumentError: The manifest is not one, or of another version.
        """
        path = self.folder / "manifest.json"
        try:
            data = json.loads(path.read_text())
            if data["version"] != VERSION:
                raise DocumentError("/version", f"{path} has version {data['version']}, this Headgate reads {VERSION}")
            hours = {name: Hour(**{**each, "rows": FrozenMap(each["rows"])}) for name, each in data["hours"].items()}
        except FileNotFoundError:
            return Manifest()
        except (OSError, ValueError, TypeError, KeyError) as error:
            if isinstance(error, DocumentError):
                raise
            raise DocumentError("", f"{path} is no manifest of results: {error!r}") from None
        return Manifest(hours=FrozenMap(hours))

    def stage(self, snapshot: str) -> Path:
        """An empty folder for a snapshot that is not committed yet; what a killed run left there is removed."""
        place = self.folder / "data" / snapshot
        shutil.rmtree(place, ignore_errors=True)
        place.mkdir(parents=True)
        return place

    def commit(self, manifest: Manifest) -> None:
        """Make a manifest the one that counts, and remove what it does not name."""
        data: dict[str, Any] = {
            "version": VERSION,
            "hours": {name: attrs.asdict(each) for name, each in sorted(manifest.hours.items())},
        }
        # One rename: from here on the new tables count, and only then are the old ones removed.
        write_text(self.folder / "manifest.json", json.dumps(data, indent=1) + "\n")
        self.tidy(manifest)

    def tidy(self, manifest: Manifest) -> None:
        """Remove hours that a later snapshot replaced, and snapshots that were never committed."""
        named = {(each.snapshot, f"hour={name}") for name, each in manifest.hours.items()}
        alive = {snapshot for snapshot, _ in named}
        for snapshot in sorted((self.folder / "data").glob("*")):
            if snapshot.name not in alive:
                shutil.rmtree(snapshot, ignore_errors=True)
                continue
            for hour in snapshot.glob("*/hour=*"):
                if (snapshot.name, hour.name) not in named:
                    shutil.rmtree(hour, ignore_errors=True)

    def files(self, manifest: Manifest, table: str, hours: Collection[str] | None = None) -> list[Path]:
        """The files of a table, by hour.

        Args:
            manifest: Which snapshots count.
            table: One of `TABLES`.
            hours: Hours that are wanted; None for all.
        """
        found: list[Path] = []
        for name, each in sorted(manifest.hours.items()):
            if hours is None or name in hours:
                place = self.folder / "data" / each.snapshot / table / f"hour={name}"
                found += sorted(place.glob("*.parquet"))
        return found

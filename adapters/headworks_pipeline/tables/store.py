"""The folder of results: tables by hour, and numbered manifests, the last of which says which files are they.

`FOLDER/data/SNAPSHOT/TABLE/hour=YYYY-MM-DDTHH/*.parquet` are written first, and states of the fold as one more table,
`learnt`. `FOLDER/manifests/NUMBER.json` is created then, which is the commit: it names the snapshot and the files of
each hour. A manifest is never changed, and what it names stays for some minutes after the next one: a reader that has
read a manifest sees the tables of that moment.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import logging
import os
import time
import uuid
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

import attrs
from filelock import FileLock, Timeout

from headworks.documents import loads
from headworks.errors import DocumentError, EngineError
from headworks.model import FrozenMap, Observation
from headworks.samples.store import STATES
from headworks_pipeline.hadoop import HadoopPath
from headworks_pipeline.places import Place, create, put_text, remove
from headworks_pipeline.tables.manifest import Manifest, manifest_text, read_manifest

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterator

LOG = logging.getLogger("headworks.pipeline")
TABLES = ("cells", "levels", "sums", "windows", "quarantine")
"""Names of the tables; see `headworks_pipeline.tables.queries`."""
GRACE = 120.0
"""Seconds for which a manifest that another one replaced, and all that it names, stay."""
OLD = 3600.0
"""Age in seconds from which files that no manifest names are removed where no lock keeps others out: younger ones may
be those that another run is writing."""
ATTEMPTS = 5
"""Times that a reader begins again, as its manifest went while it read."""
T = TypeVar("T")


@attrs.frozen(kw_only=True)
class Store:
    """A folder of results.

    Attributes:
        folder: Its path.
        grace: Seconds for which replaced tables stay.
    """

    folder: Place
    grace: float = GRACE

    @contextlib.contextmanager
    def locked(self) -> Iterator[None]:
        """Keep other runs on this machine out; the lock of a process that dies is gone.

        On other machines nothing is locked: of two runs that began with one manifest, the second cannot commit.

        Raises:
            EngineError: Another process writes here, or in the block the system refuses a file.
        """
        try:
            with contextlib.ExitStack() as stack:
                if isinstance(self.folder, Path):
                    self.folder.mkdir(parents=True, exist_ok=True)
                    # The lock is the kernel's, on an open file: whatever ends its owner releases it.
                    stack.enter_context(FileLock(self.folder / ".lock", timeout=0))
                else:
                    self.folder.probe()
                yield
        except Timeout:
            raise EngineError(f"another run writes to {self.folder}: wait for it, or choose another folder") from None
        except BrokenPipeError:
            raise
        except OSError as error:  # pyarrow's name no file
            said = os.strerror(error.errno) if error.errno else str(error)
            where = error.filename or f"the results in {self.folder}"
            raise EngineError(f"{where} cannot be written or read: {said}; committed results stay") from error

    def manifest(self) -> Manifest:
        """The last manifest; empty before the first commit.

        Raises:
            DocumentError: The manifest is not one, or of another version.
        """
        for _ in range(ATTEMPTS):
            there = self._manifests()
            if not there:
                return Manifest()
            with contextlib.suppress(FileNotFoundError):  # a writer removed it after it was listed
                return read_manifest(there[-1].read_text(), str(there[-1]))
        raise DocumentError("", f"the manifests in {self.folder} went before they were read")

    def read(self, reader: Callable[[Manifest], T]) -> T:
        """The result of a reader that sees one state of all tables, whatever a writer does meanwhile.

        Args:
            reader: Called with a manifest; again with a later one if files went while it read.

        Raises:
            DocumentError: There is no manifest that can be read.
            FileNotFoundError: Files are missing that the last manifest names.
        """
        for attempt in range(ATTEMPTS):
            manifest = self.manifest()
            try:
                return reader(manifest)
            except FileNotFoundError:
                # Files of a manifest that still is the last one were removed by somebody else: that does not pass.
                if attempt == ATTEMPTS - 1 or self.manifest().number == manifest.number:
                    raise
        raise AssertionError

    def following(self, manifest: Manifest, inputs: str) -> str:
        """Name of the snapshot of the next manifest.

        A run that was killed and is started again stages the same snapshot, over what is left of it. The number keeps
        it apart from those that earlier manifests name, whose readers may be at work. Where nothing keeps another run
        out, each has a name of its own.

        Args:
            manifest: The last one.
            inputs: Names what the snapshot is made of.
        """
        own = "" if isinstance(self.folder, Path) else uuid.uuid4().hex
        return f"{manifest.number + 1:010d}-{hashlib.sha256((inputs + own).encode()).hexdigest()[:16]}"

    def stage(self, snapshot: str) -> Place:
        """An empty folder for a snapshot that is not committed yet; what a killed run left there is removed."""
        place = self.folder / "data" / snapshot
        remove(place)
        place.mkdir(parents=True)
        return place

    def staged_files(self, snapshot: str, hour: str) -> FrozenMap[str, tuple[str, ...]]:
        """Names of the files of each table of an hour, as they are in a snapshot.

        Args:
            snapshot: One whose tables are written.
            hour: YYYY-MM-DDTHH.
        """
        names: dict[str, list[str]] = {}
        for each in (self.folder / "data" / snapshot).glob(f"*/hour={hour}/*.parquet"):
            names.setdefault(each.parent.parent.name, []).append(each.name)
        return FrozenMap({table: tuple(sorted(names[table])) for table in TABLES if table in names})

    def write_sources(self, snapshot: str, hour: str, names: Collection[str]) -> None:
        """Write the names of the files that an hour's tables are made of, beside the tables.

        Args:
            snapshot: One that is staged.
            hour: YYYY-MM-DDTHH.
            names: Names of files, without folders.

        Raises:
            DocumentError: The file cannot be written.
        """
        put_text(self._sources(snapshot, hour), json.dumps(sorted(names)) + "\n")

    def sources(self, manifest: Manifest, hour: str) -> frozenset[str]:
        """Names of the files that an hour's tables were made of; empty if somebody removed the record.

        Args:
            manifest: Which snapshots count.
            hour: One of its hours.
        """
        try:
            return frozenset(json.loads(self._sources(manifest.hours[hour].snapshot, hour).read_text()))
        except FileNotFoundError:
            return frozenset()

    def _sources(self, snapshot: str, hour: str) -> Place:
        return self.folder / "data" / snapshot / "sources" / f"hour={hour}" / "files.json"

    def keep_states(self, samples: Place) -> None:
        """Copy the recorded states of an engine that are not here yet; one that cannot be read is left out.

        Args:
            samples: The folder that monitors write.
        """
        there = {each.name for each in (self.folder / STATES).glob("*.json")}
        for file in (samples / STATES).glob("*.json"):
            if file.name in there or not file.is_file():
                continue
            try:
                content = file.read_bytes()
                loads(content, Observation, source=str(file))
            except (OSError, DocumentError) as error:
                LOG.warning("%s is left out: %s", file, error)
            else:
                put_text(self.folder / STATES / file.name, content.decode())

    def commit(self, manifest: Manifest) -> None:
        """Make a manifest the one that counts, and remove what was replaced long enough ago.

        Raises:
            EngineError: Another process committed one of the same number.
            DocumentError: It cannot be written.
        """
        path = self._path(manifest.number)
        if not create(path, manifest_text(manifest)):
            raise EngineError(f"{path} was committed by another run: its results stay; run again")
        self.tidy(manifest)

    def _path(self, number: int) -> Place:
        return self.folder / "manifests" / f"{number:010d}.json"

    def _manifests(self) -> list[Place]:
        """Paths of all manifests that are there, by number."""
        return sorted((self.folder / "manifests").glob("[0-9]*.json"), key=str)

    def _left(self, place: Place) -> bool:
        """Whether what no manifest names was left by a run that is over."""
        if isinstance(place, HadoopPath):
            files = place.walk()  # none is there yet where a run has just begun
            return bool(files) and all(each.stat().st_mtime < time.time() - OLD for each in files)
        return True  # who holds the lock is alone

    def tidy(self, manifest: Manifest) -> None:
        """Remove manifests that were replaced longer than `grace` ago, and what no other manifest names."""
        for draft in filter(self._left, (self.folder / "manifests").glob(".*")):
            draft.unlink(missing_ok=True)
        there = self._manifests()
        # A manifest was replaced when the next one was written, which never changes.
        old = {path for path, next_ in pairwise(there) if next_.stat().st_mtime < time.time() - self.grace}
        before = {
            path: read_manifest(path.read_text(), str(path)) for path in there if path != self._path(manifest.number)
        }
        alive = manifest.named.union(*(each.named for path, each in before.items() if path not in old))
        # Only an old manifest may name what is in a snapshot that others name as well: no snapshot is searched.
        for snapshot, hour in set().union(*(before[path].named for path in old)) - alive:
            for table in (self.folder / "data" / snapshot).glob(f"*/hour={hour}"):
                remove(table)
        named = {snapshot for snapshot, _ in alive}
        for place in (self.folder / "data").glob("*"):
            if place.name not in named and self._left(place):
                remove(place)
        for path in old:
            path.unlink(missing_ok=True)

    def files(self, manifest: Manifest, table: str, hours: Collection[str] | None = None) -> list[Place]:
        """The files of a table, by hour.

        Args:
            manifest: Which snapshots count.
            table: One of `TABLES`.
            hours: Hours that are wanted; None for all.
        """
        found: list[Place] = []
        for name in sorted(manifest.hours if hours is None else manifest.hours.keys() & set(hours)):
            each = manifest.hours[name]
            place = self.folder / "data" / each.snapshot / table / f"hour={name}"
            # Named files are not looked for: one that is gone is an error for who opens it, and never a silent gap.
            found += [place / file for file in each.files.get(table, ())]
        return found

    def learnt(self, snapshot: str, hour: str) -> Place:
        """Folder of what is known after an hour.

        Args:
            snapshot: Snapshot that has it.
            hour: YYYY-MM-DDTHH.
        """
        return self.folder / "data" / snapshot / "learnt" / f"hour={hour}"


def forget(store: Store, hours: Collection[str], before: str = "") -> tuple[str, ...]:
    """Remove the tables of some hours.

    Args:
        store: Where they are; it is locked meanwhile.
        hours: Hours by name, YYYY-MM-DDTHH.
        before: All earlier ones as well.

    Returns:
        The hours that had tables.

    Raises:
        DocumentError: One of `hours` has no tables.
        EngineError: Another process writes here.
    """
    with store.locked():
        manifest = store.manifest()
        if unknown := sorted(set(hours) - set(manifest.hours)):
            raise DocumentError("", f"{store.folder} has no tables of {', '.join(unknown)}")
        gone = tuple(sorted(hour for hour in manifest.hours if hour in hours or hour < before))
        store.commit(manifest.with_hours({}, gone))
        return gone

"""Samples and results in an object store: a working copy on this machine, and a commit that is one conditional put.

The copy is brought up to date, the pipeline runs on it, and what is new goes back: first the tables, which nobody
refers to, then each new manifest, created only if there is none of its number, then the documents. Of two runs that
began with the same manifest, the second one ends with an error, and the results of the first stay.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Any

import attrs

from headgate.engines.object_store import ObjectStore, is_url
from headgate.errors import EngineError

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

OLD = timedelta(hours=1)
"""Age from which objects that no manifest names are removed: if larger, they cost room for longer; if smaller, those
that another run is just writing may be among them."""
COMMITS = "manifests/"
"""Beginning of the names of manifests, which are created, and never replaced."""


@attrs.frozen
class Bucket(ObjectStore):
    """A place in an object store with samples or results."""

    def mirror(self, folder: Path, *beginnings: str) -> dict[str, Any]:
        """Make a folder equal to the objects whose paths begin with one of some texts.

        Args:
            folder: The working copy; other files in it stay.
            beginnings: Such as `day=`.

        Returns:
            The listing, of all objects.

        Raises:
            EngineError: The store cannot be reached, or refuses.
        """
        there = self.listing()
        wanted = {path: each for path, each in there.items() if path.startswith(beginnings)}
        for path in local_files(folder, *beginnings):
            if path not in wanted:
                (folder / path).unlink()
        for path, each in wanted.items():
            if not _is_copy(folder / path, each):
                self._fetch(path, each, folder / path)
        return there

    def _fetch(self, path: str, meta: Mapping[str, Any], file: Path) -> None:
        file.parent.mkdir(parents=True, exist_ok=True)
        draft = file.with_name(f".{file.name}.{os.getpid()}")
        with self.errors(), draft.open("wb") as stream:
            for chunk in self.store.get(path).stream():
                stream.write(chunk)
        # The time of the object is that of the file: samples that did not change are the same input in every copy.
        moment = _nanoseconds(meta)
        os.utime(draft, ns=(moment, moment))
        draft.replace(file)

    def publish(self, folder: Path, before: Mapping[str, Any], documents: tuple[str, ...]) -> None:
        """Commit what a run made in the working copy.

        Args:
            folder: The working copy.
            before: The listing from which the run began.
            documents: Files that are replaced, after the commit.

        Raises:
            EngineError: Another run committed first, or the store cannot be reached.
        """
        # obstore is optional: a bucket was made, so it is there.
        from obstore.exceptions import AlreadyExistsError

        there = local_files(folder, "data/", "_states/", COMMITS)
        with self.errors():
            for path in sorted(path for path in there - before.keys() if not path.startswith(COMMITS)):
                self.store.put(path, folder / path)
            for path in sorted(path for path in there - before.keys() if path.startswith(COMMITS)):
                try:
                    self.store.put(path, (folder / path).read_bytes(), mode="create")
                except AlreadyExistsError:
                    message = f"another run committed {path} to {self.url} first: its results stay; run again"
                    raise EngineError(message) from None
            for name in documents:
                if (folder / name).exists():
                    self.store.put(name, folder / name)
            now = datetime.now(UTC)
            for path, each in before.items():
                if path.startswith(("data/", COMMITS)) and path not in there and now - each["last_modified"] > OLD:
                    self.store.delete(path)


def local_files(folder: Path, *beginnings: str) -> set[str]:
    """Paths of files below a folder that begin with one of some texts; drafts are passed over.

    Args:
        folder: The folder.
        beginnings: Such as `data/`.
    """
    paths = (each for each in folder.rglob("*") if each.is_file() and not each.name.startswith("."))
    return {path for each in paths if (path := each.relative_to(folder).as_posix()).startswith(beginnings)}


def _is_copy(file: Path, meta: Mapping[str, Any]) -> bool:
    if not file.is_file():
        return False
    status = file.stat()
    return bool(status.st_size == meta["size"] and status.st_mtime_ns == _nanoseconds(meta))


def _nanoseconds(meta: Mapping[str, Any]) -> int:
    return int(meta["last_modified"].timestamp() * 1000) * 1_000_000


DOCUMENTS = ("knowledge.json", "request.json", "report.json", "report.html")
"""Documents that are replaced in the store after a commit."""


@contextlib.contextmanager
def working_copy(samples: str, output: str, cache: Path) -> Iterator[tuple[Path, Path]]:
    """Folders for a run on samples or results in an object store; what was made goes back at the end of the block.

    Args:
        samples: URL, or the path of a folder.
        output: URL, or the path of a folder.
        cache: Folder of working copies, kept from run to run.

    Yields:
        The folders of samples and of results.

    Raises:
        EngineError: A store cannot be used, or another run committed first.
    """
    folder = cache / hashlib.sha256(f"{samples} {output}".encode()).hexdigest()[:16]
    here, results = Path(samples), Path(output)
    if is_url(samples):
        here = folder / "samples"
        here.mkdir(parents=True, exist_ok=True)
        Bucket.of(samples).mirror(here, "day=", "_states/")
    if not is_url(output):
        yield here, results
        return
    results, bucket = folder / "results", Bucket.of(output)
    results.mkdir(parents=True, exist_ok=True)
    # The lock keeps two runs on this machine apart; between machines it is the commit that does.
    before = bucket.mirror(results, "data/", "_states/", COMMITS, DOCUMENTS[0])
    yield here, results
    bucket.publish(results, before, DOCUMENTS)

"""Samples and results on other machines: a working copy on this one, and a commit that creates one file or fails.

The copy is brought up to date, the pipeline runs on it, and what is new goes back: first the tables, which nobody
refers to, then each new manifest, created only if there is none of its number, then the documents. Of two runs that
began with the same manifest, the second one ends with an error, and the results of the first stay.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import shutil
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING

from headworks.errors import EngineError
from headworks.samples.remote.folder import DRAFTS, is_url, remote_folder

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from headworks.samples.remote.folder import RemoteFolder, Stored

OLD = timedelta(hours=1)
"""Age from which files that no manifest names are removed: younger ones may be those that another run is writing."""
COMMITS = "manifests/"
"""Beginning of the names of manifests, which are created, and never replaced."""


def mirror(there: RemoteFolder, folder: Path, *beginnings: str) -> dict[str, Stored]:
    """Make a folder equal to the files of another machine whose paths begin with one of some texts.

    Args:
        there: The folder on other machines.
        folder: The working copy; other files in it stay.
        beginnings: Such as `day=`.

    Returns:
        The listing, of all files.

    Raises:
        EngineError: The store cannot be reached, refuses, or names a file outside of the folder.
    """
    listing = there.listing()
    if odd := next((path for path in listing if path.startswith("/") or ".." in path.split("/")), None):
        raise EngineError(f"{there.url} names a file outside of it, {odd!r}: nothing is copied")
    wanted = {path: each for path, each in listing.items() if path.startswith(beginnings)}
    for path in local_files(folder, *beginnings):
        if path not in wanted:
            (folder / path).unlink()
    for path, each in wanted.items():
        if not _is_copy(folder / path, each):
            _fetch(there, path, each, folder / path)
    return listing


def _fetch(there: RemoteFolder, path: str, stored: Stored, file: Path) -> None:
    file.parent.mkdir(parents=True, exist_ok=True)
    draft = file.with_name(f".{file.name}.{os.getpid()}")
    with there.open(path) as source, draft.open("wb") as target:
        shutil.copyfileobj(source, target)
    # The time of the original is that of the copy: samples that did not change are the same input in every copy.
    moment = _nanoseconds(stored)
    os.utime(draft, ns=(moment, moment))
    draft.replace(file)


def publish(there: RemoteFolder, folder: Path, before: Mapping[str, Stored], documents: tuple[str, ...]) -> None:
    """Commit what a run made in the working copy.

    Args:
        there: The folder on other machines.
        folder: The working copy.
        before: The listing from which the run began.
        documents: Files that are replaced, after the commit.

    Raises:
        EngineError: Another run committed first, or the store cannot be reached.
    """
    here = local_files(folder, "data/", "_states/", COMMITS)
    for path in sorted(path for path in here - before.keys() if not path.startswith(COMMITS)):
        there.put(path, folder / path)
    for path in sorted(path for path in here - before.keys() if path.startswith(COMMITS)):
        if not there.create(path, folder / path):
            raise EngineError(f"another run committed {path} to {there.url} first: its results stay; run again")
    for name in documents:
        if (folder / name).exists():
            there.put(name, folder / name)
    now = datetime.now(UTC)
    for path, each in before.items():
        if path.startswith(("data/", COMMITS, DRAFTS)) and path not in here and now - each.modified > OLD:
            there.delete(path)


def local_files(folder: Path, *beginnings: str) -> set[str]:
    """Paths of files below a folder that begin with one of some texts; drafts are passed over.

    Args:
        folder: The folder.
        beginnings: Such as `data/`.
    """
    paths = (each for each in folder.rglob("*") if each.is_file() and not each.name.startswith("."))
    return {path for each in paths if (path := each.relative_to(folder).as_posix()).startswith(beginnings)}


def _is_copy(file: Path, stored: Stored) -> bool:
    if not file.is_file():
        return False
    status = file.stat()
    return bool(status.st_size == stored.size and status.st_mtime_ns == _nanoseconds(stored))


def _nanoseconds(stored: Stored) -> int:
    return int(stored.modified.timestamp() * 1000) * 1_000_000


DOCUMENTS = ("knowledge.json", "request.json", "report.json", "report.html")
"""Documents that are replaced after a commit."""


@contextlib.contextmanager
def working_copy(samples: str, output: str, cache: Path) -> Iterator[tuple[Path, Path]]:
    """Folders for a run on samples or results of other machines; what was made goes back at the end of the block.

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
        mirror(remote_folder(samples), here, "day=", "_states/")
    if not is_url(output):
        yield here, results
        return
    results, there = folder / "results", remote_folder(output)
    results.mkdir(parents=True, exist_ok=True)
    # The lock keeps two runs on this machine apart; between machines it is the commit that does.
    before = mirror(there, results, "data/", "_states/", COMMITS, DOCUMENTS[0])
    yield here, results
    publish(there, results, before, DOCUMENTS)

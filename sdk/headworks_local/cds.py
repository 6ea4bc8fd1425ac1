"""Class data archives: a JVM that maps its classes from one, already parsed and verified, starts in half of the CPU.

An archive (JEP 350) serves JVMs of one Java whose class path begins with the jars that it was made from. Any other JVM
passes over it and starts as ever.
"""

from __future__ import annotations

import contextlib
import hashlib
from pathlib import Path
from typing import TYPE_CHECKING

import attrs
from filelock import FileLock, Timeout

from headworks_local.private_files import cache_folder

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

QUIET = ("-Xlog:cds=off", "-Xlog:cds+dynamic=off")
"""JVM options that silence warnings about an archive, or a class in it, that cannot be used."""


@attrs.frozen(kw_only=True)
class ClassData:
    """The archive for one Java and one folder of jars, whether it is there or not.

    Attributes:
        file: Where it is, or will be.
        jars: The folder that it is made from.
    """

    file: Path
    jars: Path

    @classmethod
    def of(cls, java: Path, jars: Path, *, cache: Path | None = None) -> ClassData:
        """The archive for this `java` program and these jars, in the user's cache by default.

        Args:
            cache: Folder of the archives, the user's cache by default.
        """
        parts = "\n".join(f"{each} {_changed(each)}" for each in (java.resolve(), jars))
        name = hashlib.sha256(parts.encode()).hexdigest()[:16]
        return cls(file=(cache or cache_folder()) / "classes" / f"{name}.jsa", jars=jars)

    def options(self) -> tuple[str, ...]:
        """Options of a JVM that uses the archive; none while it is not there."""
        return (f"-XX:SharedArchiveFile={self.file}", *QUIET) if self.file.is_file() else ()

    def make(self, train: Callable[[tuple[str, ...]], bool]) -> bool:
        """Make the archive if it is not there; also removes those whose jars are gone.

        It appears whole or not at all: a JVM dies of half an archive.

        Args:
            train: Runs a JVM with these options, which loads the classes that will be wanted and ends by itself; tells
                whether it did.

        Returns:
            Whether it is there.
        """
        if any(letter.isspace() for letter in str(self.file)):
            return False  # engines split the options of a JVM at blanks
        draft = self.file.with_suffix(".draft")
        with contextlib.suppress(OSError), self._alone() as alone:
            if alone and not self.file.exists():
                self._tidy()
                draft.unlink(missing_ok=True)
                try:
                    if train((f"-XX:ArchiveClassesAtExit={draft}", *QUIET)) and draft.is_file():
                        self.file.with_suffix(".jars").write_text(str(self.jars))
                        draft.replace(self.file)
                finally:
                    draft.unlink(missing_ok=True)
        return self.file.is_file()

    @contextlib.contextmanager
    def _alone(self) -> Iterator[bool]:
        """Check that no other process makes it; the lock of one that dies is gone."""
        self.file.parent.mkdir(parents=True, exist_ok=True)
        lock = FileLock(self.file.with_suffix(".lock"), timeout=0)
        try:
            lock.acquire()
        except Timeout:
            yield False
            return
        try:
            yield True
        finally:
            lock.release()

    def _tidy(self) -> None:
        for note in self.file.parent.glob("*.jars"):
            if not Path(note.read_text()).is_dir():
                for suffix in (".jsa", ".draft", ".lock", ".jars"):
                    note.with_suffix(suffix).unlink(missing_ok=True)


def _changed(path: Path) -> int:
    return path.stat().st_mtime_ns if path.exists() else 0

"""Files of the file systems that Spark's driver reaches: `hdfs://` and `s3a://`.

Executors read and write rows there themselves. The driver asks for names, footers and small documents alone, by the
client that Spark has: its settings and its credentials hold for both.
"""

from __future__ import annotations

import contextlib
import errno
import io
import os
import re
import uuid
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO, cast

import attrs

from headworks.errors import EngineError
from headworks.samples.objects import ObjectFolder, is_url

if TYPE_CHECKING:
    from collections.abc import Iterator

PATTERN = re.compile(r"[][{}*?\\]")
"""Characters that make a pattern of a path, for Hadoop, unless there is a backslash before them."""
READ_AHEAD = 1 << 16
"""Bytes of a file that are asked for at once: footers are shorter."""
HDFS = "hdfs"
"""Scheme of the file system that shows files before they are whole, and that can rename them in one step."""
SCHEMES = (HDFS, "s3a")
"""Schemes of URLs. How another file system behaves towards two writers is not known here."""


@attrs.frozen(kw_only=True)
class Status:
    """Bytes of a file, the time at which it was last written, and whether it is a file."""

    st_size: int
    st_mtime_ns: int
    file: bool

    @property
    def st_mtime(self) -> float:
        """Seconds since 1970."""
        return self.st_mtime_ns / 1e9


@attrs.frozen
class HadoopPath:
    """A file or a folder of a file system of Hadoop, with what the jobs use of `pathlib.Path`.

    Every method that asks raises `FileNotFoundError` for what is not there, and `EngineError` if the file system cannot
    be reached, or refuses.

    Attributes:
        url: Such as `s3a://BUCKET/PREFIX`, with a `/` at the end of a bucket alone.
        spark: The session whose driver asks.
    """

    url: str
    spark: Any = attrs.field(eq=False, repr=False)
    _listed: Status | None = attrs.field(default=None, eq=False, repr=False)

    def __str__(self) -> str:
        return self.url

    def __truediv__(self, name: str) -> HadoopPath:
        return HadoopPath(f"{self.url.rstrip('/')}/{name}", self.spark)

    @property
    def name(self) -> str:
        """Name without folders."""
        return self.url.rpartition("/")[2]

    @property
    def parent(self) -> HadoopPath:
        """The folder that it is in."""
        return HadoopPath(self.url.rpartition("/")[0], self.spark)

    def absolute(self) -> HadoopPath:
        """The same."""
        return self

    def qualified(self) -> HadoopPath:
        """The same with all that its URL leaves out, as listings have it."""
        with self._asking() as (system, path):
            return HadoopPath(str(system.makeQualified(path).toString()), self.spark)

    def probe(self) -> None:
        """Ask a folder once by the client that creates files: better now than when all but the commit is done."""
        if not self._shows_halves:
            ObjectFolder.of(self.url).names("manifests")

    def mkdir(self, *, parents: bool = False, exist_ok: bool = False) -> None:
        """Do nothing: who writes a file there makes its folders."""

    def is_file(self) -> bool:
        """Whether there is a file."""
        with contextlib.suppress(FileNotFoundError):
            return self.stat().file
        return False

    def stat(self) -> Status:
        """Size and time, as they were listed where it comes from a listing."""
        if self._listed is not None:
            return self._listed
        with self._asking() as (system, path):
            return _status(system.getFileStatus(path))

    def glob(self, pattern: str) -> list[HadoopPath]:
        """What is there below the folder by a pattern."""
        with self._asking(f"{escaped(self.url)}/{pattern}") as (system, path):
            return [self._of(each) for each in system.globStatus(path) or ()]

    def walk(self) -> list[HadoopPath]:
        """All files below the folder, in one listing: object stores name a thousand in an answer."""
        found = []
        with contextlib.suppress(FileNotFoundError), self._asking() as (system, path):
            names = system.listFiles(path, True)
            while names.hasNext():
                found.append(self._of(names.next()))
        return found

    def read_bytes(self) -> bytes:
        """All of a file."""
        with self._asking() as (system, path), contextlib.closing(system.open(path)) as stream:
            return bytes(stream.readAllBytes())

    def read_text(self) -> str:
        """All of a file of UTF-8."""
        return self.read_bytes().decode()

    def open(self, _mode: str = "rb") -> BinaryIO:
        """A file, to be read from any place on."""
        with self._asking() as (system, path):
            return cast("BinaryIO", io.BufferedReader(_Stream(self, system.open(path)), READ_AHEAD))

    def write_bytes(self, data: bytes) -> None:
        """Write a file, whole or not at all; one that is there is replaced."""
        with self._asking() as (system, path):
            if not self._shows_halves:
                _put(system, path, data)
                return
            draft = self._draft(system, data)
            how = self.spark.sparkContext._gateway.new_array(self._hadoop.Options.Rename, 1)  # noqa: SLF001 - as below
            how[0] = self._hadoop.Options.Rename.OVERWRITE
            system.rename(draft, path, how)

    def create(self, data: bytes) -> bool:
        """Write a file, whole, if there is none: of several that try at once, one does.

        Returns:
            False if there was one, which stays as it is.
        """
        if not self._shows_halves:
            # Clients of Hadoop before 3.4.2 look first and write then, which two may do at once.
            return ObjectFolder.of(self.parent.url).create(self.name, data)
        with self._asking() as (system, path):
            draft = self._draft(system, data)
            made = bool(system.rename(draft, path))  # one step of the NameNode, which refuses it where something is
            if not made:
                system.delete(draft, False)
        return made

    def unlink(self, *, missing_ok: bool = False) -> None:
        """Remove a file."""
        with self._asking() as (system, path):
            if not system.delete(path, False) and not missing_ok:
                raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT), self.url)

    def remove(self) -> None:
        """Remove a folder with all that is in it, if it is there."""
        with self._asking() as (system, path):
            system.delete(path, True)

    @property
    def _shows_halves(self) -> bool:
        return self.url.startswith(f"{HDFS}:")

    @property
    def _hadoop(self) -> Any:
        return self.spark.sparkContext._jvm.org.apache.hadoop.fs  # noqa: SLF001 - PySpark offers no other way

    def _of(self, status: Any) -> HadoopPath:
        return HadoopPath(status.getPath().toString(), self.spark, _status(status))

    def _draft(self, system: Any, data: bytes) -> Any:
        """A copy beside the file, which nobody refers to."""
        draft = self._hadoop.Path(f"{self.parent.url}/.{self.name}.{uuid.uuid4()}")
        _put(system, draft, data)
        return draft

    @contextlib.contextmanager
    def _asking(self, url: str = "") -> Iterator[tuple[Any, Any]]:
        """The file system and the path in the driver's JVM, whose errors are told as those of files."""
        # Spark is optional: `headworks pipeline show` imports this module.
        from py4j.protocol import Py4JJavaError
        from pyspark.errors import PySparkException

        try:
            path = self._hadoop.Path(url or self.url)
            settings = self.spark.sparkContext._jsc.hadoopConfiguration()  # noqa: SLF001 - as above
            yield path.getFileSystem(settings), path
        except Py4JJavaError as error:
            if "FileNotFound" in str(error.java_exception.getClass().getName()):
                raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT), self.url) from None
            raise self._refused(error.java_exception.getMessage()) from None
        except PySparkException as error:  # PySpark's own classes for some kinds of Java's
            raise self._refused(error) from None

    def _refused(self, why: object) -> EngineError:
        said, way = str(why).strip().partition("\n")[0], ""
        if "S3AFileSystem not found" in said:
            version = self.spark.sparkContext._jvm.org.apache.hadoop.util.VersionInfo.getVersion()  # noqa: SLF001
            way = f" (give `--packages org.apache.hadoop:hadoop-aws:{version}`)"
        return EngineError(f"{self.url} cannot be used: {said}{way}")


class _Stream(io.RawIOBase):
    """A file of Hadoop as Python reads files."""

    def __init__(self, place: HadoopPath, stream: Any) -> None:
        self._place, self._stream, self._at = place, stream, 0

    def readable(self) -> bool:
        return True

    def seekable(self) -> bool:
        return True

    def tell(self) -> int:
        return self._at

    def seek(self, offset: int, whence: int = os.SEEK_SET) -> int:
        base = {os.SEEK_SET: 0, os.SEEK_CUR: self._at, os.SEEK_END: self._place.stat().st_size}[whence]
        self._at = base + offset
        return self._at

    def readinto(self, buffer: Any) -> int:
        with self._place._asking():  # noqa: SLF001 - of this module
            self._stream.seek(self._at)
            found = bytes(self._stream.readNBytes(len(buffer)))
        buffer[: len(found)] = found
        self._at += len(found)
        return len(found)

    def close(self) -> None:
        if not self.closed:
            with contextlib.suppress(Exception):  # its JVM may be gone
                self._stream.close()
        super().close()


def place_of(name: str, spark: Any) -> Path | HadoopPath:
    """A place by its path, or by its URL."""
    # Of a URL without a path, Hadoop would take the home of its user there.
    return HadoopPath(f"{name.rstrip('/')}/", spark).qualified() if is_url(name) else Path(name)


def escaped(path: str) -> str:
    """A path that is no pattern for Hadoop, whatever is in it."""
    return PATTERN.sub(r"\\\g<0>", path)


def _put(system: Any, path: Any, data: bytes) -> None:
    with contextlib.closing(system.create(path, True)) as stream:
        stream.write(data)


def _status(status: Any) -> Status:
    time = int(status.getModificationTime())
    return Status(st_size=int(status.getLen()), st_mtime_ns=time * 1_000_000, file=bool(status.isFile()))

"""Folders of HDFS, by hdfs-native, a client that needs no JVM."""

from __future__ import annotations

import contextlib
import io
import uuid
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, BinaryIO, Self, cast
from urllib.parse import urlsplit

import attrs

from headworks.errors import EngineError, how_to_install
from headworks.samples.remote.folder import DRAFTS, READ_AHEAD, RemoteStream, Stored, first_line

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

SCHEME = "hdfs"
"""Begins the URLs of these folders."""
SETTINGS = {"dfs.client.failover.max.attempts": "5"}
"""Settings of the client that are not the user's: a NameNode that is not there is given up after some ten seconds,
and not after three minutes."""


@attrs.frozen
class HdfsFolder:
    """A folder of HDFS, see `RemoteFolder`.

    A file that is being written can be seen there. So each is written under another name and renamed, which is one
    step of the NameNode: `create` is a rename that is refused where the file exists.

    Attributes:
        url: Such as `hdfs://NAMENODE:PORT/FOLDER`.
        client: The client of hdfs-native.
        root: The folder's path, without a `/` at its end.
    """

    url: str
    client: Any
    root: str

    @classmethod
    def of(cls, url: str) -> Self:
        """The folder of a URL; what it leaves out, and name services, are of the settings in HADOOP_CONF_DIR.

        Raises:
            EngineError: hdfs-native is missing, or the URL names no NameNode.
        """
        try:
            # hdfs-native is optional: where it is missing, the error says how to install it.
            from hdfs_native import Client
        except ImportError:
            raise EngineError(f"hdfs-native is not installed: {how_to_install('hdfs')}") from None
        parts = urlsplit(url)
        try:
            client = Client(f"{SCHEME}://{parts.netloc}" if parts.netloc else None, config=SETTINGS)
        except (OSError, RuntimeError, ValueError) as error:
            raise EngineError(f"{url} names no NameNode: {first_line(error)}") from None
        return cls(url, client, parts.path.rstrip("/"))

    @contextlib.contextmanager
    def errors(self) -> Iterator[None]:
        """Turn errors of hdfs-native into those of Headworks.

        Raises:
            EngineError: The NameNode or the DataNodes cannot be reached, or refuse.
        """
        try:
            yield
        except (OSError, RuntimeError) as error:
            raise EngineError(f"{self.url} cannot be used: {first_line(error)}") from None

    def listing(self, prefix: str = "") -> dict[str, Stored]:
        """All files below a folder, by their paths; see `RemoteFolder`."""
        with self.errors():
            try:
                found = [each for each in self.client.list_status(self._path(prefix), True) if not each.isdir]
            except FileNotFoundError:
                found = []
        return {each.path.removeprefix(f"{self.root}/"): _stored(each) for each in found}

    def is_file(self, path: str) -> bool:
        """True for the path of a file; see `RemoteFolder`."""
        with self.errors():
            try:
                return not self.client.get_file_info(self._path(path)).isdir
            except FileNotFoundError:
                return False

    @contextlib.contextmanager
    def open(self, path: str) -> Iterator[BinaryIO]:
        """A file, to be read; see `RemoteFolder`."""
        with self.errors():
            reader = self.client.read(self._path(path))
        stream = RemoteStream(reader.read, self.errors)
        yield cast("BinaryIO", io.BufferedReader(stream, buffer_size=READ_AHEAD))

    def put(self, path: str, file: Path) -> None:
        """Write a file, whole; see `RemoteFolder`."""
        with self._draft(path, file) as draft:
            self.client.rename(draft, self._path(path), overwrite=True)

    def create(self, path: str, file: Path) -> bool:
        """Write a file, whole, if there is none; see `RemoteFolder`."""
        with self._draft(path, file) as draft:
            try:
                self.client.rename(draft, self._path(path), overwrite=False)
            except FileExistsError:
                self.client.delete(draft)
                return False
        return True

    def delete(self, path: str) -> None:
        """Remove a file; see `RemoteFolder`."""
        with self.errors():
            self.client.delete(self._path(path))

    @contextlib.contextmanager
    def _draft(self, path: str, file: Path) -> Iterator[str]:
        """The path of a copy that nobody refers to, in a folder beside; the folder of the file itself is there."""
        draft = self._path(f"{DRAFTS}{uuid.uuid4()}")
        with self.errors():
            self.client.mkdirs(self._path(path).rpartition("/")[0] or "/", create_parent=True)
            with file.open("rb") as source, self.client.create(draft) as target:
                while chunk := source.read(READ_AHEAD):
                    target.write(chunk)
            yield draft

    def _path(self, path: str) -> str:
        return f"{self.root}/{path.strip('/')}".rstrip("/") or "/"


def _stored(status: Any) -> Stored:
    return Stored(status.length, datetime.fromtimestamp(status.modification_time / 1000, UTC))

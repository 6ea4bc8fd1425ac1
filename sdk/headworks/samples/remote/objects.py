"""Folders of object stores: S3 and what else obstore opens."""

from __future__ import annotations

import contextlib
import io
from typing import TYPE_CHECKING, Any, BinaryIO, Self, cast

import attrs

from headworks.errors import EngineError, EngineUseError, how_to_install
from headworks.samples.remote.folder import READ_AHEAD, RemoteStream, Stored, first_line

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path


@attrs.frozen
class ObjectFolder:
    """The objects of a store whose names begin alike, see `RemoteFolder`.

    Attributes:
        url: Such as `s3://BUCKET/PREFIX`.
        store: The store of obstore, below that prefix.
    """

    url: str
    store: Any

    @classmethod
    def of(cls, url: str) -> Self:
        """The folder of a URL; credentials, region and endpoint are those of the environment.

        Raises:
            EngineError: obstore is missing, or the URL is of no store that it knows.
        """
        try:
            # obstore is optional: where it is missing, the error says how to install it.
            from obstore.exceptions import BaseError
            from obstore.store import from_url
        except ImportError:
            raise EngineError(f"obstore is not installed: {how_to_install('objects')}") from None
        try:
            return cls(url, from_url(url))
        except (BaseError, ValueError) as error:
            raise EngineUseError(f"{url} is of no object store that is known: {first_line(error)}") from None

    @contextlib.contextmanager
    def errors(self) -> Iterator[None]:
        """Turn errors of obstore into those of Headworks.

        Raises:
            EngineError: The store cannot be reached, or refuses.
        """
        # obstore is optional: a folder was made, so it is there.
        from obstore.exceptions import BaseError

        try:
            yield
        except (BaseError, FileNotFoundError) as error:
            raise EngineError(f"{self.url} cannot be used: {first_line(error)}") from None

    def listing(self, prefix: str = "") -> dict[str, Stored]:
        """All files below a folder, by their paths; see `RemoteFolder`."""
        with self.errors():
            found = [each for page in self.store.list(prefix or None) for each in page]
        return {each["path"]: Stored(each["size"], each["last_modified"]) for each in found}

    def is_file(self, path: str) -> bool:
        """True for the path of a file; see `RemoteFolder`."""
        with self.errors():
            try:
                self.store.head(path)
            except FileNotFoundError:
                return False
        return True

    @contextlib.contextmanager
    def open(self, path: str) -> Iterator[BinaryIO]:
        """A file, to be read; see `RemoteFolder`."""
        # obstore is optional: a folder was made, so it is there.
        from obstore import open_reader

        with self.errors():
            reader = open_reader(self.store, path, buffer_size=READ_AHEAD)
        yield cast("BinaryIO", io.BufferedReader(RemoteStream(reader.read, self.errors)))

    def put(self, path: str, file: Path) -> None:
        """Write a file, whole; see `RemoteFolder`."""
        with self.errors():
            self.store.put(path, file)

    def create(self, path: str, file: Path) -> bool:
        """Write a file, whole, if there is none; see `RemoteFolder`."""
        # obstore is optional: a folder was made, so it is there.
        from obstore.exceptions import AlreadyExistsError

        with self.errors():
            try:
                self.store.put(path, file.read_bytes(), mode="create")
            except AlreadyExistsError:
                return False
        return True

    def delete(self, path: str) -> None:
        """Remove a file; see `RemoteFolder`."""
        with self.errors():
            self.store.delete(path)

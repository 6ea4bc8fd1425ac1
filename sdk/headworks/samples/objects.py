"""Folders of object stores: S3 and what else obstore opens."""

from __future__ import annotations

import contextlib
import io
from typing import TYPE_CHECKING, Any, BinaryIO, Self, cast

import attrs

from headworks.errors import EngineError, EngineUseError, how_to_install

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from contextlib import AbstractContextManager
    from pathlib import Path

READ_AHEAD = 1 << 22
"""Bytes that are asked for at once."""


def is_url(place: str | Path) -> bool:
    """True for a folder on other machines."""
    return "://" in str(place)


@attrs.frozen
class StoredObject:
    """An object of a store: its path, its bytes, and the time of its last change in seconds since the epoch."""

    path: str
    size: int
    changed: float


@attrs.frozen
class ObjectFolder:
    """The objects of a store whose names begin alike. Paths are relative to it.

    Every method raises `EngineError` if the store cannot be reached, or refuses.

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
            raise EngineUseError(f"{url} is of no object store that is known: {_first_line(error)}") from None

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
            raise EngineError(f"{self.url} cannot be used: {_first_line(error)}") from None

    def names(self, prefix: str = "") -> list[str]:
        """All objects below a folder.

        Args:
            prefix: A folder; empty for all of it.
        """
        return [each.path for each in self.objects(prefix)]

    def objects(self, prefix: str = "") -> list[StoredObject]:
        """All objects below a folder, with their bytes and times.

        Args:
            prefix: As of `names`.
        """
        with self.errors():
            found = [each for page in self.store.list(prefix or None) for each in page]
        return [StoredObject(each["path"], each["size"], each["last_modified"].timestamp()) for each in found]

    def is_file(self, path: str) -> bool:
        """True for the path of an object, and not of a folder or of nothing."""
        with self.errors():
            try:
                self.store.head(path)
            except FileNotFoundError:
                return False
        return True

    @contextlib.contextmanager
    def open(self, path: str) -> Iterator[BinaryIO]:
        """An object, to be read."""
        # obstore is optional: a folder was made, so it is there.
        from obstore import open_reader

        with self.errors():
            reader = open_reader(self.store, path, buffer_size=READ_AHEAD)
        yield cast("BinaryIO", io.BufferedReader(_Stream(reader.read, self.errors)))

    def create(self, path: str, data: bytes) -> bool:
        """Write an object if there is none: of several that try at once, one does.

        Returns:
            False if there was one, which stays as it is.
        """
        # obstore is optional: a folder was made, so it is there.
        from obstore.exceptions import AlreadyExistsError

        with self.errors():
            try:
                self.store.put(path, data, mode="create")
            except AlreadyExistsError:
                return False
        return True


class _Stream(io.RawIOBase):
    """A file that a client of a store reads, as Python's files are.

    Args:
        read: Reads up to a number of bytes, none at the end.
        errors: A context that turns errors of the client into those of Headworks. An `OSError` would be taken for the
            end of a file that was cut off.
    """

    def __init__(self, read: Callable[[int], Any], errors: Callable[[], AbstractContextManager[None]]) -> None:
        self._read, self._errors = read, errors

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        with self._errors():
            found = bytes(self._read(len(buffer)))
        buffer[: len(found)] = found
        return len(found)


def _first_line(error: Exception) -> str:
    """The first line of an error, without the stack of a server that some clients add."""
    return next(iter(str(error).strip().splitlines()), type(error).__name__)

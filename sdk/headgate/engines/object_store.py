"""Object stores by URL: S3 and what else obstore opens. What names no store is a path of this machine."""

from __future__ import annotations

import contextlib
from typing import TYPE_CHECKING, Any, Self

import attrs

from headgate.errors import EngineError

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path


@attrs.frozen
class ObjectStore:
    """A place in an object store.

    Attributes:
        url: Such as `s3://BUCKET/PREFIX`.
        store: The store of obstore, below that prefix.
    """

    url: str
    store: Any

    @classmethod
    def of(cls, url: str) -> Self:
        """The place of a URL; credentials, region and endpoint are those of the environment.

        Raises:
            EngineError: obstore is missing, or the URL is of no store that it knows.
        """
        try:
            # obstore is optional: where it is missing, the error says how to install it.
            from obstore.exceptions import BaseError
            from obstore.store import from_url
        except ImportError:
            raise EngineError("obstore is not installed: `pip install 'headgate[objects]'`") from None
        try:
            return cls(url, from_url(url))
        except (BaseError, ValueError) as error:
            raise EngineError(f"{url} is of no object store that is known: {_first_line(error)}") from None

    @contextlib.contextmanager
    def errors(self) -> Iterator[None]:
        """Turn errors of obstore into those of Headgate.

        Raises:
            EngineError: The store cannot be reached, or refuses.
        """
        # obstore is optional: a place was made, so it is there.
        from obstore.exceptions import BaseError

        try:
            yield
        except (BaseError, FileNotFoundError) as error:
            raise EngineError(f"{self.url} cannot be used: {_first_line(error)}") from None

    def listing(self, prefix: str | None = None) -> dict[str, Any]:
        """Metadata of each object, by its path below the place.

        Args:
            prefix: A folder below the place; None for all of it.

        Raises:
            EngineError: The store cannot be reached, or refuses.
        """
        with self.errors():
            return {each["path"]: each for page in self.store.list(prefix) for each in page}


def is_url(place: str | Path) -> bool:
    """True for a place in an object store."""
    return "://" in str(place)


def _first_line(error: Exception) -> str:
    return str(error).strip().splitlines()[0]

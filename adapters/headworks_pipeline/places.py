"""Places for samples and results: files of this machine, or of a file system that Spark's driver reaches."""

from __future__ import annotations

import io
import os
import shutil
from pathlib import Path
from typing import Any, TypeVar

from headworks.documents import loads, read, write_text
from headworks.errors import DocumentError
from headworks_pipeline.hadoop import HadoopPath

T = TypeVar("T")
Place = Path | HadoopPath
"""A file or a folder, here or there."""


def read_document(place: Place, kind: type[T]) -> T:
    """Read a document; see `headworks.documents.read`.

    Raises:
        DocumentError: It is not there, or none of that kind.
    """
    if isinstance(place, Path):
        return read(place, kind)
    try:
        data = place.read_bytes()
    except FileNotFoundError:
        raise DocumentError("", f"{place} is not there") from None
    return loads(data, kind, source=str(place))


def put_text(place: Place, text: str) -> None:
    """Write a text, whole or not at all; its folder is made.

    Raises:
        DocumentError: The place cannot be written.
    """
    if isinstance(place, Path):
        write_text(place, text)
    else:
        place.write_bytes(text.encode())


def put_table(place: Place, table: Any, compression: str = "snappy") -> None:
    """Write a table of pyarrow as Parquet; its folder is made."""
    # pyarrow costs 0.2 s, and is an extra.
    from pyarrow import BufferOutputStream, parquet

    content = BufferOutputStream()
    parquet.write_table(table, content, compression=compression)
    place.parent.mkdir(parents=True, exist_ok=True)
    place.write_bytes(content.getvalue().to_pybytes())


def readable(place: Place) -> Any:
    """A small file as pyarrow takes it."""
    return place if isinstance(place, Path) else io.BytesIO(place.read_bytes())


def create(place: Place, text: str) -> bool:
    """Write a text, whole, if there is no such file: of several that try at once, one does.

    Returns:
        False if there was one, which stays as it is.

    Raises:
        DocumentError: The place cannot be written.
    """
    if isinstance(place, HadoopPath):
        return place.create(text.encode())
    draft = place.with_name(f".{place.name}.{os.getpid()}")
    write_text(draft, text)
    try:
        # A link is made whole, or not at all where something is: no other writer's file is ever replaced.
        place.hardlink_to(draft)
    except FileExistsError:
        return False
    except OSError as error:
        raise DocumentError("", f"{place} cannot be written: {error.strerror}") from None
    finally:
        draft.unlink(missing_ok=True)
    return True


def remove(folder: Place) -> None:
    """Remove a folder with all that is in it, as far as it is there."""
    if isinstance(folder, Path):
        shutil.rmtree(folder, ignore_errors=True)
    else:
        folder.remove()

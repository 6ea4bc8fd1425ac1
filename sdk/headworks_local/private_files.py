"""Files of the user: the cache folder, and secrets that their owner alone can read."""

from __future__ import annotations

import os
import secrets
from typing import TYPE_CHECKING

from platformdirs import user_cache_path

from headworks.errors import EngineError

if TYPE_CHECKING:
    from pathlib import Path


def cache_folder() -> Path:
    """The user's cache folder of Headworks: on Linux $XDG_CACHE_HOME/headworks, else ~/.cache/headworks."""
    return user_cache_path("headworks", appauthor=False)


BYTES = 32
"""Random bytes of a token. With far fewer it could be guessed; with far more it fits into no line that proves it."""


def make_secret() -> str:
    """A new secret, in hexadecimal digits."""
    return secrets.token_hex(BYTES)


def read_or_make_secret(path: Path) -> str:
    """The secret in a file; a new one is written if there is no file.

    Raises:
        EngineError: The file can be neither read nor written, or is empty.
    """
    if not path.exists():
        write_private(path, make_secret() + "\n")
    try:
        secret = path.read_text().strip()
    except (OSError, ValueError) as error:
        raise EngineError(f"the secret in {path} cannot be read: {error}") from None
    if not secret:
        raise EngineError(f"{path} is empty; delete it, and a secret is made")
    return secret


def write_private(path: Path, text: str) -> None:
    """Write a file for its owner alone, whole or not at all.

    Args:
        path: The file; its folder is made if it is not there.

    Raises:
        EngineError: It cannot be written.
    """
    draft = path.with_name(f".{path.name}.{os.getpid()}")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        draft.unlink(missing_ok=True)
        # O_EXCL follows no link that somebody left under this name; the mode is set before the first byte is written.
        with os.fdopen(os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w") as file:
            file.write(text)
        draft.replace(path)
    except OSError as error:
        raise EngineError(f"{path} cannot be written: {error.strerror}") from None

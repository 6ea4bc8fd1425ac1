"""Files of the user: the cache folder, and secrets that their owner alone can read."""

from __future__ import annotations

import os
import secrets
import stat
from typing import TYPE_CHECKING

from platformdirs import user_cache_path

from headworks.errors import EngineError

if TYPE_CHECKING:
    from pathlib import Path


def cache_folder() -> Path:
    """The user's cache folder of Headworks: on Linux $XDG_CACHE_HOME/headworks, else ~/.cache/headworks."""
    return user_cache_path("headworks", appauthor=False)


OTHERS_WRITE = stat.S_IWGRP | stat.S_IWOTH
SHORTEST = 16
"""Characters of a secret that somebody else made. With fewer it could be guessed."""
BYTES = 32
"""Random bytes of a token. With far fewer it could be guessed; with far more it fits into no line that proves it."""


def make_secret() -> str:
    """A new secret, in hexadecimal digits."""
    return secrets.token_hex(BYTES)


def read_or_make_secret(path: Path) -> str:
    """The secret in a file; a new one is written if there is no file.

    Raises:
        EngineError: The file can be neither read nor written, others may write it, or it holds no secret.
    """
    if not path.exists():
        write_private(path, make_secret() + "\n")
    return SecretFile(path).read()


class SecretFile:
    """The secret in a file, which is looked at each time: whoever writes another one needs no restart."""

    def __init__(self, path: Path) -> None:
        """Take the file."""
        self._path, self._seen, self._secret = path, (0, 0, 0, 0), ""

    def read(self) -> str:
        """The secret that the file holds now.

        Raises:
            EngineError: The file cannot be read, others may write it, or it holds fewer than `SHORTEST` characters.
        """
        try:
            with self._path.open() as file:
                found = os.fstat(file.fileno())
                seen = (found.st_mtime_ns, found.st_size, found.st_ino, found.st_mode)
                if seen != self._seen:
                    self._secret = self._checked(file.read().strip(), found.st_mode)
                    self._seen = seen
        except (OSError, ValueError) as error:
            raise EngineError(f"the secret in {self._path} cannot be read: {error}") from None
        return self._secret

    def _checked(self, secret: str, mode: int) -> str:
        if mode & OTHERS_WRITE:
            raise EngineError(f"others may write {self._path}: chmod go-w {self._path}")
        if len(secret) < SHORTEST:
            said = f"{self._path} holds {len(secret)} characters, fewer than {SHORTEST}"
            raise EngineError(f"{said}: delete it, and a secret is made")
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

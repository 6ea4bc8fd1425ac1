"""The secret by which applications prove themselves to the cluster that `headworks spark up` leaves running."""

from __future__ import annotations

import contextlib
from typing import TYPE_CHECKING

from headworks_local.private_files import cache_folder, make_secret, write_private

if TYPE_CHECKING:
    from pathlib import Path

DEFAULTS = "spark-defaults.conf"
"""File of settings that Spark's scripts and daemons read, in the folder that SPARK_CONF_DIR names."""
MASTER = "spark.master"


def write_secret(folder: Path) -> None:
    """Write a new secret among the settings of a folder, for their owner alone: daemons read them at their start.

    Raises:
        EngineError: They cannot be written.
    """
    _write(folder, {"spark.authenticate": "true", "spark.authenticate.secret": make_secret()})


def note_master(folder: Path, master_url: str) -> None:
    """Add the Master that wants a secret to the settings with it, where there are any.

    Raises:
        EngineError: They cannot be written.
    """
    if found := _read(folder):
        _write(folder, found | {MASTER: master_url})


def secret_settings(master_url: str) -> dict[str, str]:
    """What an application has to say to a Master: the secret of the cluster that was left running, else nothing."""
    found = _read(cache_folder() / "spark" / "cluster" / "conf")
    return found if found.pop(MASTER, "") == master_url else {}


def _read(folder: Path) -> dict[str, str]:
    with contextlib.suppress(OSError):
        return dict(line.split(" ", 1) for line in (folder / DEFAULTS).read_text().splitlines())
    return {}


def _write(folder: Path, settings: dict[str, str]) -> None:
    write_private(folder / DEFAULTS, "".join(f"{name} {value}\n" for name, value in settings.items()))

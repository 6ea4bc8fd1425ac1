"""The systemd unit of the process beside Nimbus."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable

DESCRIPTORS = 65536
"""File descriptors of the process. With fewer than workers it refuses some of them, and has no figures of those."""

UNIT = """\
[Unit]
Description=Headworks, which plans the rounds of Storm's Nimbus
After=network-online.target
Wants=network-online.target
StartLimitIntervalSec=0

[Service]
User={user}
ExecStart={command}
StateDirectory=headworks
StateDirectoryMode=0700
WorkingDirectory=%S/headworks
UMask=0077
LimitNOFILE={descriptors}
Restart=always
RestartSec=2
SuccessExitStatus=130 143
TimeoutStopSec=15
NoNewPrivileges=yes

[Install]
WantedBy=multi-user.target
"""


def systemd_unit(user: str, command: Iterable[str]) -> str:
    """The unit, which starts the process again whenever it ends.

    Args:
        user: The user that Nimbus runs as.
        command: Program, with its whole path, and arguments.
    """
    return UNIT.format(user=user, command=" ".join(map(_quoted, command)), descriptors=DESCRIPTORS)


def _quoted(word: str) -> str:
    """A word of `ExecStart`, in which `%` and `$` would be replaced (systemd.service(5), "Command lines")."""
    plain = word.replace("\\", "\\\\").replace('"', '\\"').replace("%", "%%").replace("$", "$$")
    return plain if plain == word and word and not set(word) & set(" ';\t") else f'"{plain}"'

"""The errors that Headworks raises. An expected failure is not among them: it is a status with reasons."""

from __future__ import annotations

import difflib
import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable

_LISTED = 80
"""Names that a message lists, at most."""


_LONG = 80
"""Characters of a key that a message shows."""
_UNSEEN = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u200e\u200f\u2028-\u202e\u2066-\u2069\ud800-\udfff]")
"""Characters that steer a terminal, or turn the direction of what follows, and halves of characters, which no UTF-8
has."""


def printable(text: str) -> str:
    """A text that is safe to show on a terminal: control characters are escaped."""
    return _UNSEEN.sub(lambda found: repr(found[0])[1:-1], text)


def how_to_install(*extras: str) -> str:
    """The end of a message where an optional package is missing. Extras come from a path: Headworks is on no index."""
    names = ",".join(extras)
    return f"`pip install '.[{names}]'` in the clone, or the wheel with [{names}]"


class HeadworksError(Exception):
    """Base of every error that is raised on purpose; its text is meant for the user."""

    exit_code = 3

    def __str__(self) -> str:
        """The text, fit for a terminal whoever wrote parts of it."""
        return printable(super().__str__())


class DocumentError(HeadworksError, ValueError):
    """A document or a value of the model breaks its schema or contradicts itself.

    `pointer` is the JSON pointer (RFC 6901) of the part at fault, "" for the whole document; `source` is the file.
    All three are printable: a document's keys and values are in them, and databases and headers take them.
    """

    exit_code = 2

    def __init__(self, pointer: str, message: str, source: str = "") -> None:
        self.pointer = printable(pointer)
        self.message = printable(message)
        self.source = printable(source)
        super().__init__(": ".join(filter(None, (self.source, _shown(self.pointer), self.message))))


class PluginError(HeadworksError):
    """A plugin that was asked for is not there, is quarantined, or lacks the hook that is needed."""

    exit_code = 3


class UnknownPluginError(PluginError):
    """No plugin of the needed kind has this name: the user's mistake, not a plugin's."""

    exit_code = 2


class OptionError(HeadworksError, ValueError):
    """An option of a plugin is unknown or its value does not fit."""

    exit_code = 2


class EngineError(HeadworksError):
    """An engine cannot be started, reached or used as asked."""

    exit_code = 4


class EngineUseError(EngineError):
    """An engine is asked for what it does not have, or with a setting that does not fit: the user's mistake."""

    exit_code = 2


class EngineWaitsError(EngineError):
    """Nothing of the application is there to monitor yet; a later round may find it."""


class EngineEndedError(EngineError):
    """End of the application on an engine: there is nothing left to monitor or schedule."""


def pointer(*parts: str | int) -> str:
    """Join parts to a JSON pointer, escaped as RFC 6901 asks."""
    return "".join("/" + str(part).replace("~", "~0").replace("/", "~1") for part in parts)


def _shown(where: str) -> str:
    """A pointer on one line, its long keys cut."""
    cut = (each if len(each) <= _LONG else f"{each[:_LONG]}..." for each in where.split("/"))
    return "/".join(cut).replace("\n", "\\n")


def known_names(name: str, known: Iterable[str]) -> str:
    """The end of a message about an unknown name: a suggestion, and all known names."""
    known = sorted(each if len(each) <= _LONG else f"{each[:_LONG]}..." for each in known)
    close = difflib.get_close_matches(str(name)[:_LONG].lower(), known, n=1, cutoff=0.66)
    listed = f": {', '.join(known) or 'none'}" if len(known) <= _LISTED else f" {len(known)}, such as {known[0]}"
    return f"{f', did you mean {close[0]}?' if close else ';'} there are{listed}"

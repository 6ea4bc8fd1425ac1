"""The topologies that a word of the user names: a topology document, a request document, or a plugin's workload."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import attrs

from headworks.api import find_request
from headworks.documents import structure
from headworks.documents.formats import parse
from headworks.errors import DocumentError
from headworks.model import Profile, Topology
from headworks_storm.workload.describe import Load, describe
from headworks_storm.workload.foreign import recognise

if TYPE_CHECKING:
    from headworks import PluginHost

LINES = 2000
"""Lines of a text that a topology carries. With more, its description, which goes to every worker, takes longer to be
submitted; with fewer, counts of words have few words to count."""


@attrs.frozen(kw_only=True)
class Submission:
    """Topologies to submit, the profiles that state the cost of their tuples, and the details of their workload.

    Attributes:
        details: Further arguments of `headworks_storm.workload.describe.describe`, such as `roles`.
    """

    topologies: tuple[Topology, ...]
    profiles: tuple[Profile, ...] = ()
    details: Mapping[str, Any] = attrs.field(factory=dict)

    def described(self, *, load: Load, text: str = "", conf: Mapping[str, Any] | None = None) -> list[dict[str, Any]]:
        """Describe each topology for the runner; see `headworks_storm.workload.describe.describe`.

        Args:
            load: Factors on what is declared.
            text: The text that components with the role `text` read; Python's language reference by default.
            conf: Storm's settings of every topology.

        Raises:
            DocumentError: A cycle of streams has no stated rate, or there is no text.
        """
        more = {**self.details, **contents(self.details.get("roles", {}), text)}
        return [describe(each, self.profiles, load=load, conf=conf, **more) for each in self.topologies]


def find_submission(word: str, host: PluginHost) -> Submission:
    """Find the topologies that a word names.

    Args:
        word: A file with a topology or a request document, `-` for a request from stdin, or `PLUGIN:WORKLOAD`.

    Raises:
        DocumentError: It is none of these, or names no topology.
    """
    if (topology := _topology(word)) is not None:
        return Submission(topologies=(topology,))
    request = find_request(word, host)
    if not request.topologies:
        raise DocumentError("/topologies", f"{word} has no topology to submit")
    plugin, _, name = word.partition(":")
    named = host.workloads(plugin) if plugin in host and not Path(word).exists() else ()
    details = next((each.details for each in named if each.name == name), {})
    return Submission(topologies=request.topologies, profiles=request.profiles, details=details)


def _topology(word: str) -> Topology | None:
    """The topology of a document that has components of its own; None if it is no such document."""
    try:
        data = parse(Path(word).read_bytes(), word)
    except (OSError, ValueError, DocumentError):
        return None
    if not isinstance(data, dict) or "components" not in data or recognise(data):
        return None
    return structure(data, Topology)


def read_text(file: Path | None) -> str:
    """The first `LINES` lines of a text, "" without a file.

    Raises:
        DocumentError: It cannot be read, or is empty.
    """
    if file is None:
        return ""
    try:
        text = "\n".join(file.read_text(errors="replace").splitlines()[:LINES])
    except OSError as error:
        raise DocumentError("", f"{file} cannot be read: {error.strerror}") from None
    if not text.strip():
        raise DocumentError("", f"{file} has no words to count")
    return text


def contents(roles: Mapping[str, str], text: str = "") -> dict[str, str]:
    """The argument of `describe` with the text that components read, if a role reads one.

    Args:
        roles: Role by component id.
        text: The text; Python's language reference by default.

    Raises:
        DocumentError: There is no text.
    """
    return {"text": text or default_text()} if "text" in roles.values() else {}


def default_text() -> str:
    """A text that every Python brings: its own language reference.

    Raises:
        DocumentError: This Python was installed without it.
    """
    try:
        # A part of the standard library that some distributions leave out.
        from pydoc_data.topics import topics
    except ImportError:
        raise DocumentError("", "this Python has no pydoc_data to count words of: name a file with --text") from None
    lines = (line for name in sorted(topics) for line in topics[name].splitlines() if line.strip())
    return "\n".join(line for line, _ in zip(lines, range(LINES), strict=False))

"""The topologies that a word of the user names: a topology document, a request document, or a plugin's workload."""

from __future__ import annotations

import importlib.util
from pathlib import Path
from typing import TYPE_CHECKING, Any

import attrs

from headworks.api import find_request
from headworks.documents import structure
from headworks.documents.strict_json import parse
from headworks.errors import DocumentError
from headworks.model import FrozenMap, Profile, Topology
from headworks_storm.workload.catalogue import ROLES
from headworks_storm.workload.describe import Load, describe

if TYPE_CHECKING:
    from collections.abc import Mapping

    from headworks.plugins.host import PluginHost

LINES = 2000
"""Lines of a text that a topology carries. With more, its description, which goes to every worker, takes longer to be
submitted; with fewer, counts of words have few words to count."""


@attrs.frozen(kw_only=True)
class Submission:
    """Topologies to submit, the profiles that state the cost of their tuples, and the roles of their components."""

    topologies: tuple[Topology, ...]
    profiles: tuple[Profile, ...] = ()
    roles: FrozenMap[str, str] = FrozenMap()

    def described(self, *, load: Load, text: str = "", conf: Mapping[str, Any] | None = None) -> list[dict[str, Any]]:
        """Describe each topology for the runner; see `headworks_storm.workload.describe.describe`.

        Args:
            load: Factors on what is declared.
            text: The text that components with the role `text` read; Python's language reference by default.
            conf: Storm's settings of every topology.

        Raises:
            DocumentError: A cycle of streams has no stated rate, or there is no text or no lexicon.
        """
        more = contents(self.roles, text)
        return [
            describe(each, self.profiles, roles=self.roles, load=load, conf=conf, **more) for each in self.topologies
        ]


def find_submission(word: str, host: PluginHost) -> Submission:
    """Find the topologies that a word names.

    Args:
        word: A file with a topology or a request document, `-` for a request from stdin, or `PLUGIN:WORKLOAD`.
        host: The plugins.

    Raises:
        DocumentError: It is none of these, or names no topology.
    """
    if (topology := _topology(word)) is not None:
        return Submission(topologies=(topology,))
    request = find_request(word, host)
    if not request.topologies:
        raise DocumentError("/topologies", f"{word} has no topology to submit")
    # Components of other plugins may bear the same names, and do something else.
    roles = ROLES.get(word.partition(":")[2], FrozenMap()) if word.startswith("storm:") else FrozenMap[str, str]()
    return Submission(topologies=request.topologies, profiles=request.profiles, roles=roles)


def _topology(word: str) -> Topology | None:
    """The topology of a document that has components of its own; None if it is no such document."""
    try:
        data = parse(Path(word).read_bytes())
    except (OSError, ValueError, DocumentError):
        return None
    return structure(data, Topology) if isinstance(data, dict) and "components" in data else None


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


def contents(roles: Mapping[str, str], text: str = "") -> dict[str, Any]:
    """Arguments of `describe` with all that components read: a text and a lexicon, as far as there are roles for them.

    Args:
        roles: Role by component id.
        text: The text; Python's language reference by default.

    Raises:
        DocumentError: There is no text, or no lexicon.
    """
    found: dict[str, Any] = {"text": text or default_text()} if "text" in roles.values() else {}
    return {**found, "lexicon": lexicon()} if "score" in roles.values() else found


def lexicon() -> dict[str, int]:
    """The single words of AFINN-111 (Nielsen 2011), each with its value from -5 to 5, of the package `afinn`.

    Raises:
        DocumentError: The package is not installed.
    """
    found = importlib.util.find_spec("afinn")  # it is not imported: its data is what is wanted
    places = () if found is None else found.submodule_search_locations or ()
    files = [file for each in places if (file := Path(each, "data", "AFINN-111.txt")).exists()]
    if not files:
        raise DocumentError("", "there is no lexicon to score by: pip install 'headworks[sentiment]'")
    values = dict(line.split("\t") for line in files[0].read_text(encoding="utf-8").splitlines() if line)
    return {word: int(value) for word, value in values.items() if word.isalnum()}


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

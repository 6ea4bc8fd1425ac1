"""References of the documents, made from the code: `python tests/doc_reference.py` writes them anew.

Between `<!-- generated: NAME -->` and `<!-- end -->` of a page stands what the function NAME of `REFERENCES` makes.
"""

from __future__ import annotations

import inspect
import re
from pathlib import Path
from typing import TYPE_CHECKING

from headworks import hooks
from headworks.plugins.guard import DEADLINES

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

PAGES = sorted((Path(__file__).parents[1] / "docs").glob("*.md"))
BLOCK = re.compile(r"(?P<head><!-- generated: (?P<name>[\w-]+) -->\n)(?P<text>.*?)(?P<end><!-- end -->\n)", re.DOTALL)
HOOKS = {
    "Every plugin": ("describe", "needs", "workloads", "documents", "recognise"),
    "Scheduler": ("schedule", "prepare", "analyse"),
    "Monitor": ("open", "run", "observe"),
    "Executor": ("preflight", "execute", "rollback", "keeps", "scale", "intake"),
    "Priority manager": ("prioritise", "reschedule", "recover"),
    "Around a round": ("review", "on_round"),
    "Installation of an engine": ("examine",),
}
"""Hooks by the kind of plugin that has them, in the order of the page."""


def hook_reference() -> Iterator[str]:
    """A heading, the contract and the deadline of every hook."""
    found = {name: each for spec in hooks.SPECS for name, each in vars(spec).items() if name.startswith("headworks_")}
    for kind, names in HOOKS.items():
        yield f"### {kind}"
        for name in (f"headworks_{each}" for each in names):
            contract = found.pop(name)
            arguments = ", ".join(each for each in inspect.signature(contract).parameters if each != "self")
            yield f"#### {name}({arguments})"
            yield inspect.cleandoc(contract.__doc__ or "")
            if name in DEADLINES:
                yield f"Deadline: {DEADLINES[name]:g} s."
    if found:
        raise ValueError(f"hooks of no kind: {', '.join(found)}")


REFERENCES: dict[str, Callable[[], Iterator[str]]] = {"hooks": hook_reference}


def made(page: str) -> str:
    """The text of a page with its generated parts made anew."""

    def anew(block: re.Match[str]) -> str:
        parts = "\n\n".join(REFERENCES[block["name"]]())
        return f"{block['head']}\n{parts}\n\n{block['end']}"

    return BLOCK.sub(anew, page)


if __name__ == "__main__":
    for page in PAGES:
        page.write_text(made(page.read_text(encoding="utf-8")), encoding="utf-8")

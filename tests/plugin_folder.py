"""A distribution in a folder, as pip would leave it: its entry points are found for real."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

GOOD = """
from headworks.hooks import Description, hookimpl

class Plugin:
    @hookimpl
    def headworks_describe(self):
        return Description(summary="good")

    @hookimpl
    def headworks_schedule(self, problem):
        return problem.plan([-1] * problem.n)

plugin = Plugin()
"""


def install(folder: Path, distribution: str, plugins: Mapping[str, str], **groups: str) -> None:
    """Write one module for each plugin (name: source with an object `plugin`) and the entry points that name them.

    Args:
        folder: Where; it is to be in `sys.path`.
        distribution: Its name.
        plugins: Source of each plugin.
        groups: More entry points, a text of lines for each group `headworks.NAME`.
    """
    entries = []
    for name, source in plugins.items():
        module = f"{distribution}_{name}".replace("-", "_")
        (folder / f"{module}.py").write_text(source)
        entries.append(f"{name} = {module}:plugin")
    info = folder / f"{distribution}-1.2.3.dist-info"
    info.mkdir()
    (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {distribution}\nVersion: 1.2.3\n")
    named = {"headworks": "\n".join(entries), **{f"headworks.{name}": text for name, text in groups.items()}}
    (info / "entry_points.txt").write_text("".join(f"[{group}]\n{text}\n" for group, text in named.items()))

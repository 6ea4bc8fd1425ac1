"""A journal of rounds on the simulated engine, for the tests of its page."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from click.testing import CliRunner

from headworks.cli.main import headworks

if TYPE_CHECKING:
    from pathlib import Path


def recorded(folder: Path, rounds: int = 3, workload: str = "dstorm:linear") -> Path:
    """A journal of so many rounds; the first moves tasks."""
    found = folder / "rounds.jsonl"
    words = ("--engine", "sim", "-s", "dstorm", "--rounds", str(rounds), "--replan", "--window", "2")
    done = CliRunner().invoke(headworks, ["run", *words, "--journal", str(found), workload])
    assert done.exit_code == 0, done.output
    return found


def renamed(record: dict[str, Any], old: str, new: str) -> dict[str, Any]:
    """A record in which a component has another name."""
    text = json.dumps(record)
    quoted = json.dumps(new)[1:-1]
    return json.loads(text.replace(f'"{old}"', f'"{quoted}"').replace(f"/{old}/", f"/{quoted}/"))

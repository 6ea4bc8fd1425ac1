"""The documents are a site: every page has a place in its navigation, and no link is dead."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path
from typing import get_args

from headworks.control.journal import Outcome

ROOT = Path(__file__).parents[2]


def test_the_site_is_built_without_a_warning(tmp_path):
    words = ("build", "--strict", "--quiet", "--config-file", ROOT / "mkdocs.yml", "--site-dir", tmp_path)
    done = subprocess.run([sys.executable, "-m", "mkdocs", *words], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    for page in (ROOT / "docs").glob("*.md"):
        made = (tmp_path / ("" if page.stem == "index" else page.stem) / "index.html").read_text()
        fences = re.findall(r"^ *```\w+$", page.read_text(), re.MULTILINE)
        assert made.count("<pre>") >= len(fences), f"{page.name}: code that is shown as text"


def test_the_page_on_the_loop_has_every_outcome_of_a_round():
    page = (ROOT / "docs" / "control-loop.md").read_text()
    table = page.partition("| outcome | meaning |")[2].partition("\n\n")[0]
    assert sorted(re.findall(r"^\| `([\w-]+)`", table, re.MULTILINE)) == sorted(get_args(Outcome))

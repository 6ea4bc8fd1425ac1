"""The page on stability names the versions that there are, and the tests that hold it."""

from __future__ import annotations

import re
from pathlib import Path

from headworks.documents.schema import MAJOR
from headworks.hooks import HOOKSPEC_VERSION
from headworks_manager.operations import OPERATIONS
from headworks_schemas import VERSION

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "stability.md").read_text()


def test_the_versions_are_those_of_the_code():
    assert re.findall(r"^\| hooks, version (\d+) ", PAGE, re.MULTILINE) == [str(HOOKSPEC_VERSION)]
    assert re.findall(r"^\| documents, version (\d+) ", PAGE, re.MULTILINE) == [str(MAJOR)]
    assert f"v{MAJOR}" == VERSION


def test_the_interface_over_http_is_that_of_the_manager():
    (named,) = re.findall(r"^\| HTTP of the manager, `(\S+)`", PAGE, re.MULTILINE)
    paths = {each.path for each in OPERATIONS}
    assert all(each.startswith(f"{named}/") for each in paths)

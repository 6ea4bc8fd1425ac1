from __future__ import annotations

import json
from pathlib import Path

import pytest

from pipeline_command import pipeline
from pipeline_samples import dirty


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items):
    """With `--dist loadgroup`, one process has all tests of what the batch job made."""
    here = Path(__file__).parent
    for item in items:
        if item.path.parent == here and "made" in item.fixturenames:
            item.add_marker(pytest.mark.xdist_group("pipeline"))


@pytest.fixture(scope="package")
def folder(tmp_path_factory):
    """`raw` has every kind of row, `out` what the batch job made of them."""
    return tmp_path_factory.mktemp("pipeline")


@pytest.fixture(scope="package")
def sound(folder):
    return dirty(folder / "raw")


@pytest.fixture(scope="package")
def made(folder, sound):
    """What the command printed."""
    return json.loads(pipeline(folder / "raw", folder / "out").stdout)

from __future__ import annotations

import json

import pytest

from pipeline_command import pipeline
from pipeline_samples import dirty


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

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest

from headworks_pipeline.session import SessionConfig, session
from pipeline_command import pipeline
from pipeline_samples import dirty


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items):
    """With `--dist loadgroup`, one process has all tests of what the batch job made, and all that share a session."""
    here = Path(__file__).parent
    for item in items:
        if item.path.parent == here and {"made", "spark"} & set(item.fixturenames):
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
    done = json.loads(pipeline(folder / "raw", folder / "out", "--max-rejected", 15).stdout)
    # Other runs on the same results have reports of their own.
    for name in ("report.json", "report.html"):
        shutil.copy(folder / "out" / name, folder / name)
    return done


@pytest.fixture(scope="package")
def spark(tmp_path_factory):
    """A session in this process."""
    config = SessionConfig(master="local[2]", driver_memory="700m", quick=True)
    with session(config, tmp_path_factory.mktemp("session")) as running:
        yield running

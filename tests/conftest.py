"""How long Hypothesis searches (HYPOTHESIS_PROFILE: `default` or `thorough`), that Ctrl-C works in every test, and which
tests keep together when two processes share them."""

from __future__ import annotations

import os
import signal

import pytest
from hypothesis import settings

settings.register_profile("default", max_examples=15, deadline=None)
settings.register_profile("thorough", max_examples=500, deadline=None)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "default"))

# a run that was started in the background ignores Ctrl-C, and so would every process that a test starts
signal.signal(signal.SIGINT, signal.default_int_handler)

TOGETHER = {"pipeline": "pipeline", "spark": "spark", "storm": "storm", "test_both_engines.py": "storm"}
"""Folders and files below `adapters` whose tests share an engine, which is started once in a process."""


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(config, items):
    if not config.pluginmanager.hasplugin("xdist"):
        return
    for item in items:
        below = item.path.relative_to(config.rootpath / "tests").parts
        if below[0] == "adapters" and below[1] in TOGETHER:
            item.add_marker(pytest.mark.xdist_group(TOGETHER[below[1]]))

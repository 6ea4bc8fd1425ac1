"""How long Hypothesis searches (HYPOTHESIS_PROFILE: `default` or `thorough`), that Ctrl-C works in every test, and
which tests keep together when two processes share them."""

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

ENGINES = {"pipeline": "pipeline", "spark": "spark", "storm": "storm", "test_both_engines.py": "storm"}
"""Folders and files below `tests/adapters` whose tests share an engine, which is started once in a process."""


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config, log):
    """With `--dist loadgroup` one process has Spark's tests and another one Storm's; others go where time is."""
    from xdist.scheduler import LoadScopeScheduling

    class ByEngine(LoadScopeScheduling):
        def _split_scope(self, nodeid):
            folders = nodeid.partition("::")[0].split("/")
            at = folders.index("adapters") + 1 if "adapters" in folders else len(folders)
            engine = ENGINES.get(folders[at]) if at < len(folders) else None
            return engine or nodeid

    return ByEngine(config, log) if config.getvalue("dist") == "loadgroup" else None

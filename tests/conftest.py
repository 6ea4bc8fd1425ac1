"""How long Hypothesis searches (HYPOTHESIS_PROFILE: `default` or `thorough`), that Ctrl-C works in every test, and what
several processes that share the tests keep together."""

from __future__ import annotations

import os
import signal

import pytest
from hypothesis import settings

settings.register_profile("default", max_examples=15, deadline=None)
settings.register_profile("thorough", max_examples=500, deadline=None)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "default"))

# a run that was started in the background ignores Ctrl-C, and so would every process that a test starts; nohup likewise
signal.signal(signal.SIGINT, signal.default_int_handler)
signal.signal(signal.SIGHUP, signal.SIG_DFL)

LONGEST = (
    "spark",
    "storm",
    "adapters/storm/test_faults.py",
    "pipeline",
    "adapters/test_both_engines.py",
    "adapters/spark/test_demo.py",
    "adapters/storm/test_demo.py",
)
"""Groups that take minutes, the longest first: begun early, none of them is what the other processes wait for."""


def pytest_collection_modifyitems(config, items):
    """With `--dist loadgroup`, tests of one shared cluster are one group, and every other file is one of its own."""
    here, places = config.rootpath / "tests", {}
    for item in items:
        mark = item.get_closest_marker("xdist_group")
        group = mark.args[0] if mark else os.path.relpath(item.path, here)
        if mark is None:
            item.add_marker(pytest.mark.xdist_group(group))
        places[item] = LONGEST.index(group) if group in LONGEST else len(LONGEST)
    items.sort(key=places.get)
